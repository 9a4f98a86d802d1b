/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's frames, and the calls that are under way. Everything here happens in the loop's
 * thread. What a front may say is a table; what breaks a rule ends the front:
 *
 *     another frame, or one with descriptors   -EPROTO
 *     a call that its row does not allow       -EPROTO (broker/call.h)
 *     an id that is under way                  -EPROTO
 *     more calls than a front ever has         -EPROTO
 *     more notes taken than were sent          -EPROTO
 *
 * The pid of a caller is the front's word, so limits by pid are there for honest fronts, to keep
 * callers apart; those of all callers together hold whatever it says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/monitor/internal.h"

#define ACTOR "broker"

/* Calls */

static struct under_way *under_way_find(const struct monitor *m, uint64_t id)
{
	for (struct under_way *u = m->first; u; u = u->next)
		if (u->id == id && !u->is_over)
			return u;
	return NULL;
}

void under_way_free(struct under_way *u)
{
	struct monitor *m = u->call.monitor;

	ask_leave(u, QUESTION_ANSWERED);
	*(u->previous ? &u->previous->next : &m->first) = u->next;
	if (u->next)
		u->next->previous = u->previous;
	m->n_calls--;
	m->bytes -= u->bytes;
	arena_deinit(&u->call.arena);
	free(u->body);
	free(u);
}

void under_way_run(struct under_way *u)
{
	static const struct rpc_refusal why = { .class = RPC_SERVICE,
		.message = "the holder of the session does not read what is to be recorded, so "
			   "nothing is done",
		.hint = "try again when the run goes on: it is stopped, perhaps" };
	const struct monitor_options *o = &u->call.monitor->o;

	if (o->may_act && !o->may_act(o->tell_context)) {
		monitor_refuse(&u->call, &why);
		return;
	}
	u->changes = u->call.monitor->n_changes;
	monitor_handlers[u->call.call.method->id](&u->call);
}

/* Ends it without an answer. One that a thread works for is freed when that is done. */
static void under_way_end(struct under_way *u)
{
	void (*cancel)(struct monitor_call * c) = u->call.cancel;

	ask_leave(u, QUESTION_GIVEN_UP);
	if (u->is_working && !pool_remove(u->call.monitor->pool, &u->job)) {
		u->is_over = true;
		return;
	}
	if (cancel)
		cancel(&u->call);
	under_way_free(u);
}

static void under_way_work(struct pool_job *j)
{
	struct under_way *u = container_of(j, struct under_way, job);

	u->work(&u->call);
}

static void under_way_done(struct pool_job *j)
{
	struct under_way *u = container_of(j, struct under_way, job);

	u->is_working = false;
	if (u->is_over)
		under_way_end(u);
	else
		u->done(&u->call);
}

int monitor_work(struct monitor_call *c, void (*work)(struct monitor_call *c),
	void (*done)(struct monitor_call *c))
{
	struct under_way *u = under_way_of(c);
	int r;

	u->work = work;
	u->done = done;
	u->job = (struct pool_job){
		.work = under_way_work, .done = under_way_done, .caller = c->call.pid
	};
	r = pool_add(c->monitor->pool, &u->job);
	u->is_working = r == 0;
	return r;
}

bool monitor_has_room(
	const struct monitor_call *c, void (*cancel)(struct monitor_call *c), size_t max)
{
	size_t all = 0, own = 0;

	for (const struct under_way *u = c->monitor->first; u; u = u->next) {
		if (!u->call.state || u->call.cancel != cancel)
			continue;
		all++;
		own += u->call.call.pid == c->call.pid;
	}
	return all < max && own < max - all;
}

/* Limits; NULL: it may run. */
static const char *monitor_find_excess(const struct monitor *m, uint32_t pid, size_t bytes)
{
	size_t calls = 0, held = bytes;

	for (const struct under_way *u = m->first; u; u = u->next) {
		calls += u->call.call.pid == pid;
		held += u->call.call.pid == pid ? u->bytes : 0;
	}
	if (calls >= MONITOR_CALLER_CALLS_MAX)
		return "too many calls of this process are under way";
	if (held > MONITOR_CALLER_BYTES_MAX || m->bytes + bytes > MONITOR_BYTES_MAX)
		return "too many bytes of calls are under way";
	return NULL;
}

/* Frames */

/* 0, or -EPROTO or -ENOMEM with nothing left behind. */
static int under_way_new(struct monitor *m, const struct frame *f, struct under_way **ret)
{
	struct under_way *u = calloc(1, sizeof(*u));
	int r = u ? 0 : -ENOMEM;

	if (r == 0) {
		u->body = malloc(f->len + 1);
		r = u->body ? 0 : -ENOMEM;
	}
	if (r == 0) {
		memcpy(u->body, f->body, f->len);
		r = call_decode(&u->call.call, u->body, f->len, &u->call.arena);
	}
	if (r < 0) {
		if (u) {
			arena_deinit(&u->call.arena);
			free(u->body);
		}
		free(u);
		return r;
	}
	u->id = f->id;
	u->bytes = f->len;
	u->call.monitor = m;
	u->call.by = (struct corral_by){ .size = sizeof(u->call.by),
		.actor = ACTOR,
		.pid = u->call.call.pid,
		.folder = m->o.setup->folder[0] ? m->o.setup->folder : NULL };
	*ret = u;
	return 0;
}

static void under_way_link(struct under_way *u)
{
	struct monitor *m = u->call.monitor;

	u->next = m->first;
	if (u->next)
		u->next->previous = u;
	m->first = u;
	m->n_calls++;
	m->bytes += u->bytes;
}

static int monitor_on_call(struct monitor *m, const struct frame *f)
{
	struct rpc_refusal why = { .class = RPC_RATE, .hint = "wait for answers first" };
	struct under_way *u = NULL;
	int r;

	if (m->n_calls >= 2 * MONITOR_CALLS_MAX || under_way_find(m, f->id))
		return -EPROTO;
	r = under_way_new(m, f, &u);
	if (r < 0)
		return r;
	why.message = monitor_find_excess(m, u->call.call.pid, u->bytes);
	under_way_link(u);
	if (why.message) {
		monitor_refuse(&u->call, &why);
		return 0;
	}
	/* The front answers those itself. */
	if (!monitor_handlers[u->call.call.method->id]) {
		under_way_free(u);
		return -EPROTO;
	}
	under_way_run(u);
	return 0;
}

static int monitor_on_cancel(struct monitor *m, const struct frame *f)
{
	static const struct rpc_refusal why = { .class = RPC_INTERNAL,
		.message = "the call was cancelled" };
	struct under_way *u = under_way_find(m, f->id);

	if (f->len != 0)
		return -EPROTO;
	/* Its answer may be on its way. */
	if (!u)
		return 0;
	answer_refuse(m, u->id, &why);
	under_way_end(u);
	return 0;
}

static int monitor_on_note_taken(struct monitor *m, const struct frame *f)
{
	struct under_way *u = under_way_find(m, f->id);

	if (f->len != 0)
		return -EPROTO;
	if (!u)
		return 0;
	if (u->n_notes == 0)
		return -EPROTO;
	u->n_notes--;
	if (u->wants_room && u->call.resume) {
		u->wants_room = false;
		u->call.resume(&u->call);
	}
	return 0;
}

static int monitor_on_gone(struct monitor *m, const struct frame *f)
{
	if (f->len != 0)
		return -EPROTO;
	sockets_end_of(m, f->id);
	waiting_end_of(&m->secrets, f->id);
	return 0;
}

static int (*const monitor_takers[FRAME_TYPE_COUNT])(struct monitor *m, const struct frame *f) = {
	[FRAME_CALL] = monitor_on_call,
	[FRAME_CALL_CANCEL] = monitor_on_cancel,
	[FRAME_CALL_NOTE] = monitor_on_note_taken,
	[FRAME_CALL_GONE] = monitor_on_gone,
};

static void monitor_on_front(struct watcher *w, uint32_t events)
{
	struct monitor *m = container_of(w, struct monitor, front);

	if (events & EPOLLOUT)
		answer_flush(m);
	for (int i = 0; i < MONITOR_TURN_FRAMES && !m->is_lost; i++) {
		int r = frame_receive(w->fd, &m->frame);

		if (r == -EAGAIN || r == -EINTR)
			return;
		if (r == 1)
			r = m->frame.n_fds == 0 && monitor_takers[m->frame.type]
				    ? monitor_takers[m->frame.type](m, &m->frame)
				    : -EPROTO;
		else
			r = r == 0 ? -EPIPE : r;
		if (r < 0)
			monitor_lose(m, r);
	}
}

/* The front */

static void monitor_cancel_all(struct monitor *m)
{
	struct under_way *next;

	for (struct under_way *u = m->first; u; u = next) {
		next = u->next;
		if (!u->is_over)
			under_way_end(u);
	}
}

static void monitor_drop_front(struct monitor *m)
{
	loop_remove(m->o.loop, &m->front);
	m->front.fd = -1;
	loop_stop(m->o.loop, &m->losing);
	m->is_lost = false;
	frame_deinit(&m->frame);
	answer_drop(m);
	monitor_cancel_all(m);
	sockets_end_all(m);
	waiting_end_of(&m->secrets, UINT64_MAX);
}

static void monitor_on_losing(struct timer *t)
{
	struct monitor *m = container_of(t, struct monitor, losing);
	const int code = m->lost_code;

	monitor_drop_front(m);
	if (m->lost)
		m->lost(m->context, code);
}

void monitor_lose(struct monitor *m, int code)
{
	if (m->is_lost || m->front.fd < 0)
		return;
	m->is_lost = true;
	m->lost_code = code;
	m->losing.expired = monitor_on_losing;
	/* Nothing more is read from it; without a timer it hangs until the broker ends. */
	(void)loop_change(m->o.loop, &m->front, 0);
	(void)loop_start(m->o.loop, &m->losing, 0);
}

int monitor_connect(struct monitor *m, int front)
{
	monitor_drop_front(m);
	return front < 0 ? 0 : loop_add(m->o.loop, &m->front, front, EPOLLIN);
}

void monitor_on_lost(struct monitor *m, void (*lost)(void *context, int code), void *context)
{
	m->lost = lost;
	m->context = context;
}

/* What there is */

struct loop *monitor_loop(struct monitor *m)
{
	return m->o.loop;
}

struct corral_enclave *monitor_enclave(struct monitor *m)
{
	return m->enclave;
}

struct corral_audit *monitor_audit(struct monitor *m)
{
	return m->audit;
}

const struct broker_setup *monitor_setup(const struct monitor *m)
{
	return m->o.setup;
}

struct ledger *monitor_ledger(const struct monitor *m)
{
	return m->ledger;
}

size_t monitor_calls(const struct monitor *m)
{
	return m->n_calls;
}

int monitor_new(struct monitor **ret, const struct monitor_options *o, struct corral_error **e)
{
	struct monitor *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->o = *o;
	m->root = -1;
	m->front = (struct watcher){ .ready = monitor_on_front, .fd = -1 };
	m->answers.fd = -1;
	r = pool_new(&m->pool, o->loop, MONITOR_THREADS);
	if (r == 0)
		r = powers_make(m, e);
	if (r < 0)
		monitor_free(m);
	else
		*ret = m;
	return r;
}

int monitor_enter(struct monitor *m, int root, struct corral_error **e)
{
	int r;

	m->root = root;
	r = powers_enter(m, e);
	return r < 0 ? r : ask_begin(m);
}

void monitor_settle(struct monitor *m, uint64_t ms)
{
	m->is_ending = true;
	pool_settle(m->pool, ms);
}

void monitor_free(struct monitor *m)
{
	if (!m)
		return;
	m->is_ending = true;
	if (m->pool)
		monitor_drop_front(m);
	/* What threads still did is done now. */
	pool_free(m->pool);
	sockets_end_all(m);
	network_free(m->network);
	services_end(m->services);
	ask_end(m);
	powers_end(m);
	free(m);
}
