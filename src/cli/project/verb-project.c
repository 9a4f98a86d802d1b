/* SPDX-License-Identifier: Apache-2.0 */
/* corral project: look at the corral.yaml of a project, approve it, and take that back. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/diff.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/project/internal.h"

struct project_settings {
	bool yes, json;
};

static int project_parse(struct call *c, struct project_settings *s, bool has_yes)
{
	const struct options_row rows[] = {
		OPTIONS_JSON(&s->json),
		{ { "yes", SCHEMA_FLAG, .help = "approve without asking" }, 'y',
			.target = &s->yes },
	};

	return options_parse(c, rows, ROWS(rows) - !has_yes);
}

/* The file of the project that DIR is in, or the current folder. */
static int project_open_from(struct project *p, struct call *c, const char *named)
{
	char real[PATH_BYTES];
	const char *home = NULL;
	int r = project_named_folder(c, named, real, &home);

	if (r == 0)
		r = project_open(p, c, real, home);
	if (r == 0 && !p->path) {
		(void)error_set(c->error, -ENOENT, NULL,
			"there is no " PROJECT_NAME " in %s or above it", real);
		error_hint(c->error, "`corral init` proposes one");
		return -ENOENT;
	}
	if (r == 0 && p->ignored)
		r = error_set(c->error, -EPERM, NULL, "%s: its folder %s, so it is not trusted",
			p->path, p->ignored);
	return r;
}

static int project_open_named(struct project *p, struct call *c)
{
	return project_open_from(p, c, c->n ? c->words[0] : ".");
}

void project_offer(struct call *c, struct buffer *out)
{
	struct error none = { 0 }, *said = c->error;
	auto_project p = { 0 };

	c->error = &none;
	(void)project_open_from(&p, c, ".");
	for (size_t i = 0; i < p.file.n_commands; i++) {
		const struct project_command *one = &p.file.commands[i];

		buffer_printf(out, "%s\t", one->name);
		for (size_t k = 0; k < one->n; k++) {
			buffer_adds(out, k ? " " : "");
			buffer_add_visible(out, one->words[k], strlen(one->words[k]));
		}
		buffer_addc(out, '\n');
	}
	c->error = said;
}

static int project_print_json(const struct project *p, struct call *c, const char *what)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *map;
	char digest[SKILL_DIGEST_HEX];

	skill_digest_hex(&p->approval.digest, digest);
	tree_put_text(&t, root, "path", p->path);
	tree_put_text(&t, root, "digest", digest);
	tree_put_flag(&t, root, "approved", p->outcome == APPROVAL_CURRENT);
	tree_put_text(&t, root, "approval", what);
	tree_put_text(&t, root, "preset", p->file.preset);
	map = tree_put_list(&t, root, "with");
	for (size_t i = 0; i < p->file.n_packs; i++)
		tree_append_text(&t, map, p->file.packs[i]);
	map = tree_put_map(&t, root, "commands");
	for (size_t i = 0; i < p->file.n_commands; i++) {
		struct node *words = tree_put_list(&t, map, p->file.commands[i].name);

		for (size_t k = 0; k < p->file.commands[i].n; k++)
			tree_append_text(&t, words, p->file.commands[i].words[k]);
	}
	return tree_print(&t, root, c->error);
}

static int project_answer(
	const struct project *p, struct call *c, const struct project_settings *s, const char *what)
{
	const bool is_approved = p->outcome == APPROVAL_CURRENT;
	auto_output o = output_for(STDOUT_FILENO);
	int r;

	if (s->json) {
		r = project_print_json(p, c, what);
	} else {
		output_styled(&o, is_approved ? OUTPUT_GREEN : OUTPUT_RED,
			is_approved ? "approved" : "not approved");
		buffer_adds(&o.text, "  ");
		output_name(&o, p->path);
		buffer_printf(&o.text, "  %s\n", what);
		r = output_write(&o, STDOUT_FILENO, c->error);
	}
	return r;
}

static int verb_project_show_run(struct call *c)
{
	struct project_settings s = { 0 };
	auto_project p = { 0 };
	auto_output o = output_for(STDOUT_FILENO);
	int r = project_parse(c, &s, false);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = project_open_named(&p, c);
	if (r == 0 && s.json)
		r = project_print_json(&p, c, project_outcome(&p));
	else if (r == 0)
		r = project_show(&p, c, &o);
	if (r == 0 && !s.json)
		r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : p.outcome == APPROVAL_CURRENT ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_project_show = {
	.name = "show",
	.synopsis = "[OPTION]... [DIR]",
	.summary = "show the file, whether it is approved, and what it grants",
	.description = "Shows the corral.yaml of the project that DIR (the current folder) is in: "
		       "its text, or what changed since it was approved, and in plain words what "
		       "it grants.\n"
		       "Exit status: 0 it is approved, 1 it is not, 2 an error.",
	.examples = "corral project show\n"
		    "corral project show --json ~/src/site | jq .commands\n",
	.operand = "DIR",
	.max = 1,
	.run = verb_project_show_run,
};

static int project_decide(struct project *p, struct call *c, const struct project_settings *s)
{
	/* Whom it asks, sees it; a program gets just the answer. */
	const int fd = s->json ? STDERR_FILENO : STDOUT_FILENO;
	auto_output o = output_for(fd);
	int r = 0;

	if (p->outcome == APPROVAL_CURRENT)
		return 0;
	if (!s->yes && !isatty(STDIN_FILENO)) {
		r = error_set(c->error, -ENOTTY, NULL,
			"cannot ask for confirmation without a terminal; nothing was approved");
		error_hint(c->error,
			"review it (corral project show %s), then approve it with --yes",
			p->folder);
		return r;
	}
	if (!s->json || !s->yes) {
		r = project_show(p, c, &o);
		if (r == 0)
			r = output_write(&o, fd, c->error);
	}
	if (r == 0 && (s->yes || project_ask("Approve exactly this content for this project?")))
		r = project_approve(p, c);
	return r;
}

static int verb_project_approve_run(struct call *c)
{
	struct project_settings s = { 0 };
	auto_project p = { 0 };
	const char *what = "already approved and unchanged";
	int r = project_parse(c, &s, true), before;

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = project_open_named(&p, c);
	before = p.outcome;
	if (r == 0)
		r = project_decide(&p, c, &s);
	if (p.outcome != APPROVAL_CURRENT)
		what = "not approved: the answer was not yes";
	else if (before != APPROVAL_CURRENT)
		what = "this content is now approved";
	if (r == 0)
		r = project_answer(&p, c, &s, what);
	return r < 0 ? r : p.outcome == APPROVAL_CURRENT ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_project_approve = {
	.name = "approve",
	.synopsis = "[OPTION]... [DIR]",
	.summary = "approve the current content of the file",
	.description =
		"Shows what `corral project show` shows, asks for confirmation, and records the "
		"digest of the file for just this path. A change ends the approval, and the next "
		"run shows it. Without a terminal, nothing is approved unless --yes is given.\n"
		"Exit status: 0 approved, 1 not approved, 2 an error.",
	.examples = "corral project approve\n"
		    "corral project approve --yes ~/src/site\n",
	.operand = "DIR",
	.max = 1,
	.run = verb_project_approve_run,
};

static int verb_project_diff_run(struct call *c)
{
	struct project_settings s = { 0 };
	auto_project p = { 0 };
	auto_output o = output_for(STDOUT_FILENO);
	int r = project_parse(c, &s, false);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = project_open_named(&p, c);
	if (r < 0)
		return r;
	if (s.json) {
		struct json_tree t = { .arena = c->arena };
		struct node *root = tree_map(&t);

		tree_put_text(&t, root, "path", p.path);
		tree_put_flag(&t, root, "changed", p.outcome != APPROVAL_CURRENT);
		tree_put_text(&t, root, "approved_text",
			p.outcome == APPROVAL_CURRENT ? buffer_text(&p.text)
			: p.before.len                ? p.before.data
						      : NULL);
		tree_put_text(&t, root, "text", buffer_text(&p.text));
		r = tree_print(&t, root, c->error);
		return r < 0 ? r : p.outcome == APPROVAL_CURRENT ? STATUS_YES : STATUS_NO;
	}
	if (p.outcome != APPROVAL_CURRENT)
		diff_print(&o, "  ", buffer_text(&p.before), p.before.len, buffer_text(&p.text),
			p.text.len);
	r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : p.outcome == APPROVAL_CURRENT ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_project_diff = {
	.name = "diff",
	.synopsis = "[OPTION]... [DIR]",
	.summary = "show what changed since the file was approved",
	.description = "Prints the lines of corral.yaml that differ from what was last approved; "
		       "of a file that never was, all of them.\n"
		       "Exit status: 0 nothing changed, 1 something did, 2 an error.",
	.examples = "corral project diff\n"
		    "corral project diff ~/src/site || echo changed\n",
	.operand = "DIR",
	.max = 1,
	.run = verb_project_diff_run,
};

static int verb_project_revoke_run(struct call *c)
{
	struct project_settings s = { 0 };
	auto_project p = { 0 };
	int r = project_parse(c, &s, false), removed;

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = project_open_named(&p, c);
	/* What is broken, or not trusted any more, can be revoked as well. */
	if (r < 0 && p.approval.folder) {
		*c->error = (struct error){ 0 };
		r = 0;
	}
	if (r < 0)
		return r;
	removed = project_revoke(&p, c);
	if (removed < 0)
		return removed;
	p.outcome = APPROVAL_NONE;
	r = project_answer(
		&p, c, &s, removed == 0 ? "the approval was removed" : "there was no approval");
	return r < 0 ? r : removed == 0 ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_project_revoke = {
	.name = "revoke",
	.synopsis = "[OPTION]... [DIR]",
	.summary = "take the approval back",
	.description = "Removes the approval of the corral.yaml of DIR (the current folder).\n"
		       "Exit status: 0 it was removed, 1 there was none, 2 an error.",
	.examples = "corral project revoke\n"
		    "corral project revoke ~/src/site\n",
	.operand = "DIR",
	.max = 1,
	.run = verb_project_revoke_run,
};

static const struct verb *const project_verbs[] = { &verb_project_show, &verb_project_approve,
	&verb_project_diff, &verb_project_revoke, NULL };

const struct verb verb_project = {
	.name = "project",
	.synopsis = "COMMAND [OPTION]... [DIR]",
	.summary = "look at the corral.yaml of a project, and approve it",
	.description =
		"The file corral.yaml of a project says what its commands get: a profile or an "
		"agent, packs, grants, and commands with names (`corral run test`). It is found "
		"from the working folder upwards, and counts only while just its content is "
		"approved. No command can change it.",
	.examples = "corral project show\n"
		    "corral project approve\n"
		    "corral run test\n",
	.verbs = project_verbs,
};
