/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the fuzzers of manifests share. A property that does not hold aborts. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

/* Reads what was printed, and compares it with the tree it was printed from. */
static inline void fuzz_read_back(const struct buffer *text, bool json, const struct node *tree)
{
	auto_document d = { 0 };
	auto_arena again = { 0 };
	auto_permissions *p = permissions_new();
	int r;

	/* What aliases made short, or bounds let just pass, may be too long when it is written out.
	 */
	if (text->failed || text->len > NODE_INPUT_MAX)
		return;
	r = json ? json_read(&d, NULL, text->data, text->len, NULL)
		 : yaml_read(&d, NULL, 1, text->data, text->len, NULL);
	if (r == -E2BIG)
		return;
	fuzz_require(r == 0 && node_equal(d.root, tree));
	fuzz_require(permissions_read_node(p, &d, d.root, NULL) == 0);
	fuzz_require(node_equal(permissions_to_node(p, &again), tree));
}

/* Whatever is read is printed in canonical form, in both languages, and reads back as the same. */
static inline void fuzz_manifest(
	enum manifest_kind kind, const char *file, const uint8_t *data, size_t size)
{
	auto_manifest m = { 0 };
	auto_arena trees = { 0 };
	auto_buffer yaml_text = { 0 }, json_text = { 0 };
	struct error e = { 0 };
	const struct node *tree;

	if (manifest_read(&m, kind, file, (const char *)data, size, &e) < 0) {
		fuzz_require(!m.permissions && e.text[0]);
		return;
	}
	tree = permissions_to_node(m.permissions, &trees);
	fuzz_require(tree && m.kind != MANIFEST_UNKNOWN && m.body <= size);
	permissions_print_yaml(m.permissions, &yaml_text);
	permissions_print_json(m.permissions, &json_text);
	fuzz_read_back(&yaml_text, false, tree);
	fuzz_read_back(&json_text, true, tree);
}
