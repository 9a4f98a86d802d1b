/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer taken apart. Every entry that can decide something becomes one struct lint_entry for each
 * operation that it is about, in the order of layer.c: the deny lists, the rules by strength, the
 * grants. So of two entries the earlier one is the stronger.
 *
 * Patterns are parsed once, here. Permissions that were made by code may hold patterns that do not
 * parse; each is reported, left out, and nothing is said about it afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "advice/lint/internal.h"
#include "policy/algebra/meet.h"

/* Parsing, one pattern at a time */

static int lint_entry_parse_path(
	struct lint *l, struct lint_part *part, const char *text, struct error *e)
{
	const char *rest, *expanded;
	enum variable v;
	int r = variable_split(text, &v, &rest, NULL, e);

	if (r < 0)
		return r;
	part->variable = r == 1 && !(l->known >> v & 1) ? (int)v : -1;
	part->has_glob = true;
	r = variable_expand(l->vars, text, l->scratch, &expanded, NULL, e);
	return r < 0 ? r : glob_parse(&part->glob, l->scratch, expanded, NULL, e);
}

/* Hosts are parsed together (parse_hosts), services only ever compared as text. */
static int lint_parse_part(
	struct lint *l, struct lint_part *part, enum operation op, struct error *e)
{
	const char *path;
	size_t len;
	int r;

	switch (operation_rows[op].target) {
	case TARGET_PATH:
		return lint_entry_parse_path(l, part, part->text, e);
	case TARGET_COMMAND:
		r = command_pattern_parse(&part->command, l->scratch, part->text, NULL, e);
		if (r < 0 || part->command.is_name)
			return r;
		return lint_entry_parse_path(l, part, part->command.program, e);
	case TARGET_NAME:
		len = strcspn(part->text, "=");
		path = arena_printf(l->scratch, "/%.*s", (int)len, part->text);
		part->has_glob = true;
		part->value = part->text[len] ? part->text + len + 1 : NULL;
		return path ? glob_parse(&part->glob, l->scratch, path, NULL, e) : -ENOMEM;
	case TARGET_HOST:
	case TARGET_SERVICE:
	case TARGET_SECRET:
		break;
	}
	return 0;
}

/* What each of the hosts so far has in common with one more pattern. */
static int narrow_hosts(struct lint *l, struct lint_entry *e, const struct host_pattern *by)
{
	struct host_pattern *old = e->hosts, met[2];
	size_t n_old = e->n_hosts, cap = 0;

	e->hosts = NULL;
	e->n_hosts = 0;
	for (size_t i = 0; i < n_old; i++) {
		int n = host_pattern_meet(&old[i], by, l->scratch, met);

		for (int k = 0; k < n; k++) {
			if (ARENA_PUSH(l->scratch, e->hosts, e->n_hosts, cap, met[k]) < 0)
				return -ENOMEM;
		}
		if (n < 0)
			return n;
	}
	return 0;
}

static int parse_hosts(struct lint *l, struct lint_entry *e, struct error *err)
{
	unsigned methods = 0;
	size_t cap = 0;

	for (size_t i = 0; e->rule && i < e->rule->methods.n; i++)
		methods |= host_method(e->rule->methods.items[i].all[0]);
	for (size_t i = 0; i < e->n; i++) {
		struct host_pattern p;
		int r = host_pattern_parse(&p, l->scratch, e->parts[i].text, NULL, err);

		if (r < 0)
			return r;
		p.methods = methods;
		r = i == 0 ? ARENA_PUSH(l->scratch, e->hosts, e->n_hosts, cap, p)
			   : narrow_hosts(l, e, &p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Parsing, a whole entry */

/* As it stands in messages; values of variables may be secrets. */
static int lint_entry_print_entry(struct lint *l, struct lint_entry *e)
{
	auto_buffer out = { 0 };

	buffer_adds(&out, e->grant->n > 1 ? "{all: [" : "");
	for (size_t i = 0; i < e->grant->n; i++) {
		const char *text = e->grant->all[i];
		size_t len = operation_rows[e->op].target == TARGET_NAME ? strcspn(text, "=")
									 : strlen(text);

		buffer_printf(
			&out, "%s%.*s%s", i ? ", " : "", (int)len, text, text[len] ? "=…" : "");
	}
	buffer_adds(&out, e->grant->n > 1 ? "]}" : "");
	e->text = out.failed ? NULL : arena_strdup(l->scratch, buffer_text(&out));
	return e->text ? 0 : -ENOMEM;
}

/* Meeting a grant with itself leaves nothing if its patterns have nothing in common. */
static int find_out_if_empty(struct lint_entry *e)
{
	auto_permissions *p = e->grant->n > 1 ? permissions_new() : NULL;
	struct grant_list met = { 0 };
	int r;

	if (e->grant->n < 2 || e->op == OPERATION_SERVICE)
		return 0;
	r = p ? meet_grants(p, &met, e->op, e->grant, e->grant, NULL) : -ENOMEM;
	e->nothing = r == 0 && met.n == 0;
	return r == -ENOMEM ? r : 0;
}

static int parse_entry(struct lint *l, struct lint_entry *e, struct error *err)
{
	int r = 0;

	e->n = e->grant->n < LINT_PARTS_MAX ? e->grant->n : LINT_PARTS_MAX;
	e->parts = arena_calloc(l->scratch, e->n, sizeof(*e->parts));
	e->globs.items = arena_calloc(l->scratch, e->n, sizeof(*e->globs.items));
	if (!e->parts || !e->globs.items || lint_entry_print_entry(l, e) < 0)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < e->n; i++) {
		struct lint_part *part = &e->parts[i];

		part->text = e->grant->all[i];
		part->variable = -1;
		r = lint_parse_part(l, part, e->op, err);
		if (r == 0 && part->has_glob)
			e->globs.items[e->globs.n++] = part->glob;
	}
	if (r == 0 && e->op == OPERATION_NET_CONNECT)
		r = parse_hosts(l, e, err);
	if (r == 0)
		r = find_out_if_empty(e);
	if (r == 0 && e->globs.n && operation_rows[e->op].target != TARGET_NAME)
		r = lint_width_of(l, &e->globs, &e->width);
	return r;
}

/* Collecting, the strongest first */

static int lint_entry_add(struct lint *l, struct lint_entries *to, struct lint_entry e)
{
	struct error err = { 0 };
	int r;

	e.where = e.grant->where;
	if (!e.where.line && e.rule)
		e.where = e.rule->where;
	r = e.grant->n ? parse_entry(l, &e, &err)
		       : error_set(&err, -EINVAL, NULL, "an entry needs a pattern");
	if (r == 0 && e.verdict != VERDICT_ALLOW)
		r = ARENA_PUSH(l->scratch, to->shields, to->n_shields, to->cap_shields, to->n);
	if (r == 0)
		return ARENA_PUSH(l->scratch, to->items, to->n, to->cap, e);
	if (r == -ENOMEM)
		return r;
	return e.implied ? 0
			 : lint_report_at(l, &e.where, e.text ? e.text : "",
				   lint_say(l, "%s", err.text),
				   lint_say(l, "%s", err.hint[0] ? err.hint : "rewrite it"));
}

static int lint_entry_add_list(
	struct lint *l, struct lint_entries *to, const struct grant_list *list, struct lint_entry e)
{
	for (size_t i = 0; i < list->n; i++) {
		int r;

		e.grant = &list->items[i];
		r = lint_entry_add(l, to, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int lint_entry_by_strength(const void *x, const void *y)
{
	return rule_compare(*(const struct rule *const *)x, *(const struct rule *const *)y);
}

static int lint_entry_add_rules(struct lint *l)
{
	size_t n = l->p->n_rules;
	const struct rule **sorted = arena_calloc(l->scratch, n + 1, sizeof(const struct rule *));
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		sorted[i] = &l->p->rules[i];
	if (r == 0 && n)
		qsort(sorted, n, sizeof(const struct rule *), lint_entry_by_strength);
	for (size_t i = 0; r == 0 && i < n * OPERATION_COUNT; i++) {
		const struct rule *rule = sorted[i / OPERATION_COUNT];
		enum operation op = (enum operation)(i % OPERATION_COUNT);
		struct lint_entry e = {
			.op = op, .verdict = rule->action, .list = "rules", .rule = rule
		};

		if (!rule->disabled && rule->operations >> op & 1)
			r = lint_entry_add_list(l, &l->entries[op], &rule->patterns, e);
	}
	return r;
}

/* A guest path grants its folder on the host. */
static int lint_entry_add_guest_path(struct lint *l, const struct guest_path *g)
{
	struct lint_entry e = { .verdict = VERDICT_ALLOW, .list = "guest_paths" };
	struct grant *grant = arena_alloc(l->scratch, sizeof(*grant));
	const char **text = arena_calloc(l->scratch, 1, sizeof(*text));
	int r;

	if (text)
		*text = arena_printf(l->scratch, "%s/**", g->host);
	if (!grant || !text || !*text)
		return -ENOMEM;
	*grant = (struct grant){ .all = text, .n = 1, .where = g->where };
	e.grant = grant;
	e.op = OPERATION_FS_READ;
	e.implied = g->writable;
	r = lint_entry_add(l, &l->entries[e.op], e);
	e.op = OPERATION_FS_WRITE;
	e.implied = false;
	return r < 0 || !g->writable ? r : lint_entry_add(l, &l->entries[e.op], e);
}

/* The lists that allow, or those that deny: an entry for each operation that a list decides. */
static int lint_entry_add_lists(struct lint *l, enum verdict verdict)
{
	int r = 0;

	for (int i = 0; r == 0 && i < LIST_COUNT * OPERATION_COUNT; i++) {
		const int which = i / OPERATION_COUNT;
		const enum operation op = (enum operation)(i % OPERATION_COUNT);
		const struct list_row *row = &list_rows[which];

		if (row->verdict == verdict && row->decides & 1u << op)
			r = lint_entry_add_list(l, &l->entries[op], permissions_list(l->p, which),
				(struct lint_entry){ .op = op,
					.verdict = verdict,
					.list = row->name,
					.implied = op != row->op,
					.is_private = which == LIST_NETWORK_PRIVATE });
	}
	return r;
}

int lint_collect(struct lint *l)
{
	const struct lint_entry dangerous = {
		.op = OPERATION_FS_WRITE, .verdict = VERDICT_ALLOW, .list = "dangerously_allow"
	};
	int r = lint_entry_add_lists(l, VERDICT_DENY);

	if (r == 0)
		r = lint_entry_add_rules(l);
	if (r == 0)
		r = lint_entry_add_lists(l, VERDICT_ALLOW);
	for (size_t i = 0; r == 0 && i < l->p->n_guest_paths; i++)
		r = lint_entry_add_guest_path(l, &l->p->guest_paths[i]);
	return r < 0 ? r
		     : lint_entry_add_list(l, &l->dangerous, &l->p->dangerously_allow, dangerous);
}

const char *lint_source(struct lint *l, const struct lint_entry *e)
{
	return e->rule ? lint_say(l, "rule %s", e->rule->id) : e->list;
}
