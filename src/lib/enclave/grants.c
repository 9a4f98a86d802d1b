/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "lib/enclave/internal.h"
#include "policy/algebra/meet.h"
#include "policy/format/permissions-text.h"
#include "policy/match/service.h"

enum { LAYERS_MAX = 64, NEAR_MAX = 256, DIFF_BYTES = 4096 };

/* The list that grants of an operation go to; LIST_NONE for services, and what is no operation. */
static enum permission_list grants_list(enum operation op)
{
	return (unsigned)op < OPERATION_COUNT ? operation_rows[op].allow : LIST_NONE;
}

static size_t grants_find(const struct grant_list *list, const char *pattern)
{
	size_t i = 0;

	while (i < list->n &&
		(list->items[i].n != 1 || strcmp(list->items[i].all[0], pattern) != 0))
		i++;
	return i;
}

bool grants_has(const struct grant_list *list, const char *pattern)
{
	return grants_find(list, pattern) < list->n;
}

/* Services: "NAME.ACCESS", with no scope */

static size_t grants_find_service(const struct permissions *p, const struct service_request *r)
{
	static const struct service_bounds none;

	for (size_t i = 0; i < p->n_services; i++) {
		const struct service *s = &p->services[i];

		if (s->n_scopes == 0 && memcmp(&s->bounds, &none, sizeof(none)) == 0 &&
			s->access == r->access && strlen(s->name) == r->name_len &&
			memcmp(s->name, r->name, r->name_len) == 0)
			return i;
	}
	return p->n_services;
}

/* 1: added. */
static int grants_add_service(struct permissions *p, const char *pattern)
{
	struct service s = { 0 };
	struct service_request r;
	auto_arena scratch = { 0 };
	int code = service_request_parse(&r, pattern);

	if (code < 0 || grants_find_service(p, &r) < p->n_services)
		return code;
	s.name = arena_strndup(&scratch, r.name, r.name_len);
	s.access = r.access;
	code = s.name ? permissions_add_service(p, &s) : -ENOMEM;
	return code < 0 ? code : 1;
}

static bool remove_service(struct permissions *p, const char *pattern)
{
	struct service_request r;
	size_t i =
		service_request_parse(&r, pattern) < 0 ? p->n_services : grants_find_service(p, &r);

	if (i == p->n_services)
		return false;
	p->n_services--;
	memmove(&p->services[i], &p->services[i + 1], (p->n_services - i) * sizeof(*p->services));
	return true;
}

/* One pattern */

int grants_spell(
	enum operation op, const char *pattern, struct arena *a, const char **ret, struct error *e)
{
	struct service_request r;

	if (!pattern)
		return error_set(e, -EINVAL, NULL, "no pattern was given");
	if (op != OPERATION_SERVICE)
		return grants_list(op) != LIST_NONE
			       ? permissions_canonical(op, pattern, a, ret, NULL, e)
			       : error_set(e, -EINVAL, NULL, "unknown operation %d", (int)op);
	if (service_request_parse(&r, pattern) < 0 || r.access == 0 || r.value)
		return error_set(e, -EINVAL, NULL, "%s is not of the form NAME.ACCESS", pattern);
	*ret = arena_strdup(a, pattern);
	return *ret ? 0 : -ENOMEM;
}

void grants_print(enum operation op, const char *pattern, struct buffer *out)
{
	const char *value = op == OPERATION_ENV ? strchr(pattern, '=') : NULL;

	if (value)
		buffer_printf(out, "%.*s=…", (int)(value - pattern), pattern);
	else
		buffer_adds(out, pattern);
}

int grants_add(struct permissions *p, enum operation op, const char *pattern, struct error *e)
{
	struct grant_list *list = permissions_list(p, grants_list(op));
	int r = 0, added = 0;

	for (size_t i = 0; r >= 0 && i < p->n_all_of; i++) {
		r = grants_add(p->all_of[i], op, pattern, e);
		added |= r;
	}
	if (p->n_all_of)
		return r < 0 ? r : added;
	if (!list)
		return grants_add_service(p, pattern);
	if (grants_has(list, pattern))
		return 0;
	if (list->n >= ENCLAVE_GRANTS_MAX)
		return error_set(e, -E2BIG, NULL, "there are %d grants of this kind already",
			ENCLAVE_GRANTS_MAX);
	r = permissions_add(p, list, pattern, NULL);
	return r < 0 ? r : 1;
}

static bool remove_from_layers(struct permissions *p, enum operation op, const char *pattern)
{
	struct grant_list *list = permissions_list(p, grants_list(op));
	size_t i = list ? grants_find(list, pattern) : 0;
	bool removed = false;

	for (size_t k = 0; k < p->n_all_of; k++)
		removed |= remove_from_layers(p->all_of[k], op, pattern);
	if (p->n_all_of)
		return removed;
	if (!list)
		return remove_service(p, pattern);
	if (i == list->n)
		return false;
	list->n--;
	memmove(&list->items[i], &list->items[i + 1], (list->n - i) * sizeof(*list->items));
	return true;
}

/* The grant that was probably meant, or NULL. */
static const char *near(const struct permissions *p, enum operation op, const char *pattern)
{
	enum permission_list which = grants_list(op);
	const struct permissions *layers[LAYERS_MAX];
	const char *known[NEAR_MAX];
	int n_layers = permissions_layers(p, layers, LAYERS_MAX);
	size_t n = 0;

	for (int i = 0; which != LIST_NONE && i < n_layers; i++) {
		const struct grant_list *list = permissions_list(layers[i], which);

		for (size_t k = 0; k < list->n && n < NEAR_MAX; k++) {
			if (list->items[k].n == 1)
				known[n++] = list->items[k].all[0];
		}
	}
	return suggest(pattern, known, n);
}

int grants_remove(struct permissions *p, enum operation op, const char *pattern, struct error *e)
{
	auto_buffer shown = { 0 };
	const char *meant;

	if (remove_from_layers(p, op, pattern))
		return 0;
	grants_print(op, pattern, &shown);
	(void)error_set(
		e, -ENOENT, NULL, "%s %s is not granted", operation_name(op), buffer_text(&shown));
	meant = near(p, op, pattern);
	if (meant)
		error_hint(e, "did you mean %s?", meant);
	else
		error_hint(e, "revoke a grant by its exact pattern; corral_enclave_get_policy() "
			      "lists them");
	return -ENOENT;
}

/* What others still grant */

/* 2: all of it, 1: a part of it, 0: nothing. */
static int overlap(enum operation op, const struct grant *other, const struct grant *g)
{
	auto_permissions *scratch = permissions_new();
	int r = scratch ? meet_contains(op, other, g, NULL) : -ENOMEM;

	if (r != 0)
		return r < 0 ? r : 2;
	r = meet_grants(scratch, &scratch->fs_read, op, other, g, NULL);
	return r < 0 ? r : scratch->fs_read.n > 0;
}

static int rest_of_list(
	const struct grant_list *list, enum operation op, const struct grant *g, struct buffer *out)
{
	for (size_t i = 0; i < list->n; i++) {
		int r = overlap(op, &list->items[i], g);

		if (r < 0)
			return r;
		if (r > 0) {
			buffer_printf(out, ", %s still granted by ",
				r == 2 ? "all of it" : "a part of it");
			grants_print(op, list->items[i].all[0], out);
			return 1;
		}
	}
	return 0;
}

int grants_rest(
	const struct permissions *p, enum operation op, const char *pattern, struct buffer *out)
{
	const char *all[] = { pattern };
	const struct grant g = { .all = all, .n = 1 };
	enum permission_list which = grants_list(op);
	const struct permissions *layers[LAYERS_MAX];
	int n = which == LIST_NONE ? 0 : permissions_layers(p, layers, LAYERS_MAX), r = 0;

	for (int i = 0; r == 0 && i < n; i++) {
		r = rest_of_list(permissions_list(layers[i], which), op, &g, out);
		/* What may be written may be read. */
		if (r == 0 && op == OPERATION_FS_READ)
			r = rest_of_list(&layers[i]->fs_write, op, &g, out);
	}
	return r < 0 ? r : 0;
}

/* Two sets */

static bool has_grant(const struct grant_list *list, const struct grant *g)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct grant *other = &list->items[i];
		size_t same = 0;

		while (same < g->n && other->n == g->n &&
			strcmp(other->all[same], g->all[same]) == 0)
			same++;
		if (other->n == g->n && same == g->n)
			return true;
	}
	return false;
}

static void diff_list(char sign, enum permission_list which, const struct grant_list *from,
	const struct grant_list *without, struct buffer *out)
{
	const char *name = which == LIST_LISTEN ? "listen" : list_rows[which].name;

	for (size_t i = 0; i < from->n && out->len < DIFF_BYTES; i++) {
		if (has_grant(without, &from->items[i]))
			continue;
		buffer_printf(out, "%s%c%s ", out->len ? ", " : "", sign, name);
		grants_print(list_rows[which].op, from->items[i].all[0], out);
	}
}

void grants_diff(const struct permissions *a, const struct permissions *b, struct buffer *out)
{
	if (a->n_all_of || b->n_all_of) {
		buffer_printf(out, "%zu layers instead of %zu", b->n_all_of ? b->n_all_of : 1,
			a->n_all_of ? a->n_all_of : 1);
		return;
	}
	for (int i = 0; i < LIST_COUNT; i++) {
		const struct grant_list *x = permissions_list(a, i), *y = permissions_list(b, i);

		diff_list('+', i, y, x, out);
		diff_list('-', i, x, y, out);
	}
	if (a->n_rules || b->n_rules)
		buffer_printf(out, "%s%zu rules instead of %zu", out->len ? ", " : "", b->n_rules,
			a->n_rules);
}
