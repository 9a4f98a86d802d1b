/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permissions into a tree, in the one form that equal permissions share: keys in the order of the
 * grammar, lists sorted and without doubles, rules by priority, and nothing that says nothing. What
 * would change the meaning if it were left out stays, even when it is empty: `exec: []`, and a
 * scope without values.
 *
 * Out of memory needs no checks on the way: a NULL node passes through node_put() and
 * node_append(), and `failed` remembers it.
 */
#include "policy/format/permissions-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "codec/node.h"
#include "codec/yaml.h"
#include "codec/unit.h"
#include "policy/format/internal.h"
#include "policy/match/service.h"
#include "policy/network/listen.h"
#include "policy/service-table.h"

struct printer {
	struct arena *arena;
	bool failed;
};

static void print_put(struct printer *pr, struct node *map, const char *key, struct node *child)
{
	if (!map || !child || !node_put(pr->arena, map, key, child))
		pr->failed = true;
}

static void print_append(struct printer *pr, struct node *list, struct node *child)
{
	if (!list || !child || !node_append(list, child))
		pr->failed = true;
}

static void print_put_text(struct printer *pr, struct node *map, const char *key, const char *text)
{
	print_put(pr, map, key, node_new_text(pr->arena, text));
}

/* A section that is left out when nothing was put into it. */
static void put_section(struct printer *pr, struct node *map, const char *key, struct node *section)
{
	if (!section)
		pr->failed = true;
	else if (section->count)
		print_put(pr, map, key, section);
}

/* An amount; digits alone are a number. */
static struct node *amount_node(struct printer *pr, const struct buffer *text)
{
	const char *s = buffer_text(text);

	if (text->failed)
		return NULL;
	if (s[strspn(s, "0123456789")] == '\0' && text->len < 19)
		return node_new_integer(pr->arena, strtoll(s, NULL, 10));
	return node_new_text(pr->arena, s);
}

/* Without a printer it is a count. */
static void print_put_amount(struct printer *pr, struct node *map, const char *key, uint64_t value,
	void (*print)(uint64_t value, struct buffer *out))
{
	auto_buffer text = { 0 };

	if (value == LIMIT_NONE)
		return;
	if (print)
		print(value, &text);
	print_put(pr, map, key,
		print ? amount_node(pr, &text)
		      : node_new_integer(
				pr->arena, (int64_t)(value < INT64_MAX ? value : INT64_MAX)));
}

/* Lists */

static int compare_grants(const void *x, const void *y)
{
	const struct grant *a = x, *b = y;

	for (size_t i = 0; i < a->n && i < b->n; i++) {
		int c = strcmp(a->all[i], b->all[i]);

		if (c != 0)
			return c;
	}
	return (a->n > b->n) - (a->n < b->n);
}

/* Ports: by their number, not by their digits. */
static int compare_ports(const void *x, const void *y)
{
	const char *texts[] = { ((const struct grant *)x)->all[0],
		((const struct grant *)y)->all[0] };
	struct listen_entry a, b;

	/* What was made by code, and is no port, is for the plan to complain about. */
	if (listen_parse(texts[0], &a, NULL, NULL) < 0 ||
		listen_parse(texts[1], &b, NULL, NULL) < 0)
		return strcmp(texts[0], texts[1]);
	return listen_compare(&a, &b);
}

/* A copy of a list in canonical order, each entry's patterns too, without doubles; an empty one
 * when out of memory. */
static struct grant_list sort_list(struct printer *pr, const struct grant_list *list,
	int (*compare)(const void *, const void *))
{
	struct grant *items = arena_calloc(pr->arena, list->n + 1, sizeof(*items));
	size_t n = 0;

	for (size_t i = 0; items && i < list->n; i++) {
		const struct grant *from = &list->items[i];
		struct grant *to = &items[i];

		to->all = arena_calloc(pr->arena, from->n, sizeof(*to->all));
		if (!to->all) {
			items = NULL;
			break;
		}
		memcpy(to->all, from->all, from->n * sizeof(*to->all));
		qsort(to->all, from->n, sizeof(*to->all), array_compare_text);
		for (size_t k = 0; k < from->n; k++) {
			if (k == 0 || strcmp(to->all[to->n - 1], to->all[k]) != 0)
				to->all[to->n++] = to->all[k];
		}
	}
	if (!items) {
		pr->failed = true;
		return (struct grant_list){ 0 };
	}
	qsort(items, list->n, sizeof(*items), compare);
	for (size_t i = 0; i < list->n; i++) {
		if (n == 0 || compare(&items[n - 1], &items[i]) != 0)
			items[n++] = items[i];
	}
	return (struct grant_list){ .items = items, .n = n };
}

/* Each entry is a pattern, or {all: [pattern, pattern …]}. */
static struct node *list_node(struct printer *pr, const struct grant_list *list)
{
	struct grant_list sorted = sort_list(pr, list, compare_grants);
	struct node *n = node_new(pr->arena, NODE_LIST);

	for (size_t i = 0; i < sorted.n; i++) {
		const struct grant *g = &sorted.items[i];
		struct node *map, *all;

		if (g->n == 1) {
			print_append(pr, n, node_new_text(pr->arena, g->all[0]));
			continue;
		}
		map = node_new(pr->arena, NODE_MAP);
		all = node_new(pr->arena, NODE_LIST);
		for (size_t k = 0; k < g->n; k++)
			print_append(pr, all, node_new_text(pr->arena, g->all[k]));
		print_put(pr, map, "all", all);
		print_append(pr, n, map);
	}
	return n;
}

static void put_list(
	struct printer *pr, struct node *map, const char *key, const struct grant_list *list)
{
	put_section(pr, map, key, list_node(pr, list));
}

/* Sections */

static void put_network(struct printer *pr, struct node *top, const struct permissions *p)
{
	struct node *network = node_new(pr->arena, NODE_MAP);
	struct node *ports = node_new(pr->arena, NODE_LIST);
	struct grant_list sorted = sort_list(pr, &p->listen, compare_ports);
	auto_buffer rate = { 0 };

	put_list(pr, network, "allow", &p->network_allow);
	put_list(pr, network, "private", &p->network_private);
	put_list(pr, network, "deny", &p->network_deny);
	put_list(pr, network, "inspect", &p->inspect);
	for (size_t i = 0; i < sorted.n; i++) {
		const char *text = sorted.items[i].all[0];

		print_append(pr, ports,
			strchr(text, ':') ? node_new_text(pr->arena, text)
					  : node_new_integer(pr->arena, strtol(text, NULL, 10)));
	}
	put_section(pr, network, "listen", ports);
	if (p->network.rate.count) {
		unit_print_rate(&p->network.rate, &rate);
		print_put(pr, network, "rate_limit", amount_node(pr, &rate));
	}
	print_put_amount(pr, network, "max_bytes", p->network.max_bytes, unit_print_size);
	print_put_amount(
		pr, network, "max_request_size", p->network.max_request_size, unit_print_size);
	put_list(pr, network, "methods", &p->network.methods);
	put_section(pr, top, "network", network);
}

/* Services, their scopes and guest paths: each starts with its name. */
static int compare_names(const void *x, const void *y)
{
	return strcmp(**(const char *const *const *)x, **(const char *const *const *)y);
}

/* Highest first; rules of one priority stay in the order they were written in. */
static int compare_rules(const void *x, const void *y)
{
	const struct rule *a = *(const struct rule *const *)x, *b = *(const struct rule *const *)y;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return (a > b) - (a < b);
}

/* Pointers to the n items of an array, sorted; NULL when out of memory. */
static const void **print_sort_items(struct printer *pr, const void *items, size_t n, size_t size,
	int (*compare)(const void *, const void *))
{
	const void **sorted = arena_calloc(pr->arena, n + 1, sizeof(*sorted));

	if (!sorted) {
		pr->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		sorted[i] = (const char *)items + i * size;
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted;
}

static struct node *service_node(struct printer *pr, const struct service *s)
{
	const struct service_row *row = service_row_find(s->name, strlen(s->name));
	const void **scopes =
		print_sort_items(pr, s->scopes, s->n_scopes, sizeof(*s->scopes), compare_names);
	struct node *n = node_new(pr->arena, NODE_MAP), *access;
	const char *word = service_access_name(s->access);

	/* One word, or a list of them where no word has this set. */
	access = word ? node_new_text(pr->arena, word) : node_new(pr->arena, NODE_LIST);
	for (unsigned left = word ? 0 : s->access & SERVICE_ALL; left; left &= left - 1)
		print_append(
			pr, access, node_new_text(pr->arena, service_access_name(left & -left)));
	print_put(pr, n, "access", access);
	for (size_t i = 0; scopes && i < s->n_scopes; i++) {
		const struct service_scope *scope = scopes[i];

		print_put(pr, n, scope->key, list_node(pr, &scope->values));
	}
	for (size_t i = 0; row && row->scopes[i].key; i++) {
		const struct service_scope_row *scope = &row->scopes[i];
		auto_buffer text = { 0 };

		if (scope->spell || !service_bound_is_set(s, scope))
			continue;
		scope->bound->print(service_bound_at(s, scope), &text);
		print_put(pr, n, scope->key, amount_node(pr, &text));
	}
	return n;
}

static void put_services(struct printer *pr, struct node *top, const struct permissions *p)
{
	const void **sorted = print_sort_items(
		pr, p->services, p->n_services, sizeof(*p->services), compare_names);
	struct node *services = node_new(pr->arena, NODE_MAP);

	for (size_t i = 0; sorted && i < p->n_services; i++) {
		const struct service *s = sorted[i];

		if (s->access != SERVICE_NONE)
			print_put(pr, services, s->name, service_node(pr, s));
	}
	put_section(pr, top, "services", services);
}

static void put_secrets(struct printer *pr, struct node *top, const struct permissions *p)
{
	struct grant_list sorted = sort_list(pr, &p->secrets, compare_grants);

	put_section(pr, top, "secrets", permissions_secrets_node(&sorted, pr->arena));
}

static void put_limits(struct printer *pr, struct node *top, const struct permissions *p)
{
	static void (*const printers[LIMIT_COUNT])(uint64_t value, struct buffer * out) = {
		[LIMIT_TIMEOUT_MS] = unit_print_duration,
		[LIMIT_MEMORY] = unit_print_size,
		[LIMIT_OUTPUT] = unit_print_size,
		[LIMIT_FILE_SIZE] = unit_print_size,
		[LIMIT_WASM_MEMORY] = unit_print_size,
	};
	struct node *limits = node_new(pr->arena, NODE_MAP);

	for (int l = 0; l < LIMIT_COUNT; l++)
		print_put_amount(
			pr, limits, limit_name((enum limit)l), p->limits.values[l], printers[l]);
	put_section(pr, top, "limits", limits);
}

static void put_guest_paths(struct printer *pr, struct node *top, const struct permissions *p)
{
	const void **sorted = print_sort_items(
		pr, p->guest_paths, p->n_guest_paths, sizeof(*p->guest_paths), compare_names);
	struct node *list = node_new(pr->arena, NODE_LIST);

	for (size_t i = 0; sorted && i < p->n_guest_paths; i++) {
		const struct guest_path *g = sorted[i];
		struct node *n = node_new(pr->arena, NODE_MAP);

		print_put_text(pr, n, "guest", g->guest);
		print_put_text(pr, n, "host", g->host);
		print_put_text(pr, n, "mode", g->writable ? "rw" : "ro");
		print_append(pr, list, n);
	}
	put_section(pr, top, "guest_paths", list);
}

static struct node *rule_node(struct printer *pr, const struct rule *r)
{
	struct node *n = node_new(pr->arena, NODE_MAP);
	struct node *operations = node_new(pr->arena, NODE_LIST);

	print_put_text(pr, n, "id", r->id);
	if (r->name)
		print_put_text(pr, n, "name", r->name);
	if (r->priority)
		print_put(pr, n, "priority", node_new_integer(pr->arena, r->priority));
	print_put_text(pr, n, "action", verdict_name(r->action));
	for (int op = 0; op < OPERATION_COUNT; op++) {
		if (r->operations & 1U << op)
			print_append(pr, operations,
				node_new_text(pr->arena, operation_name((enum operation)op)));
	}
	print_put(pr, n, "operations", operations);
	print_put(pr, n, "patterns", list_node(pr, &r->patterns));
	put_list(pr, n, "methods", &r->methods);
	if (r->disabled)
		print_put(pr, n, "enabled", node_new_boolean(pr->arena, false));
	return n;
}

static struct node *layer_node(struct printer *pr, const struct permissions *p)
{
	const void **rules =
		print_sort_items(pr, p->rules, p->n_rules, sizeof(*p->rules), compare_rules);
	struct node *top = node_new(pr->arena, NODE_MAP), *fs = node_new(pr->arena, NODE_MAP);
	struct node *list = node_new(pr->arena, NODE_LIST);
	struct node *layers = node_new(pr->arena, NODE_LIST);

	if (p->extends)
		print_put_text(pr, top, "extends", p->extends);
	put_list(pr, fs, "read", &p->fs_read);
	put_list(pr, fs, "write", &p->fs_write);
	put_list(pr, fs, "deny", &p->fs_deny);
	put_section(pr, top, "fs", fs);
	put_network(pr, top, p);
	if (p->exec_listed)
		print_put(pr, top, "exec", list_node(pr, &p->exec));
	for (int l = 0; l < LIST_COUNT; l++)
		if (operation_rows[list_rows[l].op].target == TARGET_NAME)
			put_list(pr, top, list_rows[l].name, permissions_list(p, l));
	put_services(pr, top, p);
	put_secrets(pr, top, p);
	put_limits(pr, top, p);
	put_guest_paths(pr, top, p);
	put_list(pr, top, "dangerously_allow", &p->dangerously_allow);
	for (size_t i = 0; rules && i < p->n_rules; i++)
		print_append(pr, list, rule_node(pr, rules[i]));
	put_section(pr, top, "rules", list);
	if (p->fallback != VERDICT_DENY)
		print_put_text(pr, top, "default", verdict_name(p->fallback));
	if (p->mode != MODE_ENFORCE)
		print_put_text(pr, top, "mode", mode_names[p->mode]);
	for (size_t i = 0; i < p->n_all_of; i++)
		print_append(pr, layers, layer_node(pr, p->all_of[i]));
	put_section(pr, top, "all_of", layers);
	return top;
}

struct node *permissions_to_node(const struct permissions *p, struct arena *a)
{
	struct printer pr = { .arena = a };
	struct node *top = layer_node(&pr, p);

	return pr.failed ? NULL : top;
}

static void print_text(const struct permissions *p, struct buffer *out, bool json)
{
	auto_arena scratch = { 0 };
	const struct node *tree = permissions_to_node(p, &scratch);

	if (!tree)
		out->failed = true;
	else if (json)
		json_print(out, tree, JSON_PRETTY);
	else
		yaml_print(out, tree);
}

void permissions_print_yaml(const struct permissions *p, struct buffer *out)
{
	print_text(p, out, false);
}

void permissions_print_json(const struct permissions *p, struct buffer *out)
{
	print_text(p, out, true);
}
