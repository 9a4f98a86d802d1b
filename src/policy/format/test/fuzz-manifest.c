/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents of all kinds, found out by their keys. */
#include "policy/format/test/fuzz-manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_manifest(MANIFEST_UNKNOWN, "policy.yaml", data, size);
	return 0;
}
