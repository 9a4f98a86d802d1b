/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/chromium-rights.h"

#include <errno.h>
#include <string.h>

#include "policy/format/permissions-text.h"
#include "policy/match/service.h"

/* The domains of one grant. Without such a scope it is for all of them. */
static int chromium_rights_add_domains(struct permissions *p, const struct service *s)
{
	bool is_narrowed = false;
	int r = 0;

	for (size_t i = 0; i < s->n_scopes; i++) {
		const struct grant_list *values = &s->scopes[i].values;

		if (strcmp(s->scopes[i].key, "domains") != 0)
			continue;
		is_narrowed = true;
		for (size_t k = 0; r == 0 && k < values->n; k++)
			r = permissions_add_all(p, &p->network_allow, values->items[k].all,
				values->items[k].n, &values->items[k].where);
	}
	return is_narrowed || r < 0 ? r : permissions_add(p, &p->network_allow, "*", &s->where);
}

static int chromium_rights_add_services(struct permissions *p, const struct permissions *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_services; i++) {
		const struct service *s = &from->services[i];

		if (strcmp(s->name, "browser") == 0 && (s->access & SERVICE_NAVIGATE))
			r = chromium_rights_add_domains(p, s);
	}
	return r;
}

/* The hosts that a rule's pattern is about; NULL: it says nothing about going there. */
static const char *chromium_rights_host(const char *pattern)
{
	struct service_request r;

	if (strcmp(pattern, "*") == 0)
		return "*";
	if (service_request_parse(&r, pattern) < 0 || r.name_len != strlen("browser") ||
		memcmp(r.name, "browser", r.name_len) != 0 ||
		(r.access && !(r.access & SERVICE_NAVIGATE)))
		return NULL;
	return r.value ? r.value : "*";
}

static int chromium_rights_add_rule(struct permissions *p, const struct rule *from, struct error *e)
{
	struct rule rule = { .id = from->id,
		.name = from->name,
		.action = from->action == VERDICT_ALLOW ? VERDICT_ALLOW : VERDICT_DENY,
		.priority = from->priority,
		.operations = 1U << OPERATION_NET_CONNECT,
		.where = from->where };
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->patterns.n; i++) {
		const struct grant *g = &from->patterns.items[i];
		const char *host = g->n == 1 ? chromium_rights_host(g->all[0]) : NULL, *pattern;

		/* Several patterns that must match at once: none of them is taken for all. */
		if (!host && (g->n == 1 || rule.action == VERDICT_ALLOW))
			continue;
		r = permissions_canonical(
			OPERATION_NET_CONNECT, host ? host : "*", p->arena, &pattern, &g->where, e);
		if (r == 0)
			r = permissions_add(p, &rule.patterns, pattern, &g->where);
	}
	return r < 0 || rule.patterns.n == 0 ? r : permissions_add_rule(p, &rule);
}

static int chromium_rights_add_rules(
	struct permissions *p, const struct permissions *from, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];

		if ((rule->operations & (1U << OPERATION_SERVICE)) && !rule->disabled)
			r = chromium_rights_add_rule(p, rule, e);
	}
	return r;
}

static int chromium_rights_add_own(struct permissions *p, const char *program)
{
	static const char *const fonts[] = { "/etc/fonts", "/etc/fonts/**", "/var/cache/fontconfig",
		"/var/cache/fontconfig/**", NULL };
	const char *file = arena_printf(p->arena, "$" CHROMIUM_RIGHTS_FOLDER "/%s", program);
	int r = file ? permissions_add(p, &p->exec, file, NULL) : -ENOMEM;

	p->exec_listed = true;
	if (r == 0)
		r = permissions_add(p, &p->fs_read, "$" CHROMIUM_RIGHTS_FOLDER, NULL);
	if (r == 0)
		r = permissions_add(p, &p->fs_read, "$" CHROMIUM_RIGHTS_FOLDER "/**", NULL);
	for (size_t i = 0; r == 0 && fonts[i]; i++)
		r = permissions_add(p, &p->fs_read, fonts[i], NULL);
	/* The baseline denies it anyway; but with a denial no policy is so wide that commands have
	 * the host's own network, in which no relay looks. */
	return r < 0 ? r : permissions_add(p, &p->network_deny, "169.254.169.254", NULL);
}

static int chromium_rights_fill(
	struct permissions *p, const struct permissions *from, const void *program, struct error *e)
{
	const bool is_open = from->mode != MODE_ENFORCE || from->fallback == VERDICT_ALLOW;
	int r = 0;

	p->origin = from->origin ? arena_strdup(p->arena, from->origin) : NULL;
	if (from->mode != MODE_MONITOR) {
		r = permissions_add_list(p, &p->network_deny, &from->network_deny);
		if (r == 0)
			r = permissions_add_list(p, &p->network_private, &from->network_private);
		if (r == 0)
			r = chromium_rights_add_services(p, from);
		if (r == 0)
			r = chromium_rights_add_rules(p, from, e);
	}
	if (r == 0 && is_open)
		r = permissions_add(p, &p->network_allow, "*", NULL);
	return r < 0 ? r : chromium_rights_add_own(p, program);
}

int chromium_rights_new(struct permissions **ret, const struct permissions *from,
	const char *program, struct error *e)
{
	return permissions_derive(ret, from, chromium_rights_fill, program, e);
}
