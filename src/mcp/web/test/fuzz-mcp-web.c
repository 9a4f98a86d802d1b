/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a head, one a line, and a body behind them: what is taken for good says the same as the
 * body, by a comparison of its own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/web/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

/* A line without its end, which becomes a NUL; "" is no field. */
static const char *fuzz_line(char **rest)
{
	char *line = strsep(rest, "\n");

	return line && *line ? line : NULL;
}

/* The head is that of a request which is let through. */
static void fuzz_compare(const struct serve_header *head, const struct mcp_message *m)
{
	const struct node *version =
		node_get(node_get(m->params, "_meta"), "io.modelcontextprotocol/protocolVersion");
	const char *name = head[WEB_NAME].value;

	fuzz_require(head[WEB_VERSION].value);
	if (!version)
		return;
	fuzz_require(head[WEB_METHOD].value && strcmp(head[WEB_METHOD].value, m->method) == 0);
	if (version->type == NODE_STRING)
		fuzz_require(strcmp(version->text, head[WEB_VERSION].value) == 0);
	if (strcmp(m->method, "tools/call") != 0 || !node_get(m->params, "name") ||
		node_get(m->params, "name")->type != NODE_STRING)
		return;
	fuzz_require(name);
	fuzz_require(strncmp(name, "=?base64?", 9) == 0 ||
		     strcmp(name, node_get_text(m->params, "name")) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "application/json", "text/event-stream" };
	struct serve_header head[WEB_FIELDS];
	auto_mcp_message m = { 0 };
	const char *why = NULL;
	char *text = malloc(size + 1), *rest = text;

	fuzz_require(text);
	memcpy(text, data, size);
	text[size] = '\0';
	web_head_fields(head);
	for (int i = 0; i < WEB_FIELDS; i++)
		head[i].value = fuzz_line(&rest);
	for (size_t i = 0; i < 2; i++)
		fuzz_require(!web_head_accepts(head, types[i]) || !head[WEB_ACCEPT].value ||
			     strchr(head[WEB_ACCEPT].value, '*') ||
			     strcasestr(head[WEB_ACCEPT].value, types[i]));
	if (rest && mcp_message_read(&m, rest, strlen(rest), NULL) == 0 &&
		(m.kind == MCP_REQUEST || m.kind == MCP_NOTIFICATION) &&
		web_head_is_modern(head, &m)) {
		const int r = web_head_check(head, &m, &why);

		fuzz_require(r == 0 ? !why : r == MCP_HEADER_MISMATCH && why);
		if (r == 0 && m.kind == MCP_REQUEST)
			fuzz_compare(head, &m);
	}
	free(text);
	return 0;
}
