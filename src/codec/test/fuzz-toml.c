/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever parses prints as JSON and as YAML that parse; what does not leaves nothing behind. */
#include "codec/json.h"
#include "codec/test/fuzz.h"
#include "codec/toml.h"
#include "codec/yaml.h"

static void check_printed(const struct node *root)
{
	auto_document json = { 0 }, yaml = { 0 };
	auto_buffer as_json = { 0 }, as_yaml = { 0 };
	struct error e;

	json_print(&as_json, root, JSON_COMPACT);
	if (fuzz_is_readable(&as_json))
		fuzz_require(json_read(&json, NULL, as_json.data, as_json.len, &e) == 0);
	yaml_print(&as_yaml, root);
	if (!fuzz_is_readable(&as_yaml))
		return;
	fuzz_require(yaml_read(&yaml, NULL, 1, as_yaml.data, as_yaml.len, &e) == 0);
	fuzz_require(node_equal(root, yaml.root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	int r = toml_read(&d, "fuzz.toml", (const char *)data, size, &e);

	if (r < 0)
		fuzz_check_refusal(r, &d, &e);
	else
		check_printed(d.root);
	return 0;
}
