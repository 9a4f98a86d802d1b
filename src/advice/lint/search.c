/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the sets of texts that entries match lie to each other. Two folders or paths are compared by
 * their bytes (relation.h). For everything else there is one question: is there a text that all of
 * these match and none of those does? Two automata that are fed every text at once answer it
 * exactly (product_search_only()):
 *
 *     a contains b       there is none that b matches and a does not
 *     a and b share …    there is one that both match
 *     a is still open    there is one that a matches and nothing stronger takes away
 *
 * A search is bounded, and so is the sum of all searches: an answer may be "not known". Nothing is
 * then called certain, and the layer is marked as incomplete.
 */
#include <errno.h>
#include <string.h>

#include "advice/lint/internal.h"
#include "policy/algebra/relation.h"
#include "policy/network/host.h"

bool lint_all_match(const struct lint_globs *g, const char *text, size_t len)
{
	for (size_t i = 0; i < g->n; i++) {
		if (!glob_match(&g->items[i], text, len))
			return false;
	}
	return g->n > 0;
}

/* If one of `in` is a literal, only that text can be the answer. -ENOENT: none is. */
static int try_literal(const struct lint_globs *in, const struct lint_globs *out, size_t n_out)
{
	const struct glob_alternative *alt = NULL;

	for (size_t i = 0; i < in->n && !alt; i++) {
		if (in->items[i].n == 1 && in->items[i].alternatives[0].kind == GLOB_LITERAL)
			alt = &in->items[i].alternatives[0];
	}
	if (!alt)
		return -ENOENT;
	if (!lint_all_match(in, alt->literal, alt->literal_len))
		return 0;
	for (size_t i = 0; i < n_out; i++) {
		if (lint_all_match(&out[i], alt->literal, alt->literal_len))
			return 0;
	}
	return 1;
}

/*
 * What all matches of one glob start with rules out what all matches of the other start with. A
 * folder starts its matches with its own path, and is nothing's beginning.
 */
static bool lint_search_apart(const struct glob *a, const struct glob *b)
{
	for (size_t i = 0; i < a->n * b->n; i++) {
		const struct glob_alternative *x = &a->alternatives[i / b->n];
		const struct glob_alternative *y = &b->alternatives[i % b->n];
		const struct glob_alternative *folder = x->literal_len <= y->literal_len ? x : y;
		const struct glob_alternative *other = folder == x ? y : x;
		size_t least = folder->literal_len;

		if (memcmp(x->literal, y->literal, least) == 0 &&
			(folder->kind != GLOB_SUBTREE || other->literal_len == least ||
				other->literal[least] == '/'))
			return false;
	}
	return true;
}

static int lint_search(struct lint *l, enum product_domain domain, const struct lint_globs *in,
	const struct lint_globs *out, size_t n_out)
{
	auto_automaton *x = automaton_new(), *y = automaton_new();
	int r = x && y ? automaton_add_all(x, in->items, in->n, 0) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n_out; i++)
		r = automaton_add_all(y, out[i].items, out[i].n, 0);
	if (r < 0)
		return r;
	r = automaton_build(x, LINT_STATES_MAX);
	if (r == 0)
		r = automaton_build(y, LINT_STATES_MAX);
	if (r == 0)
		r = product_search_only(x, y, domain, LINT_STATES_MAX);
	*l->work += automaton_states(x) + automaton_states(y) + automaton_tokens(y);
	return r;
}

int lint_exists(struct lint *l, enum product_domain domain, const struct lint_globs *in,
	const struct lint_globs *out, size_t n_out)
{
	int r = try_literal(in, out, n_out);

	if (r != -ENOENT)
		return r;
	for (size_t i = 1; i < in->n; i++) {
		if (lint_search_apart(&in->items[i - 1], &in->items[i]))
			return 0;
	}
	r = *l->work < LINT_WORK_MAX ? lint_search(l, domain, in, out, n_out) : -E2BIG;
	if (r == -E2BIG)
		l->incomplete = true;
	return r;
}

bool lint_is_too_long(struct lint *l, const struct lint_entries *entries)
{
	if (entries->n <= LINT_COMPARE_MAX)
		return false;
	l->incomplete = true;
	return true;
}

int lint_reaches(
	struct lint *l, const struct lint_entry *e, const struct glob *target, const char *path)
{
	struct glob globs[LINT_PARTS_MAX + 1];
	const struct lint_globs in = { globs, e->globs.n + 1 };
	const struct lint_entries *all = &l->entries[e->op];
	auto_arena scratch = { 0 };
	struct lint_globs *out = arena_calloc(&scratch, all->n_shields + 1, sizeof(*out));
	size_t n_out = 0, i = 0;
	int r = out ? 1 : -ENOMEM;

	/* Those that forbid or ask and are stronger than e. */
	for (; out && n_out < all->n_shields && &all->items[all->shields[n_out]] < e; n_out++)
		out[n_out] = all->items[all->shields[n_out]].globs;
	memcpy(globs, e->globs.items, e->globs.n * sizeof(globs[0]));
	globs[e->globs.n] = *target;
	if (r == 1 && path && lint_all_match(&in, path, strlen(path))) {
		while (i < n_out && !lint_all_match(&out[i], path, strlen(path)))
			i++;
		if (i == n_out)
			return 1;
		/* What takes away one path mostly takes away all, and is soon asked. */
		r = lint_exists(l, PRODUCT_PATHS, &in, &out[i], 1);
	}
	if (r == 1)
		r = lint_exists(l, PRODUCT_PATHS, &in, out, n_out);
	return r == -E2BIG ? 0 : r;
}

/* Two globs */

static bool lint_search_is_plain(const struct glob *g)
{
	return g->n == 1 && g->alternatives[0].kind != GLOB_TRUE;
}

static int glob_contains(struct lint *l, struct glob *a, struct glob *b, enum product_domain domain)
{
	struct lint_globs in = { b, 1 }, out = { a, 1 };
	int r;

	if (lint_search_is_plain(a) && lint_search_is_plain(b)) {
		r = relation_of_globs(a, b, domain);
		return r == RELATION_EQUAL || r == RELATION_OUTSIDE;
	}
	if (lint_search_apart(a, b))
		return 0;
	r = lint_exists(l, domain, &in, &out, 1);
	return r == -ENOMEM ? r : r == 0;
}

static int glob_disjoint(struct lint *l, struct glob *a, struct glob *b, enum product_domain domain)
{
	struct glob both[] = { *a, *b };
	int r;

	if (lint_search_is_plain(a) && lint_search_is_plain(b))
		return relation_of_globs(a, b, domain) == RELATION_DISJOINT;
	if (lint_search_apart(a, b))
		return 1;
	r = lint_exists(l, domain, &(struct lint_globs){ both, 2 }, NULL, 0);
	return r == -ENOMEM ? r : r == 0;
}

/* Two patterns of entries, by what they are about. Zero: not for certain. */

static int lint_part_contains(
	struct lint *l, enum operation op, struct lint_part *a, struct lint_part *b)
{
	struct command_pattern met = { 0 };

	switch (operation_rows[op].target) {
	case TARGET_COMMAND:
		if (command_pattern_meet_args(&a->command, &b->command, &met) <= 0 ||
			met.n_args != b->command.n_args || met.more != b->command.more)
			return 0;
		if (a->command.is_name && b->command.is_name)
			return strcmp(a->command.program, b->command.program) == 0;
		break;
	case TARGET_NAME:
		if (a->value)
			return b->value && strcmp(a->text, b->text) == 0;
		return glob_contains(l, &a->glob, &b->glob, PRODUCT_NAMES);
	case TARGET_SECRET:
		return strcmp(a->text, b->text) == 0;
	case TARGET_SERVICE:
		return strcmp(a->text, "*") == 0 || strcmp(a->text, b->text) == 0;
	default:
		break;
	}
	/* A file, or a program by its path. */
	if (!a->has_glob || !b->has_glob)
		return 0;
	if (a->variable != b->variable)
		return lint_search_is_plain(&a->glob) && /* "/" with all below it */
		       a->glob.alternatives[0].kind == GLOB_SUBTREE &&
		       a->glob.alternatives[0].literal_len == 0;
	return glob_contains(l, &a->glob, &b->glob, PRODUCT_PATHS);
}

static int lint_part_disjoint(
	struct lint *l, enum operation op, struct lint_part *a, struct lint_part *b)
{
	struct command_pattern met = { 0 };

	switch (operation_rows[op].target) {
	case TARGET_COMMAND:
		/* Two names, or two paths, may be the same program: only arguments tell. */
		return command_pattern_meet_args(&a->command, &b->command, &met) == 0;
	case TARGET_NAME:
		if (a->value && b->value)
			return strcmp(a->text, b->text) != 0;
		return glob_disjoint(l, &a->glob, &b->glob, PRODUCT_NAMES);
	case TARGET_SECRET:
		return strcmp(a->text, b->text) != 0;
	case TARGET_SERVICE:
		return 0;
	default:
		if (!a->has_glob || !b->has_glob || a->variable != b->variable)
			return 0;
		return glob_disjoint(l, &a->glob, &b->glob, PRODUCT_PATHS);
	}
}

/* Two entries */

static bool hosts_contain(const struct lint_entry *a, const struct lint_entry *b)
{
	for (size_t i = 0; i < b->n_hosts; i++) {
		size_t k = 0;

		while (k < a->n_hosts && !host_pattern_contains(&a->hosts[k], &b->hosts[i]))
			k++;
		if (k == a->n_hosts)
			return false;
	}
	return true;
}

static int hosts_disjoint(struct lint *l, const struct lint_entry *a, const struct lint_entry *b)
{
	struct host_pattern met[2];

	for (size_t i = 0; i < a->n_hosts * b->n_hosts; i++) {
		int r = host_pattern_meet(
			&a->hosts[i / b->n_hosts], &b->hosts[i % b->n_hosts], l->scratch, met);

		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 1;
}

/* Every pattern of a is one that some pattern of b lies within. */
int lint_contains(struct lint *l, const struct lint_entry *a, const struct lint_entry *b)
{
	if (a->nothing || b->nothing || a->grant->n > a->n)
		return 0;
	if (a->op == OPERATION_NET_CONNECT)
		return hosts_contain(a, b);
	for (size_t i = 0; i < a->n; i++) {
		int r = 0;

		for (size_t k = 0; r == 0 && k < b->n; k++)
			r = lint_part_contains(l, a->op, &a->parts[i], &b->parts[k]);
		if (r <= 0)
			return r;
	}
	return 1;
}

int lint_disjoint(struct lint *l, const struct lint_entry *a, const struct lint_entry *b)
{
	int r = a->nothing || b->nothing;

	if (a->op == OPERATION_NET_CONNECT)
		return r ? r : hosts_disjoint(l, a, b);
	for (size_t i = 0; r == 0 && i < a->n * b->n; i++)
		r = lint_part_disjoint(l, a->op, &a->parts[i / b->n], &b->parts[i % b->n]);
	return r;
}

int lint_meets(struct lint *l, const struct lint_entry *e, const struct lint_entries *all)
{
	for (size_t i = 0; i < all->n; i++) {
		int r = all->items[i].verdict == VERDICT_DENY ? 1
							      : lint_disjoint(l, e, &all->items[i]);

		if (r <= 0)
			return r < 0 ? r : 1;
	}
	return 0;
}
