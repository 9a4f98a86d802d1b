/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/remote/mirror.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "codec/encoding.h"

#define MARK "x-mcp-header"
#define SENTINEL "=?base64?"

/* An argument, by the names that lead to it, and its header. */
struct mirror_mark {
	const char **path;
	size_t depth;
	const char *header;
};

struct mirror_tool {
	const char *name;
	struct mirror_mark *marks;
	size_t n, cap;
};

const char *mirror_version(const struct mcp_message *m)
{
	const struct node *meta = node_get(m->params, "_meta");
	const struct node *version = node_get(meta, MIRROR_META_VERSION);

	return version && version->type == NODE_STRING ? version->text : NULL;
}

/* Values */

static bool mirror_is_plain(const char *text, size_t len)
{
	if (len == 0)
		return true;
	if (text[0] == ' ' || text[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return !(len >= sizeof(SENTINEL) + 1 && memcmp(text, SENTINEL, sizeof(SENTINEL) - 1) == 0 &&
		 memcmp(text + len - 2, "?=", 2) == 0);
}

static void mirror_put(struct buffer *out, const char *prefix, const char *name, const char *value)
{
	const size_t len = strlen(value);

	buffer_printf(out, "%s%s: ", prefix, name);
	if (mirror_is_plain(value, len)) {
		buffer_add(out, value, len);
	} else {
		buffer_adds(out, SENTINEL);
		encoding_print(ENCODING_BASE64, value, len, out);
		buffer_adds(out, "?=");
	}
	buffer_addc(out, '\n');
}

static const struct mirror_tool *mirror_find(const struct mirror *mirror, const char *name)
{
	for (size_t i = 0; i < mirror->n; i++)
		if (strcmp(mirror->tools[i].name, name) == 0)
			return &mirror->tools[i];
	return NULL;
}

static void mirror_print_arguments(
	const struct mirror_tool *tool, const struct node *arguments, struct buffer *out)
{
	for (size_t i = 0; tool && i < tool->n; i++) {
		const struct mirror_mark *mark = &tool->marks[i];
		const struct node *value = arguments;

		for (size_t k = 0; value && k < mark->depth; k++)
			value = node_get(value, mark->path[k]);
		if (value && (value->type == NODE_STRING || value->type == NODE_NUMBER ||
				     value->type == NODE_BOOL))
			mirror_put(out, "Mcp-Param-", mark->header, value->text);
	}
}

void mirror_print(const struct mirror *mirror, const struct mcp_message *m, struct buffer *out)
{
	/* By which member its target is named. */
	static const struct {
		const char *method, *member;
	} named[] = { { "tools/call", "name" }, { "prompts/get", "name" },
		{ "resources/read", "uri" } };
	const char *version = mirror_version(m);

	if (version)
		mirror_put(out, "", "MCP-Protocol-Version", version);
	if (!m->method)
		return;
	mirror_put(out, "", "Mcp-Method", m->method);
	for (size_t i = 0; i < ROWS(named); i++) {
		const struct node *name = node_get(m->params, named[i].member);

		if (strcmp(m->method, named[i].method) != 0 || !name || name->type != NODE_STRING)
			continue;
		mirror_put(out, "", "Mcp-Name", name->text);
		if (i == 0)
			mirror_print_arguments(mirror_find(mirror, name->text),
				node_get(m->params, "arguments"), out);
	}
}

/* Schemas */

struct mirror_walk {
	struct mirror_tool *tool;
	struct arena *arena;
	const char *path[MIRROR_DEPTH_MAX];
	const char *why; /* NULL: all is well */
};

static const char *mirror_check_name(const struct mirror_walk *w, const struct node *mark)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (mark->type != NODE_STRING || !mark->text[0] || mark->text[strspn(mark->text, token)])
		return "its " MARK " is no name of a header";
	if (strlen(mark->text) > 128)
		return "its " MARK " is too long";
	for (size_t i = 0; i < w->tool->n; i++)
		if (strcasecmp(w->tool->marks[i].header, mark->text) == 0)
			return "two arguments have the same " MARK;
	return NULL;
}

static const char *mirror_add(struct mirror_walk *w, const struct node *mark, size_t depth)
{
	struct mirror_tool *tool = w->tool;
	struct mirror_mark new = { .depth = depth,
		.path = arena_calloc(w->arena, depth, sizeof(*new.path)),
		.header = arena_strdup(w->arena, mark->text) };
	bool failed = !new.path || !new.header;

	if (tool->n == MIRROR_MARKS_MAX)
		return "too many arguments have an " MARK;
	for (size_t i = 0; i < depth && !failed; i++) {
		new.path[i] = arena_strdup(w->arena, w->path[i]);
		failed = !new.path[i];
	}
	if (failed || ARENA_PUSH(w->arena, tool->marks, tool->n, tool->cap, new) < 0)
		return "out of memory";
	return NULL;
}

static const char *mirror_take(
	struct mirror_walk *w, const struct node *schema, const struct node *mark, size_t depth)
{
	static const char *const types[] = { "string", "integer", "boolean" };
	const struct node *type = node_get(schema, "type");
	const char *why = mirror_check_name(w, mark);
	bool is_known = false;

	for (size_t i = 0; i < ROWS(types); i++)
		is_known |= type && type->type == NODE_STRING && strcmp(type->text, types[i]) == 0;
	if (!why && depth == 0)
		why = "its " MARK " stands where no argument is";
	if (!why && !is_known)
		why = "only a string, an integer or a boolean can have an " MARK;
	return why ? why : mirror_add(w, mark, depth);
}

/* What is in these is a value, and no schema. */
static bool mirror_is_value(const char *key)
{
	static const char *const keys[] = { "default", "const", "enum", "examples" };

	for (size_t i = 0; key && i < ROWS(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

/* depth: of the names that lead here; more than MIRROR_DEPTH_MAX: no argument is here. The reader
 * bounds how deep this goes. */
static void mirror_walk(struct mirror_walk *w, const struct node *n, size_t depth)
{
	const struct node *mark = n->type == NODE_MAP ? node_get(n, MARK) : NULL;

	if (mark && !w->why)
		w->why = mirror_take(w, n, mark, depth > MIRROR_DEPTH_MAX ? 0 : depth);
	if (n->type != NODE_MAP && n->type != NODE_LIST)
		return;
	for (const struct node *child = n->first; child && !w->why; child = child->next) {
		const bool is_list = n->type == NODE_LIST;
		const bool has_names = !is_list && strcmp(child->key, "properties") == 0 &&
				       child->type == NODE_MAP;

		if (!is_list && mirror_is_value(child->key))
			continue;
		if (!has_names) {
			mirror_walk(w, child, MIRROR_DEPTH_MAX + 1);
			continue;
		}
		for (const struct node *p = child->first; p && !w->why; p = p->next) {
			if (depth < MIRROR_DEPTH_MAX)
				w->path[depth] = p->key;
			mirror_walk(
				w, p, depth < MIRROR_DEPTH_MAX ? depth + 1 : MIRROR_DEPTH_MAX + 1);
		}
	}
}

/* Why it is not for the client; NULL: it is. */
static const char *mirror_learn_tool(struct mirror *mirror, const struct node *tool)
{
	const struct node *name = node_get(tool, "name"), *schema = node_get(tool, "inputSchema");
	struct mirror_tool new = { 0 };
	struct mirror_walk w = { .tool = &new, .arena = &mirror->arena };

	if (!name || name->type != NODE_STRING || !schema)
		return NULL;
	mirror_walk(&w, schema, 0);
	if (w.why || new.n == 0)
		return w.why;
	if (mirror->n == MIRROR_TOOLS_MAX)
		return "too many tools have an " MARK;
	new.name = arena_strdup(&mirror->arena, name->text);
	if (!new.name)
		return "out of memory";
	mirror->tools[mirror->n++] = new;
	return NULL;
}

static int mirror_begin(struct mirror *mirror, bool is_first)
{
	if (is_first)
		mirror_deinit(mirror);
	mirror->arena.budget = MIRROR_BYTES_MAX + MIRROR_TOOLS_MAX * sizeof(*mirror->tools);
	if (!mirror->tools)
		mirror->tools =
			arena_calloc(&mirror->arena, MIRROR_TOOLS_MAX, sizeof(*mirror->tools));
	return mirror->tools ? 0 : -ENOMEM;
}

int mirror_learn(struct mirror *mirror, struct node *result, bool is_first, struct buffer *said)
{
	struct node *tools = node_get(result, "tools"), *last = NULL;
	int r = mirror_begin(mirror, is_first), dropped = 0;

	if (r < 0 || !tools || tools->type != NODE_LIST)
		return r;
	for (struct node *tool = tools->first, *next; tool; tool = next) {
		const char *why = mirror_learn_tool(mirror, tool);

		next = tool->next;
		if (!why) {
			last = tool;
			continue;
		}
		dropped++;
		tools->count--;
		*(last ? &last->next : &tools->first) = next;
		buffer_adds(said, "the tool ");
		buffer_add_name(
			said, node_get_text(tool, "name"), strlen(node_get_text(tool, "name")));
		buffer_printf(said, " is left out: %s\n", why);
	}
	tools->last = last;
	return dropped;
}

void mirror_deinit(struct mirror *mirror)
{
	arena_deinit(&mirror->arena);
	*mirror = (struct mirror){ 0 };
}
