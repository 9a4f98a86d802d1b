/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown with frontmatter, and metadata in it that is text with a document inside. */
#include "policy/format/test/fuzz-manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_manifest(MANIFEST_SKILL_MD, "SKILL.md", data, size);
	return 0;
}
