/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body is the end of the text, whatever stands before it. Frontmatter that parses, printed
 * between two fences before the same body, parses to the same frontmatter and body.
 */
#include <string.h>

#include "codec/frontmatter.h"
#include "codec/test/fuzz.h"
#include "codec/yaml.h"

static void check_again(const struct frontmatter *f, const char *body, size_t len)
{
	auto_frontmatter again = { 0 };
	auto_buffer text = { 0 };
	struct error e;

	buffer_adds(&text, "---\n");
	yaml_print(&text, f->meta.root);
	if (!fuzz_is_readable(&text))
		return;
	buffer_adds(&text, "---\n");
	buffer_add(&text, body, len);
	fuzz_require(!text.failed);
	fuzz_require(frontmatter_read(&again, NULL, text.data, text.len, &e) == 0);
	fuzz_require(again.present && node_equal(f->meta.root, again.meta.root));
	fuzz_require(text.len - again.body == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_frontmatter f = { 0 };
	struct error e = { 0 };
	int r = frontmatter_read(&f, "fuzz.md", (const char *)data, size, &e);

	if (r < 0) {
		fuzz_check_refusal(r, &f.meta, &e);
		fuzz_require(!f.present && f.body == 0);
		return 0;
	}
	fuzz_require(f.body <= size);
	fuzz_require(f.present || f.meta.root->type == NODE_NULL);
	check_again(&f, (const char *)data + f.body, size - f.body);
	return 0;
}
