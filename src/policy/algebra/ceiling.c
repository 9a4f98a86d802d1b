/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thing is said of (a path, a host, a program with its arguments) is decided by the engine
 * itself, which has compiled the layer. Of a pattern that covers more, each entry of the layer is
 * compared with it: one that covers all of it decides, in the engine's order; what covers a part is
 * left to the engine, which asks or denies there as before.
 */
#include "policy/algebra/ceiling.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/algebra/meet.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"

enum { CEILING_LAYERS_MAX = 64 };

int ceiling_grant_read(
	struct ceiling_grant *ret, enum operation op, const char *text, struct arena *a)
{
	const char *space = op == OPERATION_NET_CONNECT ? strchr(text, ' ') : NULL;
	const char *word = space ? arena_strndup(a, text, (size_t)(space - text)) : NULL;

	*ret = (struct ceiling_grant){ .op = op, .pattern = text };
	if (space && !word)
		return -ENOMEM;
	if (word && host_method(word)) {
		ret->method = word;
		ret->pattern = space + 1;
	}
	return 0;
}

/* Requests */

/* 1: the pattern stands for one request, which it becomes; 0: for more. */
static int ceiling_request(const struct ceiling_grant *g, struct arena *a, struct request *ret)
{
	struct command_pattern command;
	struct host_request host;
	struct glob glob;
	int r;

	*ret = (struct request){ .op = g->op, .target = g->pattern, .method = g->method };
	switch (operation_rows[g->op].target) {
	case TARGET_PATH:
		r = glob_parse(&glob, a, g->pattern, NULL, NULL);
		if (r < 0)
			return r;
		if (glob.n != 1 || glob.alternatives[0].kind != GLOB_LITERAL)
			return 0;
		ret->target = arena_strndup(
			a, glob.alternatives[0].literal, glob.alternatives[0].literal_len);
		return ret->target ? 1 : -ENOMEM;
	case TARGET_HOST:
		return !strpbrk(g->pattern, "*?[{") &&
		       host_request_parse(&host, g->pattern, NULL) == 0;
	case TARGET_COMMAND:
		r = command_pattern_parse(&command, a, g->pattern, NULL, NULL);
		if (r < 0)
			return r;
		if (command.line || (!command.is_name && strpbrk(command.program, "*?[{\\$")))
			return 0;
		ret->target = command.program;
		/* Without arguments in the pattern they may be any: no layer that names some
		 * covers that. */
		ret->args = command.more ? NULL : command.args;
		ret->n_args = command.more ? 0 : command.n_args;
		return !command.more || command.n_args == 0;
	case TARGET_NAME:
		return !strpbrk(g->pattern, "*?[{");
	case TARGET_SERVICE:
		return !strpbrk(g->pattern, "*?");
	case TARGET_SECRET:
		return 1;
	}
	return -EINVAL;
}

/* Looking: one thing */

static const struct rule *ceiling_rule_of(const struct permissions *p, const struct grant *g)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct grant_list *list = &p->rules[i].patterns;

		if (list->n && g >= list->items && g < list->items + list->n)
			return &p->rules[i];
	}
	return NULL;
}

static int ceiling_decide(const struct permissions *layer, const struct request *request,
	const struct policy_options *o, const struct rule **ret_rule, struct error *e)
{
	struct policy_options options = *o;
	auto_policy *policy = NULL;
	struct decision d = { 0 };
	int r;

	options.borrows = true;
	r = policy_new(&policy, &layer, 1, &options, e);
	if (r == 0)
		r = policy_decide_layer(policy, 0, request, &d);
	if (r < 0)
		return r;
	if (d.verdict == VERDICT_ALLOW)
		return CEILING_ALLOWS;
	if (d.verdict == VERDICT_ASK) {
		*ret_rule = d.source ? ceiling_rule_of(layer, d.source->grant) : NULL;
		return CEILING_ASKS;
	}
	return d.source || d.why == DECISION_METHOD ? CEILING_DENIES : CEILING_NOTHING;
}

/* Looking: patterns */

/* How an entry of a list lies to the grant. */
enum ceiling_covers { COVERS_NOTHING, COVERS_PART, COVERS_ALL };

static int ceiling_covers(const struct grant *entry, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e)
{
	const bool is_path = g->op == OPERATION_FS_READ || g->op == OPERATION_FS_WRITE;
	const struct grant asked = { .all = (const char *[]){ g->pattern }, .n = 1 };
	auto_permissions *scratch = permissions_new();
	struct grant_list expanded = { 0 };
	int r = scratch ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < entry->n; i++) {
		const char *pattern = entry->all[i];

		if (is_path && o->variables)
			r = variable_expand(
				o->variables, pattern, scratch->arena, &pattern, NULL, e);
		/* A variable without a value grants and denies nothing. */
		if (r == -ENOENT)
			return COVERS_NOTHING;
		if (r == 0)
			r = permissions_add(scratch, &expanded, pattern, NULL);
	}
	/* Of several patterns, all must match. */
	for (size_t i = 0; r >= 0 && i < expanded.n; i++) {
		r = meet_contains(g->op, &expanded.items[i], &asked, NULL);
		if (r == 0)
			r = meet_grants(scratch, &scratch->fs_read, g->op, &expanded.items[i],
				&asked, NULL);
		else if (r == 1)
			continue;
		if (r < 0)
			return r;
		return scratch->fs_read.n > 0 ? COVERS_PART : COVERS_NOTHING;
	}
	return r < 0 ? r : COVERS_ALL;
}

/* The most that an entry of the list covers. */
static int ceiling_covers_list(const struct grant_list *list, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e)
{
	int most = COVERS_NOTHING;

	for (size_t i = 0; most >= 0 && most < COVERS_ALL && i < list->n; i++) {
		int r = ceiling_covers(&list->items[i], g, o, e);

		most = r < 0 || r > most ? r : most;
	}
	return most;
}

static int ceiling_look_lists(const struct permissions *p, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e)
{
	const enum permission_list which = operation_rows[g->op].allow;
	int r = which == LIST_NONE ? COVERS_NOTHING
				   : ceiling_covers_list(permissions_list(p, which), g, o, e);

	if (r >= 0 && r < COVERS_ALL && g->op == OPERATION_FS_READ)
		r = ceiling_covers_list(&p->fs_write, g, o, e);
	if (r < 0)
		return r;
	if (r == COVERS_ALL || p->fallback == VERDICT_ALLOW)
		return CEILING_ALLOWS;
	return p->fallback == VERDICT_ASK ? CEILING_ASKS : CEILING_NOTHING;
}

static const struct grant_list *ceiling_denied(const struct permissions *p, enum operation op)
{
	static const struct grant_list none;
	const enum permission_list which = operation_rows[op].deny;

	return which == LIST_NONE ? &none : permissions_list(p, which);
}

static bool ceiling_is_about(const struct rule *rule, enum operation op)
{
	return !rule->disabled && rule->operations & 1u << op;
}

/* How a list of methods, which is empty for any, lies to that of the grant. */
static int ceiling_covers_methods(const struct grant_list *methods, const struct ceiling_grant *g)
{
	if (methods->n == 0)
		return COVERS_ALL;
	for (size_t i = 0; g->method && i < methods->n; i++)
		if (strcmp(methods->items[i].all[0], g->method) == 0)
			return COVERS_ALL;
	return g->method ? COVERS_NOTHING : COVERS_PART;
}

static int ceiling_look_pattern(const struct permissions *p, const struct ceiling_grant *g,
	const struct policy_options *o, const struct rule **ret_rule, struct error *e)
{
	const struct rule *first = NULL;
	int r = ceiling_covers_list(ceiling_denied(p, g->op), g, o, e);

	if (r < 0 || r == COVERS_ALL)
		return r < 0 ? r : CEILING_DENIES;
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (!ceiling_is_about(rule, g->op) || (first && rule_compare(first, rule) < 0))
			continue;
		r = ceiling_covers_list(&rule->patterns, g, o, e);
		if (r < 0)
			return r;
		if (r == COVERS_ALL && ceiling_covers_methods(&rule->methods, g) == COVERS_ALL)
			first = rule;
	}
	if (!first)
		return ceiling_look_lists(p, g, o, e);
	if (first->action == VERDICT_ASK)
		*ret_rule = first;
	return first->action == VERDICT_ALLOW ? CEILING_ALLOWS
	       : first->action == VERDICT_ASK ? CEILING_ASKS
					      : CEILING_DENIES;
}

int ceiling_look(const struct permissions *layer, const struct ceiling_grant *g,
	const struct policy_options *o, const struct rule **ret_rule, struct error *e)
{
	const struct rule *rule = NULL;
	struct request request;
	auto_arena a = { 0 };
	int r = ceiling_request(g, &a, &request);

	if (r == 1)
		r = ceiling_decide(layer, &request, o, &rule, e);
	else if (r == 0)
		r = ceiling_look_pattern(layer, g, o, &rule, e);
	if (ret_rule)
		*ret_rule = rule;
	return r;
}

/* Adding */

/* Room between priorities: one for a grant before what asks, which stays behind what denies. */
enum { CEILING_STEP = 4, CEILING_DENY = 2, CEILING_GRANT = 1 };

static void ceiling_spread(struct permissions *p, struct arena *a, int32_t **ret)
{
	int32_t *spread = arena_calloc(a, p->n_rules + 1, sizeof(*spread));

	for (size_t i = 0; spread && i < p->n_rules; i++) {
		int32_t rank = 0;

		for (size_t k = 0; k < p->n_rules; k++) {
			bool is_counted = p->rules[k].priority < p->rules[i].priority;

			/* Each priority counts once. */
			for (size_t m = 0; is_counted && m < k; m++)
				is_counted = p->rules[m].priority != p->rules[k].priority;
			rank += is_counted;
		}
		spread[i] = rank * CEILING_STEP +
			    (p->rules[i].action == VERDICT_DENY ? CEILING_DENY : 0);
	}
	*ret = spread;
}

static int ceiling_insert(
	struct permissions *p, const struct ceiling_grant *g, const struct rule *before)
{
	struct rule rule = { .id = CEILING_RULE,
		.action = VERDICT_ALLOW,
		.operations = 1u << g->op,
		.priority = -1,
		.is_granted = true };
	auto_permissions *scratch = permissions_new();
	int32_t *spread = NULL;
	int r = scratch ? permissions_add(scratch, &rule.patterns, g->pattern, NULL) : -ENOMEM;

	if (r == 0 && g->method)
		r = permissions_add(scratch, &rule.methods, g->method, NULL);
	if (r < 0)
		return r;
	ceiling_spread(p, scratch->arena, &spread);
	if (!spread)
		return -ENOMEM;
	if (before)
		rule.priority = spread[before - p->rules] + CEILING_GRANT;
	for (size_t i = 0; i < p->n_rules; i++)
		p->rules[i].priority = spread[i];
	return permissions_add_rule(p, &rule);
}

static bool ceiling_lists_programs(const struct permissions *p)
{
	return p->exec_listed || permissions_has_rules(p, OPERATION_EXEC);
}

int ceiling_add(struct permissions *p, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e)
{
	const struct rule *before = NULL;
	int r = 0;

	/* They are lent when a run begins. */
	if (g->op == OPERATION_SECRET)
		return error_set(
			e, -EOPNOTSUPP, NULL, "secrets cannot be granted while a sandbox runs");
	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = ceiling_add(p->all_of[i], g, o, e);
	if (p->n_all_of)
		return r;
	r = ceiling_look(p, g, o, &before, e);
	if (r < 0 || r == CEILING_ALLOWS || r == CEILING_DENIES)
		return r < 0 ? r : 0;
	if (g->op == OPERATION_EXEC && !ceiling_lists_programs(p))
		return error_set(e, -EOPNOTSUPP, NULL,
			"%s has no list of programs: what may be read may run",
			p->origin ? p->origin : "the policy");
	return ceiling_insert(p, g, before);
}

/* The ceiling */

/* Whether something that a layer denies lies in the grant. */
static int ceiling_denies_part(const struct permissions *p, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e)
{
	int r = ceiling_covers_list(ceiling_denied(p, g->op), g, o, e);

	/* All other methods are denied. */
	if (r == COVERS_NOTHING && g->op == OPERATION_NET_CONNECT &&
		ceiling_covers_methods(&p->network.methods, g) != COVERS_ALL)
		return COVERS_PART;
	for (size_t i = 0; r == COVERS_NOTHING && i < p->n_rules; i++)
		if (p->rules[i].action == VERDICT_DENY && ceiling_is_about(&p->rules[i], g->op) &&
			ceiling_covers_methods(&p->rules[i].methods, g) != COVERS_NOTHING)
			r = ceiling_covers_list(&p->rules[i].patterns, g, o, e);
	return r;
}

int ceiling_admits(const struct permissions *const *layers, size_t n, const struct ceiling_grant *g,
	const struct policy_options *o, bool is_declared, const struct permissions **ret_layer,
	struct error *e)
{
	const struct permissions *all[CEILING_LAYERS_MAX];

	for (size_t i = 0; i < n; i++) {
		int found = permissions_layers(layers[i], all, ROWS(all));

		if (found < 0)
			return found;
		for (int k = 0; k < found; k++) {
			int r = ceiling_look(all[k], g, o, NULL, e);

			*ret_layer = all[k];
			if (r < CEILING_ASKS)
				return r < 0 ? r : 0;
			r = is_declared ? ceiling_denies_part(all[k], g, o, e) : COVERS_NOTHING;
			if (r != COVERS_NOTHING)
				return r < 0 ? r : 0;
		}
	}
	return n > 0;
}

/* "/x/y/**" covers "/x/y/?": what denies that denies as much of it as a literal entry can. */
static int ceiling_sample(const struct ceiling_grant *g, struct arena *a, struct request *ret)
{
	const size_t len = strlen(g->pattern), rest = strlen("**");
	const bool is_path = g->op == OPERATION_FS_READ || g->op == OPERATION_FS_WRITE;

	if (!is_path || len <= rest || strcmp(g->pattern + len - rest - 1, "/**") != 0 ||
		strcspn(g->pattern, "*?[{\\") < len - rest)
		return 0;
	*ret = (struct request){ .op = g->op,
		.target = arena_printf(a, "%.*sany", (int)(len - rest), g->pattern) };
	return ret->target ? 1 : -ENOMEM;
}

int ceiling_baseline(const struct permissions *const *layers, size_t n,
	const struct ceiling_grant *g, const struct policy_options *o, const char **ret_entry,
	const char **ret_why, struct error *e)
{
	struct policy_options options = *o;
	auto_policy *policy = NULL;
	struct decision d = { 0 };
	struct request request;
	auto_arena a = { 0 };
	int r = ceiling_request(g, &a, &request);

	if (r == 0)
		r = ceiling_sample(g, &a, &request);
	if (r != 1)
		return r;
	options.borrows = true;
	r = policy_new(&policy, layers, n, &options, e);
	if (r == 0)
		r = policy_decide(policy, &request, &d);
	if (r < 0 || d.why != DECISION_BASELINE)
		return r;
	*ret_entry = d.baseline;
	*ret_why = d.baseline_why;
	return 1;
}

/*
 * Whether the text stands for just that as a pattern, too: there a star stands for more, a slash at
 * the end for all below it, no path or no port for the whole host, and a number behind an address
 * for a prefix.
 */
static bool ceiling_is_one_place(const char *target)
{
	struct host_pattern p = { 0 };
	auto_arena a = { 0 };
	struct host_request r;

	if (host_request_parse(&r, target, NULL) < 0 ||
		host_pattern_parse(&p, &a, target, NULL, NULL) < 0)
		return false;
	if (p.kind == HOST_SOCKET)
		return true;
	if ((p.kind != HOST_NAME &&
		    (p.kind != HOST_PREFIX || p.prefix.length < p.prefix.address.bits)) ||
		p.port_lo != r.port || p.port_hi != r.port)
		return false;
	return !r.has_url_path || (p.n_url_paths == 1 && strcmp(p.url_paths[0], r.url_path) == 0 &&
					  !strpbrk(r.url_path, "*?[]{}\\"));
}

int ceiling_pattern_of(enum operation op, const char *target, struct buffer *out)
{
	struct ceiling_grant g;
	auto_arena a = { 0 };

	switch (operation_rows[op].target) {
	case TARGET_PATH:
		glob_print_literal(target, strlen(target), out);
		break;
	case TARGET_HOST:
		if (ceiling_grant_read(&g, op, target, &a) < 0)
			return -ENOMEM;
		if (!ceiling_is_one_place(g.pattern))
			return -EINVAL;
		buffer_adds(out, target);
		break;
	case TARGET_COMMAND:
	case TARGET_NAME:
	case TARGET_SERVICE:
		if (strpbrk(target, "*?[{"))
			return -EINVAL;
		buffer_adds(out, target);
		break;
	case TARGET_SECRET:
		return -EINVAL;
	}
	return out->failed ? -ENOMEM : 0;
}
