/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. A list of programs is a boundary only if none of them runs whatever it is given. That
 * is no fault of a policy that needs a shell: files and network then are the boundary, and whoever
 * writes the policy should know it.
 */
#include <string.h>

#include "advice/lint/internal.h"
#include "threat/threat.h"

/* The arguments say which file or command is run. */
static bool lint_exec_is_named(const struct command_pattern *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		if (c->args[i][0] != '-')
			return true;
	}
	return false;
}

/* What the table says of a program with the use; NULL also if an argument says what it runs. */
static const struct threat *lint_exec_threat(
	const char *name, const struct command_pattern *c, unsigned use)
{
	const struct threat *t = threat_program(name, use);

	return t && !(t->uses & THREAT_NAMED && lint_exec_is_named(c)) ? t : NULL;
}

/* The first program of a part that has the use; *ret_name is what it is called. */
static const struct threat *lint_exec_threat_of_part(
	const struct lint_part *part, unsigned use, const char **ret_name)
{
	const struct threat *t = NULL;

	if (part->command.is_name) {
		*ret_name = part->command.program;
		return lint_exec_threat(*ret_name, &part->command, use);
	}
	for (size_t i = 0; !t && i < part->glob.n; i++) {
		if (part->glob.alternatives[i].kind != GLOB_LITERAL)
			continue;
		*ret_name = strrchr(part->glob.alternatives[i].literal, '/') + 1;
		t = lint_exec_threat(*ret_name, &part->command, use);
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
	return t ? lint_report(l, e, lint_say(l, "%s %s", name, t->what), lint_say(l, "%s", hint))
		 : 0;
}

int lint_exec_any_code(struct lint *l, const struct lint_entry *e)
{
	return lint_exec_report(l, e, THREAT_CODE,
		"the list of programs is then no boundary: see that fs, network and env are");
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
	if (e->width != LINT_EVERYTHING || lint_exec_has_name(e))
		return 0;
	return lint_report(l, e, lint_say(l, "any program may run, so the list is no boundary"),
		lint_say(l, "name the programs that are needed"));
}

static bool is_glob(const struct lint_part *part)
{
	for (size_t i = 0; i < part->glob.n; i++) {
		if (part->glob.alternatives[i].kind != GLOB_LITERAL)
			return true;
	}
	return false;
}

int lint_exec_glob(struct lint *l, const struct lint_entry *e)
{
	if (e->width == LINT_EVERYTHING || lint_exec_has_name(e) || !is_glob(&e->parts[0]))
		return 0;
	return lint_report(l, e,
		lint_say(l, "whatever is put there later may run, too; folders of the system hold "
			    "shells and interpreters"),
		lint_say(l, "name the programs that are needed"));
}
