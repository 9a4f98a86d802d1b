/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's end of its holder (holder/serve.h). Whatever is not answered in time ends the holder:
 * the wardens of sessions that have grants end with it, and a host that judges calls itself goes on
 * without any grant.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "event/wait.h"
#include "lib/api/audit-handle.h"
#include "lib/api/internal.h"
#include "lib/sandbox/warden-link.h"
#include "policy/format/image.h"
#include "wire/hold.h"

enum {
	JOINED_LIVE_MS = 15000, /* for an answer of the holder, which waits for sessions itself */
	JOINED_LIVE_PULLS = 16, /* one after the other, while news come */
	JOINED_LIVE_NUMBER_SHIFT = 32,
};

void joined_change_deinit(struct joined_change *c)
{
	for (size_t i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->grants[i].pattern);
	free(c->grants);
	*c = (struct joined_change){ 0 };
}

static int joined_change_copy(const struct live_grant *from, size_t n, struct joined_change *ret)
{
	struct joined_change c = { .grants = calloc(n + 1, sizeof(*from)) };
	int r = c.grants ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		c.grants[i] = from[i];
		c.grants[i].pattern = strdup(from[i].pattern);
		c.n += c.grants[i].pattern != NULL;
		r = c.grants[i].pattern ? 0 : -ENOMEM;
	}
	joined_change_deinit(r < 0 ? &c : ret);
	if (r == 0)
		*ret = c;
	return r;
}

/* Beginning and end */

static void joined_live_start(struct joined *j)
{
	struct joined_live *l = &j->live;
	struct error e = { 0 };

	if (l->was_started)
		return;
	l->was_started = true;
	if (warden_link_spawn(j->warden, -1, &l->socket, &l->pidfd, &e) < 0)
		return;
	if (frame_send(l->socket, FRAME_HOLD, (uint64_t)getpid(), NULL, 0, NULL, 0) == 0)
		j->join.hear = l->socket;
}

/* It is not trusted with anything any more. */
static void joined_live_lose(struct joined *j)
{
	struct joined_live *l = &j->live;

	if (l->socket < 0)
		return;
	if (l->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
	warden_link_await_end(l->socket, l->pidfd);
	fd_close(&l->socket);
	fd_close(&l->pidfd);
	j->join.hear = -1;
	/* What the daemon said may be lost with it. */
	holder_join_lose(&j->join);
	joined_change_deinit(&l->change);
	l->changes++;
}

void joined_live_deinit(struct joined_live *l)
{
	warden_link_await_end(l->socket, l->pidfd);
	fd_close(&l->socket);
	fd_close(&l->pidfd);
	joined_change_deinit(&l->change);
	for (size_t i = 0; i < l->n_notes; i++) {
		free(l->notes[i].target);
		free(l->notes[i].reason);
	}
	free(l->notes);
}

/* What it says */

static void joined_live_note(struct joined_live *l, const struct frame *f)
{
	struct audit_event e = { .action = AUDIT_STORE,
		.target = "daemon",
		.reason = "what was granted and answered meanwhile is not recorded: it was too "
			  "much",
		.count = f->id };
	struct joined_note note;

	if (f->len && audit_event_decode(&e, f->body, f->len) < 0)
		return;
	note = (struct joined_note){ e.action, e.decision, strdup(e.target), strdup(e.reason),
		f->len ? 0 : f->id };
	if (note.target && note.reason && ARRAY_PUSH(l->notes, l->n_notes, l->cap_notes, note) == 0)
		return;
	free(note.target);
	free(note.reason);
}

static int joined_live_grants(struct joined_live *l, const struct frame *f)
{
	struct live_grant *grants = calloc(QUESTION_GRANTS_MAX, sizeof(*grants));
	int n = grants ? live_grants_decode(grants, f->body, f->len) : -ENOMEM;
	int r = n < 0 ? n : joined_change_copy(grants, (size_t)n, &l->change);

	if (r == 0)
		l->changes++;
	free(grants);
	return r;
}

static int joined_live_take(struct joined_live *l, const struct frame *f)
{
	struct answer a;

	switch (f->type) {
	case FRAME_HOLD_NEWS:
		l->has_news = true;
		return 0;
	case FRAME_EVENT:
		joined_live_note(l, f);
		return 0;
	case FRAME_ANSWER:
		if (answer_decode(&a, f->body, f->len) < 0 || l->n_answers == ROWS(l->answers))
			return -EPROTO;
		a.pattern = "";
		l->answers[l->n_answers++] = (struct joined_answer){ f->id, a };
		return 0;
	case FRAME_GRANTS:
		return joined_live_grants(l, f);
	case FRAME_GONE:
		l->must_end = true;
		return f->len && ((const char *)f->body)[f->len - 1] == '\0'
			       ? (error_set(
					  &l->why, -ECONNRESET, NULL, "%s", (const char *)f->body),
					 0)
			       : -EPROTO;
	case FRAME_HOLD_PULL:
	case FRAME_HOLD_DECLARE:
	case FRAME_HOLD_SESSION:
	case FRAME_QUESTION:
		if (f->len == sizeof(l->replied_why))
			memcpy(&l->replied_why, f->body, sizeof(l->replied_why));
		l->replied = f->type;
		l->replied_id = f->id;
		return 0;
	default:
		return -EPROTO;
	}
}

void joined_live_frame(void *context, struct frame *f)
{
	struct joined *j = context;

	if (!f || joined_live_take(&j->live, f) < 0)
		joined_live_lose(j);
}

/* What it is asked */

/* 0: it answered. */
static int joined_live_ask(struct joined *j, enum frame_type type, uint64_t id,
	const struct buffer *body, int fd, bool waits)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + JOINED_LIVE_MS;
	struct joined_live *l = &j->live;

	if (l->socket < 0)
		return -ENOTCONN;
	l->replied = FRAME_NONE;
	if (frame_send(l->socket, type, id, body ? body->data : NULL, body ? body->len : 0, &fd,
		    fd >= 0) < 0) {
		joined_live_lose(j);
		return -ENOTCONN;
	}
	while (waits && l->socket >= 0) {
		joined_hear(j);
		if (l->replied == type && l->replied_id == id)
			return 0;
		if (l->socket >= 0 && wait_for_one(l->socket, POLLIN, end) <= 0)
			joined_live_lose(j);
	}
	return waits ? -ENOTCONN : 0;
}

void joined_live_pull(struct joined *j)
{
	for (int i = 0; j->live.has_news && i < JOINED_LIVE_PULLS; i++) {
		j->live.has_news = false;
		(void)joined_live_ask(j, FRAME_HOLD_PULL, 0, NULL, -1, true);
	}
}

bool joined_live_is_due(const struct joined_live *l)
{
	return l->changes != l->applied || l->must_end || l->n_answers || l->n_notes;
}

int joined_declare(struct joined *j, const struct joined_declared *d)
{
	struct hold_declare declare = { .flags = d->flags, .text = "" };
	auto_buffer text = { 0 }, body = { 0 };
	int r = d->permissions ? image_write_text(d->permissions, &text) : 0;
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;

	/* Without a ceiling nothing can be granted. */
	if (r == 0 && !text.failed && text.len)
		declare.text = buffer_text(&text);
	if (d->variables)
		declare.variables = *d->variables;
	if (d->limits)
		declare.limits = *d->limits;
	r = hold_declare_encode(&declare, &body);
	joined_live_start(j);
	/* The first time there is nothing that could be granted. */
	if (r == 0)
		r = joined_live_ask(j, FRAME_HOLD_DECLARE, l->last_declared + 1, &body, -1,
			l->last_declared > 0);
	else
		joined_live_lose(j);
	l->last_declared++;
	return r;
}

uint64_t joined_attach(struct joined *j, int warden)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;
	auto_fd ours = -1, theirs = -1;
	int pair[2];

	if (l->socket < 0 || frame_pair(pair) < 0)
		return 0;
	ours = pair[0];
	theirs = pair[1];
	if (frame_send(warden, FRAME_HOLDER, 0, NULL, 0, &theirs, 1) < 0 ||
		joined_live_ask(j, FRAME_HOLD_SESSION, l->last_session + 1, NULL, ours,
			l->last_session > 0) < 0)
		return 0;
	return ++l->last_session;
}

/* For a thread that can wait */

bool joined_next_change(struct joined *j, struct joined_change *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;

	if (l->changes == l->applied)
		return false;
	l->taken = l->changes;
	/* Out of memory, none is granted. */
	if (joined_change_copy(l->change.grants, l->change.n, ret) < 0)
		joined_change_deinit(ret);
	return true;
}

void joined_applied(struct joined *j)
{
	auto_lock held = lock_take(&j->lock);

	j->live.applied = j->live.taken;
}

bool joined_must_end(struct joined *j, struct error *ret_why)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;

	if (!l->must_end)
		return false;
	*ret_why = l->why;
	l->must_end = false;
	return true;
}

/* What is shown must be what is asked, whole; and what no log may have, the daemon does not get. */
static bool joined_is_plain(struct corral_audit *audit, const struct question *q)
{
	const struct audit_event asked = { .session = "",
		.user = "",
		.sandbox = "",
		.program = q->program,
		.target = q->target,
		.rule = q->rule,
		.reason = q->reason };
	bool is_plain = true;

	/* Checks each scope in the place of the target, and then the target itself. */
	for (uint32_t i = 0; audit && is_plain && i <= q->n_scopes; i++) {
		struct audit_event e = asked;
		auto_buffer texts = { 0 };

		if (i < q->n_scopes)
			e.target = q->scopes[i];
		audit_trail_redact(audit->trail, &e, &texts);
		is_plain = strcmp(e.target, i < q->n_scopes ? q->scopes[i] : q->target) == 0 &&
			   strcmp(e.program, q->program) == 0 && strcmp(e.rule, q->rule) == 0 &&
			   strcmp(e.reason, q->reason) == 0;
	}
	return is_plain;
}

int joined_ask(struct joined *j, uint64_t asker, const struct question *q)
{
	const bool waits = asker >> JOINED_LIVE_NUMBER_SHIFT == 0;
	auto_buffer body = { 0 };
	int r;

	if (!joined_is_plain(j->audit, q) || !joined_is_plain(j->host, q))
		return -EPERM;
	if (question_encode(q, &body) < 0)
		return -EINVAL;
	auto_lock held = lock_take(&j->lock);
	r = joined_live_ask(j, FRAME_QUESTION, asker, &body, -1, waits);
	return r == 0 && waits ? j->live.replied_why : r;
}

void joined_questions_over(struct joined *j, uint64_t mask, uint64_t bits, enum question_end how)
{
	const struct hold_over over = { .how = how, .mask = mask };
	const struct buffer body = { .data = (char *)&over, .len = sizeof(over) };
	auto_lock held = lock_take(&j->lock);

	(void)joined_live_ask(j, FRAME_QUESTION_OVER, bits, &body, -1, false);
}

bool joined_next_answer(struct joined *j, uint64_t *ret_asker, struct answer *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;

	if (l->n_answers == 0)
		return false;
	*ret_asker = l->answers[0].asker;
	*ret = l->answers[0].a;
	memmove(l->answers, l->answers + 1, --l->n_answers * sizeof(l->answers[0]));
	return true;
}

static bool joined_next_note(struct joined *j, struct joined_note *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = &j->live;

	if (l->n_notes == 0)
		return false;
	*ret = l->notes[0];
	memmove(l->notes, l->notes + 1, --l->n_notes * sizeof(l->notes[0]));
	return true;
}

void joined_tell_notes(struct joined *j)
{
	struct joined_note note;

	while (joined_next_note(j, &note)) {
		const struct audit_event e = { .action = note.action,
			.decision = note.decision,
			.target = note.target,
			.reason = note.reason,
			.count = note.count };

		if (j->host)
			(void)audit_trail_add(j->host->trail, &e);
		joined_add(j, &e);
		free(note.target);
		free(note.reason);
	}
}
