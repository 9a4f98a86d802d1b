/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever parses prints, in three ways, as text that parses to an equal tree. */
#include "codec/test/fuzz.h"
#include "codec/json.h"
#include "codec/yaml.h"

static void check_json(const struct node *root, enum json_style style)
{
	auto_document again = { 0 };
	auto_buffer printed = { 0 };
	struct error e;

	json_print(&printed, root, style);
	if (!fuzz_is_readable(&printed))
		return;
	fuzz_require(json_read(&again, NULL, printed.data, printed.len, &e) == 0);
	fuzz_require(node_equal(root, again.root));
}

static void check_yaml(const struct node *root)
{
	auto_document again = { 0 };
	auto_buffer printed = { 0 };
	struct error e;

	yaml_print(&printed, root);
	if (!fuzz_is_readable(&printed))
		return;
	fuzz_require(yaml_read(&again, NULL, 1, printed.data, printed.len, &e) == 0);
	fuzz_require(node_equal(root, again.root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	int r = json_read(&d, "fuzz.json", (const char *)data, size, &e);

	if (r < 0) {
		fuzz_check_refusal(r, &d, &e);
		return 0;
	}
	check_json(d.root, JSON_COMPACT);
	check_json(d.root, JSON_PRETTY);
	check_yaml(d.root);
	return 0;
}
