/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a settings file holds, what it becomes can be read again as a policy. The first byte
 * chooses the format.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/import/internal.h"
#include "codec/json.h"
#include "codec/toml.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct importing *im)
{
	auto_buffer printed = { 0 };
	auto_manifest again = { 0 };
	struct error e = { 0 };

	permissions_print_yaml(im->to, &printed);
	if (!printed.failed && printed.len <= NODE_INPUT_MAX &&
		manifest_read(&again, MANIFEST_PERMISSIONS, NULL, buffer_text(&printed),
			printed.len, &e) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct import_format *const formats[] = { &import_srt, &import_claude,
		&import_codex, &import_nono };
	auto_arena arena = { 0 };
	auto_permissions *to = permissions_new();
	auto_buffer text = { 0 };
	struct error e = { 0 };
	struct call c = { .arena = &arena, .error = &e };
	struct importing im = { .call = &c, .to = to };
	const struct import_format *f;
	int r;

	if (size < 1 || !to)
		return 0;
	f = formats[data[0] % 4];
	buffer_add(&text, (const char *)data + 1, size - 1);
	if (!f->is_toml && text.len)
		import_strip_comments(&text);
	r = f->is_toml ? toml_read(&im.source, "fuzz", buffer_text(&text), text.len, &e)
		       : json_read(&im.source, "fuzz", buffer_text(&text), text.len, &e);
	if (r == 0 && im.source.root->type == NODE_MAP) {
		f->take(&im, im.source.root);
		import_finish(&im);
		if (!im.no_memory)
			check(&im);
	}
	document_deinit(&im.source);
	return 0;
}
