/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/borrower.h"
#include "inject/injection.h"
#include "inject/inspection.h"
#include "inject/login.h"
#include "inject/masking.h"

static struct borrower injector;
static struct inspection injector_inspection;
static size_t injector_budget; /* of streams of HTTP/2, in bytes */

/* What the injector has beside a borrower_host. */
struct injector_host {
	struct masking *masking;
	struct inject_login login; /* name NULL: there is none */
	unsigned kinds;            /* of the tokens that are being stored, as bits */
	bool is_used;              /* by a request */
};

static struct injector_host *injector_host(const struct borrower_host *h)
{
	return h->own;
}

/* Values */

/* What stands for it in each run, the vault knows; else it is made here. */
static int injector_keep(struct borrower *b, const char *name, const struct vault_message *m)
{
	return *m->fields ? placeholders_put(
				    b->placeholders, name, m->fields, m->secret, m->secret_len)
			  : borrower_keep(b, name, m->secret, m->secret_len);
}

static int injector_take_value(struct borrower *b, const struct lend_grant *g, uint32_t place,
	const char *field, struct error *e)
{
	struct borrower_host *h = borrower_find_host(b, g->host);
	const struct placeholder *p;
	struct vault_message m = { 0 };
	int r = borrower_ask(b, g, place, field, &m, e);

	if (r == 0 && m.secret_len < MASKING_LEAST)
		r = error_set(e, -EINVAL, NULL,
			"%s is shorter than %d bytes: it cannot be found in answers without "
			"hiding other text",
			g->name, MASKING_LEAST);
	if (r == 0)
		r = masking_add(injector_host(h)->masking, g->name, m.secret, m.secret_len);
	if (r == 0)
		r = injector_keep(b, g->name, &m);
	/* A source may give another one each time; the first is in use until it is renewed. */
	p = r == 0 ? borrower_find(b, g->name) : NULL;
	if (p)
		r = masking_add(injector_host(h)->masking, g->name, (const char *)p->value.data,
			p->value.len);
	if (r < 0 && !e->text[0])
		(void)error_set(e, r, NULL, "%s cannot be used: %s", g->name,
			r == -EINVAL ? "its value is empty, or too long" : strerror(-r));
	borrower_wipe(b);
	return r;
}

/* Each place of each grant is asked for: the vault judges it once more, and records it. */
static int injector_take_grant(struct borrower *b, const struct lend_grant *g, struct error *e)
{
	const char *fields = g->fields;
	char field[LEND_TEXT_MAX + 1];
	int r = 0;

	/* The path of a login, or what the vault does not have yet. */
	if (g->places & (LEND_LOGIN | LEND_LATER))
		return 0;
	if (g->places & VAULT_LOGIN)
		r = injector_take_value(b, g, VAULT_LOGIN, NULL, e);
	for (uint32_t place = 1; r == 0 && place < VAULT_FIELD; place *= 2)
		if (g->places & place)
			r = injector_take_value(b, g, place, NULL, e);
	while (r == 0 && *fields) {
		const size_t n = strcspn(fields, ",");

		memcpy(field, fields, n);
		field[n] = '\0';
		r = injector_take_value(b, g, VAULT_FIELD, field, e);
		fields += n + (fields[n] == ',');
	}
	return r;
}

/* Its hosts send it back with stars before any of them gets it. */
static int injector_on_renewed(
	struct borrower *b, const struct lend_grant *g, const struct vault_message *m)
{
	int r = m->secret_len < MASKING_LEAST ? -EINVAL : 0;

	for (size_t k = 0; r == 0 && k < b->n_grants; k++) {
		struct borrower_host *h = borrower_find_host(b, b->grants[k].host);

		if (strcmp(b->grants[k].name, g->name) == 0 && h)
			r = masking_add(
				injector_host(h)->masking, g->name, m->secret, m->secret_len);
	}
	return r < 0 ? r : borrower_renew(b, g->name, m);
}

/* Logins */

/* Is it the name of one of these tokens? kinds: as bits. */
static bool injector_is_of_login(const struct inject_login *l, unsigned kinds, const char *name)
{
	for (unsigned i = 0; i < LEND_TOKENS_MAX; i++)
		if (kinds & 1U << i && lend_token_is(l->name, (enum lend_token_kind)i, name))
			return true;
	return false;
}

/* They are in the vault, under grants that came with them: from there they are taken, as all. */
static int injector_take_tokens(
	struct borrower *b, const struct injector_host *own, struct error *e)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < b->n_grants; k++) {
		struct lend_grant *g = &b->grants[k];

		if ((g->places & LEND_LOGIN) ||
			!injector_is_of_login(&own->login, own->kinds, g->name))
			continue;
		g->places &= ~LEND_LATER;
		r = injector_take_grant(b, g, e);
	}
	return r;
}

/* Which login, by the name, and which of its turns. */
static int injector_send_turn(const struct borrower_host *h, enum frame_type type, uint64_t number)
{
	const struct lend_answer a = { .number = number, .text = injector_host(h)->login.name };
	auto_buffer body = { 0 };
	int r = lend_answer_encode(&a, &body);

	return r < 0 ? r
		     : frame_send(CHILD_SOCKET, type, (uint64_t)(h - h->borrower->hosts), body.data,
			       body.len, NULL, 0);
}

static int injector_take_turn(void *context, uint64_t number)
{
	return injector_send_turn(context, FRAME_LEND_TURN, number);
}

static void injector_give_turn(void *context, uint64_t number)
{
	(void)injector_send_turn(context, FRAME_LEND_OVER, number);
}

static int injector_on_turn(const struct frame *f, struct injector_host *own)
{
	struct lend_answer answer;
	char why[LEND_ANSWER_MAX + 1];

	if (f->n_fds > 0 || lend_answer_decode(&answer, f->body, f->len) < 0)
		return -EPROTO;
	/* The frame is used for the values. */
	(void)snprintf(why, sizeof(why), "%s", answer.text);
	login_turn(&own->login, answer.number, why);
	return 0;
}

static int injector_on_told(struct borrower *b, const struct frame *f)
{
	struct injector_host *own = f->id < b->n_hosts ? b->hosts[f->id].own : NULL;
	struct lend_answer answer;
	struct error e = { 0 };
	char why[LEND_ANSWER_MAX + 1];

	if (own && own->login.name && f->type == FRAME_LEND_TURN)
		return injector_on_turn(f, own);
	if (f->type != FRAME_LEND_STORED || f->n_fds > 0 || !own || !own->login.name ||
		lend_answer_decode(&answer, f->body, f->len) < 0)
		return -EPROTO;
	/* The frame is used for the values. */
	(void)snprintf(why, sizeof(why), "%s", answer.text);
	if (answer.is_allowed && injector_take_tokens(b, own, &e) < 0)
		(void)snprintf(why, sizeof(why), "%s", e.text[0] ? e.text : "the vault failed");
	login_stored(&own->login, answer.number, why);
	return 0;
}

static int injector_send_tokens(void *context, const struct lend_tokens *t)
{
	struct borrower_host *h = context;
	auto_buffer body = { 0 };
	int r;

	injector_host(h)->kinds = 0;
	for (unsigned i = 0; i < LEND_TOKENS_MAX; i++)
		injector_host(h)->kinds |= *t->items[i].value ? 1U << i : 0U;
	r = lend_tokens_encode(t, &body);
	if (r == 0 && body.len > FRAME_BODY_MAX)
		r = -EMSGSIZE;
	if (r == 0)
		r = frame_send(CHILD_SOCKET, FRAME_LEND_TOKENS, (uint64_t)(h - h->borrower->hosts),
			body.data, body.len, NULL, 0);
	if (body.data)
		secret_wipe(body.data, body.cap);
	return r;
}

/* What the vault does not answer now stays what it was. */
static void injector_look(void *context)
{
	struct borrower_host *h = context;
	struct borrower *b = h->borrower;
	struct error e = { 0 };

	for (size_t k = 0; k < b->n_grants; k++)
		if (b->grants[k].places == VAULT_LOGIN && strcmp(b->grants[k].host, h->target) == 0)
			(void)injector_take_value(b, &b->grants[k], VAULT_LOGIN, NULL, &e);
}

static void injector_take_login(struct borrower *b, const struct lend_grant *g)
{
	struct borrower_host *h = borrower_find_host(b, g->host);

	injector_host(h)->login = (struct inject_login){ .name = g->name,
		.path = g->fields,
		.loop = b->loop,
		.placeholders = b->placeholders,
		.send = injector_send_tokens,
		.take = injector_take_turn,
		.give = injector_give_turn,
		.look = injector_look,
		.context = h };
	login_init(&injector_host(h)->login);
}

static int injector_take_values(struct borrower *b, struct error *e)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < b->n_hosts; k++) {
		struct injector_host *own = calloc(1, sizeof(*own));

		b->hosts[k].own = own;
		r = !own     ? -ENOMEM
		    : k == 0 ? masking_new(&own->masking)
			     : masking_share(injector_host(&b->hosts[0])->masking, &own->masking);
	}
	for (size_t k = 0; r == 0 && k < b->n_grants; k++)
		if (b->grants[k].places & LEND_LOGIN)
			injector_take_login(b, &b->grants[k]);
	for (size_t k = 0; r == 0 && k < b->n_grants; k++)
		r = injector_take_grant(b, &b->grants[k], e);
	return r;
}

/* Connections */

struct injector_connection {
	struct borrower_host *host;
	char *program, *why;        /* as of struct lend_open */
	bool is_denied;             /* the request that is looked at */
	char denied[LEND_TEXT_MAX]; /* why */
};

static void injector_forget(struct injector_connection *c)
{
	free(c->program);
	free(c->why);
	free(c);
}

/* Whether it may go there for this connection. *ret_programs: of a grant that is for others. */
static enum borrower_verdict injector_judge(const struct injector_connection *c,
	const struct placeholder *p, uint32_t place, const char *field, size_t field_len,
	const char **ret_programs)
{
	const struct borrower *b = c->host->borrower;
	enum borrower_verdict best = BORROWER_REFUSED;

	for (size_t k = 0; k < b->n_grants; k++) {
		const struct lend_grant *g = &b->grants[k];

		enum borrower_verdict one;

		if (!(g->places & place) || (g->places & LEND_LATER) ||
			strcmp(g->host, c->host->target) != 0 || strcmp(g->name, p->name) != 0 ||
			(place == VAULT_FIELD && !vault_fields_have(g->fields, field, field_len)))
			continue;
		one = borrower_judge(b, g, place, c->program, ret_programs);
		best = one > best ? one : best;
	}
	/* It was taken away, and is not back. */
	return best == BORROWER_GRANTED && p->value.len == 0 ? BORROWER_LOCKED : best;
}

static bool injector_may(void *context, const struct placeholder *p, uint32_t place,
	const char *field, size_t field_len)
{
	struct injector_connection *c = context;
	const char *programs = NULL;
	const enum borrower_verdict verdict =
		injector_judge(c, p, place, field, field_len, &programs);
	const struct borrower_use use = { .placeholder = p,
		.host = c->host,
		.place = place,
		.is_sent = verdict == BORROWER_GRANTED };

	if (verdict == BORROWER_LOCKED) {
		c->is_denied = true;
		(void)snprintf(c->denied, sizeof(c->denied), BORROWER_LOCKED_TEXT, p->name);
	} else if (verdict == BORROWER_OTHER) {
		borrower_note_program(c->host->borrower, &use, programs, c->program, c->why);
	} else {
		(void)borrower_note_use(c->host->borrower, &use);
	}
	return verdict == BORROWER_GRANTED;
}

static const char *injector_denied(void *context)
{
	struct injector_connection *c = context;
	const bool is_denied = c->is_denied;

	c->is_denied = false;
	return is_denied ? c->denied : NULL;
}

static void injector_on_done(void *context, struct injection *x, const char *text)
{
	struct injector_connection *c = context;

	(void)x;
	if (text)
		borrower_note(c->host, text);
	injector_forget(c);
}

static int injector_on_answer(struct borrower *b, uint64_t id, const void *body, size_t len)
{
	(void)b;
	return inspection_take_answer(&injector_inspection, id, body, len);
}

static void injector_on_note(void *context, const char *text)
{
	const struct injector_connection *c = context;

	borrower_note(c->host, text);
}

static struct injector_connection *injector_remember(
	struct borrower_host *h, const struct borrower_opened *o)
{
	struct injector_connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct injector_connection){
		.host = h, .program = strdup(o->program), .why = strdup(o->why)
	};
	if (c->program && c->why)
		return c;
	injector_forget(c);
	return NULL;
}

static void injector_open(struct borrower_host *h, const struct borrower_opened *o)
{
	const struct borrower *b = h->borrower;
	struct injector_connection *c = injector_remember(h, o);
	struct injection *x;
	int r;

	/* Without memory for it, it is closed. */
	if (!c) {
		(void)close(o->inner);
		(void)close(o->outer);
		return;
	}
	r = injection_new(&x,
		&(struct injection_options){ .loop = b->loop,
			.authority = b->authority,
			.client = b->client,
			.placeholders = b->placeholders,
			.masking = injector_host(h)->masking,
			.host = h->name,
			.port = h->port,
			.may = injector_may,
			.denied = injector_denied,
			/* The refresh token goes into the requests of a login. */
			.rewrites =
				h->places | (h->places & LEND_LOGIN ? VAULT_BODY | VAULT_FORM : 0U),
			.is_plain = h->places == LEND_INSPECT,
			.inspection = h->places & LEND_INSPECT ? &injector_inspection : NULL,
			.login = h->places & LEND_LOGIN ? &injector_host(h)->login : NULL,
			.id = o->id,
			.budget = &injector_budget,
			.is_used = &injector_host(h)->is_used,
			.note = injector_on_note,
			.done = injector_on_done,
			.context = c },
		o->inner, o->outer);
	if (r < 0)
		injector_forget(c);
}

int inject_server_main(const char *const *authorities)
{
	struct error e = { 0 };
	int r = borrower_begin(&injector, PROCESS_INJECTOR, authorities, &e);

	if (r == 0)
		r = injector_take_values(&injector, &e);
	injector.answered = injector_on_answer;
	injector.told = injector_on_told;
	injector.renewed = injector_on_renewed;
	inspection_init(&injector_inspection, injector.loop, BORROWER_RELAY);
	if (r == 0)
		r = borrower_serve(&injector, injector_open, &e);
	return borrower_end(&injector, r, &e);
}
