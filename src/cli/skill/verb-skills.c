/* SPDX-License-Identifier: Apache-2.0 */
/* `corral skills`: all skills that are known, and the approval of one as it was seen. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/options.h"
#include "cli/skill/inspection.h"
#include "cli/skill/reading.h"
#include "skill/inventory.h"

struct skills_settings {
	bool json;
	const char *config, *digest;
};

#define SKILLS_CONFIG(to)                                                                      \
	{                                                                                      \
		{ "config", SCHEMA_TEXT,                                                       \
			.help = "read `skills` from this daemon.json instead of the user's" }, \
			0, "FILE", .target = to                                                \
	}

/* For people */

static enum output_style skills_style(const char *state)
{
	return strcmp(state, "approved") == 0  ? OUTPUT_GREEN
	       : strcmp(state, "changed") == 0 ? OUTPUT_RED
					       : OUTPUT_YELLOW;
}

/* "approved   low       weather  /home/me/skills/weather" */
static void skills_print_entry(struct output *o, const struct node *entry)
{
	enum { RISK = 12, NAME = 22, PLACE = 48 };
	const char *const name = node_get_text(entry, "name");
	const char *const error = node_get_text(entry, "error");
	const char *const hint = node_get_text(entry, "hint");

	output_styled(
		o, skills_style(node_get_text(entry, "state")), node_get_text(entry, "state"));
	output_pad(o, RISK);
	buffer_adds(&o->text, node_get_text(entry, "risk"));
	output_pad(o, NAME);
	output_cut(o, OUTPUT_PLAIN, *name ? name : "-", PLACE - NAME - 2);
	output_pad(o, PLACE);
	output_foreign(o, node_get_text(entry, "path"));
	buffer_addc(&o->text, '\n');
	if (error[0] || node_get_text(entry, "fault")[0]) {
		output_pad(o, RISK);
		output_foreign(o, error[0] ? error : node_get_text(entry, "fault"));
		buffer_adds(&o->text, hint[0] ? "; " : "");
		output_foreign(o, hint);
		buffer_addc(&o->text, '\n');
	}
}

static int skills_print_list(struct call *c, const struct node *root)
{
	auto_output o = output_for(STDOUT_FILENO);
	const struct node *list = node_get(root, "skills");

	if (!list || !list->first)
		buffer_adds(&o.text, "no skills were found; corral-skills(1) lists the folders\n");
	else
		node_for_each(entry, list)
			skills_print_entry(&o, entry);
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* What cannot be read or stored is an answer; that memory ran out is none. */
static int skills_refuse(struct call *c, const struct skills_settings *s, int r)
{
	return r == -ENOMEM ? r : verb_refuse(c, s->json, STATUS_NO);
}

/* The list */

/* One that cannot be read does not keep the others from being listed. */
static void skills_put_entry(
	struct call *c, struct json_tree *t, struct node *list, const struct reading *r)
{
	auto_document d = { 0 };
	struct node *entry = tree_append_map(t, list);
	int err = r->ms ? reading_run(c, r, &d, NULL)
			: error_set(c->error, -ETIME, NULL,
				  "not read: the time for the list was over");

	reading_put_head(t, entry, r->item, err < 0 ? NULL : &d);
	if (err < 0) {
		tree_put_text(t, entry, "error", c->error->text);
		tree_put_text(t, entry, "hint", c->error->hint[0] ? c->error->hint : NULL);
		*c->error = (struct error){ 0 };
	} else {
		tree_put(t, entry, "error", NULL);
		reading_put_rest(t, entry, &d);
	}
}

static int skills_run_list(struct call *c)
{
	struct skills_settings s = { 0 };
	const struct options_row rows[] = {
		OPTIONS_JSON(&s.json),
		SKILLS_CONFIG(&s.config),
	};
	const uint64_t until = clock_ms(CLOCK_MONOTONIC) + READING_LISTS_MS;
	struct json_tree t = { .arena = c->arena };
	struct catalog all = { 0 };
	struct node *root, *list;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = catalog_open(&all, c, s.config);
	if (r < 0)
		return skills_refuse(c, &s, r);
	root = tree_map(&t);
	list = tree_put_list(&t, root, "skills");
	for (size_t i = 0; i < all.n; i++) {
		const uint64_t now = clock_ms(CLOCK_MONOTONIC);
		const struct reading reading = { .kind = READING_ENTRY,
			.catalog = &all,
			.item = &all.items[i],
			.ms = now < until ? until - now : 0 };

		skills_put_entry(c, &t, list, &reading);
	}
	tree_put_flag(&t, root, "more", all.more);
	list = tree_put_list(&t, root, "folders");
	for (size_t i = 0; i < all.n_folders; i++)
		tree_append_text(&t, list, all.folders[i]);
	if (t.failed)
		return error_no_memory(c->error);
	return s.json ? tree_print(&t, root, c->error) : skills_print_list(c, root);
}

/* One of them */

/* Finds the skill and reads it. Positive: a status, and that was answered. */
static int skills_read(struct call *c, const struct skills_settings *s, enum reading_kind kind,
	struct catalog *all, struct catalog_item *item, struct document *d, struct buffer *rest)
{
	auto_output out = output_for(STDOUT_FILENO);
	const struct reading reading = { .kind = kind,
		.catalog = all,
		.item = item,
		.ms = READING_MS,
		.colour = output_is_coloured(&out) };
	int r = catalog_find(c, s->config, c->words[0], all, item);

	if (r < 0)
		return skills_refuse(c, s, r);
	if (r == 1) {
		(void)error_set(c->error, -ENOENT, NULL, "there is no skill `%.80s`", c->words[0]);
		error_hint(
			c->error, "give its folder, as `corral skills list` shows it, or its id");
		return verb_refuse(c, s->json, STATUS_ABSENT);
	}
	if (kind == READING_CHANGES && !item->record) {
		(void)error_set(c->error, -ENOENT, NULL, "%s was never approved", item->path);
		error_hint(c->error, "`corral skills show` says what it is now");
		return verb_refuse(c, s->json, STATUS_ABSENT);
	}
	r = reading_run(c, &reading, d, rest);
	return r < 0 ? skills_refuse(c, s, r) : 0;
}

static int skills_print_read(
	struct call *c, const struct catalog_item *item, const struct document *d)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	if (!root)
		return error_no_memory(c->error);
	reading_put_head(&t, root, item, d);
	reading_put_rest(&t, root, d);
	return tree_print(&t, root, c->error);
}

static int skills_run_show(struct call *c)
{
	struct skills_settings s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json), SKILLS_CONFIG(&s.config) };
	struct catalog all = { 0 };
	struct catalog_item item = { 0 };
	auto_document d = { 0 };
	auto_output o = { 0 };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = skills_read(c, &s, s.json ? READING_WHOLE : READING_TEXT, &all, &item, &d, &o.text);
	if (r != 0)
		return r;
	return s.json ? skills_print_read(c, &item, &d) : output_write(&o, STDOUT_FILENO, c->error);
}

/* What changed */

static void skills_print_lines(
	struct output *o, const struct node *lines, const char *heading, const char *mark)
{
	if (!lines || !lines->first)
		return;
	output_heading(o, heading);
	node_for_each(line, lines) {
		buffer_printf(&o->text, "  %s ", mark);
		output_foreign(o, node_text(line) ? node_text(line) : "");
		buffer_addc(&o->text, '\n');
	}
}

static void skills_print_files(struct output *o, const struct document *d)
{
	const struct node *files = node_get(d->root, "files");

	output_heading(o, "Files");
	if (strcmp(node_get_text(d->root, "files_known"), "true") != 0)
		buffer_adds(&o->text, "  what it held then was not recorded; approve it again\n");
	else if (!files || !files->first)
		buffer_adds(&o->text, "  none changed\n");
	for (const struct node *file = files ? files->first : NULL; file; file = file->next) {
		buffer_printf(&o->text, "  %-8s ", node_get_text(file, "change"));
		output_foreign(o, node_get_text(file, "path"));
		if (node_get_text(file, "was")[0])
			buffer_printf(&o->text, " (was a %s, is a %s)", node_get_text(file, "was"),
				node_get_text(file, "kind"));
		buffer_addc(&o->text, '\n');
	}
	if (strcmp(node_get_text(d->root, "more_files"), "true") == 0)
		buffer_adds(&o->text, "  … and more than can be listed\n");
}

static int skills_print_changes(
	struct call *c, const struct catalog_item *item, const struct document *d)
{
	auto_output o = output_for(STDOUT_FILENO);
	const struct node *permissions = node_get(d->root, "permissions"),
			  *added = node_get(permissions, "added"),
			  *removed = node_get(permissions, "removed");
	const char *state = reading_state(item, d);

	output_styled(&o, skills_style(state), state);
	buffer_adds(&o.text, "  ");
	output_foreign(&o, item->path);
	buffer_printf(&o.text, "\nthen  %s, approved at %s\nnow   %s\n", item->record->digest,
		item->record->approved_at, node_get_text(d->root, "digest"));
	skills_print_files(&o, d);
	if (strcmp(node_get_text(d->root, "permissions_known"), "true") != 0)
		buffer_adds(&o.text, "\nThe permissions that were approved are not known.\n");
	else if (added && !added->first && removed && !removed->first)
		buffer_adds(&o.text, "\nPermissions\n  none changed\n");
	skills_print_lines(&o, added, "What it could do now", "+");
	skills_print_lines(&o, removed, "What it asks for no more", "-");
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int skills_run_changes(struct call *c)
{
	struct skills_settings s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json), SKILLS_CONFIG(&s.config) };
	struct catalog all = { 0 };
	struct catalog_item item = { 0 };
	auto_document d = { 0 };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = skills_read(c, &s, READING_CHANGES, &all, &item, &d, NULL);
	if (r != 0)
		return r;
	return s.json ? skills_print_read(c, &item, &d) : skills_print_changes(c, &item, &d);
}

/* Approval */

static int skills_refuse_changed(struct call *c, const struct skills_settings *s,
	const struct catalog_item *item, const char *digest)
{
	(void)error_set(c->error, -ESTALE, NULL,
		"%s is not what was seen: its digest is %s now; nothing was approved", item->path,
		digest);
	error_hint(c->error, "look at it again (corral skills show)");
	return verb_refuse(c, s->json, STATUS_CHANGED);
}

/* The digest is the person's, and the stream is what has it: the child that read it cannot lie. */
static int skills_store(struct call *c, const struct catalog *all, const struct catalog_item *item,
	const struct document *d, const struct buffer *stream)
{
	struct approval a = { .folder = all->approvals,
		.skill = item->path,
		.permissions = node_get_text(d->root, "permissions") };
	struct skill_digest digest = { 0 };
	struct skill_inventory read;
	const char *hex = node_get_text(d->root, "digest");

	if (skill_digest_parse(hex, &digest) < 0)
		return error_set(c->error, -EINVAL, NULL, "`%.80s` is no digest", hex);
	a.digest = digest;
	if (stream->len &&
		skill_inventory_read(stream->data, stream->len, &digest, c->arena, &read) == 0)
		a.entries = stream;
	return approval_store(&a, c->error);
}

static int skills_print_approved(struct call *c, const struct skills_settings *s,
	const struct catalog_item *item, const struct document *d)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	if (!s->json) {
		output_styled(&o, OUTPUT_GREEN, "approved");
		buffer_adds(&o.text, "  ");
		output_foreign(&o, item->path);
		buffer_printf(&o.text, "  %s\n", s->digest);
		return output_write(&o, STDOUT_FILENO, c->error);
	}
	tree_put_text(&t, root, "id", item->id);
	tree_put_text(&t, root, "path", item->path);
	tree_put_text(&t, root, "name", node_get_text(d->root, "name"));
	tree_put_text(&t, root, "state", "approved");
	tree_put_text(&t, root, "digest", s->digest);
	return tree_print(&t, root, c->error);
}

static int skills_run_approve(struct call *c)
{
	struct skills_settings s = { 0 };
	const struct options_row rows[] = {
		OPTIONS_JSON(&s.json),
		{ { "digest", SCHEMA_TEXT, true, .help = "what was seen, as show prints it" }, 0,
			"DIGEST", .target = &s.digest },
		SKILLS_CONFIG(&s.config),
	};
	struct catalog all = { 0 };
	struct catalog_item item = { 0 };
	auto_document d = { 0 };
	auto_buffer stream = { 0 };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = skills_read(c, &s, READING_APPROVE, &all, &item, &d, &stream);
	if (r != 0)
		return r;
	if (strcmp(node_get_text(d.root, "digest"), s.digest) != 0)
		return skills_refuse_changed(c, &s, &item, node_get_text(d.root, "digest"));
	r = skills_store(c, &all, &item, &d, &stream);
	return r < 0 ? skills_refuse(c, &s, r) : skills_print_approved(c, &s, &item, &d);
}

static const struct verb skills_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "list the skills that are known, with risk and approval",
	.description = "Lists the skills in the folders where agents keep theirs, in those that "
		       "daemon.json names, and those that were approved. Each is read by a process "
		       "that can do nothing else; one that cannot be read is listed with the "
		       "reason.\n"
		       "Exit status: 0; 1 the folder of approvals, or daemon.json, cannot be "
		       "read; 2 an error.",
	.examples =
		"corral skills list\n"
		"corral skills list --json | jq -r '.skills[] | select(.state == \"changed\")'\n",
	.run = skills_run_list,
};

static const struct verb skills_show = {
	.name = "show",
	.synopsis = "[OPTION]... SKILL",
	.summary = "show what a skill requests and what looks risky in it",
	.description =
		"Says what `corral inspect` says, of a skill by its id or its folder, read by "
		"a process that can do nothing else.\n"
		"Exit status: 0; 1 it cannot be read; 5 there is no such skill; 2 an error.",
	.examples = "corral skills show ~/.claude/skills/weather\n"
		    "corral skills show --json ~/.claude/skills/weather | jq .digest\n",
	.operand = "SKILL",
	.min = 1,
	.max = 1,
	.run = skills_run_show,
};

static const struct verb skills_changes = {
	.name = "changes",
	.synopsis = "[OPTION]... SKILL",
	.summary = "list what of a skill is not as it was approved",
	.description = "Lists the files that were added, changed and removed since the skill was "
		       "approved, and the permissions that are new or gone.\n"
		       "Exit status: 0; 1 it cannot be read; 5 there is no such skill, or it was "
		       "never approved; 2 an error.",
	.examples = "corral skills changes ~/.claude/skills/weather\n",
	.operand = "SKILL",
	.min = 1,
	.max = 1,
	.run = skills_run_changes,
};

static const struct verb skills_approve = {
	.name = "approve",
	.synopsis = "--digest DIGEST [OPTION]... SKILL",
	.summary = "approve a skill, if it is still what was seen",
	.description = "Approves the skill without asking, if its content has this digest. "
		       "`corral approve` shows it and asks.\n"
		       "Exit status: 0 approved; 1 it cannot be read; 4 it is not what was seen; 5 "
		       "there is no such skill; 2 an error.",
	.examples = "digest=$(corral skills show --json ./weather | jq -r .digest)\n"
		    "corral skills approve --digest \"$digest\" ./weather\n",
	.operand = "SKILL",
	.min = 1,
	.max = 1,
	.run = skills_run_approve,
};

const struct verb verb_skills = {
	.name = "skills",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "list skills, what changed in them, and approve them",
	.description =
		"Lists the skills that are known, and compares one with what was approved. A "
		"skill is named by its folder, or by its id, which list --json prints.",
	.examples = "corral skills list\n"
		    "corral skills changes ~/.claude/skills/weather\n",
	.verbs = (const struct verb *const[]){ &skills_list, &skills_show, &skills_changes,
		&skills_approve, NULL },
};
