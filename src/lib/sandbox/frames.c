/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from a session, by the control socket or from the init that it lent; and what goes. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "event/wait.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"

/* Frames, and rounds of frames, that are read before the host's own time counts again: a warden
 * that never ends to send must not keep it. */
enum { SEND_MS = 1000, FINISH_MS = 5000, FRAMES_MAX = 4096, ROUNDS_MAX = 16 };

void sandbox_wake_asker(const struct warden_link *link)
{
	const uint64_t one = 1;

	if (link->wake >= 0)
		(void)!write(link->wake, &one, sizeof(one));
}

/* What the relay says to other permissions. */
static int note_answer(struct warden_link *link, const struct frame *f)
{
	if (f->id == 0 || f->id != link->asked || f->type != link->asked_by || f->n_fds != 0)
		return -EPROTO;
	link->asked = 0;
	link->answered = true;
	link->answer = f->len == 0 ? 0 : warden_link_refusal(f, &link->why);
	sandbox_wake_asker(link);
	return link->answer == -EPROTO ? -EPROTO : 0;
}

/* Notes a frame for a process. Negative: a warden would not send that. */
static int sandbox_note(struct corral_process *p, struct frame *f)
{
	/* A terminal that was not asked for would take the place of the command's own output. */
	if (f->n_fds != (f->type == FRAME_STARTED && p->out.is_tty ? 1 : 0))
		return -EPROTO;
	switch (f->type) {
	case FRAME_STARTED:
		if (p->state != PROCESS_STARTING || f->len != 0)
			return -EPROTO;
		p->state = PROCESS_RUNNING;
		p->master = frame_take_fd(f, 0);
		return 0;
	case FRAME_REFUSED:
		if (p->state != PROCESS_STARTING)
			return -EPROTO;
		p->state = PROCESS_REFUSED;
		p->code = warden_link_refusal(f, &p->error);
		/* What was to run it died first. */
		p->code = p->code == -EPIPE ? -ECONNRESET : p->code;
		return 0;
	case FRAME_EXITED:
		if ((p->state != PROCESS_RUNNING && !(p->quiet && p->state == PROCESS_STARTING)) ||
			report_decode(&p->report, f->body, f->len) < 0)
			return -EPROTO;
		p->state = PROCESS_EXITED;
		return 0;
	default:
		return -EPROTO;
	}
}

/* Negative: the link is of no more use, and *why says so. Frames for freed processes are ignored.
 */
static int handle(
	struct corral_sandbox *s, struct warden_link *link, struct frame *f, struct error *why)
{
	struct corral_process *p = NULL;

	if (f->type == FRAME_INIT && f->n_fds == 1 && f->len == 0 && link->channel < 0) {
		link->channel = frame_take_fd(f, 0);
		return 0;
	}
	if (f->type == FRAME_RECORD && sandbox_record(s, link, f) == 0)
		return 0;
	if (f->type == FRAME_EVENT && sandbox_call(s, f) == 0)
		return 0;
	if (f->type == FRAME_POLICY && note_answer(link, f) == 0)
		return 0;
	if (f->type == FRAME_QUESTION && sandbox_live_question(s, link, f) == 0)
		return 0;
	if (f->type == FRAME_QUESTION_OVER && sandbox_live_question_over(s, link, f) == 0)
		return 0;
	if (f->type == FRAME_GONE) {
		(void)warden_link_refusal(f, why);
		return -ECONNRESET;
	}
	if (f->type == FRAME_STARTED || f->type == FRAME_REFUSED || f->type == FRAME_EXITED)
		for (p = s->first; p && (p->id != f->id || p->link != link);)
			p = p->next;
	if (p && sandbox_note(p, f) == 0) {
		process_wake(p);
		return 0;
	}
	if (!p && f->type >= FRAME_STARTED && f->type <= FRAME_EXITED && f->id > 0 &&
		f->id <= s->last_id)
		return 0;
	return error_set(
		why, -EPROTO, NULL, "the warden broke the protocol; its session was ended");
}

/* With the lock held. 0: nothing more for now. 1: there may be, and the sink must be called first.
 */
static int receive_all(struct corral_sandbox *s, struct warden_link *link, struct error *why)
{
	int r, n = 0;

	do {
		if (s->n_news >= SANDBOX_NEWS_MAX || n++ == FRAMES_MAX)
			return 1;
		r = frame_receive(link->socket, &link->frame);
		if (r > 0)
			r = handle(s, link, &link->frame, why) < 0 ? -ECONNRESET : 1;
		else if (r == 0)
			r = error_set(why, -ECONNRESET, NULL,
				"the warden died, and the session ended with it");
		else if (r != -EAGAIN)
			(void)error_set(why, r, NULL, "the session was lost: %s", strerror(-r));
	} while (r > 0);
	return r == -EAGAIN ? 0 : r;
}

/* True: there may be more. */
static bool sandbox_receive(struct corral_sandbox *s, struct warden_link *link)
{
	struct error why = { 0 };
	int r = 0;

	(void)pthread_mutex_lock(&s->lock);
	if (!atomic_load(&link->ended))
		r = receive_all(s, link, &why);
	(void)pthread_mutex_unlock(&s->lock);
	if (r < 0)
		sandbox_lose(s, link, &why);
	return r > 0;
}

void sandbox_dispatch(struct corral_sandbox *s, struct warden_link *link)
{
	bool more = true;

	for (int i = 0; more && i < ROUNDS_MAX; i++) {
		more = sandbox_receive(s, link);
		sandbox_tell_news(s);
	}
}

/* With the lock held. False: the end of it. */
static bool sandbox_receive_last(struct corral_sandbox *s, struct warden_link *link)
{
	while (s->n_news < SANDBOX_NEWS_MAX) {
		int r = frame_receive(link->socket, &link->frame);

		if (r == 1 && link->frame.type == FRAME_EVENT)
			(void)sandbox_call(s, &link->frame);
		if (r != 1)
			return r == -EAGAIN || r == -EINTR;
	}
	return true;
}

/* Commands that still run are killed by this. */
void sandbox_finish(struct corral_sandbox *s, struct warden_link *link)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + FINISH_MS;
	bool more = shutdown(link->socket, SHUT_WR) == 0;

	while (more && wait_for_one(link->socket, POLLIN, end) > 0) {
		(void)pthread_mutex_lock(&s->lock);
		more = !atomic_load(&link->ended) && sandbox_receive_last(s, link);
		(void)pthread_mutex_unlock(&s->lock);
		sandbox_tell_news(s);
	}
}

void sandbox_refresh(struct corral_sandbox *s)
{
	struct warden_link *link = sandbox_hold_link(s, NULL);

	if (link)
		(void)sandbox_receive(s, link);
	warden_link_unref(link);
}

int sandbox_send(struct warden_link *link, enum frame_type type, uint64_t id,
	const struct buffer *body, const int *fds, size_t n_fds)
{
	struct pollfd p = { .fd = link->socket, .events = POLLOUT };
	const void *data = body ? body->data : NULL;
	size_t len = body ? body->len : 0;
	int r = frame_send(link->socket, type, id, data, len, fds, n_fds);

	if (r != -EAGAIN)
		return r;
	(void)poll(&p, 1, SEND_MS);
	return frame_send(link->socket, type, id, data, len, fds, n_fds);
}

/* The lent init */

void sandbox_drop_channel(struct warden_link *link)
{
	fd_close(&link->channel);
	link->user = NULL;
	(void)frame_send(link->socket, FRAME_RETURN, 0, NULL, 0, NULL, 0);
}

int sandbox_start_directly(struct corral_sandbox *s, struct corral_process *p,
	const struct buffer *body, const int *fds, size_t n_fds, uint64_t timeout_ms)
{
	struct warden_link *link = p->link;
	const struct buffer lease = { .data = (char *)&timeout_ms, .len = sizeof(timeout_ms) };
	int r = -EAGAIN;

	(void)pthread_mutex_lock(&s->lock);
	if (link->channel >= 0 && !link->user) {
		r = frame_send_now(
			link->channel, FRAME_START, p->id, body->data, body->len, fds, n_fds);
		if (r < 0)
			sandbox_drop_channel(link);
	}
	if (r == 0) {
		link->user = p;
		p->direct = true;
		p->timed = timeout_ms > 0;
	}
	(void)pthread_mutex_unlock(&s->lock);
	/* It runs: whatever is wrong now, it must not be started once more. */
	if (r == 0 && timeout_ms > 0)
		return sandbox_send(link, FRAME_LEASE, p->id, &lease, NULL, 0) < 0 ? -ECONNRESET
										   : 0;
	return r < 0 ? -EAGAIN : 0;
}

/* With the lock held. Negative: the init is gone, and with it the session. */
static int hear_channel(struct corral_process *p)
{
	struct warden_link *link = p->link;
	int r = 0;

	/* The warden has this socket, too: it must not make us wait, nor read without an end. */
	for (int n = 0; p->direct && r == 0 && n < FRAMES_MAX; n++) {
		r = frame_receive_now(link->channel, &link->frame);
		if (r == 0)
			r = -ECONNRESET;
		else if (r == 1)
			r = link->frame.id == p->id ? sandbox_note(p, &link->frame) : 0;
		if (r < 0 || p->state <= PROCESS_RUNNING)
			continue;
		/* It is over, and the init is free for the next. */
		p->direct = false;
		link->user = NULL;
		if (p->timed)
			(void)frame_send(link->socket, FRAME_RETURN, p->id, NULL, 0, NULL, 0);
	}
	return r == -EAGAIN ? 0 : r;
}

bool sandbox_hear(struct corral_sandbox *s, struct corral_process *p)
{
	struct error why = { 0 };
	bool direct;
	int r;

	(void)pthread_mutex_lock(&s->lock);
	direct = p->direct && p->state <= PROCESS_RUNNING;
	r = direct ? hear_channel(p) : 0;
	direct = direct && p->direct;
	(void)pthread_mutex_unlock(&s->lock);
	if (r < 0) {
		(void)error_set(
			&why, -ECONNRESET, NULL, "the command's init died, and the session ended");
		sandbox_lose(s, p->link, &why);
	}
	return direct;
}

int sandbox_tell_channel(
	struct corral_process *p, enum frame_type type, const void *body, size_t len)
{
	auto_lock held = lock_take(&p->sandbox->lock);

	if (!p->direct || !p->link || p->state > PROCESS_RUNNING)
		return -ENOTCONN;
	return frame_send_now(p->link->channel, type, p->id, body, len, NULL, 0);
}
