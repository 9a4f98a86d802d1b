/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything works on single layers; `all_of` is dealt with by distribution:
 *
 *     (A1 ∩ A2) ∪ B = (A1 ∪ B) ∩ (A2 ∪ B)          (A1 ∩ A2) ∩ B = A1 ∩ A2 ∩ B
 *
 * Programs need care. A layer without an exec list runs what it can read, and where such a layer
 * meets one with a list, neither "no list" nor "that list" is right. Its rule is then written out
 * first: a list of all the patterns that it can read (list_exec).
 */
#include "policy/algebra/algebra.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/command.h"
#include "policy/algebra/meet.h"
#include "policy/service-table.h"

/* EFFORT_MAX: what comparing globs may cost (relation.h), a good part of a second. */
enum {
	LAYERS_MAX = 64,
	PAIRS_MAX = 1 << 20,
	PRUNE_MAX = 600,
	EFFORT_MAX = 1 << 20,
	SCOPE_PAIRS_MAX = 1 << 14
};

/* Lists */

/* Leaves out entries that one of `by` covers, which may be the list itself: of two that are equal
 * the first stays. */
static int prune(
	enum operation op, struct grant_list *list, const struct grant_list *by, size_t *effort)
{
	size_t kept = 0;

	if (list->n > PRUNE_MAX || by->n > PRUNE_MAX)
		return 0;
	for (size_t i = 0; i < list->n; i++) {
		int covered = 0;

		for (size_t k = 0; k < by->n && covered == 0; k++) {
			const struct grant *wide = &by->items[k], *narrow = &list->items[i];

			covered = wide == narrow ? 0 : meet_contains(op, wide, narrow, effort);
			/* Equal ones cover each other. */
			if (covered > 0 && by == list && k > i) {
				covered = meet_contains(op, narrow, wide, effort);
				covered = covered < 0 ? covered : !covered;
			}
		}
		if (covered < 0)
			return covered;
		if (!covered)
			list->items[kept++] = list->items[i];
	}
	list->n = kept;
	return 0;
}

static int meet_lists(struct permissions *p, struct grant_list *to, enum operation op,
	const struct grant_list *a, const struct grant_list *b, size_t *effort)
{
	/* Of two long lists more than this would be a product of the two. */
	size_t max = to->n + 4 * (a->n + b->n) + 256;

	if (a->n && b->n > PAIRS_MAX / a->n)
		return -E2BIG;
	for (size_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < b->n; k++) {
			int r = meet_grants(p, to, op, &a->items[i], &b->items[k], effort);

			if (r == 0 && to->n > max)
				r = -E2BIG;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int join_lists(struct permissions *p, enum permission_list which,
	const struct permissions *from, size_t *effort)
{
	struct grant_list *to = permissions_list(p, which);
	int r = permissions_add_list(p, to, permissions_list(from, which));

	return r == 0 ? prune(list_rows[which].op, to, to, effort) : r;
}

/* Entries that stand in both lists by their text. */
static int meet_texts(struct permissions *p, struct grant_list *to, const struct grant_list *a,
	const struct grant_list *b)
{
	for (size_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < b->n; k++) {
			if (strcmp(a->items[i].all[0], b->items[k].all[0]) != 0)
				continue;
			if (permissions_add(p, to, a->items[i].all[0], &a->items[i].where) < 0)
				return -ENOMEM;
			break;
		}
	}
	return 0;
}

/* Entries of either list by their text, each once. */
static int join_texts(struct permissions *p, struct grant_list *to, const struct grant_list *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const char *text = from->items[i].all[0];
		size_t k = 0;

		while (k < to->n && strcmp(to->items[k].all[0], text) != 0)
			k++;
		if (k == to->n && permissions_add(p, to, text, &from->items[i].where) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Programs */

/* Neither a list nor a rule speaks of programs. */
static bool algebra_exec_is_open(const struct permissions *p)
{
	return !p->exec_listed && !permissions_has_rules(p, OPERATION_EXEC);
}

/*
 * A path entry as a command entry: blanks and colons get their backslashes, and so do control
 * characters. A program is only taken for a path by its start, so "**" + "/x" and "{/a,/b}" get a
 * slash, which changes nothing else.
 */
static int path_to_command(struct permissions *p, struct grant_list *to, const struct grant *g)
{
	const char **texts = arena_calloc(p->arena, g->n, sizeof(*texts));

	for (size_t i = 0; texts && i < g->n; i++) {
		auto_buffer program = { 0 }, out = { 0 };
		struct command_pattern c = { .more = true };

		if (!strchr("/$~", g->all[i][0]))
			buffer_addc(&program, '/');
		for (const char *s = g->all[i]; *s; s++) {
			if ((unsigned char)*s < 0x20 || *s == 0x7f)
				buffer_addc(&program, '\\');
			if (*s == '\\' && s[1])
				buffer_addc(&program, *s++);
			buffer_addc(&program, *s);
		}
		c.program = buffer_text(&program);
		command_pattern_print(&c, &out);
		if (!program.failed && !out.failed)
			texts[i] = arena_strdup(p->arena, buffer_text(&out));
		if (!texts[i])
			return -ENOMEM;
	}
	return texts ? permissions_add_all(p, to, texts, g->n, &g->where) : -ENOMEM;
}

/* Writes out what a layer may run, with or without an exec list. `to` is one of p's lists. */
static int list_exec(struct permissions *p, struct grant_list *to, const struct permissions *from)
{
	const struct grant_list *lists[] = { &from->fs_read, &from->fs_write };
	int r = 0;

	if (!algebra_exec_is_open(from))
		return permissions_add_list(p, to, &from->exec);
	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; r == 0 && i < lists[l]->n; i++)
			r = path_to_command(p, to, &lists[l]->items[i]);
	}
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const char *text = arena_printf(p->arena, "%s/**", from->guest_paths[i].host);
		struct grant g = { .all = &text, .n = 1, .where = from->guest_paths[i].where };

		r = text ? path_to_command(p, to, &g) : -ENOMEM;
	}
	return r;
}

/* The programs of both layers, or those that both have. */
static int combine_exec(struct permissions *p, const struct permissions *a,
	const struct permissions *b, bool meet, size_t *effort)
{
	struct grant_list x = { 0 }, y = { 0 };
	int r;

	p->exec_listed = !(algebra_exec_is_open(a) && algebra_exec_is_open(b));
	if (!p->exec_listed)
		return 0;
	r = list_exec(p, meet ? &x : &p->exec, a);
	if (r == 0)
		r = list_exec(p, meet ? &y : &p->exec, b);
	if (r == 0 && meet)
		r = meet_lists(p, &p->exec, OPERATION_EXEC, &x, &y, effort);
	return r == 0 ? prune(OPERATION_EXEC, &p->exec, &p->exec, effort) : r;
}

/* Services: entries meet and join one by one, since access and scope belong together. */

static const struct service_scope *find_scope(const struct service *s, const char *key)
{
	for (size_t i = 0; i < s->n_scopes; i++) {
		if (strcmp(s->scopes[i].key, key) == 0)
			return &s->scopes[i];
	}
	return NULL;
}

/* The words that both have; b may be NULL: it does not narrow. */
static int meet_scope(struct permissions *p, struct service *s, const struct service_scope *a,
	const struct service_scope *b)
{
	struct service_scope *scope = permissions_scope(p, s, a->key);
	int r = 0;

	if (!scope)
		return -ENOMEM;
	if (!b)
		return permissions_add_list(p, &scope->values, &a->values);
	if (b->values.n && a->values.n > SCOPE_PAIRS_MAX / b->values.n)
		return -E2BIG;
	for (size_t i = 0; i < a->values.n; i++) {
		for (size_t k = 0; r == 0 && k < b->values.n; k++)
			r = meet_words(p, &scope->values, &a->values.items[i], &b->values.items[k]);
	}
	return r;
}

static int meet_service(struct permissions *p, const struct service *a, const struct service *b)
{
	const struct service_row *row = service_row_find(a->name, strlen(a->name));
	struct service s = { .name = a->name, .access = a->access & b->access, .where = a->where };
	int r = 0;

	if (strcmp(a->name, b->name) != 0 || s.access == SERVICE_NONE)
		return 0;
	for (size_t i = 0; row && row->scopes[i].key; i++) {
		const struct service_scope_row *scope = &row->scopes[i];
		const struct service_bound *bound = scope->bound;
		const void *x = service_bound_at(a, scope), *y = service_bound_at(b, scope);

		if (!bound)
			continue;
		if (bound->within(x, y))
			memcpy(service_bound_at(&s, scope), x, bound->size);
		else if (bound->within(y, x))
			memcpy(service_bound_at(&s, scope), y, bound->size);
		else
			bound->meet(x, y, service_bound_at(&s, scope));
	}
	for (size_t i = 0; r == 0 && i < a->n_scopes; i++)
		r = meet_scope(p, &s, &a->scopes[i], find_scope(b, a->scopes[i].key));
	for (size_t i = 0; r == 0 && i < b->n_scopes; i++) {
		if (!find_scope(a, b->scopes[i].key))
			r = meet_scope(p, &s, &b->scopes[i], NULL);
	}
	return r < 0 ? r : permissions_add_service(p, &s);
}

static int meet_services(
	struct permissions *p, const struct permissions *a, const struct permissions *b)
{
	int r = 0;

	for (size_t i = 0; i < a->n_services; i++) {
		for (size_t k = 0; r == 0 && k < b->n_services; k++)
			r = meet_service(p, &a->services[i], &b->services[k]);
	}
	return r;
}

/* Limits */

static uint64_t pick(uint64_t a, uint64_t b, bool least)
{
	return (a < b) == least ? a : b;
}

static void pick_limits(
	struct permissions *p, const struct permissions *a, const struct permissions *b, bool least)
{
	struct rate x = a->network.rate, y = b->network.rate;
	/* A count of 0 is no limit. */
	bool slower = x.count && (!y.count || (__uint128_t)x.count * y.seconds <
						      (__uint128_t)y.count * x.seconds);

	for (int i = 0; i < LIMIT_COUNT; i++)
		p->limits.values[i] = pick(a->limits.values[i], b->limits.values[i], least);
	p->network.max_bytes = pick(a->network.max_bytes, b->network.max_bytes, least);
	p->network.max_request_size =
		pick(a->network.max_request_size, b->network.max_request_size, least);
	p->network.rate = slower == least ? x : y;
}

/* Merging two layers */

static int join_layer(struct permissions *p, const struct permissions *from, size_t *effort)
{
	int r = permissions_add_list(p, &p->listen, &from->listen);

	if (r == 0)
		r = join_texts(p, &p->inspect, &from->inspect);
	/* Programs need care: see combine_exec(). */
	for (int l = 0; r == 0 && l < LIST_COUNT; l++) {
		if (!list_rows[l].words && l != LIST_EXEC)
			r = join_lists(p, l, from, effort);
	}
	for (size_t i = 0; r == 0 && i < from->n_services; i++)
		r = permissions_add_service(p, &from->services[i]);
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const struct guest_path *g = &from->guest_paths[i];
		size_t k = 0;

		/* A folder that both have under the same name stands there once. */
		while (k < p->n_guest_paths &&
			(strcmp(p->guest_paths[k].guest, g->guest) != 0 ||
				strcmp(p->guest_paths[k].host, g->host) != 0))
			k++;
		if (k < p->n_guest_paths)
			p->guest_paths[k].writable |= g->writable;
		else
			r = permissions_add_guest_path(p, g);
	}
	for (size_t i = 0; r == 0 && i < from->n_rules; i++)
		r = permissions_add_rule(p, &from->rules[i]);
	return r;
}

static int merge_layers(struct permissions *p, const struct permissions *a,
	const struct permissions *b, size_t *effort)
{
	int r = join_layer(p, a, effort);

	if (r == 0)
		r = join_layer(p, b, effort);
	if (r == 0)
		r = combine_exec(p, a, b, false, effort);
	/* No list means all methods. */
	for (size_t i = 0; r == 0 && a->network.methods.n && b->network.methods.n && i < 2; i++)
		r = permissions_add_list(
			p, &p->network.methods, i ? &b->network.methods : &a->network.methods);
	pick_limits(p, a, b, false);
	p->fallback = verdict_strictest(a->fallback, b->fallback);
	p->mode = a->mode < b->mode ? a->mode : b->mode;
	return r;
}

int algebra_merge(
	struct permissions **ret, const struct permissions *a, const struct permissions *b)
{
	const struct permissions *x[LAYERS_MAX], *y[LAYERS_MAX];
	auto_permissions *p = permissions_new();
	int na = permissions_layers(a, x, LAYERS_MAX), nb = permissions_layers(b, y, LAYERS_MAX);
	int r = !p                                         ? -ENOMEM
		: a->extends || b->extends                 ? -EINVAL
		: na < 0 || nb < 0 || na * nb > LAYERS_MAX ? -E2BIG
							   : 0;
	size_t effort = EFFORT_MAX;

	if (r == 0 && na * nb == 1)
		r = merge_layers(p, x[0], y[0], &effort);
	/* Every layer of a with every layer of b. */
	for (int i = 0; r == 0 && na * nb > 1 && i < na * nb; i++) {
		struct permissions *one = permissions_new_layer(p);

		r = one ? merge_layers(one, x[i / nb], y[i % nb], &effort) : -ENOMEM;
		if (r == 0)
			r = ARENA_PUSH(p->arena, p->all_of, p->n_all_of, p->cap_all_of, one);
	}
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}

/* Intersecting two layers */

/* No list means all methods; two lists that share none would become no list. */
static bool methods_meet(const struct permissions *a, const struct permissions *b)
{
	const struct grant_list *x = &a->network.methods, *y = &b->network.methods;

	for (size_t i = 0; i < x->n; i++) {
		for (size_t k = 0; k < y->n; k++) {
			if (strcmp(x->items[i].all[0], y->items[k].all[0]) == 0)
				return true;
		}
	}
	return !x->n || !y->n;
}

/* Nothing but lists of grants and denies. */
static bool algebra_is_plain(const struct permissions *p)
{
	return !p->n_rules && !p->n_guest_paths && p->fallback == VERDICT_DENY &&
	       p->mode == MODE_ENFORCE;
}

/*
 * A name of network.private leads to an address that another layer grants as such. In one layer
 * they would have to be both by name, or both by address.
 */
static bool private_meets(const struct permissions *a, const struct permissions *b)
{
	return (!a->network_private.n || !meet_has_addresses(b)) &&
	       (!b->network_private.n || !meet_has_addresses(a));
}

/* What both lists grant, added to one of p's. */
static int meet_into(struct permissions *p, enum permission_list to, const struct grant_list *a,
	const struct grant_list *b, size_t *effort)
{
	const enum operation op = list_rows[to].op;
	struct grant_list *list = permissions_list(p, to);
	int r = meet_lists(p, list, op, a, b, effort);

	return r == 0 ? prune(op, list, list, effort) : r;
}

/*
 * Denials join, grants meet. What one may write, both may read if the other may read it; so it is
 * with names that may lead to private addresses, and those that may not.
 */
static int meet_layers(struct permissions *p, const struct permissions *a,
	const struct permissions *b, size_t *effort)
{
	static const struct {
		enum permission_list to, a, b;
	} meets[] = {
		{ LIST_FS_WRITE, LIST_FS_WRITE, LIST_FS_WRITE },
		{ LIST_FS_READ, LIST_FS_READ, LIST_FS_READ },
		{ LIST_FS_READ, LIST_FS_READ, LIST_FS_WRITE },
		{ LIST_FS_READ, LIST_FS_WRITE, LIST_FS_READ },
		{ LIST_DANGEROUSLY_ALLOW, LIST_DANGEROUSLY_ALLOW, LIST_DANGEROUSLY_ALLOW },
		{ LIST_NETWORK_PRIVATE, LIST_NETWORK_PRIVATE, LIST_NETWORK_PRIVATE },
		{ LIST_NETWORK_ALLOW, LIST_NETWORK_ALLOW, LIST_NETWORK_ALLOW },
		{ LIST_NETWORK_ALLOW, LIST_NETWORK_ALLOW, LIST_NETWORK_PRIVATE },
		{ LIST_NETWORK_ALLOW, LIST_NETWORK_PRIVATE, LIST_NETWORK_ALLOW },
	};
	const struct grant_list *x = &a->network.methods, *y = &b->network.methods;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(meets); i++)
		r = meet_into(p, meets[i].to, permissions_list(a, meets[i].a),
			permissions_list(b, meets[i].b), effort);
	/* Lists of names, and of secrets, stand alone. */
	for (int l = 0; r == 0 && l < LIST_COUNT; l++)
		if ((operation_rows[list_rows[l].op].target == TARGET_NAME ||
			    operation_rows[list_rows[l].op].target == TARGET_SECRET) &&
			list_rows[l].verdict == VERDICT_ALLOW)
			r = meet_into(p, l, permissions_list(a, l), permissions_list(b, l), effort);
	for (int l = 0; r == 0 && l < LIST_COUNT; l++) {
		if (list_rows[l].verdict != VERDICT_DENY || !list_rows[l].decides)
			continue;
		r = join_lists(p, l, a, effort);
		if (r == 0)
			r = join_lists(p, l, b, effort);
	}
	if (r == 0)
		r = meet_texts(p, &p->listen, &a->listen, &b->listen);
	/* One layer is enough for TLS to be opened, as it is with layers beside each other. */
	if (r == 0)
		r = join_texts(p, &p->inspect, &a->inspect);
	if (r == 0)
		r = join_texts(p, &p->inspect, &b->inspect);
	if (r == 0 && x->n && y->n)
		r = meet_texts(p, &p->network.methods, x, y);
	else if (r == 0)
		r = permissions_add_list(p, &p->network.methods, x->n ? x : y);
	if (r == 0)
		r = combine_exec(p, a, b, true, effort);
	if (r == 0)
		r = meet_services(p, a, b);
	pick_limits(p, a, b, true);
	return r;
}

/* Meets `with` into one of the layers collected so far, or stands beside them. */
static int algebra_fold(struct permissions *p, const struct permissions *with, size_t *effort)
{
	for (size_t i = 0; algebra_is_plain(with) && i < p->n_all_of; i++) {
		const struct permissions *old = p->all_of[i];
		struct permissions *met;
		int r;

		if (!algebra_is_plain(old) || !methods_meet(old, with) || !private_meets(old, with))
			continue;
		met = permissions_new_layer(p);
		r = met ? meet_layers(met, old, with, effort) : -ENOMEM;
		if (r == -E2BIG)
			continue;
		if (r == 0)
			/* Reads that a write covers say nothing new. */
			r = prune(OPERATION_FS_READ, &met->fs_read, &met->fs_write, effort);
		if (r == 0)
			r = prune(OPERATION_NET_CONNECT, &met->network_allow, &met->network_private,
				effort);
		if (r == 0)
			p->all_of[i] = met;
		return r;
	}
	return p->n_all_of >= LAYERS_MAX ? -E2BIG : permissions_add_layer(p, with);
}

static int fold_all(struct permissions *p, const struct permissions *from, size_t *effort)
{
	const struct permissions *layers[LAYERS_MAX];
	int n = permissions_layers(from, layers, LAYERS_MAX), r = n < 0 ? n : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = algebra_fold(p, layers[i], effort);
	return r;
}

int algebra_intersect(
	struct permissions **ret, const struct permissions *a, const struct permissions *b)
{
	auto_permissions *p = permissions_new();
	size_t effort = EFFORT_MAX;
	int r = !p ? -ENOMEM : a->extends || b->extends ? -EINVAL : fold_all(p, a, &effort);

	if (r == 0)
		r = fold_all(p, b, &effort);
	if (r == 0 && p->n_all_of == 1) {
		struct permissions *only = permissions_copy(p->all_of[0]);

		permissions_free(p);
		p = only;
		r = p ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}
