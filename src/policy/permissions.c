/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "policy/permissions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DERIVED_MAX = 64 };

static const char *const limit_names[LIMIT_COUNT] = {
	[LIMIT_TIMEOUT_MS] = "timeout",
	[LIMIT_MEMORY] = "memory",
	[LIMIT_PIDS] = "pids",
	[LIMIT_OUTPUT] = "output",
	[LIMIT_FILE_SIZE] = "file_size",
	[LIMIT_OPEN_FILES] = "open_files",
	[LIMIT_FUEL] = "fuel",
	[LIMIT_WASM_MEMORY] = "wasm_memory",
};

const char *const mode_names[MODE_COUNT] = {
	[MODE_ENFORCE] = "enforce",
	[MODE_AUDIT] = "audit",
	[MODE_MONITOR] = "monitor",
};

const char *limit_name(enum limit l)
{
	return limit_names[l];
}

struct permissions *permissions_new(void)
{
	struct permissions owner = { .arena = calloc(1, sizeof(struct arena)) };
	struct permissions *p = owner.arena ? permissions_new_layer(&owner) : NULL;

	if (!p)
		free(owner.arena);
	return p;
}

void permissions_free(struct permissions *p)
{
	struct arena *arena = p ? p->arena : NULL;

	if (!arena)
		return;
	/* p itself lives in the arena. */
	arena_deinit(arena);
	free(arena);
}

struct permissions *permissions_new_layer(struct permissions *owner)
{
	struct permissions *p = arena_alloc(owner->arena, sizeof(*p));

	if (!p)
		return NULL;
	p->arena = owner->arena;
	for (int i = 0; i < LIMIT_COUNT; i++)
		p->limits.values[i] = LIMIT_NONE;
	p->network.max_bytes = LIMIT_NONE;
	p->network.max_request_size = LIMIT_NONE;
	return p;
}

/* Copies a place; the file's name is kept once per list where it does not change. */
static int copy_location(struct permissions *p, const struct location *where,
	const struct grant_list *list, struct location *ret)
{
	const struct location *before = list && list->n ? &list->items[list->n - 1].where : NULL;

	*ret = (struct location){ 0 };
	if (!where)
		return 0;
	*ret = *where;
	if (!where->file)
		return 0;
	if (before && before->file && strcmp(before->file, where->file) == 0)
		ret->file = before->file;
	else
		ret->file = arena_strdup(p->arena, where->file);
	return ret->file ? 0 : -ENOMEM;
}

int permissions_add_all(struct permissions *p, struct grant_list *list, const char *const *patterns,
	size_t n, const struct location *where)
{
	struct grant g = { .n = n };

	g.all = arena_calloc(p->arena, n, sizeof(*g.all));
	if (!g.all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		g.all[i] = arena_strdup(p->arena, patterns[i]);
		if (!g.all[i])
			return -ENOMEM;
	}
	if (copy_location(p, where, list, &g.where) < 0)
		return -ENOMEM;
	return ARENA_PUSH(p->arena, list->items, list->n, list->cap, g);
}

int permissions_add(struct permissions *p, struct grant_list *list, const char *pattern,
	const struct location *where)
{
	return permissions_add_all(p, list, &pattern, 1, where);
}

struct service *permissions_service(struct permissions *p, const char *name)
{
	struct service s = { .name = name };

	for (size_t i = 0; i < p->n_services; i++) {
		if (strcmp(p->services[i].name, name) == 0)
			return &p->services[i];
	}
	s.name = arena_strdup(p->arena, name);
	if (!s.name || ARENA_PUSH(p->arena, p->services, p->n_services, p->cap_services, s) < 0)
		return NULL;
	return &p->services[p->n_services - 1];
}

struct service_scope *permissions_scope(struct permissions *p, struct service *s, const char *key)
{
	struct service_scope scope = { 0 };

	for (size_t i = 0; i < s->n_scopes; i++) {
		if (strcmp(s->scopes[i].key, key) == 0)
			return &s->scopes[i];
	}
	scope.key = arena_strdup(p->arena, key);
	if (!scope.key || ARENA_PUSH(p->arena, s->scopes, s->n_scopes, s->cap_scopes, scope) < 0)
		return NULL;
	return &s->scopes[s->n_scopes - 1];
}

static int permissions_copy_text(struct permissions *p, const char *text, const char **ret)
{
	*ret = text ? arena_strdup(p->arena, text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

int permissions_add_list(
	struct permissions *p, struct grant_list *to, const struct grant_list *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct grant *g = &from->items[i];
		int r = permissions_add_all(p, to, g->all, g->n, &g->where);

		if (r < 0)
			return r;
	}
	return 0;
}

int permissions_add_rule(struct permissions *p, const struct rule *rule)
{
	struct rule copy = *rule;

	copy.patterns = (struct grant_list){ 0 };
	copy.methods = (struct grant_list){ 0 };
	if (permissions_copy_text(p, rule->id, &copy.id) < 0 ||
		permissions_copy_text(p, rule->name, &copy.name) < 0 ||
		permissions_add_list(p, &copy.patterns, &rule->patterns) < 0 ||
		permissions_add_list(p, &copy.methods, &rule->methods) < 0 ||
		copy_location(p, &rule->where, NULL, &copy.where) < 0)
		return -ENOMEM;
	return ARENA_PUSH(p->arena, p->rules, p->n_rules, p->cap_rules, copy);
}

void permissions_tidy_rules(struct permissions *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].patterns.n)
			p->rules[n++] = p->rules[i];
	}
	p->n_rules = n;
}

int permissions_add_guest_path(struct permissions *p, const struct guest_path *g)
{
	struct guest_path copy = *g;

	if (permissions_copy_text(p, g->guest, &copy.guest) < 0 ||
		permissions_copy_text(p, g->host, &copy.host) < 0 ||
		copy_location(p, &g->where, NULL, &copy.where) < 0)
		return -ENOMEM;
	return ARENA_PUSH(p->arena, p->guest_paths, p->n_guest_paths, p->cap_guest_paths, copy);
}

int permissions_add_service(struct permissions *p, const struct service *from)
{
	struct service s = { .access = from->access, .bounds = from->bounds };

	if (permissions_copy_text(p, from->name, &s.name) < 0 ||
		copy_location(p, &from->where, NULL, &s.where) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_scopes; i++) {
		struct service_scope *scope = permissions_scope(p, &s, from->scopes[i].key);

		if (!scope || permissions_add_list(p, &scope->values, &from->scopes[i].values) < 0)
			return -ENOMEM;
	}
	return ARENA_PUSH(p->arena, p->services, p->n_services, p->cap_services, s);
}

static int copy_into(struct permissions *to, const struct permissions *from)
{
	int r = permissions_copy_text(to, from->origin, &to->origin);

	if (r == 0)
		r = permissions_copy_text(to, from->extends, &to->extends);
	if (r == 0)
		r = copy_location(to, &from->extends_where, NULL, &to->extends_where);
	to->line_place = from->line_place;
	to->exec_listed = from->exec_listed;
	to->is_shield = from->is_shield;
	to->limits = from->limits;
	to->network.rate = from->network.rate;
	to->network.max_bytes = from->network.max_bytes;
	to->network.max_request_size = from->network.max_request_size;
	to->fallback = from->fallback;
	to->mode = from->mode;
	for (int l = 0; r == 0 && l < LIST_COUNT; l++)
		r = permissions_add_list(to, permissions_list(to, l), permissions_list(from, l));
	for (size_t i = 0; r == 0 && i < from->n_services; i++)
		r = permissions_add_service(to, &from->services[i]);
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++)
		r = permissions_add_guest_path(to, &from->guest_paths[i]);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++)
		r = permissions_add_rule(to, &from->rules[i]);
	for (size_t i = 0; r == 0 && i < from->n_all_of; i++)
		r = permissions_add_layer(to, from->all_of[i]);
	return r;
}

int permissions_add_layer(struct permissions *p, const struct permissions *layer)
{
	struct permissions *copy = permissions_new_layer(p);
	int r = copy ? copy_into(copy, layer) : -ENOMEM;

	if (r < 0)
		return r;
	return ARENA_PUSH(p->arena, p->all_of, p->n_all_of, p->cap_all_of, copy);
}

struct permissions *permissions_copy(const struct permissions *p)
{
	struct permissions *copy = permissions_new();

	if (copy && copy_into(copy, p) < 0) {
		permissions_free(copy);
		return NULL;
	}
	return copy;
}

/* Priority first, then the strictest, then the order in the file. */
int rule_compare(const struct rule *a, const struct rule *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->action != b->action)
		return a->action < b->action ? -1 : 1;
	return (a > b) - (a < b);
}

int permissions_layers(const struct permissions *p, const struct permissions **ret, size_t max)
{
	size_t n = 0;

	if (!p->n_all_of && max)
		*ret = p;
	if (!p->n_all_of)
		return max ? 1 : -E2BIG;
	for (size_t i = 0; i < p->n_all_of; i++) {
		int more = permissions_layers(p->all_of[i], ret + n, max - n);

		if (more < 0)
			return more;
		n += (size_t)more;
	}
	return (int)n;
}

int permissions_derive(struct permissions **ret, const struct permissions *from,
	permissions_fill *fill, const void *context, struct error *e)
{
	const struct permissions *layers[DERIVED_MAX];
	auto_permissions *p = permissions_new();
	int n = permissions_layers(from, layers, DERIVED_MAX), r = n < 0 ? n : 0;

	if (!p)
		return -ENOMEM;
	for (int i = 0; r == 0 && i < n; i++) {
		auto_permissions *layer = permissions_new();

		r = layer ? fill(n == 1 ? p : layer, layers[i], context, e) : -ENOMEM;
		if (r == 0 && n > 1)
			r = permissions_add_layer(p, layer);
	}
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}

bool permissions_has_rules(const struct permissions *p, enum operation op)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled && p->rules[i].operations >> op & 1)
			return true;
	}
	return false;
}

bool permissions_is_empty(const struct permissions *p)
{
	/* One layer that grants nothing is enough for the strictest of them to deny. */
	for (size_t i = 0; i < p->n_all_of; i++) {
		if (permissions_is_empty(p->all_of[i]))
			return true;
	}
	if (p->extends || p->n_all_of || p->n_guest_paths || p->listen.n ||
		p->fallback != VERDICT_DENY || p->mode != MODE_ENFORCE)
		return false;
	for (int l = 0; l < LIST_COUNT; l++) {
		if (list_rows[l].verdict == VERDICT_ALLOW && permissions_list(p, l)->n)
			return false;
	}
	for (size_t i = 0; i < p->n_services; i++) {
		if (p->services[i].access != SERVICE_NONE)
			return false;
	}
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rules[i];

		if (!r->disabled && r->action != VERDICT_DENY && r->patterns.n)
			return false;
	}
	return true;
}
