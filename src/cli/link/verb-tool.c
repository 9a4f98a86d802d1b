/* SPDX-License-Identifier: Apache-2.0 */
/* `corral tool`: tools of the servers of `corral link`, by hand. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/link/internal.h"
#include "cli/link/tools.h"
#include "cli/output.h"
#include "codec/json.h"

enum { TOOL_COLUMN = 28, TOOL_ARGUMENTS_MAX = 128 };

/* list, search */

static bool tool_has_word(const struct node *tool, const char *word)
{
	return !word || strcasestr(node_get_text(tool, "name"), word) ||
	       strcasestr(node_get_text(tool, "description"), word);
}

static int tool_list_json(struct call *c, const struct link_tools *t, const char *word)
{
	struct json_tree tree = { .arena = c->arena };
	struct node *root = tree_map(&tree), *list = tree_put_list(&tree, root, "tools");

	node_for_each(x, link_tools_all(t)) {
		struct node *copy = tool_has_word(x, word) ? node_copy(c->arena, x) : NULL;

		if (copy && list)
			(void)node_append(list, copy);
	}
	return tree_print(&tree, root, c->error);
}

/* What servers say is foreign: it is made visible, and one line of it is shown. */
static int tool_list_print(struct call *c, const struct link_tools *t, const char *word)
{
	auto_output o = output_for(STDOUT_FILENO);

	node_for_each(x, link_tools_all(t)) {
		const char *what = node_get_text(x, "description");
		auto_buffer line = { 0 };

		if (!tool_has_word(x, word))
			continue;
		buffer_add(&line, what, strcspn(what, "\r\n"));
		output_name(&o, node_get_text(x, "name"));
		output_pad(&o, TOOL_COLUMN);
		output_cut(&o, OUTPUT_DIM, buffer_text(&line), OUTPUT_WIDE - TOOL_COLUMN);
		buffer_addc(&o.text, '\n');
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int tool_list(struct call *c, size_t words)
{
	bool json = false;
	auto_link_tools t = { 0 };
	const struct options_row rows[] = {
		OPTIONS_JSON(&json),
	};
	const char *word;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	word = words > 1 ? c->words[1] : NULL;
	r = link_tools_open(&t, c, c->words[0]);
	if (r == 0)
		r = json ? tool_list_json(c, &t, word) : tool_list_print(c, &t, word);
	return r == -ENOENT ? verb_refuse(c, json, STATUS_ABSENT) : r < 0 ? r : STATUS_YES;
}

static int verb_tool_list_run(struct call *c)
{
	return tool_list(c, 1);
}

static int verb_tool_search_run(struct call *c)
{
	return tool_list(c, 2);
}

/* run */

static const char *tool_type(const struct node *tool, const char *key)
{
	const struct node *properties = node_get(node_get(tool, "inputSchema"), "properties");

	return node_get_text(node_get(properties, key), "type");
}

/* As the tool has it: text, or what the text means as JSON. */
static int tool_put(struct call *c, const struct node *tool, struct node *map, const char *word)
{
	const char *equals = strchr(word, '=');
	const char *key = equals ? arena_strndup(c->arena, word, (size_t)(equals - word)) : NULL;
	struct node *value = NULL;

	if (!equals || equals == word)
		return options_misused(c, "`%s` is not KEY=VALUE", word);
	if (!key)
		return error_no_memory(c->error);
	if (node_get(map, key))
		return options_misused(c, "%s is there twice", key);
	if (!*tool_type(tool, key) || strcmp(tool_type(tool, key), "string") == 0) {
		value = node_new_text(c->arena, equals + 1);
	} else {
		auto_document d = { 0 };
		int r = json_read(&d, key, equals + 1, strlen(equals + 1), c->error);

		if (r < 0) {
			error_hint(c->error, "%s is of the type %s", key, tool_type(tool, key));
			return r;
		}
		value = node_copy(c->arena, d.root);
	}
	return node_put(c->arena, map, key, value) ? 0 : error_no_memory(c->error);
}

static int tool_find(const struct link_tools *t, const char *name, const struct node **ret)
{
	struct error *e = t->call->error;

	*ret = link_tools_find(t, name);
	if (*ret)
		return 0;
	(void)error_set(e, -ENOENT, NULL, "the server has no tool `%s`", name);
	error_hint(e, "corral tool list %s", t->call->words[0]);
	return -ENOENT;
}

static int tool_run(struct call *c, struct link_tools *t, bool json, struct buffer *out)
{
	struct node *arguments = node_new(c->arena, NODE_MAP);
	const struct node *tool = NULL;
	int r = arguments ? tool_find(t, c->words[1], &tool) : error_no_memory(c->error);

	for (size_t i = 2; r == 0 && i < c->n; i++)
		r = tool_put(c, tool, arguments, c->words[i]);
	return r < 0 ? r : link_tools_run(t, c->words[1], arguments, json, out);
}

static void tool_print_lines(struct output *o, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		buffer_add_visible(&o->text, text, len);
		buffer_addc(&o->text, '\n');
		text += len + (text[len] == '\n');
	}
}

static int verb_tool_run_run(struct call *c)
{
	bool json = false;
	auto_output o = output_for(STDOUT_FILENO);
	auto_link_tools t = { 0 };
	auto_buffer answer = { 0 };
	const struct options_row rows[] = {
		OPTIONS_JSON(&json),
	};
	int r = options_parse(c, rows, ROWS(rows)), failed;

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = link_tools_open(&t, c, c->words[0]);
	if (r == 0)
		r = tool_run(c, &t, json, &answer);
	if (r < 0)
		return r == -ENOENT ? verb_refuse(c, json, STATUS_ABSENT) : r;
	failed = r;
	/* On a terminal it must not move the cursor; a program gets it as it is. */
	if (isatty(STDOUT_FILENO) && !json)
		tool_print_lines(&o, buffer_text(&answer));
	else
		buffer_add(&o.text, buffer_text(&answer), answer.len);
	r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : failed ? STATUS_NO : STATUS_YES;
}

static const struct verb verb_tool_list = {
	.name = "list",
	.synopsis = "[OPTION]... SERVER",
	.summary = "the tools of a server",
	.description = "SERVER is the name of a login of `corral link`. The server is reached from "
		       "a sandbox with its one host, in which the token is a placeholder.",
	.examples = "corral tool list linear\n",
	.operand = "SERVER",
	.offer = link_offer,
	.min = 1,
	.max = 1,
	.run = verb_tool_list_run,
};

static const struct verb verb_tool_search = {
	.name = "search",
	.synopsis = "[OPTION]... SERVER WORD",
	.summary = "those with a word in their name or description",
	.description = "The same for the tools that have WORD in their name or description, in "
		       "capitals or not.",
	.examples = "corral tool search linear issue\n",
	.operand = "SERVER and WORD",
	.min = 2,
	.max = 2,
	.run = verb_tool_search_run,
};

static const struct verb verb_tool_run = {
	.name = "run",
	.synopsis = "[OPTION]... SERVER TOOL [KEY=VALUE]...",
	.summary = "call a tool, and print its result",
	.description =
		"Values are texts, or JSON where the tool says that it takes a number, a list or "
		"another type. With --json the whole answer is printed. Exit status: 1 if the tool "
		"says that it failed, 5 if there is no such tool or login.",
	.examples = "corral tool run linear list_issues project=web limit=5\n",
	.operand = "SERVER and TOOL",
	.min = 2,
	.max = 2 + TOOL_ARGUMENTS_MAX,
	.run = verb_tool_run_run,
};

static const struct verb *const verb_tool_verbs[] = {
	&verb_tool_list,
	&verb_tool_search,
	&verb_tool_run,
	NULL,
};

const struct verb verb_tool = {
	.name = "tool",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "list and call tools of servers that you logged in to",
	.description = "Tools of MCP servers, by hand or from a script, with the logins of `corral "
		       "link`. The token is in no process that this starts but the one that puts "
		       "it into requests to the server.",
	.examples = "corral tool list linear\n"
		    "corral tool run linear list_issues project=web\n",
	.verbs = verb_tool_verbs,
};
