/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/web/head.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/array.h"
#include "codec/encoding.h"

#define HEAD_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define HEAD_ENCODED "=?base64?"
#define HEAD_ENCODED_END "?="

/* Those that have sessions; all that this server or an older one has ever spoken. */
static const char *const handshakes[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" };

/* Which part of the parameters Mcp-Name repeats. */
static const struct {
	const char *method, *key;
} named[] = {
	{ "tools/call", "name" },
	{ "prompts/get", "name" },
	{ "resources/read", "uri" },
};

void web_head_fields(struct serve_header ret[WEB_FIELDS])
{
	static const char *const names[WEB_FIELDS] = {
		[WEB_ACCEPT] = "accept",
		[WEB_VERSION] = "mcp-protocol-version",
		[WEB_METHOD] = "mcp-method",
		[WEB_NAME] = "mcp-name",
		[WEB_SESSION] = "mcp-session-id",
	};

	for (int i = 0; i < WEB_FIELDS; i++)
		ret[i] = (struct serve_header){ .name = names[i] };
}

/* One item of a list: "*" "/" "*", "text/" "*", or the type itself. */
static bool head_is_type(const char *item, size_t len, const char *type)
{
	const size_t group = strcspn(type, "/");

	if (len == 3 && memcmp(item, "*/*", 3) == 0)
		return true;
	if (len == group + 2 && strncasecmp(item, type, group + 1) == 0 && item[len - 1] == '*')
		return true;
	return len == strlen(type) && strncasecmp(item, type, len) == 0;
}

bool web_head_accepts(const struct serve_header *head, const char *type)
{
	const char *at = head[WEB_ACCEPT].value;

	if (!at)
		return true;
	while (at) {
		size_t len;

		at += strspn(at, " \t,");
		len = strcspn(at, ",; \t");
		if (len > 0 && head_is_type(at, len, type))
			return true;
		at = strchr(at, ',');
	}
	return false;
}

static const struct node *head_meta_version(const struct mcp_message *m)
{
	return node_get(node_get(m->params, "_meta"), HEAD_META_VERSION);
}

bool web_head_is_modern(const struct serve_header *head, const struct mcp_message *m)
{
	const char *version = head[WEB_VERSION].value;

	if (head_meta_version(m))
		return true;
	for (size_t i = 0; version && i < ROWS(handshakes); i++)
		if (strcmp(version, handshakes[i]) == 0)
			return false;
	return version != NULL;
}

/* What the field says, in the arena if it was encoded. NULL: it cannot be decoded. */
static const char *head_decode(const char *value, struct arena *a)
{
	const size_t len = strlen(value), front = strlen(HEAD_ENCODED),
		     back = strlen(HEAD_ENCODED_END);
	const char *data = NULL;
	size_t n = 0;

	if (len < front + back || memcmp(value, HEAD_ENCODED, front) != 0 ||
		strcmp(value + len - back, HEAD_ENCODED_END) != 0)
		return value;
	if (encoding_decode(ENCODING_BASE64, value + front, len - front - back, a, &data, &n) < 0 ||
		memchr(data, '\0', n))
		return NULL;
	return arena_strndup(a, data, n);
}

static const char *head_check_name(const struct serve_header *head, const struct mcp_message *m)
{
	const struct node *n = NULL;
	auto_arena a = { 0 };
	const char *name;

	for (size_t i = 0; i < ROWS(named); i++)
		if (strcmp(m->method, named[i].method) == 0)
			n = node_get(m->params, named[i].key);
	if (!n || n->type != NODE_STRING)
		return NULL;
	if (!head[WEB_NAME].value)
		return "the header Mcp-Name is missing: it repeats the name or uri in the body";
	name = head_decode(head[WEB_NAME].value, &a);
	return name && strcmp(name, n->text) == 0
		       ? NULL
		       : "the header Mcp-Name is not the name or uri in the body";
}

int web_head_check(const struct serve_header *head, const struct mcp_message *m, const char **ret)
{
	const struct node *version = head_meta_version(m);
	const char *wrong = NULL;

	if (m->kind == MCP_REQUEST && !head[WEB_VERSION].value)
		wrong = "the header MCP-Protocol-Version is missing";
	else if (version && version->type == NODE_STRING && head[WEB_VERSION].value &&
		 strcmp(version->text, head[WEB_VERSION].value) != 0)
		wrong = "the header MCP-Protocol-Version is not the version in _meta";
	else if (head[WEB_METHOD].value && strcmp(head[WEB_METHOD].value, m->method) != 0)
		wrong = "the header Mcp-Method is not the method in the body";
	/* What lacks its _meta is refused for that. */
	else if (m->kind == MCP_REQUEST && version && !head[WEB_METHOD].value)
		wrong = "the header Mcp-Method is missing: it repeats the method in the body";
	else if (m->kind == MCP_REQUEST)
		wrong = head_check_name(head, m);
	if (!wrong)
		return 0;
	*ret = wrong;
	return MCP_HEADER_MISMATCH;
}
