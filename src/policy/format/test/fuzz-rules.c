/* SPDX-License-Identifier: Apache-2.0 */
/* AgenShield's rules in JSON, alone and added to others. */
#include "policy/format/test/fuzz-manifest.h"

static void add_to_others(const uint8_t *data, size_t size)
{
	static const char others[] = "{\"defaultAction\": \"deny\", \"rules\": [{\"id\": \"a\","
				     "\"action\": \"deny\", \"operations\": [\"exec\"],"
				     "\"patterns\": [\"rm:*\"], \"priority\": 1}]}";
	auto_manifest m = { 0 };

	fuzz_require(
		manifest_read(&m, MANIFEST_RULES, "a.json", others, strlen(others), NULL) == 0);
	if (manifest_add_rules(&m, "b.json", (const char *)data, size, NULL) < 0)
		fuzz_require(m.permissions->n_rules == 1);
	/* A further file may allow more by rules, but never by what it leaves open. */
	fuzz_require(
		m.permissions->fallback == VERDICT_DENY && m.permissions->mode == MODE_ENFORCE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_manifest(MANIFEST_RULES, "policy.json", data, size);
	add_to_others(data, size);
	return 0;
}
