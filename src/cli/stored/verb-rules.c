/* SPDX-License-Identifier: Apache-2.0 */
/* `corral policy rules`: rules one by one, listed here and changed by rules-edit.c. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/stored/internal.h"

static void rules_print(struct output *o, const struct node *row)
{
	enum { ACTION_COLUMN = 32 };
	const char *const lists[] = { "operations", "patterns" };
	bool enabled = true;

	(void)node_boolean(node_get(row, "enabled"), &enabled);
	output_foreign(o, node_text(node_get(row, "id")));
	output_pad(o, ACTION_COLUMN);
	output_foreign(o, enabled ? node_text(node_get(row, "action")) : "off");
	for (size_t i = 0; i < ROWS(lists); i++) {
		const struct node *list = node_get(row, lists[i]);

		for (const struct node *n = list ? list->first : NULL; n; n = n->next) {
			buffer_addc(&o->text, ' ');
			output_foreign(o, node_text(n) ? node_text(n) : "?");
		}
	}
	buffer_addc(&o->text, '\n');
}

static void rules_put_broken(
	struct json_tree *t, struct node *list, const struct stored_file *f, const struct error *e)
{
	struct node *n = tree_append_map(t, list);

	tree_put_text(t, n, "policy", f->name);
	tree_put_number(t, n, "line", e->line);
	tree_put_text(t, n, "text", e->text);
}

static int rules_list(struct call *c, const struct rules_options *o)
{
	auto_output out = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *broken;
	struct rules_rows rows = { .t = &t, .only = o->rule };
	struct stored_file only = { 0 };
	struct stored_files all = { 0 };
	int r = o->policy ? stored_find(c, &o->place, o->policy, &only) : 0;

	if (r == 1)
		return stored_refuse_absent(c, o->json, o->policy);
	if (r == 0)
		r = stored_list(c, &o->place, &all);
	rows.list = tree_put_list(&t, root, "rules");
	broken = tree_put_list(&t, root, "broken");
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		const struct stored_file *f = &all.items[i];
		struct error e = { 0 };
		auto_buffer text = { 0 };
		struct stat st;

		if (only.name && strcmp(only.name, f->name) != 0)
			continue;
		/* Links are not followed for texts that leave this machine's files. */
		if (stored_read(f, false, &text, &st, &e) < 0 || rules_put(&rows, f, &text, &e) < 0)
			rules_put_broken(&t, broken, f, &e);
	}
	if (r < 0)
		return r;
	if (t.failed || !rows.list)
		return error_no_memory(c->error);
	if (o->rule && !rows.list->first)
		return rules_refuse_absent(c, o, o->rule);
	if (o->json)
		return tree_print(&t, o->rule ? rows.list->first : root, c->error);
	for (const struct node *n = rows.list->first; n; n = n->next)
		rules_print(&out, n);
	if (!rows.list->first && !broken->first)
		output_line(&out, "no rule is stored");
	return output_write(&out, STDOUT_FILENO, c->error);
}

/* What is asked for. Negative: two things at once, or a file too many or too few. */
static int rules_understand(struct call *c, struct rules_options *o, const char **ret_id)
{
	const char *const ids[] = {
		[RULES_REPLACE] = o->replace, [RULES_CHANGE] = o->change, [RULES_REMOVE] = o->remove
	};
	size_t n = o->adds;

	*ret_id = NULL;
	o->what = o->adds ? RULES_ADD : RULES_LIST;
	for (size_t i = 0; i < ROWS(ids); i++) {
		if (!ids[i])
			continue;
		o->what = (enum rules_change)i;
		*ret_id = ids[i];
		n++;
	}
	if (n > 1)
		return options_misused(c, "only one change at a time");
	if (n && o->rule)
		return options_misused(c, "--rule is of the list");
	if (o->etag && !*ret_id)
		return options_misused(c, "--etag is of a rule that is changed");
	if ((c->n == 1) != (n == 1 && o->what != RULES_REMOVE))
		return options_misused(
			c, "FILE is needed for --add, --replace and --change, and only there");
	return 0;
}

static int verb_stored_rules_run(struct call *c)
{
	struct rules_options o = { 0 };
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT,
			  .help = "only rules of this policy; of --add: where it goes" },
			0, "NAME", .target = &o.policy },
		{ { "rule", SCHEMA_TEXT, .help = "only this rule, POLICY:RULE" }, 0, "ID",
			.target = &o.rule },
		{ { "add", SCHEMA_FLAG, .help = "add the rule in FILE" }, .target = &o.adds },
		{ { "replace", SCHEMA_TEXT, .help = "a rule becomes what FILE says" }, 0, "ID",
			.target = &o.replace },
		{ { "change", SCHEMA_TEXT, .help = "the keys in FILE are changed, others stay" }, 0,
			"ID", .target = &o.change },
		{ { "remove", SCHEMA_TEXT, .help = "remove a rule" }, 0, "ID",
			.target = &o.remove },
		{ { "etag", SCHEMA_TEXT, .help = "only if the rule still has this etag" }, 0,
			"ETAG", .target = &o.etag },
		STORED_SYSTEM(&o.system),
		OPTIONS_JSON(&o.json),
	};
	const char *id = NULL;
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = rules_understand(c, &o, &id);
	if (r == 0)
		r = stored_open_place(c, o.system, &o.place);
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	return o.what == RULES_LIST ? rules_list(c, &o) : rules_edit(c, &o, id);
}

const struct verb verb_stored_rules = {
	.name = "rules",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "list the rules of stored policies, or change one",
	.description =
		"Lists each rule of the stored policies with its id, POLICY:RULE. A rule of "
		"default.json and custom/*.json can be added, replaced, changed and removed: FILE "
		"(- is standard input) is a JSON object with name, action, target, operations, "
		"patterns, methods, enabled and priority, and the id of a new one, which goes to "
		"custom/rules unless --policy says where. Rules and entries of other "
		"policies are listed, and are changed with `corral policy save`. A change is a "
		"version of the policy: "
		"`corral policy undo` takes it back.\n"
		"action is deny, approval (ask) or allow. operations are a list of http_request, "
		"file_read, file_list, file_write, exec, open_url and secret_inject, or [\"*\"] "
		"for "
		"all. Without operations, target says what the patterns are: url, command, "
		"filesystem or process.\n"
		"Exit status: 0 done, 1 it is not a rule, 4 it was changed meanwhile (--etag), or "
		"cannot be changed here, 5 there is no such rule or policy, 2 an error.",
	.examples = "corral policy rules\n"
		    "corral policy rules --add --policy custom/team rule.json\n"
		    "corral policy rules --remove custom/team:no-push\n",
	.operand = "FILE",
	.min = 0,
	.max = 1,
	.run = verb_stored_rules_run,
};
