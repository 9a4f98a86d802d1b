/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/borrower.h"
#include "postgres/scram.h"
#include "postgres/session.h"

static struct borrower postgres;
/* By the places of the hosts. */
static struct pg_sessions postgres_sessions[LEND_MAX];

/* Values */

static int postgres_take_value(struct borrower *b, const struct lend_grant *g, struct error *e)
{
	struct vault_message m = { 0 };
	int r = borrower_ask(b, g, VAULT_POSTGRESQL, NULL, &m, e);

	if (r == 0)
		r = scram_check(m.secret, m.secret_len);
	if (r == 0)
		r = borrower_keep(b, g->name, m.secret, m.secret_len);
	borrower_wipe(b);
	if (r == -EILSEQ) {
		(void)error_set(e, r, NULL,
			"%s has characters beyond ASCII: it cannot be used as a password of "
			"PostgreSQL",
			g->name);
		error_hint(e, "give the user a password of letters, digits and signs");
	} else if (r < 0 && !e->text[0]) {
		(void)error_set(e, r, NULL, "%s cannot be used: %s", g->name,
			r == -EINVAL ? "its value is empty, has a NUL, or is too long"
				     : strerror(-r));
	}
	return r;
}

static int postgres_on_renewed(
	struct borrower *b, const struct lend_grant *g, const struct vault_message *m)
{
	int r = scram_check(m->secret, m->secret_len);

	return r < 0 ? r : borrower_renew(b, g->name, m);
}

/* Which of two passwords a client means, it does not say. */
static int postgres_refuse_second(
	const struct lend_grant *a, const struct lend_grant *b, struct error *e)
{
	(void)error_set(e, -EEXIST, NULL, "%s and %s are both lent as the password for %s", a->name,
		b->name, a->host);
	error_hint(e, "name one: --secret %s=%s", a->name, a->host);
	return -EEXIST;
}

static int postgres_take_grant(struct borrower *b, const struct lend_grant *g, struct error *e)
{
	struct borrower_host *h = borrower_find_host(b, g->host);
	const struct lend_grant *other = h->own;

	if (other && strcmp(other->name, g->name) != 0)
		return postgres_refuse_second(other, g, e);
	if (other)
		return 0;
	h->own = (void *)(uintptr_t)g;
	return g->places == VAULT_POSTGRESQL ? postgres_take_value(b, g, e) : -EPROTO;
}

/* Connections */

static bool postgres_password(void *context, const char *user, const void **ret, size_t *len)
{
	const struct borrower_host *h = context;
	const struct lend_grant *g = h->own;
	const struct placeholder *p = g ? borrower_find(h->borrower, g->name) : NULL;

	(void)user;
	/* Without a length it was taken away. */
	if (!p || p->value.len == 0)
		return false;
	*ret = p->value.data;
	*len = p->value.len;
	return true;
}

static void postgres_on_used(void *context, const char *user)
{
	const struct borrower_host *h = context;
	const struct lend_grant *g = h->own;

	(void)user;
	(void)borrower_note_use(h->borrower,
		&(struct borrower_use){ .placeholder = borrower_find(h->borrower, g->name),
			.host = h,
			.place = VAULT_POSTGRESQL,
			.is_sent = true });
}

static void postgres_on_failed(void *context, const char *text)
{
	borrower_note(context, text);
}

/* Whether some grant for the host is for that program; if not, it is recorded. */
static bool postgres_may(const struct borrower_host *h, const struct borrower_opened *o)
{
	struct borrower *b = h->borrower;
	const struct lend_grant *g = h->own;
	const struct borrower_use use = {
		.placeholder = borrower_find(b, g->name), .host = h, .place = VAULT_POSTGRESQL
	};
	const char *programs = NULL;
	enum borrower_verdict best = BORROWER_REFUSED;
	char text[LEND_TEXT_MAX];

	for (size_t k = 0; k < b->n_grants; k++) {
		enum borrower_verdict one;

		if (strcmp(b->grants[k].host, h->target) != 0)
			continue;
		one = borrower_judge(b, &b->grants[k], VAULT_POSTGRESQL, o->program, &programs);
		best = one > best ? one : best;
	}
	if (best == BORROWER_GRANTED && use.placeholder && use.placeholder->value.len == 0)
		best = BORROWER_LOCKED;
	if (best == BORROWER_LOCKED) {
		(void)snprintf(text, sizeof(text), BORROWER_LOCKED_TEXT, g->name);
		borrower_note(h, text);
	} else if (best == BORROWER_OTHER) {
		borrower_note_program(b, &use, programs, o->program, o->why);
	} else if (best == BORROWER_REFUSED) {
		(void)borrower_note_use(b, &use);
	}
	return best == BORROWER_GRANTED;
}

static void postgres_open(struct borrower_host *h, const struct borrower_opened *o)
{
	struct borrower *b = h->borrower;

	if (!postgres_may(h, o)) {
		(void)close(o->inner);
		(void)close(o->outer);
		return;
	}
	/* Without memory for it, it is closed. */
	(void)pg_session_new(&(struct pg_session_options){ .loop = b->loop,
				     .authority = b->authority,
				     .client = b->client,
				     .all = &postgres_sessions[h - b->hosts],
				     .host = h->name,
				     .password = postgres_password,
				     .used = postgres_on_used,
				     .failed = postgres_on_failed,
				     .context = h },
		o->inner, o->outer);
}

int postgres_server_main(const char *const *authorities)
{
	struct borrower *b = &postgres;
	struct error e = { 0 };
	int r = borrower_begin(b, PROCESS_POSTGRES, authorities, &e);

	b->renewed = postgres_on_renewed;
	for (size_t k = 0; r == 0 && k < b->n_grants; k++)
		r = postgres_take_grant(b, &b->grants[k], &e);
	if (r == 0)
		r = borrower_serve(b, postgres_open, &e);
	return borrower_end(b, r, &e);
}
