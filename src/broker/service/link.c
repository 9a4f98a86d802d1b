/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "broker/service/setup.h"

enum { TURN_FRAMES = 64 };

void service_link_init(struct service_link *l, const struct service_backend *b, struct loop *loop)
{
	*l = (struct service_link){ .backend = b, .loop = loop };
	l->watcher.fd = l->sandbox.fd = -1;
}

/* Calls */

static void link_forget(struct service_link *l, struct link_call *c)
{
	loop_stop(l->loop, &c->timer);
	*(c->previous ? &c->previous->next : &l->first) = c->next;
	*(c->next ? &c->next->previous : &l->last) = c->previous;
	l->n_calls--;
	buffer_deinit(&c->body);
	for (size_t i = 0; i < c->n_fds; i++)
		fd_close(&c->fds[i]);
	c->n_fds = 0;
	c->link = NULL;
}

static void link_refuse(struct service_link *l, struct link_call *c, enum rpc_class class,
	const char *message, const char *hint)
{
	const struct rpc_refusal why = {
		.class = class, .message = message, .hint = hint && hint[0] ? hint : NULL
	};

	link_forget(l, c);
	c->refused(c, &why);
}

/* All that are there now: a caller may call again meanwhile. */
static void link_refuse_all(struct service_link *l, const char *message, const char *hint)
{
	for (size_t n = l->n_calls; n > 0 && l->first; n--)
		link_refuse(l, l->first, RPC_SERVICE, message, hint);
}

static struct link_call *link_find(const struct service_link *l, uint64_t id)
{
	struct link_call *c = l->first;

	while (c && (c->id != id || !c->is_sent))
		c = c->next;
	return c;
}

/* The process */

static void link_close(struct service_link *l)
{
	int fd = l->watcher.fd;

	if (l->pid == 0)
		return;
	loop_remove(l->loop, &l->watcher);
	loop_stop(l->loop, &l->grace);
	fd_close(&fd);
	l->watcher.fd = -1;
	frame_deinit(&l->frame);
	(void)kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	loop_remove(l->loop, &l->sandbox);
	chromium_free(l->chromium);
	l->chromium = NULL;
	l->pid = 0;
	l->is_ready = false;
	l->n_abandoned = 0;
}

/* It has ended, or broke a rule. A refusal may start it again. */
static void link_lose(struct service_link *l)
{
	const bool was_ready = l->is_ready;
	const char *name = l->backend->program;
	char text[256];

	link_close(l);
	if (was_ready)
		(void)snprintf(text, sizeof(text),
			"%s ended during the call: whether it was done is not known", name);
	else
		(void)snprintf(text, sizeof(text), "%s ended before it could serve", name);
	(void)snprintf(l->reason, sizeof(l->reason), "%s ended several times", name);
	l->hint[0] = '\0';
	for (struct link_call *c = l->first; c; c = c->next)
		c->is_unserved = was_ready && !c->is_sent;
	link_refuse_all(l, text, "call again; it is started anew");
}

static void link_on_grace(struct timer *t)
{
	link_lose(container_of(t, struct service_link, grace));
}

/* Until the first of those that were given up must be over. */
static int link_plan_grace(struct service_link *l)
{
	const uint64_t now = loop_now(l->loop);
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < l->n_abandoned; i++)
		if (l->abandoned[i].until_ms < until)
			until = l->abandoned[i].until_ms;
	l->grace.expired = link_on_grace;
	loop_stop(l->loop, &l->grace);
	return until == UINT64_MAX ? 0
				   : loop_start(l->loop, &l->grace, until > now ? until - now : 0);
}

/* A call that it still works for until then, although its caller has gone. */
static void link_abandon(struct service_link *l, uint64_t id, uint64_t until_ms)
{
	int r;

	if (l->n_abandoned == LINK_ABANDONED_MAX) {
		link_lose(l);
		return;
	}
	l->abandoned[l->n_abandoned].id = id;
	l->abandoned[l->n_abandoned++].until_ms = until_ms + LINK_GRACE_MS;
	r = link_plan_grace(l);
	if (r == 0)
		r = frame_send(l->watcher.fd, FRAME_CALL_CANCEL, id, NULL, 0, NULL, 0);
	/* One whose socket is full does not hear of it, and has its time all the same. */
	if (r < 0 && r != -EAGAIN)
		link_lose(l);
}

/* Whether it was one of those; then it is over. */
static bool link_end_abandoned(struct service_link *l, uint64_t id)
{
	size_t i = 0;

	while (i < l->n_abandoned && l->abandoned[i].id != id)
		i++;
	if (i == l->n_abandoned)
		return false;
	l->abandoned[i] = l->abandoned[--l->n_abandoned];
	if (link_plan_grace(l) < 0)
		link_lose(l);
	return true;
}

/* Frames */

static int link_send(struct service_link *l, struct link_call *c)
{
	const enum frame_type type = c->method ? FRAME_CALL : FRAME_SERVICE_PROBE;
	int r = frame_send(l->watcher.fd, type, c->id, c->body.data, c->body.len, c->fds, c->n_fds);

	if (r < 0)
		return r;
	c->is_sent = true;
	buffer_deinit(&c->body);
	for (size_t i = 0; i < c->n_fds; i++)
		fd_close(&c->fds[i]);
	c->n_fds = 0;
	return 0;
}

/* Sends what waits, in its order. */
static void link_flush(struct service_link *l)
{
	uint32_t events = EPOLLIN;

	for (struct link_call *c = l->first; l->is_ready && c; c = c->next) {
		int r = c->is_sent ? 0 : link_send(l, c);

		if (r == -EAGAIN || r == -ETOOMANYREFS) {
			events |= EPOLLOUT;
			break;
		}
		if (r < 0) {
			link_lose(l);
			return;
		}
	}
	if (l->pid && loop_change(l->loop, &l->watcher, events) < 0)
		link_lose(l);
}

static int link_on_ready(struct service_link *l, const struct frame *f)
{
	if (l->is_ready || f->len != 0)
		return -EPROTO;
	l->is_ready = true;
	l->reason[0] = '\0';
	link_flush(l);
	return 0;
}

/* It cannot serve: all who wait hear why. */
static int link_on_failed(struct service_link *l, const struct frame *f)
{
	auto_arena a = { 0 };
	struct rpc_refusal why;
	struct values v;

	if (l->is_ready || values_decode(rpc_refusal_fields, f->body, f->len, &a, &v) < 0 ||
		rpc_refusal_read(&v, &why) < 0)
		return -EPROTO;
	(void)snprintf(l->reason, sizeof(l->reason), "%s", why.message);
	(void)snprintf(l->hint, sizeof(l->hint), "%s", why.hint ? why.hint : "");
	link_close(l);
	link_refuse_all(l, l->reason, l->hint);
	return 0;
}

static int link_on_answer(struct service_link *l, const struct frame *f)
{
	struct link_call *c = link_find(l, f->id);
	auto_arena a = { 0 };
	struct values v;
	bool is_last;
	int r;

	if (!c)
		return link_end_abandoned(l, f->id) ? 0 : -EPROTO;
	r = values_decode(
		c->method ? c->method->results : service_probe_fields, f->body, f->len, &a, &v);
	if (r < 0)
		return r;
	is_last = c->method && c->method->is_last;
	link_forget(l, c);
	/* Before its caller hears of it. Others that wait get the answer to call again. */
	if (is_last && l->first)
		link_lose(l);
	else if (is_last)
		link_close(l);
	c->answered(c, &v);
	return 0;
}

static int link_on_refused(struct service_link *l, const struct frame *f)
{
	struct link_call *c = link_find(l, f->id);
	auto_arena a = { 0 };
	struct rpc_refusal why;
	struct values v;
	int r;

	if (!c)
		return link_end_abandoned(l, f->id) ? 0 : -EPROTO;
	r = values_decode(rpc_refusal_fields, f->body, f->len, &a, &v);
	if (r == 0)
		r = rpc_refusal_read(&v, &why);
	if (r < 0)
		return r;
	link_forget(l, c);
	c->refused(c, &why);
	return 0;
}

static int link_on_note(struct service_link *l, const struct frame *f)
{
	struct link_call *c = link_find(l, f->id);
	auto_arena a = { 0 };
	struct values v;
	int r;

	/* Of one that was given up meanwhile. */
	if (!c)
		return 0;
	if (!c->method || !c->method->note)
		return -EPROTO;
	r = values_decode(c->method->notes, f->body, f->len, &a, &v);
	if (r == 0 && c->noted)
		c->noted(c, &v);
	return r;
}

static int (*const link_takers[FRAME_TYPE_COUNT])(struct service_link *l, const struct frame *f) = {
	[FRAME_READY] = link_on_ready,
	[FRAME_FAILED] = link_on_failed,
	[FRAME_CALL_ANSWER] = link_on_answer,
	[FRAME_CALL_REFUSED] = link_on_refused,
	[FRAME_CALL_NOTE] = link_on_note,
};

static void link_on_frame(struct watcher *w, uint32_t events)
{
	struct service_link *l = container_of(w, struct service_link, watcher);
	const size_t n = l->n_started;

	if (events & EPOLLOUT)
		link_flush(l);
	/* Whoever hears an answer may call again, and what ended may run anew by then. */
	for (int i = 0; i < TURN_FRAMES && l->pid && l->n_started == n; i++) {
		struct frame *f = &l->frame;
		int r = frame_receive(l->watcher.fd, f);

		if (r == -EAGAIN || r == -EINTR)
			return;
		if (r == 1)
			r = f->n_fds == 0 && link_takers[f->type] ? link_takers[f->type](l, f)
								  : -EPROTO;
		else
			r = r == 0 ? -EPIPE : r;
		if (r < 0)
			link_lose(l);
	}
}

/* From outside */

static void link_on_sandbox(struct watcher *w, uint32_t events)
{
	struct service_link *l = container_of(w, struct service_link, sandbox);

	(void)events;
	/* That its pipes have ended, the back end hears itself. */
	if (chromium_dispatch(l->chromium))
		loop_remove(l->loop, &l->sandbox);
}

/* From now on it ends with the back end. */
static int link_take_chromium(struct service_link *l, struct service_start *s)
{
	if (!s->chromium)
		return 0;
	l->chromium = s->chromium;
	s->chromium = NULL;
	l->sandbox = (struct watcher){ .ready = link_on_sandbox, .fd = -1 };
	return loop_add(l->loop, &l->sandbox, chromium_fd(l->chromium), EPOLLIN);
}

int service_link_attach(struct service_link *l, const struct child *child)
{
	int r;

	l->started_ms[l->n_started++ % LINK_STARTS_MAX] = loop_now(l->loop);
	l->pid = child->pid;
	l->watcher = (struct watcher){ .ready = link_on_frame, .fd = -1 };
	r = loop_add(l->loop, &l->watcher, child->socket, EPOLLIN);
	if (r < 0) {
		l->watcher.fd = child->socket;
		link_close(l);
	}
	return r;
}

int service_link_start(struct service_link *l, struct service_start *s)
{
	const uint64_t now = loop_now(l->loop);
	const size_t place = l->n_started % LINK_STARTS_MAX;
	struct child child;
	int r;

	if (l->pid)
		return 0;
	if (l->n_started >= LINK_STARTS_MAX && now - l->started_ms[place] < LINK_STARTS_MS)
		return -EAGAIN;
	r = service_start_run(s, &child);
	if (r == 0)
		r = service_link_attach(l, &child);
	if (r < 0)
		return r;
	r = link_take_chromium(l, s);
	if (r < 0)
		link_close(l);
	return r;
}

static void link_on_timeout(struct timer *t)
{
	struct link_call *c = container_of(t, struct link_call, timer);
	struct service_link *l = c->link;
	const bool was_sent = c->is_sent;
	const uint64_t id = c->id, now = loop_now(l->loop);
	char text[128];

	(void)snprintf(text, sizeof(text), "%s did not answer within %llu ms", l->backend->name,
		(unsigned long long)c->timeout_ms);
	link_refuse(l, c, RPC_TIMEOUT, text, NULL);
	if (was_sent && l->pid)
		link_abandon(l, id, now);
}

int service_link_call(struct service_link *l, struct link_call *c)
{
	int r = l->n_calls >= LINK_CALLS_MAX ? -EBUSY : 0;

	c->timer.expired = link_on_timeout;
	if (r == 0)
		r = loop_start(l->loop, &c->timer, c->timeout_ms);
	if (r < 0)
		return r;
	c->link = l;
	c->id = ++l->last_id;
	c->is_sent = c->is_unserved = false;
	c->next = NULL;
	c->previous = l->last;
	*(l->last ? &l->last->next : &l->first) = c;
	l->last = c;
	l->n_calls++;
	/* In the loop's next turn at the latest, so that the caller is not called back now. */
	if (l->is_ready)
		r = loop_change(l->loop, &l->watcher, EPOLLIN | EPOLLOUT);
	if (r < 0)
		link_forget(l, c);
	return r;
}

void service_link_cancel(struct link_call *c)
{
	struct service_link *l = c->link;
	const bool was_sent = c->is_sent;
	uint64_t until_ms;

	if (!l)
		return;
	until_ms = c->timer.due_ms;
	link_forget(l, c);
	if (was_sent && l->pid)
		link_abandon(l, c->id, until_ms);
}

void service_link_deinit(struct service_link *l)
{
	link_close(l);
	while (l->first)
		link_forget(l, l->first);
}
