/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever parses prints as YAML that parses to an equal tree and prints as the same bytes again,
 * and as JSON that is JSON (not as an equal tree: numbers that JSON cannot write become strings).
 */
#include <string.h>

#include "codec/test/fuzz.h"
#include "codec/json.h"
#include "codec/yaml.h"

static void check_yaml(const struct node *root)
{
	auto_document again = { 0 };
	auto_buffer printed = { 0 }, twice = { 0 };
	struct error e;

	yaml_print(&printed, root);
	if (!fuzz_is_readable(&printed))
		return;
	fuzz_require(yaml_read(&again, NULL, 1, printed.data, printed.len, &e) == 0);
	fuzz_require(node_equal(root, again.root));
	yaml_print(&twice, again.root);
	fuzz_require(twice.len == printed.len && memcmp(twice.data, printed.data, twice.len) == 0);
}

static void check_json(const struct node *root)
{
	auto_document again = { 0 };
	auto_buffer printed = { 0 };
	struct error e;

	json_print(&printed, root, JSON_COMPACT);
	if (fuzz_is_readable(&printed))
		fuzz_require(json_read(&again, NULL, printed.data, printed.len, &e) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	int r = yaml_read(&d, "fuzz.yaml", 1, (const char *)data, size, &e);

	if (r < 0) {
		fuzz_check_refusal(r, &d, &e);
		return 0;
	}
	check_yaml(d.root);
	check_json(d.root);
	return 0;
}
