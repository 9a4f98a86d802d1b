/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "lib/api/handles.h"
#include "lib/api/joined.h"
#include "lib/process/process.h"
#include "lib/sandbox/skill.h"

_Static_assert((int)CORRAL_TIER_NONE == READY_TIER_NONE, "tiers");

void sandbox_tell(struct corral_sandbox *s, struct corral_event event)
{
	struct joined *j = atomic_load(&s->joined);

	if (!s->base.sink && !j)
		return;
	event.size = sizeof(event);
	event.time_ns = clock_ns(CLOCK_REALTIME);
	event.program = event.program ? event.program : "";
	event.message = event.message ? event.message : "";
	if (s->base.sink)
		s->base.sink(s->base.context, &event);
	if (!j)
		return;
	corral_audit_sandbox(joined_audit(j), &event);
	(void)joined_turn(j);
}

/* Of a skill it is said which content runs. */
static void sandbox_tell_session(struct corral_sandbox *s)
{
	struct corral_event event = { .kind = CORRAL_EVENT_SESSION };
	char hex[SKILL_DIGEST_HEX], text[128];

	if (!s->base.backend->enforces)
		event.message = "mode rwx: not confined";
	if (s->base.skill) {
		skill_digest_hex(&s->base.skill->skill.content.digest, hex);
		(void)snprintf(text, sizeof(text), "a skill with the content %s", hex);
		event.message = text;
	}
	sandbox_tell(s, event);
}

/* Sessions */

int sandbox_new_link(const struct sandbox_setup *setup, struct warden_link **ret, struct error *e)
{
	const struct sandbox_backend *backend = setup->base->backend;
	int r = backend->probe(setup->base, e);

	return r < 0 ? r : backend->set_up(setup, ret, e);
}

struct warden_link *sandbox_hold_link(struct corral_sandbox *s, struct sandbox_setup **ret_built)
{
	auto_lock held = lock_take(&s->lock);

	if (s->link && ret_built)
		*ret_built = sandbox_setup_ref(s->built);
	return s->link ? warden_link_ref(s->link) : NULL;
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
static void sandbox_lose_locked(
	struct corral_sandbox *s, struct warden_link *link, const struct error *why)
{
	link->lost = true;
	link->leader = NULL;
	sandbox_live_forget(s, link);
	for (struct corral_process *p = s->first; p; p = p->next) {
		if (p->link != link || p->state > PROCESS_RUNNING)
			continue;
		p->state = PROCESS_LOST;
		p->error = *why;
		p->code = -ECONNRESET;
		process_wake(p);
	}
	sandbox_wake_asker(link);
	if (s->link == link)
		retire(s);
}

void sandbox_lose(struct corral_sandbox *s, struct warden_link *link, const struct error *why)
{
	bool first;

	(void)pthread_mutex_lock(&s->lock);
	first = !link->lost;
	sandbox_lose_locked(s, link, why);
	(void)pthread_mutex_unlock(&s->lock);
	if (!first)
		return;
	s->base.backend->tear_down(link);
	sandbox_tell(s, (struct corral_event){ .kind = CORRAL_EVENT_LOST, .message = why->text });
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
	sandbox_live_begin(s, link);
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

/* What the last session had to say is heard first: a dead one is not given a command. */
static void sandbox_hear_link(struct corral_sandbox *s)
{
	struct warden_link *link = sandbox_hold_link(s, NULL);

	if (link)
		sandbox_dispatch(s, link);
	warden_link_unref(link);
}

int sandbox_add(struct corral_sandbox *s, struct corral_process *p, struct error *e)
{
	bool is_new = false;
	int r = sandbox_turn_joined(s, e);

	if (r < 0)
		return r;
	sandbox_hear_link(s);
	(void)pthread_mutex_lock(&s->lock);
	r = p->setup == s->setup ? ensure_link(s, &is_new, e) : 1;
	if (r == 0) {
		p->id = ++s->last_id;
		p->link = warden_link_ref(s->link);
		p->previous = NULL;
		p->next = s->first;
		if (p->next)
			p->next->previous = p;
		s->first = p;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (is_new)
		sandbox_tell_session(s);
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
		sandbox_drop_channel(link);
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
	auto_lock held = lock_take(&s->lock);

	p->waiting = true;
	if (!p->link->leader && !p->out.callback && !p->direct)
		p->link->leader = p;
	return p->link->leader == p || p->out.callback || p->direct;
}

void sandbox_follow(struct corral_sandbox *s, struct corral_process *p)
{
	auto_lock held = lock_take(&s->lock);

	p->waiting = false;
	resign(s, p);
}

/* Life */

struct sandbox_setup *sandbox_hold_setup(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);

	return sandbox_setup_ref(s->setup);
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
		sandbox_tell_session(s);
}

bool sandbox_retire(struct corral_sandbox *s, struct warden_link *link)
{
	auto_lock held = lock_take(&s->lock);

	for (struct corral_process *p = s->first; p; p = p->next)
		if (p->link == link)
			return false;
	if (s->link == link)
		retire(s);
	return true;
}

void sandbox_base_deinit(struct sandbox_base *base)
{
	private_remove(base);
	sandbox_skill_unref(base->skill);
	arena_deinit(&base->arena);
}

static void sandbox_destroy(struct corral_sandbox *s)
{
	sandbox_tell_news(s);
	joined_free(atomic_load(&s->joined));
	fd_close(&s->null);
	destinations_deinit(&s->destinations);
	sandbox_setup_unref(s->built);
	sandbox_setup_unref(s->setup);
	sandbox_base_deinit(&s->base);
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

void sandbox_init_checked(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;

	(void)pthread_mutexattr_init(&a);
	(void)pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutex_init(m, &a);
	(void)pthread_mutexattr_destroy(&a);
}

int sandbox_new(struct corral_sandbox **ret, struct sandbox_base *base,
	struct permissions *permissions, struct error *e)
{
	struct corral_sandbox *s = calloc(1, sizeof(*s));
	bool is_new = false;
	int r;

	if (!s) {
		permissions_free(permissions);
		sandbox_base_deinit(base);
		return -ENOMEM;
	}
	s->base = *base;
	*base = (struct sandbox_base){ 0 };
	s->refs = 1;
	s->generation = 1;
	(void)pthread_mutex_init(&s->lock, NULL);
	/* A sink that is called in the midst of an update must not wait for its end. */
	sandbox_init_checked(&s->updating);
	r = sandbox_setup_new(&s->setup, &s->base, permissions, e);
	s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (r == 0 && s->null < 0)
		r = error_set(e, -errno, NULL, "cannot open /dev/null: %s", strerror(errno));
	if (r == 0)
		r = ensure_link(s, &is_new, e);
	if (r < 0) {
		sandbox_destroy(s);
		return r;
	}
	sandbox_join(s, NULL);
	sandbox_tell_session(s);
	*ret = s;
	return 0;
}

void corral_sandbox_free(struct corral_sandbox *s)
{
	struct warden_link *link;
	struct error why = { 0 };

	if (!s)
		return;
	/* What was denied late is reported, and what its broker did last. */
	sandbox_hear_link(s);
	link = s->base.broker.program ? sandbox_hold_link(s, NULL) : NULL;
	if (link)
		sandbox_finish(s, link);
	warden_link_unref(link);
	(void)error_set(&why, -ECONNRESET, NULL, "the sandbox was freed");
	do {
		(void)pthread_mutex_lock(&s->lock);
		s->freed = true;
		/* One that works, of the sandbox or of some command. */
		link = s->link;
		for (struct corral_process *p = s->first; p && !link; p = p->next)
			link = p->link->lost ? NULL : p->link;
		if (link)
			sandbox_lose_locked(s, warden_link_ref(link), &why);
		(void)pthread_mutex_unlock(&s->lock);
		if (link)
			s->base.backend->tear_down(link);
		warden_link_unref(link);
	} while (link);
	sandbox_unref(s);
}

/* Counting */

void sandbox_count_start(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);

	s->refs++;
	s->stats.commands++;
	s->stats.running++;
}

void sandbox_count_end(
	struct corral_sandbox *s, const struct corral_result *r, uint64_t stdin_bytes)
{
	auto_lock held = lock_take(&s->lock);
	struct corral_stats *to = &s->stats;

	to->running--;
	to->stdin_bytes += stdin_bytes;
	if (!r)
		return;
	to->timeouts += (r->report.flags & REPORT_TIMED_OUT) != 0;
	to->user_us += r->report.user_us;
	to->system_us += r->report.system_us;
	to->stdout_bytes += r->out.bytes;
	to->stderr_bytes += r->err.bytes;
	to->denials += r->n_denials - r->n_noted;
	if (r->report.peak_bytes > to->peak_bytes)
		to->peak_bytes = r->report.peak_bytes;
}

void sandbox_count_refusal(struct corral_sandbox *s, unsigned denials)
{
	auto_lock held = lock_take(&s->lock);

	s->stats.refused++;
	s->stats.denials += denials;
}

uint64_t sandbox_next_id(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);

	return ++s->last_id;
}

void corral_sandbox_stats(struct corral_sandbox *s, struct corral_stats *ret, size_t size)
{
	const size_t known = sizeof(s->stats);

	sandbox_refresh(s);
	memset(ret, 0, size);
	auto_lock held = lock_take(&s->lock);
	memcpy(ret, &s->stats, size < known ? size : known);
}

/* Calls about all of it */

int corral_sandbox_kill(struct corral_sandbox *s)
{
	const uint32_t flags = REPORT_KILLED;
	auto_lock held = lock_take(&s->lock);
	int n = 0;

	for (struct corral_process *p = s->first; p; p = p->next) {
		if (p->state > PROCESS_RUNNING)
			continue;
		n += frame_send(p->direct ? p->link->channel : p->link->socket, FRAME_KILL, p->id,
			     &flags, sizeof(flags), NULL, 0) == 0;
	}
	return n;
}

unsigned corral_sandbox_tier(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);

	return s->tier;
}

const char *corral_sandbox_backend(const struct corral_sandbox *s)
{
	return s->base.backend->name;
}
