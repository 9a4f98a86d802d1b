/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer says as a whole: its mode, its default, services, limits, guest paths and rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "advice/lint/internal.h"
#include "policy/match/service.h"

/* Mode and default */

#define ENFORCE "write `mode: enforce` once the records show nothing that should pass"

int lint_mode_monitor(struct lint *l)
{
	if (l->p->mode != MODE_MONITOR)
		return 0;
	return lint_report_layer(l, "in mode monitor this layer blocks nothing", ENFORCE);
}

int lint_mode_audit(struct lint *l)
{
	if (l->p->mode != MODE_AUDIT)
		return 0;
	return lint_report_layer(
		l, "in mode audit this layer blocks what a rule denies, and nothing else", ENFORCE);
}

int lint_default_allow(struct lint *l)
{
	if (l->p->fallback != VERDICT_ALLOW)
		return 0;
	return lint_report_layer(l,
		"whatever no rule names is allowed: a list of what is forbidden is never complete",
		"write `default: deny` and grant what is needed");
}

/* Services */

static const struct risk {
	const char *service;
	unsigned access;
	const char *scope; /* what would bound it; NULL: nothing can */
	const char *what;
} risks[] = {
	{ "browser", SERVICE_OPEN | SERVICE_NAVIGATE, "domains",
		"any page may be opened, and its address can carry data out" },
	{ "email", SERVICE_SEND, "recipients", "mail with any content may be sent to any address" },
	{ "vault", SERVICE_READ, "secrets",
		"every secret that `secrets` names may be injected into programs" },
	{ "clipboard", SERVICE_READ, NULL, "whatever is copied may be read, also passwords" },
	{ "clipboard", SERVICE_WRITE, NULL,
		"what the user pastes next may be replaced, for example by a command" },
};

/* The value of a scope that takes any value. */
static bool takes_any(const struct grant *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (!service_word_matches(g->all[i], LINT_ANY, strlen(LINT_ANY)))
			return false;
	}
	return true;
}

static bool is_bounded(const struct service *s, const char *key)
{
	for (size_t i = 0; key && i < s->n_scopes; i++) {
		const struct grant_list *values = &s->scopes[i].values;
		size_t n = 0;

		if (strcmp(s->scopes[i].key, key) != 0)
			continue;
		while (n < values->n && !takes_any(&values->items[n]))
			n++;
		if (n == values->n)
			return true;
	}
	return false;
}

int lint_service_unscoped(struct lint *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->p->n_services * ROWS(risks); i++) {
		const struct service *s = &l->p->services[i / ROWS(risks)];
		const struct risk *risk = &risks[i % ROWS(risks)];

		if (strcmp(s->name, risk->service) != 0 || !(s->access & risk->access) ||
			is_bounded(s, risk->scope))
			continue;
		r = lint_report_at(l, &s->where, s->name, risk->what,
			risk->scope ? lint_say(l, "bound it with `%s: […]`", risk->scope)
				    : "remove it, or let a person do that step");
	}
	return r;
}

/* Does a rule's pattern let in all that the risk is about? */
static bool pattern_takes(const char *pattern, const struct risk *risk)
{
	struct service_request p;

	if (strcmp(pattern, "*") == 0)
		return true;
	if (service_request_parse(&p, pattern) < 0 || strlen(risk->service) != p.name_len ||
		memcmp(p.name, risk->service, p.name_len) != 0)
		return false;
	if (p.access && !(p.access & risk->access))
		return false;
	return !p.value || service_word_matches(p.value, LINT_ANY, strlen(LINT_ANY));
}

int lint_service_rule(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < ROWS(risks); i++) {
		size_t n = 0;
		int r;

		while (n < e->n && pattern_takes(e->parts[n].text, &risks[i]))
			n++;
		if (n < e->n)
			continue;
		r = lint_report(l, e, risks[i].what,
			lint_say(l, "name what it may be used for: %s:VALUE", risks[i].service));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Limits: those of all layers together, said once */

static bool has_limit(const struct permissions *p, enum limit limit)
{
	for (size_t i = 0; i < p->n_all_of; i++) {
		if (has_limit(p->all_of[i], limit))
			return true;
	}
	return p->limits.values[limit] != LIMIT_NONE;
}

int lint_no_limits(struct lint *l)
{
	static const struct {
		enum limit limit;
		const char *what, *line;
	} wanted[] = {
		{ LIMIT_TIMEOUT_MS, "time", "timeout: 5m" },
		{ LIMIT_MEMORY, "memory", "memory: 1G" },
		{ LIMIT_PIDS, "processes", "pids: 256" },
	};
	const struct permissions *first = l->top;
	auto_buffer what = { 0 }, lines = { 0 };

	while (first->n_all_of)
		first = first->all_of[0];
	if (l->p != first || permissions_is_empty(l->top))
		return 0;
	for (size_t i = 0; i < ROWS(wanted); i++) {
		const char *comma = what.len ? ", " : "";

		if (has_limit(l->top, wanted[i].limit))
			continue;
		buffer_printf(&what, "%s%s", comma, wanted[i].what);
		buffer_printf(&lines, "%s%s", comma, wanted[i].line);
	}
	if (what.failed || lines.failed)
		return -ENOMEM;
	if (!what.len)
		return 0;
	return lint_report_layer(l,
		lint_say(l, "no bound is set on %s: one program can use up what the machine has",
			buffer_text(&what)),
		lint_say(l, "write `limits: {%s}`", buffer_text(&lines)));
}

int lint_grants_nothing(struct lint *l)
{
	if (!permissions_is_empty(l->p))
		return 0;
	return lint_report_layer(l, "this layer grants nothing, so everything is denied",
		"grant what is needed, such as `fs: {read: [$WORK_DIR/**]}`");
}

/* Rules */

int lint_rule_disabled(struct lint *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->p->n_rules; i++) {
		const struct rule *rule = &l->p->rules[i];

		if (rule->disabled)
			r = lint_report_at(l, &rule->where, rule->id ? rule->id : "",
				"this rule is switched off and decides nothing",
				"remove it, or switch it on");
	}
	return r;
}

int lint_rule_asks_files(struct lint *l)
{
	const unsigned files =
		1u << OPERATION_FS_READ | 1u << OPERATION_FS_WRITE | 1u << OPERATION_EXEC;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->p->n_rules; i++) {
		const struct rule *rule = &l->p->rules[i];

		if (rule->action == VERDICT_ASK && !rule->disabled && rule->operations & files)
			r = lint_report_at(l, &rule->where, rule->id ? rule->id : "",
				"a command keeps the files and programs that it started with, so "
				"for `corral run` this rule denies; only calls of a broker or an "
				"enclave ask",
				"write `action: deny`, or remove it: `corral run --ask-denied` "
				"asks "
				"about files that nothing grants when the command has failed");
	}
	return r;
}

static int by_id(const void *x, const void *y)
{
	const struct rule *a = *(const struct rule *const *)x, *b = *(const struct rule *const *)y;
	int order = strcmp(a->id, b->id);

	return order ? order : (a > b) - (a < b);
}

int lint_rule_duplicate(struct lint *l)
{
	const struct rule **sorted =
		arena_calloc(l->scratch, l->p->n_rules + 1, sizeof(const struct rule *));
	int r = sorted ? 0 : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; sorted && i < l->p->n_rules; i++) {
		if (l->p->rules[i].id)
			sorted[n++] = &l->p->rules[i];
	}
	if (n)
		qsort(sorted, n, sizeof(const struct rule *), by_id);
	for (size_t i = 1; r == 0 && i < n; i++) {
		const struct rule *a = sorted[i - 1], *b = sorted[i];

		/* Files that mix kinds of operations give one rule several parts, at one place. */
		if (strcmp(a->id, b->id) == 0 && (!b->where.line || b->where.line != a->where.line))
			r = lint_report_at(l, &b->where, b->id,
				"another rule has this id, so records do not tell which one "
				"decided",
				"give each rule an id of its own");
	}
	return r;
}

/* Guest paths */

int lint_guest_overlap(struct lint *l)
{
	size_t n = l->p->n_guest_paths;
	int r = 0;

	if (n > LINT_COMPARE_MAX) {
		l->incomplete = true;
		return 0;
	}
	for (size_t i = 0; r == 0 && i < n * n; i++) {
		const struct guest_path *a = &l->p->guest_paths[i / n];
		const struct guest_path *b = &l->p->guest_paths[i % n];

		if (a == b)
			continue;
		if (path_is_below(a->guest, b->guest))
			r = lint_report_at(l, &a->where, a->guest,
				lint_say(l, "this lies in %s, and hides what that has there",
					b->guest),
				"give it a place of its own");
		else if (a->writable && !b->writable && path_is_below(a->host, b->host))
			r = lint_report_at(l, &a->where, a->host,
				lint_say(l,
					"the same folder may be written as %s, though it is "
					"read-only as %s",
					a->guest, b->guest),
				"give both the same mode, or name other folders");
	}
	return r;
}
