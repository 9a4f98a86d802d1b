/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "host/resolver.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"

#define EXEC_BIT (1u << OPERATION_EXEC)

/* Arguments */

/* Patterns of an entry that speak of arguments become their program alone; *ret: whether one did.
 */
static int inside_coarsen(struct arena *a, struct grant *g, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < g->n; i++) {
		struct command_pattern pattern;
		auto_buffer out = { 0 };
		const char *coarse;

		if (command_pattern_parse(&pattern, a, g->all[i], NULL, NULL) < 0 ||
			!command_pattern_is_fine(&pattern))
			continue;
		pattern.line = NULL;
		pattern.n_args = 0;
		pattern.more = true;
		command_pattern_print(&pattern, &out);
		coarse = out.failed ? NULL : arena_strdup(a, buffer_text(&out));
		if (!coarse)
			return -ENOMEM;
		g->all[i] = coarse;
		*ret = true;
	}
	return 0;
}

/* Leaves out the entries that speak of arguments, or makes them wider. */
static int inside_coarsen_list(struct arena *a, struct grant_list *list, bool widen)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct grant g = list->items[i];
		bool fine;
		int r = inside_coarsen(a, &g, &fine);

		if (r < 0)
			return r;
		if (!fine || widen)
			list->items[n++] = g;
	}
	list->n = n;
	return 0;
}

/* The program */

/* The rule that lets the program run, and all its names. */
struct inside_approval {
	struct permissions *to;
	struct rule rule;
	const char *program;
	char real[PATH_BYTES];
};

static int inside_add_name(struct inside_approval *a, const char *name)
{
	struct command_pattern pattern = { .more = true };
	auto_buffer path = { 0 }, text = { 0 };

	glob_print_literal(name, strlen(name), &path);
	pattern.program = buffer_text(&path);
	command_pattern_print(&pattern, &text);
	if (path.failed || text.failed)
		return -ENOMEM;
	return permissions_add(a->to, &a->rule.patterns, buffer_text(&text), NULL);
}

/* /bin/git may be /usr/bin/git, and a rule may have either name. */
static int inside_found(void *data, const char *path)
{
	struct inside_approval *a = data;
	char real[PATH_BYTES];

	if (strcmp(path, a->program) == 0 || !realpath(path, real) || strcmp(real, a->real) != 0)
		return 0;
	return inside_add_name(a, path);
}

static int inside_approve(struct permissions *p, const char *program)
{
	struct inside_approval a = { .to = p,
		.rule = { .id = "this-call",
			.action = VERDICT_ALLOW,
			.priority = INT32_MAX,
			.operations = EXEC_BIT },
		.program = program };
	const char *name = strrchr(program, '/');
	int r = inside_add_name(&a, program);

	if (r == 0 && name && name[1] && realpath(program, a.real))
		r = resolver_system.programs(resolver_system.context, name + 1, inside_found, &a);
	if (r < 0 && r != -ENOENT)
		return r;
	return permissions_add_rule(p, &a.rule);
}

/* Layers */

static int inside_change(struct permissions *p, const char *program)
{
	/* Where nothing speaks of programs what can be read may run: it stays so. */
	bool speaks = p->exec_listed;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = inside_change(p->all_of[i], program);
	if (p->n_all_of)
		return r;
	r = inside_coarsen_list(p->arena, &p->exec, false);
	for (size_t i = 0; r == 0 && i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		/* An approved program comes before all others. */
		if (rule->priority == INT32_MAX)
			rule->priority--;
		/* A rule is about programs, or about something else (permissions-text.h). */
		if (!(rule->operations & EXEC_BIT))
			continue;
		speaks = speaks || !rule->disabled;
		r = inside_coarsen_list(
			p->arena, &rule->patterns, rule->action != VERDICT_ALLOW && !p->is_shield);
	}
	permissions_tidy_rules(p);
	/* A rule that was only about arguments leaves a list behind, with nothing on it. */
	p->exec_listed = speaks;
	return r == 0 && speaks && program ? inside_approve(p, program) : r;
}

struct permissions *launch_inside(const struct permissions *p, const char *program)
{
	struct permissions *copy = permissions_copy(p);

	if (copy && inside_change(copy, program) < 0) {
		permissions_free(copy);
		copy = NULL;
	}
	return copy;
}

/* What does not hold */

static bool inside_is_fine(const struct rule *rule, const char *text)
{
	auto_arena scratch = { 0 };
	struct command_pattern c;
	struct host_pattern h;

	if (rule->operations & EXEC_BIT)
		return command_pattern_parse(&c, &scratch, text, NULL, NULL) < 0 ||
		       command_pattern_is_fine(&c);
	return rule->operations & 1u << OPERATION_NET_CONNECT && rule->action != VERDICT_ALLOW &&
	       host_pattern_parse(&h, &scratch, text, NULL, NULL) == 0 && h.n_url_paths > 0 &&
	       h.kind == HOST_ANY;
}

/*
 * `curl` beside `glob:curl *` is what AgenShield's curl:* became, and holds for the programs of
 * that name.
 */
static bool inside_has_program(const struct rule *rule, const char *text)
{
	const char *line = strncmp(text, COMMAND_LINE_PREFIX, 5) == 0 ? text + 5 : "";
	size_t len = strcspn(line, " ");

	if (!len || strcmp(line + len, " *") != 0)
		return false;
	for (size_t i = 0; i < rule->patterns.n; i++) {
		const char *other = rule->patterns.items[i].all[0], *slash = strrchr(other, '/');

		other = slash ? slash + 1 : other;
		if (strlen(other) == len && memcmp(other, line, len) == 0)
			return true;
	}
	return false;
}

static bool inside_is_unheld(const struct rule *rule)
{
	for (size_t i = 0; !rule->disabled && i < rule->patterns.n; i++) {
		const char *text = rule->patterns.items[i].all[0];

		if (inside_is_fine(rule, text) && !inside_has_program(rule, text))
			return true;
	}
	return false;
}

bool launch_inside_unheld(const struct permissions *p, struct buffer *out)
{
	bool found = false;

	for (size_t i = 0; i < p->n_all_of; i++)
		found = launch_inside_unheld(p->all_of[i], out) || found;
	for (size_t i = 0; p->is_shield && i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->action == VERDICT_ALLOW || !inside_is_unheld(rule))
			continue;
		buffer_printf(out, "%s%s (%s:%u)", out->len ? ", " : "", rule->id,
			rule->where.file ? rule->where.file : "?", rule->where.line);
		found = true;
	}
	return found;
}

bool launch_inside_matters(const struct permissions *p)
{
	bool found = false;

	for (size_t i = 0; i < p->n_all_of; i++)
		found = launch_inside_matters(p->all_of[i]) || found;
	for (size_t i = 0; !found && p->is_shield && i < p->n_rules; i++)
		for (size_t k = 0; !found && k < p->rules[i].patterns.n; k++)
			found = p->rules[i].operations & EXEC_BIT && !p->rules[i].disabled &&
				inside_is_fine(&p->rules[i], p->rules[i].patterns.items[k].all[0]);
	return found;
}
