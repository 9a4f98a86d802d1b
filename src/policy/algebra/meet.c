/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant is a list of patterns that must all match, so the meet of two is the list of all their
 * patterns; the work is in making that list short. For every two patterns the relation of what they
 * match is found: of two where one lies within the other the narrower stays, two that share nothing
 * make the whole meet empty, and two that overlap both stay.
 *
 * Patterns with different variables at their start have no known relation before the variables have
 * values: both stay.
 */
#include "policy/algebra/meet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/command.h"
#include "policy/match/secret.h"
#include "policy/network/host.h"
#include "policy/algebra/relation.h"
#include "policy/match/service.h"
#include "policy/variable.h"

enum { PARTS_MAX = 64 };

/* The patterns that are left, and whether they can match together at all. */
struct meet_parts {
	const char *items[PARTS_MAX];
	size_t n;
	bool empty;
	size_t *effort; /* relation.h; NULL: unbounded */
};

/* Adds one pattern, unless a narrower one is there, and drops the wider ones. */
static int meet_parts_add(struct meet_parts *parts, const char *text, operation_relate *relate)
{
	int relations[PARTS_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < parts->n; i++) {
		int r = relations[i] = relate(parts->items[i], text, parts->effort);

		if (r < 0)
			return r;
		if (r == RELATION_DISJOINT)
			parts->empty = true;
		if (r == RELATION_EQUAL || r == RELATION_INSIDE)
			return 0;
	}
	for (size_t i = 0; i < parts->n; i++) {
		if (relations[i] != RELATION_OUTSIDE)
			parts->items[kept++] = parts->items[i];
	}
	if (kept == PARTS_MAX)
		return -E2BIG;
	parts->items[kept++] = text;
	parts->n = kept;
	return 0;
}

static int parts_emit(struct meet_parts *parts, struct permissions *p, struct grant_list *to,
	const struct location *where)
{
	if (parts->empty)
		return 0;
	qsort(parts->items, parts->n, sizeof(parts->items[0]), array_compare_text);
	return permissions_add_all(p, to, parts->items, parts->n, where);
}

/* Paths */

/* Stand-ins, so that patterns below the same variable can be compared. */
static const struct variables stand_ins = {
	.values = {
		[VARIABLE_SKILL_DIR] = "/$SKILL_DIR",
		[VARIABLE_WORK_DIR] = "/$WORK_DIR",
		[VARIABLE_DATA_DIR] = "/$DATA_DIR",
		[VARIABLE_SHARED_DIR] = "/$SHARED_DIR",
		[VARIABLE_HOME] = "/$HOME",
		[VARIABLE_TEMP] = "/$TEMP",
	},
};

static int meet_parse_path(const char *text, struct arena *a, struct glob *ret, int *ret_variable)
{
	enum variable v;
	const char *rest, *expanded;
	int r = variable_split(text, &v, &rest, NULL, NULL);

	if (r < 0)
		return r;
	*ret_variable = r == 1 ? (int)v : -1;
	r = variable_expand(&stand_ins, text, a, &expanded, NULL, NULL);
	return r < 0 ? r : glob_parse(ret, a, expanded, NULL, NULL);
}

static bool meet_is_everything(const struct glob *g)
{
	return g->n == 1 && g->alternatives[0].kind == GLOB_SUBTREE &&
	       g->alternatives[0].literal_len == 0;
}

/* A pattern that stands for many takes its time to read. */
static void spend_alternatives(size_t *effort, const struct glob *g)
{
	size_t cost = 0;

	for (size_t i = 0; g->n > 1 && i < g->n; i++)
		cost += 1 + g->alternatives[i].n / 16;
	relation_spend(effort, cost);
}

int meet_relate_paths(const char *a, const char *b, size_t *effort)
{
	auto_arena scratch = { 0 };
	int va = -1, vb = -1, r;
	struct glob x = { 0 }, y = { 0 };

	if (strcmp(a, b) == 0)
		return RELATION_EQUAL;
	if (effort && !*effort)
		return RELATION_UNKNOWN;
	r = meet_parse_path(a, &scratch, &x, &va);
	if (r == 0)
		r = meet_parse_path(b, &scratch, &y, &vb);
	if (r < 0)
		return r;
	spend_alternatives(effort, &x);
	spend_alternatives(effort, &y);
	if (va == vb)
		return relation_within_effort(&x, &y, PRODUCT_PATHS, effort);
	if (meet_is_everything(&x))
		return RELATION_OUTSIDE;
	return meet_is_everything(&y) ? RELATION_INSIDE : RELATION_UNKNOWN;
}

static int meet_with(operation_relate *relate, struct permissions *p, struct grant_list *to,
	const struct grant *a, const struct grant *b, size_t *effort)
{
	struct meet_parts parts = { .effort = effort };
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n; i++)
		r = meet_parts_add(&parts, a->all[i], relate);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = meet_parts_add(&parts, b->all[i], relate);
	return r < 0 ? r : parts_emit(&parts, p, to, &a->where);
}

/* Variables of the environment */

/* A name as a path of one component; of an assignment only the name. */
static int meet_parse_name(const char *text, struct arena *a, struct glob *ret)
{
	const char *path = arena_printf(a, "/%.*s", (int)strcspn(text, "="), text);

	return path ? glob_parse(ret, a, path, NULL, NULL) : -ENOMEM;
}

int meet_relate_names(const char *a, const char *b, size_t *effort)
{
	auto_arena scratch = { 0 };
	bool a_set = strchr(a, '='), b_set = strchr(b, '=');
	struct glob x = { 0 }, y = { 0 };
	int r;

	if (strcmp(a, b) == 0)
		return RELATION_EQUAL;
	if (a_set && b_set)
		return RELATION_DISJOINT; /* different values, or different names */
	if (effort && !*effort)
		return RELATION_UNKNOWN;
	r = meet_parse_name(a, &scratch, &x);
	if (r == 0)
		r = meet_parse_name(b, &scratch, &y);
	if (r < 0)
		return r;
	spend_alternatives(effort, &x);
	spend_alternatives(effort, &y);
	r = relation_within_effort(&x, &y, PRODUCT_NAMES, effort);
	if (r < 0 || r == RELATION_DISJOINT || r == RELATION_UNKNOWN)
		return r;
	/* An assignment is one of the values that its bare name stands for. */
	return a_set ? RELATION_INSIDE : b_set ? RELATION_OUTSIDE : r;
}

/* Words */

static int relate_words(const char *a, const char *b, size_t *effort)
{
	bool a_wild = strpbrk(a, "*?"), b_wild = strpbrk(b, "*?");

	(void)effort; /* nothing is searched */
	if (strcmp(a, b) == 0)
		return RELATION_EQUAL;
	if (a_wild == b_wild)
		return a_wild ? RELATION_UNKNOWN : RELATION_DISJOINT;
	if (b_wild)
		return service_word_matches(b, a, strlen(a)) ? RELATION_INSIDE : RELATION_DISJOINT;
	return service_word_matches(a, b, strlen(b)) ? RELATION_OUTSIDE : RELATION_DISJOINT;
}

/* Commands: programs and arguments meet apart from each other. */

struct command_meet {
	struct arena arena;
	struct command_pattern args; /* what all the patterns together say of arguments */
	const char *name;
	struct meet_parts paths;
	bool empty;
};

static int commands_add(struct command_meet *c, const char *text)
{
	struct command_pattern p, met = c->args;
	int r = command_pattern_parse(&p, &c->arena, text, NULL, NULL);

	if (r < 0)
		return r;
	if (command_pattern_meet_args(&c->args, &p, &met) <= 0)
		c->empty = true;
	c->args = met;
	if (!p.is_name)
		return meet_parts_add(&c->paths, p.program, meet_relate_paths);
	if (c->name && strcmp(c->name, p.program) != 0)
		c->empty = true;
	c->name = p.program;
	return 0;
}

/* Prints a program with what is said of arguments (once, for the first). */
static const char *meet_spell(
	struct command_meet *c, const char *program, bool is_name, bool with_args)
{
	auto_buffer out = { 0 };
	struct command_pattern p = { .more = true };

	if (with_args)
		p = c->args;
	p.program = program;
	p.is_name = is_name;
	command_pattern_print(&p, &out);
	return out.failed ? NULL : arena_strdup(&c->arena, buffer_text(&out));
}

static int commands_emit(struct command_meet *c, struct permissions *p, struct grant_list *to,
	const struct location *where)
{
	struct meet_parts out = { 0 };

	if (c->empty || c->paths.empty)
		return 0;
	qsort(c->paths.items, c->paths.n, sizeof(c->paths.items[0]), array_compare_text);
	if (c->name)
		out.items[out.n++] = meet_spell(c, c->name, true, true);
	/* Any file, beside a name: the name says it all. */
	if (c->name && c->paths.n == 1 && strcmp(c->paths.items[0], "/**") == 0)
		c->paths.n = 0;
	if (c->paths.n > PARTS_MAX - out.n)
		return -E2BIG;
	for (size_t i = 0; i < c->paths.n; i++, out.n++)
		out.items[out.n] = meet_spell(c, c->paths.items[i], false, out.n == 0);
	for (size_t i = 0; i < out.n; i++) {
		if (!out.items[i])
			return -ENOMEM;
	}
	return parts_emit(&out, p, to, where);
}

int meet_commands(struct permissions *p, struct grant_list *to, const struct grant *a,
	const struct grant *b, size_t *effort)
{
	struct command_meet c = { .args = { .more = true }, .paths.effort = effort };
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n; i++)
		r = commands_add(&c, a->all[i]);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = commands_add(&c, b->all[i]);
	if (r == 0)
		r = commands_emit(&c, p, to, &a->where);
	arena_deinit(&c.arena);
	return r;
}

/* Hosts: the meet of two patterns is always 0 to 2 patterns again. */

struct host_meet {
	struct arena arena;
	struct host_pattern *items;
	size_t n, cap;
};

static int hosts_narrow(struct host_meet *h, const char *text)
{
	struct host_pattern p, met[2];
	struct host_meet old = *h;
	int r = host_pattern_parse(&p, &h->arena, text, NULL, NULL);

	h->items = NULL;
	h->n = h->cap = 0;
	for (size_t i = 0; r >= 0 && i < old.n; i++) {
		int n = r = host_pattern_meet(&old.items[i], &p, &h->arena, met);

		for (int k = 0; r >= 0 && k < n; k++)
			r = ARENA_PUSH(&h->arena, h->items, h->n, h->cap, met[k]);
	}
	return r < 0 ? r : 0;
}

/* One entry. Several URL paths that must all match are as many patterns. */
static int hosts_emit(struct permissions *p, struct grant_list *to, struct host_pattern *host,
	const struct location *where)
{
	const char *const *paths = host->url_paths;
	size_t n = host->n_url_paths;
	struct meet_parts out = { 0 };

	if (n > PARTS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < (n ? n : 1); i++) {
		auto_buffer text = { 0 };

		host->url_paths = n ? (const char **)&paths[i] : NULL;
		host->n_url_paths = n ? 1 : 0;
		host_pattern_print(host, &text);
		out.items[out.n++] =
			text.failed ? NULL : arena_strdup(p->arena, buffer_text(&text));
		if (!out.items[i])
			return -ENOMEM;
	}
	return parts_emit(&out, p, to, where);
}

int meet_hosts(struct permissions *p, struct grant_list *to, const struct grant *a,
	const struct grant *b, size_t *effort)
{
	struct host_meet h = { 0 };
	struct host_pattern first;
	int r = host_pattern_parse(&first, &h.arena, a->all[0], NULL, NULL);

	(void)effort; /* nothing is searched */
	if (r == 0)
		r = ARENA_PUSH(&h.arena, h.items, h.n, h.cap, first);
	for (size_t i = 1; r == 0 && i < a->n; i++)
		r = hosts_narrow(&h, a->all[i]);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = hosts_narrow(&h, b->all[i]);
	for (size_t i = 0; r == 0 && i < h.n; i++)
		r = hosts_emit(p, to, &h.items[i], &a->where);
	arena_deinit(&h.arena);
	return r;
}

int meet_words(
	struct permissions *p, struct grant_list *to, const struct grant *a, const struct grant *b)
{
	return meet_with(relate_words, p, to, a, b, NULL);
}

int meet_relate_hosts(const char *a, const char *b, size_t *effort)
{
	auto_arena scratch = { 0 };
	struct host_pattern x, y;
	int r = host_pattern_parse(&x, &scratch, a, NULL, NULL);

	(void)effort; /* nothing is searched */
	if (r == 0)
		r = host_pattern_parse(&y, &scratch, b, NULL, NULL);
	if (r < 0)
		return r;
	return host_pattern_contains(&x, &y) ? RELATION_OUTSIDE : RELATION_UNKNOWN;
}

static bool meet_list_has_addresses(const struct grant_list *list)
{
	auto_arena scratch = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; k < list->items[i].n; k++) {
			struct host_pattern h;

			/* `localhost` is two addresses as well. What cannot be read, for lack of
			 * memory too, counts as one: then nothing is said to be a subset. */
			if (host_pattern_parse(&h, &scratch, list->items[i].all[k], NULL, NULL) <
					0 ||
				h.kind == HOST_PREFIX ||
				strcmp(h.name ? h.name : "", "localhost") == 0)
				return true;
		}
	}
	return false;
}

bool meet_has_addresses(const struct permissions *p)
{
	bool found = meet_list_has_addresses(&p->network_allow);

	for (size_t i = 0; i < p->n_rules && !found; i++)
		found = p->rules[i].action == VERDICT_ALLOW &&
			p->rules[i].operations >> OPERATION_NET_CONNECT & 1 &&
			meet_list_has_addresses(&p->rules[i].patterns);
	return found;
}

int meet_relate_texts(const char *a, const char *b, size_t *effort)
{
	(void)effort;
	return strcmp(a, b) == 0 ? RELATION_EQUAL : RELATION_UNKNOWN;
}

int meet_relate_secrets(const char *a, const char *b, size_t *effort)
{
	(void)effort;
	return strcmp(a, b) == 0       ? RELATION_EQUAL
	       : secret_contains(b, a) ? RELATION_INSIDE
	       : secret_contains(a, b) ? RELATION_OUTSIDE
				       : RELATION_DISJOINT;
}

int meet_grants(struct permissions *p, struct grant_list *to, enum operation op,
	const struct grant *a, const struct grant *b, size_t *effort)
{
	const struct operation_row *row = &operation_rows[op];
	int r = row->meet     ? row->meet(p, to, a, b, effort)
		: row->relate ? meet_with(row->relate, p, to, a, b, effort)
			      : -EINVAL;

	/* Patterns that were not compared would stay side by side, pair after pair. */
	return r == 0 && effort && *effort == 0 ? -E2BIG : r;
}

int meet_contains(enum operation op, const struct grant *a, const struct grant *b, size_t *effort)
{
	operation_relate *relate = operation_rows[op].relate;

	if (a->n != 1 || !relate)
		return 0;
	/* One pattern of b lies within a's: then all that b covers does. */
	for (size_t i = 0; i < b->n; i++) {
		int r = strcmp(a->all[0], b->all[i]) == 0 ? RELATION_EQUAL
							  : relate(a->all[0], b->all[i], effort);

		if (r == RELATION_EQUAL || r == RELATION_OUTSIDE)
			return 1;
		/* What is no pattern at all is for the compiler to complain about. */
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}
