/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code: what is written inside the sandbox and runs elsewhere, and programs that run what they are
 * given.
 *
 * A sandbox holds a program. It does not hold the git hook that the program leaves behind, which
 * the user's own git runs an hour later with all of the user's rights. threat/threat.h has a table
 * of such files; a grant to write is compared with them exactly, less what stronger entries take
 * away, so that the advice ends when the denials are complete.
 *
 * A list of programs is a boundary only if none of them runs whatever it is given. That is no fault
 * of a policy that needs a shell: files and network then are the boundary, and whoever writes the
 * policy should know it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "advice/lint/internal.h"
#include "threat/threat.h"

struct later_file {
	char pattern[PATH_BYTES]; /* what is run, below any folder */
	char deny[PATH_BYTES];    /* what to deny, so that nothing like it is left */
	char sample[PATH_BYTES];  /* one that is run, from the last folder on; may be none */
};

/* A sample takes the first of {a,b}, and x for each *. */
static void lint_deferred_of(const struct threat *t, struct later_file *ret)
{
	const char *name = threat_name(t), *inside = threat_inside(t);
	bool folder = name[strlen(name) - 1] == '/';
	size_t n = 0;

	(void)snprintf(ret->deny, sizeof(ret->deny), "/**/%s%s", name, folder ? "**" : "");
	(void)snprintf(ret->pattern, sizeof(ret->pattern), "/**/%s%s", name,
		inside   ? inside
		: folder ? "**"
			 : "");
	for (const char *s = ret->pattern + 3; *s; s++) {
		if (*s == ',')
			s += strcspn(s, "}");
		else if (*s != '{' && *s != '}')
			ret->sample[n++] = (char)(*s == '*' ? 'x' : *s);
	}
	ret->sample[n] = '\0';
}

/* path: one that the pattern matches, to begin with; NULL: any in the folder that it names. */
static int reaches(
	struct lint *l, const struct lint_entry *e, const char *pattern, const char *path)
{
	auto_arena scratch = { 0 };
	struct glob target;
	char inside[PATH_BYTES];
	int r = glob_parse(&target, &scratch, pattern, NULL, NULL);

	if (r < 0)
		return r;
	(void)snprintf(inside, sizeof(inside), "%s/" LINT_ANY, target.alternatives[0].literal);
	return lint_reaches(l, e, &target, path ? path : inside);
}

/* Not computed where the policy has the suggested lines, word for word. */
static int reaches_file(struct lint *l, const struct lint_entry *e, const struct later_file *d)
{
	const struct glob_alternative *alt = &e->globs.items[0].alternatives[0];
	const struct lint_entries *all = &l->entries[e->op];
	char path[PATH_BYTES] = "";

	for (size_t i = 0; i < all->n_shields && &all->items[all->shields[i]] < e; i++) {
		if (strcmp(all->items[all->shields[i]].text, d->deny) == 0)
			return 0;
	}
	if (alt->kind == GLOB_SUBTREE)
		(void)snprintf(path, sizeof(path), "%s%s", alt->literal, d->sample);
	return reaches(l, e, d->pattern, *path ? path : NULL);
}

/* Each grant is compared with all that takes something away from it. */
static bool has_too_many_shields(struct lint *l, const struct lint_entry *e)
{
	return l->entries[e->op].n_shields && lint_is_too_long(l, &l->entries[e->op]);
}

/* The rule that would help, as it can be pasted; or that it is the same as before. */
static const char *advise(struct lint *l, const struct lint_entry *e, const char *patterns)
{
	const char *rule = lint_say(l,
		"for `corral run` use --profile workspace, which protects such files in the "
		"working folder; for an enclave write `rules: [{id: run-later, action: deny, "
		"operations: [fs.write], patterns: [%s]}]`",
		patterns);

	if (!rule || !l->rule || strcmp(rule, l->rule) != 0) {
		/* What is built in is not shown, so nothing can point to it. */
		if (e->where.line || !e->where.file) {
			l->rule = rule;
			l->rule_for = e->text;
		}
		return rule;
	}
	return lint_say(l, "the same rule as for %s", l->rule_for);
}

int lint_deferred_execution(struct lint *l, const struct lint_entry *e)
{
	const struct threat *first = NULL;
	auto_buffer deny = { 0 };
	const char *name = NULL, *rest;
	enum variable v;

	/* Nobody keeps a repository or a home in a skill's own data and temporary files. */
	if (variable_split(e->parts[0].text, &v, &rest, NULL, NULL) == 1 &&
		(v == VARIABLE_DATA_DIR || v == VARIABLE_TEMP))
		return 0;
	if (has_too_many_shields(l, e))
		return 0;
	for (size_t i = 0; e->width == LINT_NARROW && i < threat_files_n; i++) {
		struct later_file d;
		int r;

		if (!(threat_files[i].uses & THREAT_LINT))
			continue;
		lint_deferred_of(&threat_files[i], &d);
		r = reaches_file(l, e, &d);
		if (r < 0)
			return r;
		if (!r)
			continue;
		buffer_printf(&deny, "%s'%s'", first ? ", " : "", d.deny);
		name = first ? name : lint_say(l, "%s", d.deny);
		first = first ? first : &threat_files[i];
	}
	if (!first)
		return 0;
	return lint_report(l, e,
		!name ? NULL
		      : lint_say(l,
				"this takes in %s (%s)%s; such files run outside of the sandbox",
				name, threat_what(first),
				strchr(buffer_text(&deny), ' ') ? " and others like it" : ""),
		deny.failed ? NULL : advise(l, e, buffer_text(&deny)));
}

/* Folders of programs */

/* The first folder of "PATH=…" in the policy that e may write to. */
static int find_in_path(
	struct lint *l, const struct lint_entry *e, const char *list, const char **ret)
{
	for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		auto_buffer pattern = { 0 };
		int r;

		if (at[0] != '/')
			continue;
		glob_print_literal(at, strcspn(at, ":"), &pattern);
		buffer_adds(&pattern, "/**");
		r = pattern.failed ? -ENOMEM : reaches(l, e, buffer_text(&pattern), NULL);
		if (r == 1)
			*ret = lint_say(l, "%s", buffer_text(&pattern));
		/* What is no path in the list is no folder of programs either. */
		if (r != 0 && r != -EINVAL)
			return r == 1 && !*ret ? -ENOMEM : r;
	}
	return 0;
}

int lint_write_path(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *env = &l->entries[OPERATION_ENV];
	const char *found = NULL;
	int r = 0;

	if (has_too_many_shields(l, e))
		return 0;
	for (size_t i = 0; r == 0 && e->width == LINT_NARROW && i < threat_files_n; i++) {
		auto_arena scratch = { 0 };
		const char *name = threat_name(&threat_files[i]), *pattern;

		if (!(threat_files[i].uses & THREAT_PROGRAMS))
			continue;
		r = variable_expand(l->vars, name, &scratch, &pattern, NULL, NULL);
		if (r == 0)
			r = reaches(l, e, pattern, NULL);
		if (r == 1)
			found = name;
	}
	for (size_t i = 0; r == 0 && !lint_is_too_long(l, env) && i < env->n; i++) {
		const struct lint_part *part = &env->items[i].parts[0];

		if (part->value && strncmp(part->text, "PATH=", 5) == 0)
			r = find_in_path(l, e, part->value, &found);
	}
	if (r <= 0)
		return r;
	return lint_report(l, e,
		lint_say(l,
			"%s is in PATH: a file written there runs outside of the sandbox, under "
			"the name of another program",
			found),
		lint_say(l, "grant another folder, or deny fs.write to %s by a rule", found));
}

/* Programs that may be written */

int lint_write_then_exec(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *writes = &l->entries[OPERATION_FS_WRITE];

	if (e->globs.n != 1 || e->n != 1 || e->width == LINT_EVERYTHING ||
		lint_is_too_long(l, writes) || lint_is_too_long(l, &l->entries[OPERATION_EXEC]))
		return 0;
	for (size_t i = 0; i < writes->n; i++) {
		const struct lint_entry *w = &writes->items[i];
		int r = w->verdict == VERDICT_ALLOW && !w->nothing
				? lint_reaches(l, w, &e->globs.items[0], NULL)
				: 0;

		if (r < 0)
			return r;
		if (r == 1)
			return lint_report(l, e,
				lint_say(l,
					"%s lets %s be written, so any code can be put there and "
					"run",
					lint_source(l, w), w->text),
				"keep programs where nothing may be written");
	}
	return 0;
}

/* Programs that run anything */

/* The first program of a part that has the use; *ret_name is what it is called. */
static const struct threat *lint_exec_threat_of_part(
	const struct lint_part *part, unsigned use, const char **ret_name)
{
	const struct command_pattern *c = &part->command;
	const struct threat *t = NULL;
	bool is_named = false; /* the arguments say which file or command is run */

	for (size_t i = 0; i < c->n_args; i++)
		is_named = is_named || c->args[i][0] != '-';
	for (size_t i = 0; !t && i < (c->is_name ? 1 : part->glob.n); i++) {
		if (!c->is_name && part->glob.alternatives[i].kind != GLOB_LITERAL)
			continue;
		*ret_name = c->is_name ? c->program
				       : strrchr(part->glob.alternatives[i].literal, '/') + 1;
		t = threat_program(*ret_name, use);
		if (t && t->uses & THREAT_NAMED && is_named)
			t = NULL;
	}
	return t;
}

static int lint_exec_report(
	struct lint *l, const struct lint_entry *e, unsigned use, const char *hint)
{
	const struct threat *t = NULL;
	const char *name = NULL;

	for (size_t i = 0; !t && i < e->n; i++)
		t = lint_exec_threat_of_part(&e->parts[i], use, &name);
	return t ? lint_report(l, e, lint_say(l, "%s %s", name, threat_what(t)), hint) : 0;
}

int lint_exec_any_code(struct lint *l, const struct lint_entry *e)
{
	return lint_exec_report(l, e, THREAT_CODE,
		"the list of programs then restricts nothing: rely on fs, network and env");
}

int lint_exec_root(struct lint *l, const struct lint_entry *e)
{
	return lint_exec_report(l, e, THREAT_ROOT, "remove it, or let a person do that step");
}

/* Many programs at once */

static bool lint_exec_has_name(const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->parts[i].command.is_name)
			return true;
	}
	return false;
}

int lint_exec_everything(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *all = &l->entries[OPERATION_EXEC];

	if (e->width != LINT_EVERYTHING || lint_exec_has_name(e))
		return 0;
	/* Rules need a list beside them: this one is "all but those". */
	for (size_t i = 0; i < all->n_shields; i++)
		if (all->items[all->shields[i]].rule)
			return 0;
	return lint_report(l, e, "any program may run, so the list restricts nothing",
		"name the programs that are needed");
}

int lint_exec_glob(struct lint *l, const struct lint_entry *e)
{
	const struct glob *g = &e->parts[0].glob;
	bool literal = true;

	for (size_t i = 0; i < g->n; i++)
		literal = literal && g->alternatives[i].kind == GLOB_LITERAL;
	if (e->width == LINT_EVERYTHING || lint_exec_has_name(e) || literal)
		return 0;
	return lint_report(l, e,
		"whatever is put there later may run, too; folders of the system hold shells and "
		"interpreters",
		"name the programs that are needed");
}
