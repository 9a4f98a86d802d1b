/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/live-ceiling.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "policy/algebra/meet.h"
#include "policy/explain.h"
#include "policy/format/image.h"
#include "policy/format/permissions-text.h"
#include "policy/network/url.h"

/* Characters of a refusal: all of it fits into an error. */
enum { CEILING_NAME_MAX = 80, CEILING_PATTERN_MAX = 100, CEILING_LIST_MAX = 200 };

/* A list of which as much is shown as fits; what is left out is counted. */
struct live_ceiling_list {
	struct buffer text;
	size_t shown, left_out;
};

/* Whether it was added, and not counted alone. */
static bool live_ceiling_add(struct live_ceiling_list *l, const char *item)
{
	if (l->left_out || l->text.len + strlen(item) > CEILING_LIST_MAX) {
		l->left_out++;
		return false;
	}
	buffer_printf(&l->text, "%s%s", l->shown++ ? ", " : "", item);
	return true;
}

static const char *live_ceiling_name(const struct permissions *p)
{
	return p->origin && p->origin[0] ? p->origin : "the policy";
}

static void live_ceiling_show_list(struct live_ceiling_list *l, const struct grant_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		(void)live_ceiling_add(l, list->items[i].all[0]);
}

static void live_ceiling_show_rule(struct live_ceiling_list *l, const struct rule *rule)
{
	const size_t before = l->shown;

	live_ceiling_show_list(l, &rule->patterns);
	for (size_t i = 0; l->shown > before && i < rule->methods.n; i++)
		buffer_printf(&l->text, "%s%s%s", i ? ", " : " (with ",
			rule->methods.items[i].all[0], i + 1 < rule->methods.n ? "" : " only)");
}

/* "the ceiling is what policy.yaml grants or asks about: a, b" */
static void live_ceiling_show(const struct permissions *p, enum operation op, struct buffer *out)
{
	const enum permission_list which = operation_rows[op].allow;
	struct live_ceiling_list l = { 0 };

	buffer_printf(out, "the ceiling is what %.*s grants or asks about: ", CEILING_NAME_MAX,
		live_ceiling_name(p));
	if (which != LIST_NONE)
		live_ceiling_show_list(&l, permissions_list(p, which));
	if (op == OPERATION_FS_READ)
		live_ceiling_show_list(&l, &p->fs_write);
	for (size_t i = 0; op == OPERATION_SERVICE && i < p->n_services; i++)
		(void)live_ceiling_add(&l, p->services[i].name);
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].action != VERDICT_DENY && !p->rules[i].disabled &&
			p->rules[i].operations & 1u << op)
			live_ceiling_show_rule(&l, &p->rules[i]);
	buffer_adds(out, buffer_text(&l.text));
	if (l.left_out)
		buffer_printf(out, "%s%zu%s", l.shown ? " and " : "", l.left_out,
			l.shown ? " more" : " patterns");
	else if (l.shown == 0)
		buffer_adds(out, "nothing of this kind");
	buffer_deinit(&l.text);
}

static int live_ceiling_refuse(
	const struct permissions *by, const struct live_grant *g, struct error *e)
{
	const enum operation op = (enum operation)g->op;
	auto_buffer text = { 0 };

	if (!by)
		return error_set(e, -EOPNOTSUPP, NULL,
			"%s %.*s cannot be granted: no ceiling was declared here",
			operation_name(op), CEILING_PATTERN_MAX, g->pattern);
	live_ceiling_show(by, op, &text);
	return error_set(e, -EPERM, NULL, "%s %.*s is above the ceiling; %s", operation_name(op),
		CEILING_PATTERN_MAX, g->pattern, buffer_text(&text));
}

/* A grant that could never have an effect is refused, not given. */
static int live_ceiling_check_baseline(
	const struct holder_live_ceiling *c, const struct live_grant *g, struct error *e)
{
	const char *entry = "", *why = "";
	struct ceiling_grant one;
	auto_arena a = { 0 };
	int r = ceiling_grant_read(&one, (enum operation)g->op, g->pattern, &a);

	if (r == 0)
		r = ceiling_baseline(c->layers, c->n_layers, &one, &c->options, &entry, &why, e);
	if (r != 1)
		return r;
	return error_set(e, -EPERM, NULL,
		"%s %.*s stays denied whatever is granted: the baseline denies %s (%s)",
		operation_name((enum operation)g->op), CEILING_PATTERN_MAX, g->pattern, entry, why);
}

/* 1: it is below it. */
static int live_ceiling_compare(const struct holder_live_ceiling *c, const struct live_grant *g,
	const struct permissions **ret, struct error *e)
{
	const size_t replaced = c->n_declared ? c->n_replaced : 0;
	struct ceiling_grant one;
	auto_arena a = { 0 };
	int r = ceiling_grant_read(&one, (enum operation)g->op, g->pattern, &a);

	if (r < 0)
		return r;
	r = 1;
	if (c->n_declared)
		r = ceiling_admits(c->declared, c->n_declared, &one, &c->options, true, ret, e);
	if (r == 1 && c->n_layers > replaced)
		r = ceiling_admits(c->layers + replaced, c->n_layers - replaced, &one, &c->options,
			false, ret, e);
	return c->n_layers || c->n_declared ? r : 0;
}

static int live_ceiling_spell(
	const struct holder_live_ceiling *c, struct live_grant *g, struct arena *a, struct error *e)
{
	const enum operation op = (enum operation)g->op;
	struct ceiling_grant one;
	int r = ceiling_grant_read(&one, op, g->pattern, a);

	if (r == 0)
		r = permissions_canonical(op, one.pattern, a, &g->pattern, NULL, e);
	if (r == 0 && one.method)
		g->pattern = arena_printf(a, "%s %s", one.method, g->pattern);
	if (!g->pattern)
		return error_no_memory(e);
	if (r == 0 && (op == OPERATION_FS_READ || op == OPERATION_FS_WRITE) && c->options.variables)
		r = variable_expand(c->options.variables, g->pattern, a, &g->pattern, NULL, e);
	return r;
}

int live_ceiling_check(
	const struct holder_live_ceiling *c, struct live_grant *g, struct arena *a, struct error *e)
{
	const struct permissions *by = NULL;
	int r = live_ceiling_spell(c, g, a, e);

	if (r < 0)
		return r;
	r = live_ceiling_compare(c, g, &by, e);
	if (r < 0)
		return e->text[0] ? r : error_set(e, r, NULL, "%s", strerror(-r));
	if (r == 0)
		return live_ceiling_refuse(by, g, e);
	r = live_ceiling_check_baseline(c, g, e);
	return r < 0 && !e->text[0] ? error_set(e, r, NULL, "%s", strerror(-r)) : r;
}

/* "GET https://host/path" is at "host:443"; with its method if that is kept. */
static const char *live_ceiling_host(const char *text, bool keeps_method, struct arena *a)
{
	struct ceiling_grant g;
	struct url url;

	if (ceiling_grant_read(&g, OPERATION_NET_CONNECT, text, a) < 0 ||
		url_parse(&url, g.pattern, strlen(g.pattern), NULL) < 0)
		return NULL;
	keeps_method = keeps_method && g.method;
	return arena_printf(a, "%s%s%s:%u", keeps_method ? g.method : "", keeps_method ? " " : "",
		url.host, (unsigned)url.port);
}

int live_ceiling_check_once(
	const struct holder_live_ceiling *c, const struct question *q, struct error *e)
{
	struct live_grant g = { .op = q->op, .pattern = q->scopes[0] };
	auto_arena a = { 0 };

	/* The layers themselves ask about it. */
	if (c->n_declared == 0)
		return 0;
	/* A request that has no pattern of its own is below it if its whole host is. */
	if (q->n_scopes == 0)
		g.pattern = q->op == OPERATION_NET_CONNECT ? live_ceiling_host(q->target, true, &a)
							   : NULL;
	if (!g.pattern)
		return error_set(e, -EPERM, NULL,
			"a ceiling was declared, and this cannot be compared with it");
	return live_ceiling_check(c, &g, &a, e);
}

/* Scopes */

static void live_ceiling_offer(
	const struct holder_live_ceiling *c, struct question *q, const char *pattern)
{
	const struct live_grant g = { .op = q->op, .pattern = pattern };
	const struct permissions *by;
	struct error e = { 0 };

	for (size_t i = 0; i < q->n_scopes; i++)
		if (strcmp(q->scopes[i], pattern) == 0)
			return;
	if (q->n_scopes < QUESTION_SCOPES_MAX && strlen(pattern) <= QUESTION_TEXT_MAX &&
		live_ceiling_compare(c, &g, &by, &e) == 1)
		q->scopes[q->n_scopes++] = pattern;
}

/* "/srv/data/a" is in "/srv/data/**". */
static const char *live_ceiling_wider(const struct question *q, struct arena *a)
{
	const char *pattern = q->scopes[0];
	const char *slash = strrchr(pattern, '/');

	if (q->op == OPERATION_FS_READ || q->op == OPERATION_FS_WRITE)
		return slash > pattern ? arena_printf(a, "%.*s/**", (int)(slash - pattern), pattern)
				       : NULL;
	if (q->op != OPERATION_NET_CONNECT || !strstr(pattern, "://"))
		return NULL;
	return live_ceiling_host(pattern, false, a);
}

/* Whether a pattern, perhaps with a method in front, has all that is asked for. */
static bool live_ceiling_holds(
	const char *pattern, const struct ceiling_grant *asked, struct arena *a)
{
	struct ceiling_grant g;

	if (ceiling_grant_read(&g, asked->op, pattern, a) < 0)
		return false;
	return meet_contains(asked->op,
		       &(struct grant){ .all = (const char *[]){ g.pattern }, .n = 1 },
		       &(struct grant){ .all = (const char *[]){ asked->pattern }, .n = 1 },
		       NULL) == 1;
}

/* The patterns of the rule that asks, where they have what it asks about. */
static void live_ceiling_offer_rule(
	const struct holder_live_ceiling *c, struct question *q, struct arena *a)
{
	const struct permissions *all[HOLDER_LIVE_CEILING_MAX];
	struct ceiling_grant g;

	if (ceiling_grant_read(&g, (enum operation)q->op, q->scopes[0], a) < 0)
		return;
	for (size_t i = 0; i < c->n_layers; i++) {
		int n = permissions_layers(c->layers[i], all, ROWS(all));

		for (int k = 0; k < n; k++) {
			const struct rule *rule = NULL;
			struct error e = { 0 };
			int r = ceiling_look(all[k], &g, &c->options, &rule, &e);

			for (size_t p = 0; r == CEILING_ASKS && rule && p < rule->patterns.n; p++) {
				struct live_grant one = { .op = q->op,
					.pattern = rule->patterns.items[p].all[0] };

				/* It asks about some methods: of those, this one. */
				if (g.method && rule->methods.n)
					one.pattern =
						arena_printf(a, "%s %s", g.method, one.pattern);
				if (one.pattern && live_ceiling_spell(c, &one, a, &e) == 0 &&
					live_ceiling_holds(one.pattern, &g, a))
					live_ceiling_offer(c, q, one.pattern);
			}
		}
	}
}

/*
 * Whether a grant of the host lets the request pass: each layer that asks about the request asks
 * about the host by the same rule.
 */
static bool live_ceiling_answers(
	const struct holder_live_ceiling *c, const char *request, const char *host, struct arena *a)
{
	const struct permissions *all[HOLDER_LIVE_CEILING_MAX];
	struct ceiling_grant narrow, wide;

	if (ceiling_grant_read(&narrow, OPERATION_NET_CONNECT, request, a) < 0 ||
		ceiling_grant_read(&wide, OPERATION_NET_CONNECT, host, a) < 0)
		return false;
	for (size_t i = 0; i < c->n_layers; i++) {
		int n = permissions_layers(c->layers[i], all, ROWS(all));

		for (int k = 0; k < n; k++) {
			const struct rule *by = NULL, *other = NULL;
			struct error e = { 0 };

			if (ceiling_look(all[k], &narrow, &c->options, &by, &e) == CEILING_ASKS &&
				(ceiling_look(all[k], &wide, &c->options, &other, &e) !=
						CEILING_ASKS ||
					by != other))
				return false;
		}
		if (n < 0)
			return false;
	}
	return true;
}

int live_ceiling_widen(const struct holder_live_ceiling *c, struct question *q, struct arena *a)
{
	struct live_grant exact = { .op = q->op, .pattern = q->scopes[0] };
	struct error e = { 0 };
	const char *wider;

	if (q->n_scopes == 0)
		return 0;
	q->n_scopes = 0;
	/* What is no pattern, or above the ceiling, is not offered. */
	if (live_ceiling_spell(c, &exact, a, &e) < 0)
		return 0;
	live_ceiling_offer(c, q, exact.pattern);
	if (q->n_scopes == 0)
		return 0;
	wider = live_ceiling_wider(q, a);
	if (wider &&
		(q->op != OPERATION_NET_CONNECT || live_ceiling_answers(c, q->scopes[0], wider, a)))
		live_ceiling_offer(c, q, wider);
	live_ceiling_offer_rule(c, q, a);
	return 0;
}

/* For a relay */

/* Leaves what is about the network. */
static void live_ceiling_keep_network(struct permissions *p)
{
	struct grant_list *const others[] = { &p->fs_read, &p->fs_write, &p->fs_deny, &p->exec,
		&p->env, &p->secrets, &p->dangerously_allow };
	size_t n = 0;

	for (size_t i = 0; i < ROWS(others); i++)
		others[i]->n = 0;
	p->exec_listed = p->is_shield = false;
	p->n_services = p->n_guest_paths = 0;
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule rule = p->rules[i];

		rule.operations &= 1u << OPERATION_NET_CONNECT;
		if (rule.operations)
			p->rules[n++] = rule;
	}
	p->n_rules = n;
	for (size_t i = 0; i < p->n_all_of; i++)
		live_ceiling_keep_network(p->all_of[i]);
}

bool holder_live_names_hosts(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].operations & 1u << OPERATION_NET_CONNECT && !p->rules[i].disabled &&
			p->rules[i].action != VERDICT_DENY)
			return true;
	for (size_t i = 0; i < p->n_all_of; i++)
		if (holder_live_names_hosts(p->all_of[i]))
			return true;
	return p->network_allow.n > 0 || p->fallback != VERDICT_DENY;
}

int holder_live_network(
	const struct permissions *const *layers, size_t n, struct buffer *out, struct error *e)
{
	auto_permissions *all = permissions_new();
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = permissions_add_layer(all, layers[i]);
	if (r < 0)
		return error_no_memory(e);
	live_ceiling_keep_network(all);
	/* With the places of rules: messages name them, and an answer is about one of them. */
	r = image_write_text(all, out);
	if (r < 0)
		return error_set(e, r, NULL, "layers are nested too deeply");
	return out->failed ? error_no_memory(e) : 0;
}
