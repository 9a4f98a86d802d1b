/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "host/resolver.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"

#define EXEC_BIT (1u << OPERATION_EXEC)

/* 1: it speaks of arguments, and *ret is its program alone; 0: it does not. */
static int coarsen(struct arena *a, const char *text, const char **ret)
{
	struct command_pattern pattern;
	auto_buffer out = { 0 };

	if (command_pattern_parse(&pattern, a, text, NULL, NULL) < 0 ||
		!command_pattern_is_fine(&pattern))
		return 0;
	pattern.n_args = 0;
	pattern.more = true;
	command_pattern_print(&pattern, &out);
	*ret = out.failed ? NULL : arena_strdup(a, buffer_text(&out));
	return *ret ? 1 : -ENOMEM;
}

/* All patterns of an entry become coarse; *ret: whether one was not. */
static int coarsen_grant(struct arena *a, struct grant *g, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < g->n; i++) {
		const char *coarse = NULL;
		int r = coarsen(a, g->all[i], &coarse);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		g->all[i] = coarse;
		*ret = true;
	}
	return 0;
}

/* Leaves out the entries that speak of arguments, or makes them wider. */
static int coarsen_list(struct arena *a, struct grant_list *list, bool widen)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct grant g = list->items[i];
		bool fine;
		int r = coarsen_grant(a, &g, &fine);

		if (r < 0)
			return r;
		if (!fine || widen)
			list->items[n++] = g;
	}
	list->n = n;
	return 0;
}

/* Rules */

void enclave_inside_tidy(struct permissions *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].patterns.n)
			p->rules[n++] = p->rules[i];
	}
	p->n_rules = n;
}

/* A rule is about programs, or about something else: permissions-text.h has no others. */
static int coarsen_rules(struct permissions *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		/* An approved program comes before all others. */
		if (rule->priority == INT32_MAX)
			rule->priority--;
		if (!(rule->operations & EXEC_BIT))
			continue;
		r = coarsen_list(p->arena, &rule->patterns, rule->action != VERDICT_ALLOW);
	}
	enclave_inside_tidy(p);
	return r;
}

static bool speaks_of_programs(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].operations & EXEC_BIT && !p->rules[i].disabled)
			return true;
	}
	return p->exec_listed;
}

/* The rule that lets the program run, and all its names. */
struct approval {
	struct permissions *to;
	struct rule rule;
	const char *program;
	char real[PATH_BYTES];
};

static int enclave_inside_add_name(struct approval *a, const char *name)
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
static int enclave_inside_found(void *data, const char *path)
{
	struct approval *a = data;
	char real[PATH_BYTES];

	if (strcmp(path, a->program) == 0 || !realpath(path, real) || strcmp(real, a->real) != 0)
		return 0;
	return enclave_inside_add_name(a, path);
}

static int approve(struct permissions *p, const char *program)
{
	struct approval a = { .to = p,
		.rule = { .id = "this-call",
			.action = VERDICT_ALLOW,
			.priority = INT32_MAX,
			.operations = EXEC_BIT },
		.program = program };
	const char *name = strrchr(program, '/');
	int r = enclave_inside_add_name(&a, program);

	if (r == 0 && name && name[1] && realpath(program, a.real))
		r = resolver_system.programs(
			resolver_system.context, name + 1, enclave_inside_found, &a);
	if (r < 0 && r != -ENOENT)
		return r;
	return permissions_add_rule(p, &a.rule);
}

static int change_layers(struct permissions *p, const char *program)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = change_layers(p->all_of[i], program);
	if (r == 0 && p->n_all_of == 0) {
		/* Where nothing speaks of programs what can be read may run: it stays so. */
		bool speaks = speaks_of_programs(p);

		/* A rule that was only about arguments leaves a list behind, with nothing on it. */
		p->exec_listed = speaks;
		r = coarsen_list(p->arena, &p->exec, false);
		if (r == 0)
			r = coarsen_rules(p);
		if (r == 0 && speaks && program)
			r = approve(p, program);
	}
	return r;
}

struct permissions *enclave_inside(const struct permissions *p, const char *program)
{
	struct permissions *copy = permissions_copy(p);

	if (copy && change_layers(copy, program) < 0) {
		permissions_free(copy);
		copy = NULL;
	}
	return copy;
}
