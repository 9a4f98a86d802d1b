/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logins inside (--login): what the injector has taken out of the answers of a token endpoint goes
 * into the vault, with grants for this sandbox alone. The attacks, and what is done:
 *
 *   - a login to another account, whose tokens the user's later work would go with: the user is
 *     asked before anything is kept, but for a token that is refreshed by the one that is known
 *   - questions without end: at most LENDER_ASKS_MAX in a run, one at a time, and none after a no
 *   - a name that the vault has for something else: the question says that its value is replaced;
 *     a secret with a source is refused before the run starts
 */
#include <errno.h>
#include <string.h>

#include "audit/event.h"
#include "cli/vault/internal.h"
#include "cli/vault/lender.h"
#include "process/child.h"
#include "wire/frame.h"

enum { LENDER_ASKS_MAX = 5 };

/* The refresh token first: it is the one that is good for once. */
static const enum lend_token_kind lender_order_of_tokens[] = { LEND_TOKEN_REFRESH,
	LEND_TOKEN_ACCESS, LEND_TOKEN_ID };

/* The beginning */

static const char *lender_token_name(
	const struct lender *l, const struct login_word *w, enum lend_token_kind kind)
{
	return arena_printf(l->session->call->arena, "%s%s", w->name, lend_token_suffixes[kind]);
}

/* Of what the vault grants to this sandbox already. */
static int lender_add_known(struct lender *l, const struct login_word *w, enum lend_token_kind kind,
	const struct node *secret)
{
	struct arena *a = l->session->call->arena;
	const struct node *grants = node_get(secret, "grants");
	int r = 0;

	for (const struct node *g = grants ? grants->first : NULL; r >= 0 && g; g = g->next) {
		const char *to = node_get_text(g, "to"), *in = node_get_text(g, "in");
		struct lend_grant one = { .name = lender_token_name(l, w, kind),
			.host = arena_strdup(a, node_get_text(g, "host")) };
		auto_buffer fields = { 0 };

		if (!one.name || !one.host || vault_places_parse(in, &one.places) < 0 ||
			vault_fields_parse(in, &fields) < 0)
			return error_no_memory(l->session->call->error);
		one.fields = arena_strdup(a, buffer_text(&fields));
		one.programs = arena_strdup(a, node_get_text(g, "programs"));
		if (!one.fields || !one.programs)
			return error_no_memory(l->session->call->error);
		if (*to && strcmp(to, l->principal) != 0)
			continue;
		if (one.places == VAULT_LOGIN &&
			(kind != LEND_TOKEN_REFRESH || strcmp(one.host, w->hosts[0]) != 0))
			continue;
		r = one.places == VAULT_LOGIN ? lender_put(l, &one) : lender_put_narrowed(l, &one);
	}
	return r < 0 ? r : 0;
}

/* Where a token may go that comes later, unless it may go there already. */
static int lender_add_later(struct lender *l, const char *name, const char *host, uint32_t place)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->grants[i].name, name) == 0 && strcmp(l->grants[i].host, host) == 0 &&
			l->grants[i].places & place)
			return 0;
	return lender_put(l, &(struct lend_grant){ .name = name,
				     .host = host,
				     .places = place | LEND_LATER,
				     .fields = "",
				     .programs = "" });
}

static int lender_add_token(struct lender *l, struct lender_oauth *o, enum lend_token_kind kind,
	const struct node *secrets)
{
	struct error *e = l->session->call->error;
	const struct login_word *w = &o->word;
	const char *name = lender_token_name(l, w, kind);
	const struct node *secret = name ? lender_find(secrets, name) : NULL;
	int r = 0;

	if (!name)
		return error_no_memory(e);
	o->has[kind] = secret;
	if (secret && *node_get_text(secret, "source")) {
		(void)error_set(e, -EINVAL, NULL,
			"--login %s: the value of `%s` comes from %s, and a login would replace it",
			w->name, name, node_get_text(secret, "source"));
		error_hint(e, "use another name for the login");
		return -EINVAL;
	}
	if (secret)
		r = lender_add_known(l, w, kind, secret);
	if (r == 0 && kind == LEND_TOKEN_REFRESH)
		return lender_add_later(l, name, w->hosts[0], VAULT_LOGIN);
	for (size_t i = 0; r == 0 && i < w->n_hosts; i++)
		r = lender_add_later(l, name, w->hosts[i], VAULT_HEADER);
	return r;
}

/* Two logins have neither a host that answers nor a name in common. */
static int lender_check_oauth(const struct lender *l, const struct login_word *w)
{
	struct error *e = l->session->call->error;

	if (l->n_oauth == LENDER_OAUTH_MAX)
		return error_set(e, -E2BIG, NULL, "at most %d logins are possible in one run",
			LENDER_OAUTH_MAX);
	for (size_t i = 0; i < l->n_oauth; i++) {
		const struct login_word *other = &l->oauth[i].word;

		if (strcmp(other->hosts[0], w->hosts[0]) == 0)
			return error_set(e, -EINVAL, NULL,
				"--login: %s and %s have one host, %s: one login of it is possible "
				"in a run",
				other->name, w->name, w->hosts[0]);
		for (int k = 0; k < LEND_TOKENS_MAX; k++)
			if (lend_token_is(w->name, (enum lend_token_kind)k, other->name) ||
				lend_token_is(other->name, (enum lend_token_kind)k, w->name))
				return error_set(e, -EINVAL, NULL,
					"--login: %s and %s would be the same secret", other->name,
					w->name);
	}
	return 0;
}

int lender_add_oauth(struct lender *l, const struct node *secrets, const char *word)
{
	struct lender_oauth *o = &l->oauth[l->n_oauth];
	struct login_word w;
	int r = login_word_read(l->session->call, word, &w);

	if (r == 0)
		r = lender_check_oauth(l, &w);
	if (r < 0)
		return r;
	*o = (struct lender_oauth){ .word = w, .turn = -1 };
	l->n_oauth++;
	r = lender_put(l, &(struct lend_grant){ .name = w.name,
				  .host = w.hosts[0],
				  .places = LEND_LOGIN,
				  .fields = w.path,
				  .programs = "" });
	for (int k = 0; r == 0 && k < LEND_TOKENS_MAX; k++)
		r = lender_add_token(l, o, (enum lend_token_kind)k, secrets);
	return r;
}

/* Answers */

static int lender_answer(int socket, uint64_t id, uint64_t number, const char *why)
{
	auto_buffer body = { 0 };
	int r = lend_answer_encode(
		&(struct lend_answer){ .number = number, .is_allowed = !*why, .text = why }, &body);

	return r < 0 ? r : frame_send(socket, FRAME_LEND_STORED, id, body.data, body.len, NULL, 0);
}

static int lender_record_login(struct lender *l, const struct lender_oauth *o, bool is_allowed)
{
	struct call *c = l->session->call;
	struct audit_event event = { .action = AUDIT_SERVICE,
		.target = arena_printf(c->arena, "vault.login:%s", o->word.name),
		.sandbox = l->principal,
		.program = "corral-inject",
		.reason = arena_printf(c->arena, "%s%s", o->word.hosts[0], o->word.path),
		.decision = is_allowed ? AUDIT_ALLOWED : AUDIT_DENIED,
		.exact = true };

	return event.target && event.reason
		       ? vault_client_record(l->session->vault, &event, c->error)
		       : -ENOMEM;
}

/* The vault */

static int lender_store_grants(
	struct lender *l, const struct lender_oauth *o, enum lend_token_kind kind, const char *name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		struct lend_grant *g = &l->grants[i];
		const struct vault_message m = { .op = VAULT_GRANT,
			.name = name,
			.text = g->host,
			.places = g->places & ~LEND_LATER,
			.principal = l->principal,
			.fields = "" };
		struct vault_message answer;

		if (!(g->places & LEND_LATER) || !lend_token_is(o->word.name, kind, g->name))
			continue;
		r = vault_session_call_locked(l->session, &m, &answer);
		if (r >= 0)
			g->places &= ~LEND_LATER;
	}
	return r < 0 ? r : 0;
}

static int lender_store_token(struct lender *l, struct lender_oauth *o, enum lend_token_kind kind,
	const struct lend_token *token)
{
	struct vault_message m = { .op = o->has[kind] ? VAULT_ROTATE : VAULT_SET,
		.name = lender_token_name(l, &o->word, kind),
		.secret = token->value,
		.secret_len = (uint32_t)strlen(token->value),
		.fields = token->stand_in };
	struct vault_message answer;
	int r;

	if (!m.name)
		return -ENOMEM;
	r = vault_session_call_locked(l->session, &m, &answer);
	if (r < 0)
		return r;
	o->has[kind] = true;
	return lender_store_grants(l, o, kind, m.name);
}

/* "": they are stored. */
static const char *lender_store(
	struct lender *l, struct lender_oauth *o, const struct lend_tokens *t)
{
	struct error *e = l->session->call->error;
	int r = lender_record_login(l, o, true);

	for (size_t i = 0; r >= 0 && i < LEND_TOKENS_MAX; i++) {
		const enum lend_token_kind kind = lender_order_of_tokens[i];

		if (*t->items[kind].value)
			r = lender_store_token(l, o, kind, &t->items[kind]);
	}
	if (r >= 0)
		return "";
	if (!e->text[0])
		(void)error_set(e, r, NULL, "%s", strerror(-r));
	return arena_printf(l->session->call->arena,
		"the tokens of the login %s cannot be kept in the vault: %s", o->word.name,
		e->text);
}

static int lender_keep(struct lender *l, struct lender_oauth *o, const struct lend_tokens *t,
	int socket, uint64_t id)
{
	const char *why = lender_store(l, o, t);

	*l->session->call->error = (struct error){ 0 };
	return why ? lender_answer(socket, id, t->number, why) : -ENOMEM;
}

/* Consent */

static int lender_ask(struct lender *l, const struct lender_oauth *o, uint64_t number)
{
	struct arena *a = l->session->call->arena;
	auto_buffer hosts = { 0 }, body = { 0 };
	struct lend_consent c = { .number = number,
		.replaces = o->has[LEND_TOKEN_ACCESS] || o->has[LEND_TOKEN_REFRESH] ||
			    o->has[LEND_TOKEN_ID],
		.login = o->word.name,
		.place = arena_printf(a, "%s%s", o->word.hosts[0], o->word.path),
		.principal = l->principal };
	int r;

	for (size_t i = 0; i < o->word.n_hosts; i++)
		buffer_printf(&hosts, "%s%s", i > 0 ? " " : "", o->word.hosts[i]);
	c.hosts = buffer_text(&hosts);
	r = hosts.failed || !c.place ? -ENOMEM : lend_consent_encode(&c, &body);
	return r < 0 ? r
		     : frame_send(
			       CHILD_SOCKET, FRAME_LEND_CONSENT, 0, body.data, body.len, NULL, 0);
}

static const char *lender_why_not(const struct lender *l)
{
	return l->waiting.of                   ? "another login waits for the user's answer"
	       : l->n_asked >= LENDER_ASKS_MAX ? "the user is not asked about logins any more in "
						 "this run"
					       : "";
}

struct lender_oauth *lender_find_oauth(struct lender *l, const char *name)
{
	for (size_t i = 0; i < l->n_oauth; i++)
		if (strcmp(l->oauth[i].word.name, name) == 0)
			return &l->oauth[i];
	return NULL;
}

int lender_take_tokens(struct lender *l, int socket, uint64_t id, const void *body, size_t len)
{
	struct lend_tokens t;
	struct lender_oauth *o;
	int r = lend_tokens_decode(&t, body, len);

	o = r == 0 ? lender_find_oauth(l, t.login) : NULL;
	if (!o)
		return -EPROTO;
	if (t.is_refresh && o->has[LEND_TOKEN_REFRESH])
		return lender_keep(l, o, &t, socket, id);
	if (*lender_why_not(l))
		return lender_answer(socket, id, t.number, lender_why_not(l));
	r = secret_copy(&l->waiting.body, body, len);
	if (r < 0)
		return lender_answer(socket, id, t.number, "there is no memory for the tokens");
	l->waiting.of = o;
	l->waiting.id = id;
	l->waiting.number = t.number;
	l->waiting.socket = socket;
	return lender_ask(l, o, ++l->n_asked);
}

int lender_take_agreement(struct lender *l, const void *body, size_t len)
{
	struct lender_oauth *o = l->waiting.of;
	struct lender_tokens *w = &l->waiting;
	struct lend_answer answer;
	struct lend_tokens t;
	int r = lend_answer_decode(&answer, body, len);

	if (r < 0 || !o || answer.number != l->n_asked)
		return -EPROTO;
	if (answer.is_allowed) {
		r = lend_tokens_decode(&t, w->body.data, w->body.len);
		r = r < 0 ? r : lender_keep(l, o, &t, w->socket, w->id);
	} else {
		l->n_asked = LENDER_ASKS_MAX;
		r = lender_record_login(l, o, false);
		r = r < 0 ? r : lender_answer(w->socket, w->id, w->number, answer.text);
	}
	secret_free(&w->body);
	w->of = NULL;
	return r;
}
