/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "codec/json-writer.h"
#include "policy/operation-names.h"

#define PATH(what)                                                                             \
	{                                                                                      \
		"path", SCHEMA_TEXT, true, PATH_BYTES - 1,                                     \
			.help = what ": absolute, or relative to the working folder", .min = 1 \
	}
#define OPERATION                                                              \
	{                                                                      \
		"operation", SCHEMA_CHOICE, true, .words = operation_names,    \
						  .help = "what is to be done" \
	}
#define TARGET                                                                                  \
	{                                                                                       \
		"target", SCHEMA_TEXT, true, 4096,                                              \
			.help = "on what: an absolute path, host:port, a URL, a command line, " \
				"the "                                                          \
				"name of a variable or service",                                \
			.min = 1                                                                \
	}

static const char *const encodings[] = { "utf8", "base64", NULL };
static const char *const http_methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
	"OPTIONS", NULL };

/* clang-format off */
const struct mcp_tool mcp_tools[MCP_TOOLS] = {
	[MCP_EXECUTE_COMMAND] = { "execute_command", "Run a command",
		"Runs a command in the sandbox and returns its exit status and output. The folders of "
		"the policy are the same for all commands; other changes, as in /tmp or the home, "
		"are private to the sandbox.",
		.destroys = true, .is_open = true,
		.params = {
			{ "command", SCHEMA_TEXT, true, 256 << 10,
				.help = "a line for /bin/sh; with `args`, the program", .min = 1 },
			{ "args", SCHEMA_WORDS, false, 256 << 10,
				.help = "arguments of the program, which then runs without a shell" },
			{ "cwd", SCHEMA_TEXT, false, PATH_BYTES - 1,
				.help = "the absolute folder to start in; the working folder if not "
					"given" },
			{ "stdin", SCHEMA_TEXT, false, 1 << 20, .help = "its standard input" },
			{ "timeout_ms", SCHEMA_NUMBER, false, MCP_TIMEOUT_MAX_MS,
				.help = "it is killed after this time; 120000 if not given",
				.min = 1 },
			{ MCP_TOOL_SANDBOX, SCHEMA_TEXT, false, 128,
				.help = "a handle of create_sandbox; without one, the sandbox ends "
					"with the command",
				.min = 1 },
		} },
	[MCP_READ_FILE] = { "read_file", "Read a file",
		"Returns the content of a file, as base64 where it is no text.",
		.reads_only = true,
		.params = { PATH("the file") } },
	[MCP_WRITE_FILE] = { "write_file", "Write a file",
		"Writes a file. One that is there is replaced as a whole.",
		.destroys = true,
		.params = {
			PATH("the file"),
			{ "content", SCHEMA_TEXT, true, MCP_CONTENT_MAX, .help = "all of it" },
			{ "encoding", SCHEMA_CHOICE, false, .words = encodings,
				.help = "how content is written; utf8 if not given" },
		} },
	[MCP_EDIT_FILE] = { "edit_file", "Edit a file",
		"Replaces a text in a file. The text must be there once, or replace_all be true.",
		.destroys = true,
		.params = {
			PATH("the file"),
			{ "old_text", SCHEMA_TEXT, true, MCP_CONTENT_MAX,
				.help = "exactly as it is in the file", .min = 1 },
			{ "new_text", SCHEMA_TEXT, true, MCP_CONTENT_MAX, .help = "in its place" },
			{ "replace_all", SCHEMA_FLAG, false, .help = "wherever it is" },
		} },
	[MCP_LIST_DIRECTORY] = { "list_directory", "List a folder",
		"Lists the entries of a folder that may be read.",
		.reads_only = true,
		.params = {
			PATH("the folder"),
			{ "pattern", SCHEMA_TEXT, false, 4096,
				.help = "only entries that match: * ? [abc] {a,b}; with a slash the "
					"whole path from the folder, and ** across folders" },
			{ "recursive", SCHEMA_FLAG, false, .help = "the folders in it, too" },
		} },
	[MCP_HTTP_REQUEST] = { "http_request", "Make a request over HTTP",
		"Makes one request to a host that the policy grants, and returns status, headers and "
		"body, as base64 where it is no text. Each redirect is checked as the request is.",
		.destroys = true, .is_open = true,
		.params = {
			{ "url", SCHEMA_TEXT, true, 8 << 10, .help = "http or https", .min = 1 },
			{ "method", SCHEMA_CHOICE, false, .words = http_methods,
				.help = "GET if not given" },
			{ "headers", SCHEMA_PAIRS, false, 64 << 10,
				.help = "of the request, by name" },
			{ "body", SCHEMA_TEXT, false, MCP_CONTENT_MAX, .help = "of the request" },
			{ "encoding", SCHEMA_CHOICE, false, .words = encodings,
				.help = "how body is written; utf8 if not given" },
			{ "timeout_ms", SCHEMA_NUMBER, false, 10 * 60 * 1000,
				.help = "for all of it; 30000 if not given", .min = 1 },
		} },
	[MCP_CREATE_SANDBOX] = { "create_sandbox", "Create a sandbox",
		"Returns a handle for execute_command: commands with it share a sandbox, with its "
		"/tmp and home. It ends when it is not used for half an hour.",
		.is_of_handles = true },
	[MCP_END_SANDBOX] = { "end_sandbox", "End a sandbox",
		"Ends a sandbox of create_sandbox, once no command runs in it.",
		.destroys = true, .is_of_handles = true,
		.params = {
			{ MCP_TOOL_SANDBOX, SCHEMA_TEXT, true, 128, .help = "its handle",
				.min = 1 },
		} },
	[MCP_CHECK_PERMISSION] = { "check_permission", "Check a permission",
		"Says whether the policy allows something: allow, ask or deny, and why. Nothing is "
		"done, and no question is asked.",
		.reads_only = true,
		.params = { OPERATION, TARGET } },
	[MCP_REQUEST_PERMISSION] = { "request_permission", "Request a permission",
		"Asks the user for something that the policy asks about. The user answers outside "
		"of this conversation; call the tool that needs it again afterwards.",
		.params = { OPERATION, TARGET } },
	[MCP_EXPLAIN_DENIAL] = { "explain_denial", "Explain a denial",
		"Says which rule denies something, why, and what the user could change to allow it.",
		.reads_only = true,
		.params = { OPERATION, TARGET } },
};
/* clang-format on */

const struct mcp_tool *mcp_tool_find(const char *name, bool handles)
{
	for (size_t i = 0; i < ROWS(mcp_tools); i++)
		if (strcmp(mcp_tools[i].name, name) == 0)
			return mcp_tools[i].is_of_handles && !handles ? NULL : &mcp_tools[i];
	return NULL;
}

/* Without handles there is no argument for one. */
static bool mcp_tool_has(const struct schema_field *f, bool handles)
{
	return handles || strcmp(f->name, MCP_TOOL_SANDBOX) != 0;
}

static void mcp_tool_print(const struct mcp_tool *t, struct json_writer *w, bool handles)
{
	json_open_map(w, NULL);
	json_put_text(w, "name", t->name);
	json_put_text(w, "title", t->title);
	json_put_text(w, "description", t->help);
	json_open_map(w, "inputSchema");
	json_put_text(w, "type", "object");
	json_open_map(w, "properties");
	for (const struct schema_field *f = t->params; f->name; f++)
		if (mcp_tool_has(f, handles))
			schema_print_property(f, w);
	json_close(w);
	json_open_list(w, "required");
	for (const struct schema_field *f = t->params; f->name; f++)
		if (f->required)
			json_put_text(w, NULL, f->name);
	json_close(w);
	json_put_flag(w, "additionalProperties", false);
	json_close(w);
	json_open_map(w, "annotations");
	json_put_flag(w, "readOnlyHint", t->reads_only);
	json_put_flag(w, "destructiveHint", t->destroys);
	json_put_flag(w, "openWorldHint", t->is_open);
	json_close(w);
	json_close(w);
}

void mcp_tools_print(struct json_writer *w, const char *key, bool handles)
{
	json_open_list(w, key);
	for (size_t i = 0; i < ROWS(mcp_tools); i++)
		if (handles || !mcp_tools[i].is_of_handles)
			mcp_tool_print(&mcp_tools[i], w, handles);
	json_close(w);
}

static int mcp_tool_unknown(
	const struct mcp_tool *t, const char *name, bool handles, struct error *e)
{
	struct schema_names names = { .n = 0 };

	(void)error_set(e, -EINVAL, NULL, "%s has no argument `%s`", t->name, name);
	for (const struct schema_field *f = t->params; f->name; f++)
		if (mcp_tool_has(f, handles))
			schema_names_add(&names, f->name);
	schema_names_hint(&names, name, "it has: ", e);
	return -EINVAL;
}

int mcp_tool_check(
	const struct mcp_tool *t, const struct node *arguments, bool handles, struct error *e)
{
	for (const struct schema_field *f = t->params; f->name; f++)
		if (f->required && !node_get(arguments, f->name))
			return error_set(e, -EINVAL, NULL, "%s needs the argument `%s`: %s",
				t->name, f->name, f->help);
	for (const struct node *n = arguments ? arguments->first : NULL; n; n = n->next) {
		const struct schema_field *f = schema_find(t->params, n->key);
		char what[64];
		uint64_t value;

		if (!f || !mcp_tool_has(f, handles))
			return mcp_tool_unknown(t, n->key, handles, e);
		(void)snprintf(what, sizeof(what), "argument `%s`", f->name);
		if (schema_parse_node(f, n, &value) < 0)
			return schema_refuse_node(f, what, n, NULL, e);
	}
	return 0;
}

uint64_t mcp_tool_number(const struct mcp_tool *t, const struct node *arguments, const char *name,
	uint64_t otherwise)
{
	const struct schema_field *f = schema_find(t->params, name);
	const struct node *n = node_get(arguments, name);
	uint64_t value;

	return f && n && schema_parse_node(f, n, &value) == 0 ? value : otherwise;
}
