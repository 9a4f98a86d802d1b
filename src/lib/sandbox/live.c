/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants and answers of the daemon for a sandbox that lives. Its holder carries them out
 * (lib/api/joined.h): it has a socket to the warden of each session, which passes grants to its
 * relay and its broker (warden/granted.h). Here sessions are attached to it, and it hears what may
 * be granted.
 *
 * The permissions of the sandbox stay what the host declared; they are the ceiling. What is granted
 * comes on top of them, in each session: its relay has the network, its broker does what it is
 * asked. The files and programs of commands themselves are those of their session. A session that
 * is made later gets them before its first command.
 *
 * Questions of a session come by its control socket: what must not be in a log is not shown, and
 * the host knows what that is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "lib/api/joined.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"
#include "wire/configure.h"
#include "wire/hold.h"

void sandbox_live_begin(struct corral_sandbox *s, struct warden_link *link)
{
	struct joined *j = s->base.of_others ? s->base.of_others : atomic_load(&s->joined);

	if (j && s->base.backend->enforces && link->number == 0)
		link->number = joined_attach(j, link->socket);
}

/* What cannot be taken back */

/* A reference to a link that works; NULL: there is none. */
static struct warden_link *live_any(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);
	struct warden_link *found = s->link && !s->link->lost ? s->link : NULL;

	for (struct corral_process *p = s->first; p && !found; p = p->next)
		found = p->link && !p->link->lost ? p->link : NULL;
	return found ? warden_link_ref(found) : NULL;
}

static void live_lose_all(struct corral_sandbox *s, const struct error *why)
{
	struct warden_link *link;

	while ((link = live_any(s))) {
		sandbox_lose(s, link, why);
		warden_link_unref(link);
	}
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
	const bool is_known = (f->id & ~QUESTION_OF_RELAY) <= LIVE_ID_MASK && link->number &&
			      link->number <= LIVE_NUMBER_MAX;
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
	if (j && link->number)
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

/* In the calls of the host */

void sandbox_live_turn(struct corral_sandbox *s, struct joined *j)
{
	struct joined_change c = { 0 };
	struct error e = { 0 };

	/* That the holder has ended; there is nothing to judge here. */
	while (joined_next_change(j, &c)) {
		joined_change_deinit(&c);
		joined_applied(j);
	}
	if (joined_must_end(j, &e))
		live_lose_all(s, &e);
	joined_tell_notes(j);
}

static void live_declare(struct corral_sandbox *s, const struct sandbox_setup *setup)
{
	struct joined *j = atomic_load(&s->joined);
	const unsigned flags = (s->base.backend->enforces ? HOLD_ENFORCES : 0) |
			       (s->base.broker.program ? HOLD_BROKER : 0);

	if (j)
		(void)joined_declare(j,
			&(struct joined_declared){ .permissions = setup ? setup->permissions : NULL,
				.variables = &s->base.variables,
				.limits = setup ? &setup->limits : NULL,
				.flags = flags });
}

void sandbox_live_declare(struct corral_sandbox *s)
{
	struct sandbox_setup *setup = sandbox_hold_setup(s);

	live_declare(s, setup);
	sandbox_setup_unref(setup);
}

void sandbox_live_pause(struct corral_sandbox *s)
{
	live_declare(s, NULL);
}
