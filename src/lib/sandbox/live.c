/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants and answers of the daemon for a sandbox that lives (lib/api/joined.h).
 *
 *     the daemon's order -> noted, in any thread -> carried out by a thread that waits for a
 *     command, or is about to start one: sent to every session's relay and broker -> settled
 *
 * The permissions of the sandbox stay what the host declared; they are the ceiling. What is granted
 * comes on top of them, in each session: its relay has the network, its broker does what it is
 * asked. The files and programs of commands themselves are those of their session. A session that
 * is made later gets them before its first command.
 *
 * A grant that some session cannot hold is undone in all. What cannot be taken back ends a session.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "lib/api/joined.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"
#include "wire/configure.h"

void sandbox_grants_free(struct sandbox_grants *g)
{
	if (!g)
		return;
	buffer_deinit(&g->network);
	buffer_deinit(&g->list);
	free(g);
}

/* With the lock held, and a link that no other thread has yet. What its session cannot enforce is
 * not granted there. */
void sandbox_live_begin(struct corral_sandbox *s, struct warden_link *link)
{
	const struct sandbox_grants *g = s->grants;

	link->number = ++s->last_link;
	if (!g)
		return;
	link->granted = s->last_grants;
	(void)frame_send(link->socket, FRAME_POLICY, 0, g->network.data, g->network.len, NULL, 0);
	if (s->base.broker.program)
		(void)frame_send(link->socket, FRAME_GRANTS, 0, g->list.data, g->list.len, NULL, 0);
}

/* Telling sessions */

/* With the lock held. */
static bool live_is_next(const struct warden_link *link, uint64_t id, bool only_granted)
{
	return link && !link->lost && link->granted < id && (!only_granted || link->granted);
}

/* A reference to a link that does not have change `id` yet; NULL: there is none. only_granted: of
 * those that have grants. */
static struct warden_link *live_next(struct corral_sandbox *s, uint64_t id, bool only_granted)
{
	auto_lock held = lock_take(&s->lock);
	struct warden_link *found = live_is_next(s->link, id, only_granted) ? s->link : NULL;

	for (struct corral_process *p = s->first; p && !found; p = p->next)
		found = live_is_next(p->link, id, only_granted) ? p->link : NULL;
	if (found)
		found->granted = id;
	return found ? warden_link_ref(found) : NULL;
}

static bool live_has_hosts(const struct joined_change *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->grants[i].op == OPERATION_NET_CONNECT)
			return true;
	return false;
}

static int live_check(
	const struct corral_sandbox *s, const struct joined_change *c, struct error *e)
{
	if (!s->base.backend->enforces)
		return error_set(e, -EOPNOTSUPP, NULL, "mode rwx does not confine anything");
	for (size_t i = 0; !s->base.broker.program && i < c->n; i++)
		if (c->grants[i].op != OPERATION_NET_CONNECT)
			return error_set(e, -EOPNOTSUPP, NULL,
				"commands keep the files and programs that the program which runs "
				"them declared; with a broker they get others by sandbox-call");
	return 0;
}

/* Of those before it the network may be another one. */
static bool live_is_current(struct corral_sandbox *s, const struct warden_link *link)
{
	auto_lock held = lock_take(&s->lock);

	return s->link == link;
}

/* 0: the session holds it, or has ended. */
static int live_tell(struct corral_sandbox *s, struct warden_link *link, uint64_t id,
	const struct sandbox_grants *g, bool has_hosts, struct error *e)
{
	int r = 0;

	/* -ENOTCONN: its broker has ended for good, and does nothing any more. */
	if (s->base.broker.program)
		r = sandbox_ask(s, link, FRAME_GRANTS, id, &g->list, e);
	if (r == 0 || r == -ENOTCONN)
		r = sandbox_ask(s, link, FRAME_POLICY, id, &g->network, e);
	if (r == -ENOTCONN && has_hosts && !s->base.broker.program && live_is_current(s, link))
		return error_set(e, -EOPNOTSUPP, NULL,
			"this sandbox was built without a network: its permissions asked about no "
			"host, or no daemon ran");
	return r == -ENOTCONN || r == -ECONNRESET || r == -ETIMEDOUT ? 0 : r;
}

/* What a relay is to know: as an update has it, but for the text. */
static int live_write(struct sandbox_setup *setup, const struct joined_change *change,
	unsigned flags, struct buffer *out, struct error *e)
{
	int r = sandbox_setup_reach(setup, e);
	struct change c;

	if (r < 0)
		return r;
	sandbox_setup_describe(setup, &c);
	c.text = change->network.len ? buffer_text(&change->network) : c.text;
	c.flags = flags | CHANGE_KEEPS_BROKER;
	change_add_grants(&c, change->grants, change->n);
	return change_encode(&c, out);
}

static int live_make(struct sandbox_grants **ret, struct sandbox_setup *setup,
	const struct joined_change *c, unsigned flags, struct error *e)
{
	struct sandbox_grants *g = calloc(1, sizeof(*g));
	int r = g ? live_write(setup, c, flags, &g->network, e) : -ENOMEM;

	if (r == 0)
		r = live_grants_encode(c->grants, c->n, &g->list);
	*ret = g;
	return r == 0 || e->text[0] ? r : error_set(e, r, NULL, "%s", strerror(-r));
}

/* With `updating` held. Sessions that are made from here on begin with it. */
static int live_apply(struct corral_sandbox *s, const struct joined_change *c, struct error *e)
{
	const bool has_hosts = live_has_hosts(c);
	struct sandbox_setup *setup = sandbox_hold_setup(s);
	struct sandbox_grants *old, *told = NULL, *next = NULL;
	struct warden_link *link;
	uint64_t id;
	int r = live_check(s, c, e);

	/* What is granted is held whole, or refused; less is always possible. */
	if (r == 0)
		r = live_make(&told, setup, c, has_hosts ? CHANGE_WHOLE : 0, e);
	if (r == 0 && c->n)
		r = live_make(&next, setup, c, 0, e);
	sandbox_setup_unref(setup);
	if (r < 0) {
		sandbox_grants_free(told);
		sandbox_grants_free(next);
		return r;
	}
	{
		auto_lock held = lock_take(&s->lock);

		old = s->grants;
		s->grants = next;
		id = ++s->last_grants;
	}
	sandbox_grants_free(old);
	while (r == 0 && (link = live_next(s, id, false))) {
		r = live_tell(s, link, id, told, has_hosts, e);
		warden_link_unref(link);
	}
	sandbox_grants_free(told);
	return r;
}

static void live_lose_all(struct corral_sandbox *s, const struct error *why)
{
	struct warden_link *link;
	uint64_t id;

	{
		auto_lock held = lock_take(&s->lock);

		id = ++s->last_grants;
	}
	while ((link = live_next(s, id, false))) {
		sandbox_lose(s, link, why);
		warden_link_unref(link);
	}
}

int sandbox_live_put(
	struct corral_sandbox *s, const struct live_grant *grants, size_t n, struct error *e)
{
	struct joined_change c = { .grants = calloc(n + 1, sizeof(*grants)) };
	int r = c.grants ? -pthread_mutex_lock(&s->updating) : -ENOMEM;

	if (r < 0) {
		free(c.grants);
		return error_set(e, r, NULL, "%s", strerror(-r));
	}
	/* They stay the caller's. */
	for (size_t i = 0; i < n; i++)
		if (grants[i].op == OPERATION_NET_CONNECT)
			c.grants[c.n++] = grants[i];
	/* None after none costs nothing: that is so with each change of an enclave. */
	r = s->base.backend->enforces && (c.n || s->grants) ? live_apply(s, &c, e) : 0;
	(void)pthread_mutex_unlock(&s->updating);
	free(c.grants);
	return r;
}

/* Questions */

enum { LIVE_NUMBER_SHIFT = 32, LIVE_NUMBER_MAX = INT32_MAX };
#define LIVE_ID_MASK UINT32_MAX
#define LIVE_NUMBER_MASK ((uint64_t)LIVE_NUMBER_MAX << LIVE_NUMBER_SHIFT)

/* Numbers of one session's broker and relay, among those of all sessions. */
static uint64_t live_asker(const struct warden_link *link, uint64_t id)
{
	return link->number << LIVE_NUMBER_SHIFT | id;
}

static void live_answer(struct warden_link *link, uint64_t id, const struct answer *a)
{
	auto_buffer body = { 0 };

	if (answer_encode(a, &body) == 0)
		(void)sandbox_send(link, FRAME_ANSWER, id, &body, NULL, 0);
}

int sandbox_live_question(struct corral_sandbox *s, struct warden_link *link, const struct frame *f)
{
	struct joined *j = atomic_load(&s->joined);
	const bool is_known =
		(f->id & ~QUESTION_OF_RELAY) <= LIVE_ID_MASK && link->number <= LIVE_NUMBER_MAX;
	struct question q;
	int why = -ENOTCONN;

	if (question_decode(&q, f->body, f->len) < 0 || f->n_fds != 0 || f->id == 0)
		return -EPROTO;
	/* There is no daemon, or no room for it: this one is refused, and not the next. */
	if (j && is_known)
		why = joined_ask(j, live_asker(link, f->id), &q);
	if (why != 0)
		live_answer(link, f->id,
			&(struct answer){ .ttl_ms = 1,
				.why = why > 0 ? (uint32_t)why : ANSWER_BY_USER,
				.pattern = "" });
	return 0;
}

int sandbox_live_question_over(
	struct corral_sandbox *s, struct warden_link *link, const struct frame *f)
{
	struct joined *j = atomic_load(&s->joined);
	const uint64_t all_of_broker = LIVE_NUMBER_MASK | QUESTION_OF_RELAY;
	enum question_end how;

	if (question_over_decode(&how, f->body, f->len) < 0 || f->n_fds != 0)
		return -EPROTO;
	if (j)
		joined_questions_over(
			j, f->id ? UINT64_MAX : all_of_broker, live_asker(link, f->id), how);
	return 0;
}

void sandbox_live_forget(struct corral_sandbox *s, const struct warden_link *link)
{
	struct joined *j = atomic_load(&s->joined);

	if (j && link->number)
		joined_questions_over(j, LIVE_NUMBER_MASK, live_asker(link, 0), QUESTION_GIVEN_UP);
}

static struct warden_link *live_find(struct corral_sandbox *s, uint64_t number)
{
	auto_lock held = lock_take(&s->lock);

	if (s->link && s->link->number == number)
		return warden_link_ref(s->link);
	for (struct corral_process *p = s->first; p; p = p->next)
		if (p->link->number == number && !p->link->lost)
			return warden_link_ref(p->link);
	return NULL;
}

static void live_pass_answers(struct corral_sandbox *s, struct joined *j)
{
	struct answer a;
	uint64_t asker;

	while (joined_next_answer(j, &asker, &a)) {
		struct warden_link *link =
			live_find(s, (asker & LIVE_NUMBER_MASK) >> LIVE_NUMBER_SHIFT);

		if (link)
			live_answer(link, asker & (LIVE_ID_MASK | QUESTION_OF_RELAY), &a);
		warden_link_unref(link);
	}
}

/* In the calls of the host */

void sandbox_live_turn(struct corral_sandbox *s, struct joined *j)
{
	struct joined_change c;
	struct error e = { 0 };

	live_pass_answers(s, j);
	/* An update of the host's goes first; or this is called from within one. */
	if (pthread_mutex_trylock(&s->updating) != 0)
		return;
	while (joined_next_change(j, &c)) {
		int r = live_apply(s, &c, &e);

		joined_settle(j, r, r < 0 ? e.text : "");
		joined_change_deinit(&c);
		e = (struct error){ 0 };
	}
	if (joined_must_end(j, &e))
		live_lose_all(s, &e);
	(void)pthread_mutex_unlock(&s->updating);
	live_pass_answers(s, j);
	joined_tell_notes(j);
}

void sandbox_live_declare(struct corral_sandbox *s)
{
	struct joined *j = atomic_load(&s->joined);
	struct sandbox_setup *setup = sandbox_hold_setup(s);
	const struct joined_change none = { 0 };
	struct sandbox_grants *g = NULL;
	struct warden_link *link;
	struct error e = { 0 };
	uint64_t id;
	int r;

	{
		auto_lock held = lock_take(&s->lock);

		id = ++s->last_grants;
	}
	while (j && (link = live_next(s, id, true))) {
		r = g ? 0 : live_make(&g, setup, &none, 0, &e);
		if (r < 0 || live_tell(s, link, id, g, false, &e) < 0)
			sandbox_lose(s, link, &e);
		warden_link_unref(link);
	}
	sandbox_grants_free(g);
	if (j)
		(void)joined_declare(
			j, &(struct joined_declared){ .permissions = setup->permissions,
				   .variables = &s->base.variables,
				   .limits = &setup->limits });
	sandbox_setup_unref(setup);
}
