/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vault/lender.h"

#include <errno.h>
#include <string.h>

#include "cli/vault/internal.h"
#include "policy/match/secret.h"
#include "policy/network/one-host.h"

/* What is asked for */

const struct node *lender_find(const struct node *secrets, const char *name)
{
	for (const struct node *s = secrets ? secrets->first : NULL; s; s = s->next)
		if (strcmp(node_get_text(s, "name"), name) == 0)
			return s;
	return NULL;
}

static int lender_refuse_host(const struct lender *l, const char *name, const char *host)
{
	struct error *e = l->session->call->error;

	(void)error_set(
		e, -EACCES, NULL, "%s is not granted for %s", name, host ? host : "any host");
	error_hint(e, "corral vault grant %s %s, for this sandbox alone with --to %s", name,
		host ? host : "HOST:PORT", l->principal);
	return -EACCES;
}

/* Two words may ask for the same. */
static bool lender_has(const struct lender *l, const struct lend_grant *g)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->grants[i].name, g->name) == 0 &&
			strcmp(l->grants[i].host, g->host) == 0 &&
			l->grants[i].places == g->places &&
			strcmp(l->grants[i].fields, g->fields) == 0 &&
			strcmp(l->grants[i].programs, g->programs) == 0)
			return true;
	return false;
}

int lender_put(struct lender *l, const struct lend_grant *g)
{
	if (lender_has(l, g))
		return 0;
	if (l->n == LEND_MAX)
		return error_set(l->session->call->error, -E2BIG, NULL,
			"at most %d grants of secrets, and hosts of network.inspect, are possible",
			LEND_MAX);
	l->grants[l->n++] = *g;
	return 0;
}

static bool lender_is_limited(const struct lender *l, const char *name)
{
	for (size_t i = 0; i < l->within.n; i++) {
		struct secret_entry s;

		secret_split(l->within.items[i], &s);
		if (strlen(name) == s.name_len && strncmp(name, s.name, s.name_len) == 0)
			return true;
	}
	return false;
}

/* What policies call a place of a grant; which fields of the head, the vault alone says. */
static unsigned lender_policy_place(unsigned bit)
{
	unsigned place = 0;

	if (1U << bit == VAULT_FIELD)
		return 0;
	while (place < SECRET_PLACES &&
		strcmp(secret_place_names[place], vault_place_names[bit]) != 0)
		place++;
	return place;
}

/*
 * The programs that policies leave of a grant for one place, to out: those that both name. 1: that
 * is what out says, and "" is any; 0: none is left; -ENOMEM.
 */
static int lender_limit(
	const struct lender *l, const struct lend_grant *g, unsigned place, struct buffer *out)
{
	const struct secret_entry wanted = { .name = g->name,
		.name_len = strlen(g->name),
		.host = g->host,
		.host_len = strlen(g->host),
		.place = lender_policy_place(place) };

	for (size_t i = 0; i < l->within.n; i++) {
		struct secret_entry s;

		secret_split(l->within.items[i], &s);
		if (!secret_is_same_place(&s, &wanted))
			continue;
		if (!*s.program) {
			buffer_clear(out);
			buffer_adds(out, g->programs);
			return out->failed ? -ENOMEM : 1;
		}
		if ((!*g->programs || vault_programs_have(g->programs, s.program)) &&
			!vault_programs_have(buffer_text(out), s.program))
			buffer_printf(out, "%s%s", out->len ? "," : "", s.program);
	}
	return out->failed ? -ENOMEM : out->len > 0;
}

/* Of a grant of the vault, what the policies allow, too. Returns how many places are left. */
static int lender_narrow(struct lender *l, const struct lend_grant *g)
{
	struct error *e = l->session->call->error;
	int n = 0;

	for (unsigned place = 0; 1U << place <= VAULT_PLACES_ALL; place++) {
		struct lend_grant one = *g;
		auto_buffer programs = { 0 };
		int r;

		one.places = g->places & 1U << place;
		if (!one.places)
			continue;
		r = lender_limit(l, g, place, &programs);
		if (r == 0)
			continue;
		one.fields = one.places == VAULT_FIELD ? g->fields : "";
		one.programs =
			r < 0 ? NULL
			      : arena_strdup(l->session->call->arena, buffer_text(&programs));
		if (!one.programs)
			return error_no_memory(e);
		if (strlen(one.programs) > LEND_PROGRAMS_MAX)
			return error_set(e, -E2BIG, NULL,
				"%s is granted to too many programs for %s", one.name, one.host);
		r = lender_put(l, &one);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

int lender_put_narrowed(struct lender *l, const struct lend_grant *g)
{
	int r;

	if (lender_is_limited(l, g->name))
		return lender_narrow(l, g);
	r = lender_put(l, g);
	return r < 0 ? r : 1;
}

/* It is used by --login alone, which rewrites the answers to it. */
static int lender_refuse_login(const struct lender *l, const char *name)
{
	struct error *e = l->session->call->error;

	(void)error_set(e, -EACCES, NULL, "%s is granted for logins alone", name);
	error_hint(e, "corral run --login NAME=HOST:PORT/PATH, with the name of that login");
	return -EACCES;
}

static int lender_add_grants(
	struct lender *l, const struct node *secret, const char *name, const char *host)
{
	const struct node *grants = node_get(secret, "grants");
	bool is_there = false, is_login = false;

	for (const struct node *g = grants ? grants->first : NULL; g; g = g->next) {
		const char *to = node_get_text(g, "to"), *in = node_get_text(g, "in");
		struct lend_grant one = { .name = name };
		auto_buffer fields = { 0 };
		int r;

		one.host = arena_strdup(l->session->call->arena, node_get_text(g, "host"));
		if (!one.host || !in || vault_places_parse(in, &one.places) < 0 ||
			vault_fields_parse(in, &fields) < 0)
			return error_no_memory(l->session->call->error);
		one.fields = arena_strdup(l->session->call->arena, buffer_text(&fields));
		one.programs = arena_strdup(l->session->call->arena, node_get_text(g, "programs"));
		if (!one.fields || !one.programs)
			return error_no_memory(l->session->call->error);
		if ((to && *to && strcmp(to, l->principal) != 0) ||
			(host && strcmp(host, one.host) != 0))
			continue;
		is_login = is_login || one.places == VAULT_LOGIN;
		if (one.places == VAULT_LOGIN)
			continue;
		r = lender_put_narrowed(l, &one);
		if (r < 0)
			return r;
		is_there = is_there || r > 0;
	}
	if (is_there)
		return 0;
	return is_login ? lender_refuse_login(l, name) : lender_refuse_host(l, name, host);
}

int lender_add(struct lender *l, const struct node *secrets, const char *word)
{
	struct call *c = l->session->call;
	const char *equals = strchr(word, '=');
	const char *name =
		arena_strndup(c->arena, word, equals ? (size_t)(equals - word) : strlen(word));
	const struct node *secret = name ? lender_find(secrets, name) : NULL;
	auto_buffer host = { 0 };
	int r = 0;

	if (!name)
		return error_no_memory(c->error);
	if (!secret) {
		(void)error_set(c->error, -ENOENT, NULL, "the vault has no secret `%s`", name);
		error_hint(c->error, "corral vault set %s", name);
		return -ENOENT;
	}
	if (equals)
		r = vault_host_word(c, equals + 1, &host);
	if (r == 0)
		r = lender_add_grants(l, secret, name, equals ? buffer_text(&host) : NULL);
	return r < 0 ? r : lender_add_login(l, name, node_get_text(secret, "source"));
}

int lender_try(struct lender *l, const struct node *secrets, const char *name)
{
	struct error *e = l->session->call->error;
	int r = lender_add(l, secrets, name);

	if (r != -ENOENT && r != -EACCES)
		return r;
	*e = (struct error){ 0 };
	return 0;
}

int lender_inspect(struct lender *l, const char *host)
{
	struct call *c = l->session->call;
	auto_buffer text = { 0 };
	struct lend_grant one = {
		.name = "", .places = LEND_INSPECT, .fields = "", .programs = ""
	};
	int r = one_host_spell(host, "as in api.example.com:443", &text, NULL, c->error);

	if (r < 0)
		return r;
	one.host = arena_strdup(c->arena, buffer_text(&text));
	if (!one.host)
		return error_no_memory(c->error);
	return lender_put(l, &one);
}
