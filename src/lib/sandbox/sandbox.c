/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/api/handles.h"
#include "lib/process/process.h"

enum { SEND_MS = 1000 };

_Static_assert((int)CORRAL_TIER_NONE == READY_TIER_NONE, "tiers");

void sandbox_tell(struct corral_sandbox *s, struct corral_event event)
{
	struct timespec t;

	if (!s->base.sink)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	event.size = sizeof(event);
	event.time_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	event.program = event.program ? event.program : "";
	event.message = event.message ? event.message : "";
	s->base.sink(s->base.context, &event);
}

static void tell_session(struct corral_sandbox *s)
{
	sandbox_tell(s,
		(struct corral_event){ .kind = CORRAL_EVENT_SESSION,
			.message = s->base.backend->enforces ? NULL
							     : "mode rwx: nothing is confined" });
}

/* Sessions */

int sandbox_new_link(const struct sandbox_setup *setup, struct warden_link **ret, struct error *e)
{
	const struct backend *backend = setup->base->backend;
	int r = backend->probe(setup->base, e);

	return r < 0 ? r : backend->set_up(setup, ret, e);
}

/* With the lock held: whoever asked its relay for something looks again. */
static void wake_asker(const struct warden_link *link)
{
	const uint64_t one = 1;

	if (link->wake >= 0)
		(void)!write(link->wake, &one, sizeof(one));
}

/* With the lock held: new commands go elsewhere. */
static void retire(struct corral_sandbox *s)
{
	struct warden_link *link = s->link;

	s->link = NULL;
	sandbox_setup_unref(s->built);
	s->built = NULL;
	warden_link_unref(link);
}

/* With the lock held; the caller has a reference to the link. */
static void lib_sandbox_lose(
	struct corral_sandbox *s, struct warden_link *link, const struct error *why)
{
	link->lost = true;
	link->leader = NULL;
	for (struct corral_process *p = s->first; p; p = p->next) {
		if (p->link != link || p->state > PROCESS_RUNNING)
			continue;
		p->state = PROCESS_LOST;
		p->error = *why;
		p->code = -ECONNRESET;
		process_wake(p);
	}
	wake_asker(link);
	if (s->link == link)
		retire(s);
}

void sandbox_lose(struct corral_sandbox *s, struct warden_link *link, const struct error *why)
{
	bool first;

	(void)pthread_mutex_lock(&s->lock);
	first = !link->lost;
	lib_sandbox_lose(s, link, why);
	(void)pthread_mutex_unlock(&s->lock);
	if (!first)
		return;
	s->base.backend->tear_down(link);
	sandbox_tell(s, (struct corral_event){ .kind = CORRAL_EVENT_LOST, .message = why->text });
}

/* Frames */

static struct corral_process *sandbox_find(
	struct corral_sandbox *s, const struct warden_link *link, uint64_t id)
{
	struct corral_process *p = s->first;

	while (p && (p->id != id || p->link != link))
		p = p->next;
	return p;
}

/* What the relay says to other permissions. */
static int note_answer(struct warden_link *link, const struct frame *f)
{
	if (f->id == 0 || f->id != link->asked || f->n_fds != 0)
		return -EPROTO;
	link->asked = 0;
	link->answered = true;
	link->answer = f->len == 0 ? 0 : warden_link_refusal(f, &link->why);
	wake_asker(link);
	return link->answer == -EPROTO ? -EPROTO : 0;
}

/* Notes a frame for a process. Negative: a warden would not send that. */
static int sandbox_note(struct corral_process *p, struct frame *f)
{
	switch (f->type) {
	case FRAME_STARTED:
		if (p->state != PROCESS_STARTING)
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
		if (p->state != PROCESS_RUNNING || report_decode(&p->report, f->body, f->len) < 0)
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
	struct corral_process *p;

	if (f->type == FRAME_INIT && f->n_fds == 1 && link->channel < 0) {
		link->channel = frame_take_fd(f, 0);
		return 0;
	}
	if (f->type == FRAME_RECORD && sandbox_record(s, link, f) == 0)
		return 0;
	if (f->type == FRAME_POLICY && note_answer(link, f) == 0)
		return 0;
	if (f->type == FRAME_GONE) {
		(void)warden_link_refusal(f, why);
		return -ECONNRESET;
	}
	p = f->type == FRAME_STARTED || f->type == FRAME_REFUSED || f->type == FRAME_EXITED
		    ? sandbox_find(s, link, f->id)
		    : NULL;
	if (p && sandbox_note(p, f) == 0) {
		process_wake(p);
		return 0;
	}
	if (!p && f->type != FRAME_RECORD && f->type != FRAME_POLICY && f->id > 0 &&
		f->id <= s->last_id)
		return 0;
	return error_set(
		why, -EPROTO, NULL, "the warden broke the protocol; its session was ended");
}

/* With the lock held. 0: nothing more for now. 1: the sink must be told first. */
static int receive_all(struct corral_sandbox *s, struct warden_link *link, struct error *why)
{
	int r;

	do {
		if (s->n_news >= SANDBOX_NEWS_MAX)
			return 1;
		r = frame_receive(link->socket, &link->frame);
		if (r > 0)
			r = handle(s, link, &link->frame, why) < 0 ? -ECONNRESET : 1;
		else if (r == 0)
			r = error_set(why, -ECONNRESET, NULL,
				"the warden died, and everything in its session with it");
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
	bool more;

	do {
		more = sandbox_receive(s, link);
		sandbox_tell_news(s);
	} while (more);
}

struct warden_link *sandbox_hold_link(struct corral_sandbox *s, struct sandbox_setup **ret_built)
{
	struct warden_link *link;

	(void)pthread_mutex_lock(&s->lock);
	link = s->link ? warden_link_ref(s->link) : NULL;
	if (link && ret_built)
		*ret_built = sandbox_setup_ref(s->built);
	(void)pthread_mutex_unlock(&s->lock);
	return link;
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

/* With the lock held: it is of no more use, and the warden lets it end. */
static void drop_channel(struct warden_link *link)
{
	fd_close(&link->channel);
	link->channel = -1;
	link->user = NULL;
	(void)frame_send(link->socket, FRAME_RETURN, 0, NULL, 0, NULL, 0);
}

/* With the lock held: its command is over, and it is free for the next. */
static void release_channel(struct corral_process *p)
{
	p->direct = false;
	p->link->user = NULL;
	if (p->timed)
		(void)frame_send(p->link->socket, FRAME_RETURN, p->id, NULL, 0, NULL, 0);
}

int sandbox_start_directly(struct corral_sandbox *s, struct corral_process *p,
	const struct buffer *body, const int *fds, size_t n_fds, uint64_t timeout_ms)
{
	struct warden_link *link = p->link;
	const struct buffer lease = { .data = (char *)&timeout_ms, .len = sizeof(timeout_ms) };
	int r = -EAGAIN;

	(void)pthread_mutex_lock(&s->lock);
	if (link->channel >= 0 && !link->user) {
		r = frame_send(
			link->channel, FRAME_START, p->id, body->data, body->len, fds, n_fds);
		if (r < 0)
			drop_channel(link);
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

	while (p->direct && r == 0) {
		r = frame_receive(link->channel, &link->frame);
		if (r == 0)
			r = -ECONNRESET;
		else if (r == 1)
			r = link->frame.id == p->id ? sandbox_note(p, &link->frame) : 0;
		if (r == 0 && p->state > PROCESS_RUNNING)
			release_channel(p);
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
		(void)error_set(&why, -ECONNRESET, NULL,
			"the command's init died, and the session with it");
		sandbox_lose(s, p->link, &why);
	}
	return direct;
}

int sandbox_tell_channel(
	struct corral_process *p, enum frame_type type, const void *body, size_t len)
{
	int r = -ENOTCONN;

	(void)pthread_mutex_lock(&p->sandbox->lock);
	if (p->direct && p->link && p->state <= PROCESS_RUNNING)
		r = frame_send(p->link->channel, type, p->id, body, len, NULL, 0);
	(void)pthread_mutex_unlock(&p->sandbox->lock);
	return r;
}

/* Processes */

/* With the lock held: there is none. */
static void take_link(
	struct corral_sandbox *s, struct warden_link *link, struct sandbox_setup *setup)
{
	s->link = link;
	s->built = sandbox_setup_ref(setup);
	s->tier = link->ready.tier;
	s->stats.sessions++;
}

/* With the lock held: a link that works as far as one can tell. */
static int ensure_link(struct corral_sandbox *s, bool *ret_new, struct error *e)
{
	struct warden_link *link;
	int r;

	if (s->freed)
		return error_set(e, -ESHUTDOWN, NULL, "the sandbox was freed");
	if (s->link)
		return 0;
	r = sandbox_new_link(s->setup, &link, e);
	if (r < 0)
		return r;
	take_link(s, link, s->setup);
	*ret_new = true;
	return 0;
}

static void sandbox_insert(struct corral_sandbox *s, struct corral_process *p)
{
	p->id = ++s->last_id;
	p->link = warden_link_ref(s->link);
	p->previous = NULL;
	p->next = s->first;
	if (p->next)
		p->next->previous = p;
	s->first = p;
}

/* What the last session had to say is heard first: a dead one is not given a command. */
static void lib_sandbox_hear(struct corral_sandbox *s)
{
	struct warden_link *link = sandbox_hold_link(s, NULL);

	if (link)
		sandbox_dispatch(s, link);
	warden_link_unref(link);
}

int sandbox_add(struct corral_sandbox *s, struct corral_process *p, struct error *e)
{
	bool is_new = false;
	int r;

	lib_sandbox_hear(s);
	(void)pthread_mutex_lock(&s->lock);
	r = p->setup == s->setup ? ensure_link(s, &is_new, e) : 1;
	if (r == 0)
		sandbox_insert(s, p);
	(void)pthread_mutex_unlock(&s->lock);
	if (is_new)
		tell_session(s);
	return r;
}

/*
 * With the lock held: p does not wait any more, and if nobody leads now, another of those that wait
 * has to. Also if p did not lead: it may have been woken to do so, and have heard of its own end.
 */
static void resign(struct corral_sandbox *s, struct corral_process *p)
{
	struct corral_process *next = s->first;

	if (p->link && p->link->leader == p)
		p->link->leader = NULL;
	if (!p->link || p->link->leader)
		return;
	while (next && (next == p || next->link != p->link || !next->waiting ||
			       next->out.callback || next->direct))
		next = next->next;
	if (next)
		process_wake(next);
}

void sandbox_remove(struct corral_sandbox *s, struct corral_process *p)
{
	struct warden_link *link;

	(void)pthread_mutex_lock(&s->lock);
	resign(s, p);
	link = p->link;
	/* Whoever lets go of a command that runs does not want it any more. */
	if (link && link->user == p)
		drop_channel(link);
	p->link = NULL;
	if (link && p->previous)
		p->previous->next = p->next;
	else if (link)
		s->first = p->next;
	if (link && p->next)
		p->next->previous = p->previous;
	(void)pthread_mutex_unlock(&s->lock);
	warden_link_unref(link);
}

/*
 * A thread that may run a callback of the host for long must not be the one that others rely on; it
 * polls the socket beside the leader.
 */
bool sandbox_lead(struct corral_sandbox *s, struct corral_process *p)
{
	bool lead;

	(void)pthread_mutex_lock(&s->lock);
	p->waiting = true;
	if (!p->link->leader && !p->out.callback && !p->direct)
		p->link->leader = p;
	lead = p->link->leader == p || p->out.callback || p->direct;
	(void)pthread_mutex_unlock(&s->lock);
	return lead;
}

void sandbox_follow(struct corral_sandbox *s, struct corral_process *p)
{
	(void)pthread_mutex_lock(&s->lock);
	p->waiting = false;
	resign(s, p);
	(void)pthread_mutex_unlock(&s->lock);
}

/* Life */

struct sandbox_setup *sandbox_hold_setup(struct corral_sandbox *s)
{
	struct sandbox_setup *setup;

	(void)pthread_mutex_lock(&s->lock);
	setup = sandbox_setup_ref(s->setup);
	(void)pthread_mutex_unlock(&s->lock);
	return setup;
}

void sandbox_swap(struct corral_sandbox *s, struct sandbox_setup *setup, struct warden_link *fresh,
	const struct warden_link *kept)
{
	struct warden_link *old = NULL;

	(void)pthread_mutex_lock(&s->lock);
	if (s->link && (fresh || (kept && s->link != kept))) {
		old = warden_link_ref(s->link);
		retire(s);
	}
	if (fresh)
		take_link(s, fresh, setup);
	sandbox_setup_unref(s->setup);
	s->setup = setup;
	s->generation++;
	(void)pthread_mutex_unlock(&s->lock);
	/* What it had to say last. If no command runs there any more, this is its end. */
	if (old)
		sandbox_dispatch(s, old);
	warden_link_unref(old);
	if (fresh)
		tell_session(s);
}

bool sandbox_retire(struct corral_sandbox *s, struct warden_link *link)
{
	bool used = false;

	(void)pthread_mutex_lock(&s->lock);
	for (struct corral_process *p = s->first; p; p = p->next)
		used = used || p->link == link;
	if (!used && s->link == link)
		retire(s);
	(void)pthread_mutex_unlock(&s->lock);
	return !used;
}

static void sandbox_destroy(struct corral_sandbox *s)
{
	sandbox_tell_news(s);
	fd_close(&s->null);
	destinations_deinit(&s->destinations);
	sandbox_setup_unref(s->built);
	sandbox_setup_unref(s->setup);
	arena_deinit(&s->base.arena);
	(void)pthread_mutex_destroy(&s->updating);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

void sandbox_unref(struct corral_sandbox *s)
{
	bool last;

	(void)pthread_mutex_lock(&s->lock);
	last = --s->refs == 0;
	(void)pthread_mutex_unlock(&s->lock);
	if (last)
		sandbox_destroy(s);
}

static int open_first(struct corral_sandbox *s, struct error *e)
{
	bool is_new = false;
	int r;

	s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null < 0)
		return error_set(e, -errno, NULL, "cannot open /dev/null: %s", strerror(errno));
	r = ensure_link(s, &is_new, e);
	if (r == 0)
		tell_session(s);
	return r;
}

/* A sink that is told in the midst of an update must not wait for its end. */
static void init_updating(pthread_mutex_t *updating)
{
	pthread_mutexattr_t a;

	(void)pthread_mutexattr_init(&a);
	(void)pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutex_init(updating, &a);
	(void)pthread_mutexattr_destroy(&a);
}

int sandbox_new(struct corral_sandbox **ret, struct sandbox_base *base,
	struct permissions *permissions, struct error *e)
{
	struct corral_sandbox *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		permissions_free(permissions);
		arena_deinit(&base->arena);
		return -ENOMEM;
	}
	s->base = *base;
	*base = (struct sandbox_base){ 0 };
	s->refs = 1;
	s->null = -1;
	s->generation = 1;
	(void)pthread_mutex_init(&s->lock, NULL);
	init_updating(&s->updating);
	r = sandbox_setup_new(&s->setup, &s->base, permissions, e);
	if (r == 0)
		r = open_first(s, e);
	if (r < 0)
		sandbox_destroy(s);
	else
		*ret = s;
	return r;
}

/* A reference to a link that works, that of the sandbox or of some command; NULL: there is none. */
static struct warden_link *hold_any_link(struct corral_sandbox *s)
{
	struct warden_link *link = s->link;

	for (struct corral_process *p = s->first; p && !link; p = p->next)
		link = p->link->lost ? NULL : p->link;
	return link ? warden_link_ref(link) : NULL;
}

void corral_sandbox_free(struct corral_sandbox *s)
{
	struct warden_link *link;
	struct error why = { 0 };

	if (!s)
		return;
	/* What was denied late is told. */
	lib_sandbox_hear(s);
	(void)error_set(&why, -ECONNRESET, NULL, "the sandbox was freed");
	do {
		(void)pthread_mutex_lock(&s->lock);
		s->freed = true;
		link = hold_any_link(s);
		if (link)
			lib_sandbox_lose(s, link, &why);
		(void)pthread_mutex_unlock(&s->lock);
		if (link)
			s->base.backend->tear_down(link);
		warden_link_unref(link);
	} while (link);
	sandbox_unref(s);
}

/* Calls about all of it */

int corral_sandbox_kill(struct corral_sandbox *s)
{
	const uint32_t flags = REPORT_KILLED;
	int n = 0;

	(void)pthread_mutex_lock(&s->lock);
	for (struct corral_process *p = s->first; p; p = p->next) {
		if (p->state > PROCESS_RUNNING)
			continue;
		n += frame_send(p->direct ? p->link->channel : p->link->socket, FRAME_KILL, p->id,
			     &flags, sizeof(flags), NULL, 0) == 0;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

unsigned corral_sandbox_tier(struct corral_sandbox *s)
{
	unsigned tier;

	(void)pthread_mutex_lock(&s->lock);
	tier = s->tier;
	(void)pthread_mutex_unlock(&s->lock);
	return tier;
}

const char *corral_sandbox_backend(const struct corral_sandbox *s)
{
	return s->base.backend->name;
}
