/* SPDX-License-Identifier: Apache-2.0 */
/* toml-read FILE: prints a TOML file as JSON; 1 if it is refused. For toml.py. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/file.h"
#include "codec/json.h"
#include "codec/toml.h"

int main(int argc, char **argv)
{
	auto_document d = { 0 };
	auto_buffer text = { 0 }, out = { 0 };
	struct error e = { 0 };

	if (argc != 2 || file_read(argv[1], NODE_INPUT_MAX, &text) < 0)
		return 2;
	if (toml_read(&d, argv[1], text.data, text.len, &e) < 0) {
		(void)printf("%u:%u: %s\n", e.line, e.column, e.text);
		return 1;
	}
	json_print(&out, d.root, JSON_COMPACT);
	(void)puts(buffer_text(&out));
	return out.failed ? 2 : 0;
}
