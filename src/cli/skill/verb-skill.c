/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/skill/inspection.h"
#include "cli/skill/sarif.h"
#include "cli/skill/suppress.h"
#include "cli/options.h"
#include "cli/verb.h"

struct approve_settings {
	bool yes, check, remove, json;
};

/* One line, or one object: is it approved, and what came before. */
struct skill_answer_text {
	bool approved;
	const char *path, *text;
};

static int verb_approve_print_answer(
	struct call *c, const struct approve_settings *s, const struct skill_answer_text *a)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };

	if (s->json) {
		struct node *root = tree_map(&t);

		tree_put_flag(&t, root, "approved", a->approved);
		tree_put_text(&t, root, "path", a->path);
		tree_put_text(&t, root, "approval", a->text);
		return tree_print(&t, root, c->error);
	}
	output_styled(&o, a->approved ? OUTPUT_GREEN : OUTPUT_RED,
		a->approved ? "approved" : "not approved");
	buffer_adds(&o.text, "  ");
	output_foreign(&o, a->path);
	buffer_printf(&o.text, "  %s\n", a->text);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_approve_run_check(struct call *c, const struct approve_settings *s)
{
	auto_launch_skill skill = LAUNCH_SKILL_NONE;
	struct skill_answer_text a = { 0 };
	int r = launch_skill_open(&skill, c->words[0], LAUNCH_SKILL_LOOK, c->arena, c->error);

	if (r < 0)
		return r;
	a.approved = skill.outcome == APPROVAL_CURRENT;
	a.path = skill.path;
	a.text = launch_skill_outcome(skill.outcome);
	r = verb_approve_print_answer(c, s, &a);
	return r < 0 ? r : a.approved ? STATUS_YES : STATUS_NO;
}

static int run_remove(struct call *c, const struct approve_settings *s)
{
	struct approval approval = { 0 };
	struct skill_answer_text a = { 0 };
	char *real = realpath(c->words[0], NULL);
	int r = 0, removed = 0;

	/* The skill's real path; where it is gone, its name must do. */
	if (!real)
		r = load_absolute(c, c->words[0], &approval.skill);
	else if (!(approval.skill = arena_strdup(c->arena, real)))
		r = error_no_memory(c->error);
	free(real);
	if (r == 0)
		r = launch_skill_approvals(&approval.folder, c->arena, c->error);
	if (r == 0)
		r = removed = approval_remove(&approval, c->error);
	if (r < 0)
		return r;
	a.path = approval.skill;
	a.text = removed == 0 ? "the approval was removed" : "there was no approval";
	r = verb_approve_print_answer(c, s, &a);
	return r < 0 ? r : removed == 0 ? STATUS_YES : STATUS_NO;
}

static bool agrees(const struct skill_inspection *i)
{
	auto_buffer question = { 0 };

	buffer_printf(&question, "Approve exactly this content (risk: %s)? [y/N] ",
		describe_risk_name(i->description.risk));
	return !question.failed && output_agrees(buffer_text(&question));
}

/* With what it holds, so that changes can be listed. */
static int verb_approve_store(struct call *c, const struct skill_inspection *i)
{
	struct approval a = i->skill.approval;
	auto_buffer entries = { 0 };

	skill_digest_print(&i->skill.content, &entries);
	a.entries = &entries;
	return approval_store(&a, c->error);
}

/* An approval of what no run would start promises something that is not so. */
static int verb_approve_check_runs(struct call *c, const struct launch_skill *s)
{
	const struct manifest *m = &s->manifest;
	const char **words;
	size_t n;
	int r = 0;

	if (s->fault.text[0]) {
		*c->error = s->fault;
		r = -EINVAL;
	} else if (m->wasm_file) {
		r = launch_skill_command(
			s, m->wasm_file, NULL, NULL, 0, c->arena, &words, &n, c->error);
		/* It is there; a module needs not be executable. */
		if (r == -ENOEXEC) {
			*c->error = (struct error){ 0 };
			r = 0;
		}
	} else if (m->entry) {
		r = launch_skill_command(s, NULL, NULL, NULL, 0, c->arena, &words, &n, c->error);
	}
	if (r < 0 && !c->error->hint[0])
		error_hint(c->error, "the skill cannot run as it is, so it was not approved");
	return r;
}

/* Shows, asks if need be, and stores. */
static int verb_approve_decide(struct call *c, const struct approve_settings *s,
	struct skill_inspection *i, struct skill_answer_text *a)
{
	bool is_current = i->skill.outcome == APPROVAL_CURRENT, asks = !is_current && !s->yes;
	/* Whom it asks, sees it; a program gets just the answer. */
	int r = 0, fd = s->json ? STDERR_FILENO : STDOUT_FILENO;
	auto_output o = output_for(fd);

	if (asks && !isatty(STDIN_FILENO)) {
		r = error_set(c->error, -ENOTTY, NULL,
			"cannot ask for confirmation without a terminal; nothing was approved");
		error_hint(c->error, "review it (corral inspect %s), then approve it with --yes",
			c->words[0]);
		return r;
	}
	if (!s->json || asks) {
		inspection_print(i, &o);
		buffer_addc(&o.text, '\n');
		r = output_write(&o, fd, c->error);
	}
	if (r < 0)
		return r;
	a->approved = !asks || agrees(i);
	if (!a->approved)
		a->text = "not approved: the answer was not yes";
	else if (!is_current)
		r = verb_approve_store(c, i);
	return r;
}

static int run_approve(struct call *c, const struct approve_settings *s)
{
	auto_inspection i = { .skill = LAUNCH_SKILL_NONE };
	struct skill_answer_text a = { 0 };
	int r = inspection_open(&i, c, c->words[0], LAUNCH_SKILL_LOOK);

	if (r == 0)
		r = inspection_rate(&i, c);
	if (r == 0 && i.skill.outcome != APPROVAL_CURRENT)
		r = verb_approve_check_runs(c, &i.skill);
	if (r < 0)
		return r;
	a.path = i.skill.path;
	a.text = i.skill.outcome == APPROVAL_CURRENT ? "already approved and unchanged"
						     : launch_skill_outcome(i.skill.outcome);
	r = verb_approve_decide(c, s, &i, &a);
	if (a.approved && i.skill.outcome != APPROVAL_CURRENT)
		a.text = "this content is now approved";
	if (r == 0)
		r = verb_approve_print_answer(c, s, &a);
	return r < 0 ? r : a.approved ? STATUS_YES : STATUS_NO;
}

static int verb_approve_run(struct call *c)
{
	struct approve_settings s = { 0 };
	const struct options_row rows[] = {
		{ { "yes", SCHEMA_FLAG, .help = "approve without asking" }, 'y', .target = &s.yes },
		{ { "check", SCHEMA_FLAG, .help = "only report whether it is approved" },
			.target = &s.check },
		{ { "remove", SCHEMA_FLAG, .help = "remove the approval" }, .target = &s.remove },
		OPTIONS_JSON(&s.json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (s.yes + s.check + s.remove > 1)
		return options_misused(c, "--yes, --check and --remove cannot be used together");
	if (s.check)
		return verb_approve_run_check(c, &s);
	return s.remove ? run_remove(c, &s) : run_approve(c, &s);
}

const struct verb verb_approve = {
	.name = "approve",
	.synopsis = "[OPTION]... DIR",
	.summary = "approve the current content of a skill",
	.description =
		"Shows what `corral inspect` shows, asks for confirmation, and records the "
		"digest of all files and the permissions. A change to any of them ends the "
		"approval. Without a terminal, nothing is approved unless --yes is given. A skill "
		"that no run would start, as its entry is missing or is no program, is refused.\n"
		"Exit status: 0 approved (or the approval was removed), 1 not approved, 2 an "
		"error.",
	.examples = "corral approve ./weather-skill\n"
		    "corral approve --check ./weather-skill && echo 'as it was approved'\n"
		    "corral approve --remove ./weather-skill\n",
	.operand = "DIR",
	.min = 1,
	.max = 1,
	.run = verb_approve_run,
};

/* A word of three, by its place in the list. */
static int verb_inspect_choice(struct call *c, const char *option, const char *word,
	const char *const words[3], size_t *ret)
{
	for (size_t i = 0; word && i < 3; i++) {
		if (strcmp(word, words[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return word ? options_misused(c, "--%s must be %s, %s or %s, not %s", option, words[0],
			      words[1], words[2], word)
		    : 0;
}

static int verb_inspect_print(struct call *c, const struct skill_inspection *i, size_t format)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };

	if (format > 0)
		return tree_print(
			&t, format == 2 ? sarif_tree(i, &t) : inspection_tree(i, &t), c->error);
	inspection_print(i, &o);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_inspect_run(struct call *c)
{
	static const char *const formats[] = { "text", "json", "sarif" };
	static const char *const levels[] = { "low", "medium", "high" };
	const char *format_name = NULL, *fail_on = NULL, *suppress = NULL;
	bool json = false;
	const struct options_row rows[] = {
		OPTIONS_JSON(&json),
		{ { "format", SCHEMA_TEXT, .help = "text, json or sarif (for code hosts)" }, 0,
			"FORMAT", .target = &format_name },
		{ { "fail-on", SCHEMA_TEXT,
			  .help = "exit with 1 from this severity on: low, medium or high" },
			0, "LEVEL", .target = &fail_on },
		{ { "suppress", SCHEMA_TEXT,
			  .help = "reviewed findings: lines of ID FILE[:LINE] REASON" },
			0, "FILE", .target = &suppress },
	};
	auto_inspection i = { .skill = LAUNCH_SKILL_NONE };
	size_t format = 0, level = SKILL_MEDIUM;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_inspect_choice(c, "format", format_name, formats, &format);
	if (r == 0)
		r = verb_inspect_choice(c, "fail-on", fail_on, levels, &level);
	if (r == 0 && json && format_name)
		r = options_misused(c, "--json and --format cannot be used together");
	if (r == 0)
		r = inspection_open(&i, c, c->words[0], LAUNCH_SKILL_SCAN);
	if (r == 0 && suppress)
		r = suppress_read(&i, c, suppress);
	if (r == 0)
		r = inspection_rate(&i, c);
	if (r == 0)
		r = verb_inspect_print(c, &i, json ? 1 : format);
	if (r < 0)
		return r;
	return inspection_is_risky(&i, (enum skill_severity)level) ? STATUS_NO : STATUS_YES;
}

const struct verb verb_inspect = {
	.name = "inspect",
	.synopsis = "[OPTION]... DIR",
	.summary = "show what a skill requests and what looks risky in it",
	.description =
		"Examines the skill in DIR without running any of it: what its permissions "
		"allow, in plain words; signs of risk in its text and scripts, with file and "
		"line; its digest, and whether this content is approved.\n"
		"Exit status: 0 no signs of risk, or only minor ones; 1 signs of risk (--fail-on "
		"says from which severity on); 2 it cannot be read. The rating of its "
		"permissions does not affect the status.",
	.examples = "corral inspect ./weather-skill\n"
		    "corral inspect --json ./weather-skill | jq .findings\n"
		    "corral inspect --format sarif --fail-on high ./weather-skill\n",
	.operand = "DIR",
	.min = 1,
	.max = 1,
	.run = verb_inspect_run,
};
