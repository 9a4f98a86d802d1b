/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a gateway: what is read has servers with good names, and decides about any call. The
 * bytes are also a schema and its value, and a pattern and its text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/json.h"
#include "mcp/gateway/config.h"
#include "mcp/gateway/pattern.h"
#include "mcp/gateway/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_config(const char *text, size_t size)
{
	struct gateway_config c;
	struct error e = { 0 };

	if (gateway_config_read(&c, "fuzz.yaml", text, size, "/home/me", &e) < 0) {
		if (!e.text[0] || c.n)
			abort();
		return;
	}
	for (size_t i = 0; i < c.n; i++) {
		const struct gateway_server *s = &c.servers[i];
		const struct gateway_decision d =
			gateway_decide(s, GATEWAY_TOOL, "read_file", NULL);

		if (!*s->name || strstr(s->name, "_") || strlen(s->name) > GATEWAY_NAME_MAX ||
			!s->command[0] || !d.reason || !s->timeout_ms || !s->result_max ||
			(d.verdict == VERDICT_ALLOW &&
				gateway_best(s, GATEWAY_TOOL, "read_file") == VERDICT_DENY))
			abort();
	}
	gateway_config_deinit(&c);
}

static void fuzz_shape(const char *text, size_t size)
{
	auto_document d = { 0 };
	const struct node *schema, *value;

	if (json_read(&d, NULL, text, size, NULL) < 0)
		return;
	schema = node_get(d.root, "schema");
	value = node_get(d.root, "value");
	if (schema && value && shape_check(schema, &d, NULL) == 0)
		(void)shape_fits(schema, value);
}

static void fuzz_pattern(const char *text, size_t size)
{
	static struct pattern p;
	const char *end = memchr(text, '\n', size);
	auto_buffer pattern = { 0 }, value = { 0 };

	if (!end || size > 4096)
		return;
	buffer_add(&pattern, text, (size_t)(end - text));
	buffer_add(&value, end, size - (size_t)(end - text));
	if (!pattern_read(&p, buffer_text(&pattern)))
		(void)pattern_matches(&p, buffer_text(&value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	fuzz_config(text, size);
	fuzz_shape(text, size);
	fuzz_pattern(text, size);
	return 0;
}
