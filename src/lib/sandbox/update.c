/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other permissions for a sandbox that lives.
 *
 *     compile -> what has changed -> only the network, and the session's relay can hold it?
 *                                      yes: tell the relay           no: build a new session
 *             -> commands have the new setup from now on -> tell the relays of older sessions
 *
 * Whatever can fail comes before the swap, and has changed nothing by then. (A relay either takes
 * all of a change, or nothing.) What follows cannot be given up any more: an older session whose
 * relay does not confirm that it holds the new permissions is ended. Its commands lose more than
 * they should, but none keeps a host that was revoked.
 *
 * A command has the permissions that the sandbox had when it was put on its list (sandbox_add()),
 * all of them: what was prepared by older ones is prepared again.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "event/wait.h"
#include "lib/api/handles.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"
#include "wire/configure.h"

enum { ANSWER_MS = 30000 };

struct update {
	struct corral_sandbox *sandbox;
	struct sandbox_setup *old, *next;
	uint64_t id; /* of the new generation */
	unsigned changed;
	bool told;  /* some relay was */
	bool whole; /* and each of them holds all of it */
	unsigned running;
};

/* Asking a relay */

/* Whoever reads the socket first notes it. -ECONNRESET: there will be no answer. */
static int await_answer(struct corral_sandbox *s, struct warden_link *link, int wake)
{
	struct pollfd polled[] = { { .fd = link->socket, .events = POLLIN },
		{ .fd = wake, .events = POLLIN } };
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	int r = 1;

	for (;;) {
		sandbox_dispatch(s, link);
		{
			auto_lock held = lock_take(&s->lock);

			if (link->answered || link->lost)
				return link->answered ? 0 : -ECONNRESET;
		}
		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		r = wait_for(polled, ROWS(polled), end);
	}
}

int sandbox_ask(struct corral_sandbox *s, struct warden_link *link, enum frame_type type,
	uint64_t id, const struct buffer *body, struct error *e)
{
	auto_fd wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct error why = { 0 };
	int r = wake < 0 ? -errno : 0;

	if (r == 0 && body->len > FRAME_MEMFD_MAX)
		r = -EMSGSIZE;
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	{
		auto_lock held = lock_take(&s->lock);

		link->asked = id;
		link->asked_by = type;
		link->answered = false;
		link->why = (struct error){ 0 };
		link->wake = wake;
	}
	r = sandbox_send(link, type, id, body, NULL, 0);
	r = r == 0 ? await_answer(s, link, wake) : -ETIMEDOUT;
	if (r == -ETIMEDOUT) {
		(void)error_set(&why, -ECONNRESET, NULL,
			"the session was ended: it could not apply the new permissions");
		sandbox_lose(s, link, &why);
	}
	auto_lock held = lock_take(&s->lock);
	link->asked = 0;
	link->wake = -1;
	if (r == 0 && link->answer < 0 && e)
		*e = link->why;
	return r == 0 ? link->answer : r;
}

/* 0: its relay holds c. -ENOTCONN: it has none. A session that does not answer is ended. */
static int sandbox_update_ask(struct update *u, struct warden_link *link, const struct change *c)
{
	auto_buffer body = { 0 };
	int r = change_encode(c, &body);

	return r < 0 ? r : sandbox_ask(u->sandbox, link, FRAME_POLICY, u->id, &body, NULL);
}

/* The session of now */

/* Whether its relay alone makes it one for the new permissions. */
static bool sandbox_update_fits(const struct update *u, struct sandbox_setup *built)
{
	struct error e = { 0 };

	return sandbox_setup_reach(built, &e) == 0 && sandbox_setup_reach(u->old, &e) == 0 &&
	       sandbox_setup_fits(built, u->old, u->next);
}

/* True: it did. */
static bool change_in_place(struct update *u, struct warden_link *link, struct sandbox_setup *built)
{
	struct change c;

	/* A broker has the permissions that it was started with, services among them. */
	if (u->sandbox->base.broker.program)
		return strcmp(u->old->json, u->next->json) == 0;
	if (u->changed & ~(unsigned)CORRAL_PART_NETWORK)
		return false;
	if (u->changed == 0)
		return true;
	if (!sandbox_update_fits(u, built))
		return false;
	sandbox_setup_describe(u->next, &c);
	c.flags = CHANGE_WHOLE;
	u->told = sandbox_update_ask(u, link, &c) == 0;
	if (u->told) {
		auto_lock held = lock_take(&u->sandbox->lock);

		link->told = u->id;
	}
	return u->told;
}

static bool publishes(const struct permissions *p)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	int n = permissions_layers(p, layers, SANDBOX_LAYERS_MAX);

	for (int i = 0; i < n; i++)
		if (layers[i]->listen.n > 0)
			return true;
	return false;
}

/*
 * A port of the host can be had by one session only. If nothing runs in the old one it gives its
 * ports up and ends; should there be no new one, the next command builds the old once more.
 */
static void free_ports(struct update *u, struct warden_link *link)
{
	struct error e = { 0 };
	struct change c;

	if (!publishes(u->old->permissions) || !publishes(u->next->permissions) ||
		!sandbox_retire(u->sandbox, link) || sandbox_setup_reach(u->old, &e) < 0)
		return;
	sandbox_setup_describe(u->old, &c);
	memset(c.ports, 0, sizeof(c.ports));
	c.n_ports = 0;
	(void)sandbox_update_ask(u, link, &c);
}

/* Those before it */

/* A reference to a link that has commands, and was not told; NULL: there is none. */
static struct warden_link *next_untold(struct update *u)
{
	auto_lock held = lock_take(&u->sandbox->lock);

	for (struct corral_process *p = u->sandbox->first; p; p = p->next) {
		if (p->link->lost || p->link->told >= u->id)
			continue;
		p->link->told = u->id;
		return warden_link_ref(p->link);
	}
	return NULL;
}

/* last: the link until now, and whether it has the sockets for what is new. */
static void tell_others(struct update *u, const struct warden_link *last, bool fits_last)
{
	struct warden_link *link;

	while ((link = next_untold(u))) {
		bool whole = link == last && fits_last;
		struct error why = { 0 };
		struct change c;
		int r;

		sandbox_setup_describe(u->next, &c);
		c.flags = CHANGE_WHOLE;
		r = whole ? sandbox_update_ask(u, link, &c) : -EOPNOTSUPP;
		u->whole = u->whole && r == 0;
		/* What it cannot hold of it, it does not grant. */
		c.flags = 0;
		if (r == -EOPNOTSUPP)
			r = sandbox_update_ask(u, link, &c);
		u->told = u->told || r == 0;
		if (r < 0 && r != -ENOTCONN && r != -ECONNRESET) {
			(void)error_set(&why, -ECONNRESET, NULL,
				"the session was ended: its network could not be changed: %s",
				strerror(-r));
			sandbox_lose(u->sandbox, link, &why);
		}
		warden_link_unref(link);
	}
}

/* All of it */

static int update_apply(
	struct update *u, struct warden_link *link, struct sandbox_setup *built, struct error *e)
{
	bool network = u->changed & CORRAL_PART_NETWORK;
	bool keep = link && change_in_place(u, link, built);
	bool fits_last = network && link && sandbox_update_fits(u, built);
	struct warden_link *fresh = NULL;
	int r = 0;

	if (!keep && link)
		free_ports(u, link);
	if (!keep)
		r = sandbox_new_link(u->next, &fresh, e);
	if (r == -EADDRINUSE && publishes(u->old->permissions))
		error_hint(e, "a command with the previous permissions may still publish that "
			      "port: stop it first");
	if (r < 0)
		return r;
	if (fresh)
		fresh->told = u->id;
	u->whole = true;
	sandbox_swap(u->sandbox, sandbox_setup_ref(u->next), fresh, network ? link : NULL);
	if (network)
		tell_others(u, link, fits_last);
	auto_lock held = lock_take(&u->sandbox->lock);
	for (struct corral_process *p = u->sandbox->first; p; p = p->next)
		u->running += p->state <= PROCESS_RUNNING && p->setup != u->next;
	return 0;
}

static int sandbox_update_prepare(
	struct update *u, const struct corral_permissions *const *layers, size_t n, struct error *e)
{
	const struct permissions *all[SANDBOX_LAYERS_MAX];
	struct permissions *permissions = NULL;
	struct corral_sandbox *s = u->sandbox;
	int r = n > SANDBOX_LAYERS_MAX ? -E2BIG : 0;
	bool freed;

	(void)pthread_mutex_lock(&s->lock);
	freed = s->freed;
	u->old = sandbox_setup_ref(s->setup);
	u->id = s->generation + 1;
	(void)pthread_mutex_unlock(&s->lock);
	if (freed)
		return error_set(e, -ESHUTDOWN, NULL, "the sandbox was freed");
	if (!s->base.backend->enforces)
		return error_set(e, -EOPNOTSUPP, NULL,
			"mode rwx does not confine anything, so new permissions cannot be "
			"enforced");
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = layers && layers[i] ? 0 : -EINVAL;
		all[i] = r == 0 ? layers[i]->p : NULL;
	}
	if (r < 0)
		return error_set(e, r, NULL, "%s",
			r == -E2BIG ? "the permissions have too many layers"
				    : "a layer of permissions is missing");
	r = sandbox_combine(&permissions, all, n, e);
	if (r == 0)
		r = sandbox_setup_new(&u->next, &s->base, permissions, e);
	if (r < 0 || !u->next)
		return r;
	r = sandbox_setup_compare(u->old->permissions, u->next->permissions, &u->changed);
	return r < 0 ? error_no_memory(e) : 0;
}

/* Fields that the caller's version does not know are left out. */
static void tell_caller(const struct update *u, struct corral_update *ret)
{
	struct corral_update now = { .generation = u->id, .changed = u->changed };
	size_t size = ret ? ret->size : 0;

	if (u->told && u->whole)
		now.at_once = u->changed & CORRAL_PART_NETWORK;
	now.next = u->changed & ~now.at_once;
	now.running = now.next ? u->running : 0;
	now.size = size < sizeof(now) ? size : sizeof(now);
	if (size >= sizeof(size))
		memcpy(ret, &now, now.size);
}

int corral_sandbox_update(struct corral_sandbox *s, const struct corral_permissions *const *layers,
	size_t n, struct corral_update *ret, struct corral_error **e)
{
	struct update u = { .sandbox = s };
	struct sandbox_setup *built = NULL;
	struct warden_link *link = NULL;
	struct error error = { 0 };
	int r = -pthread_mutex_lock(&s->updating);

	if (r < 0)
		return handles_error(e, &error,
			error_set(&error, r, NULL,
				"an audit sink cannot update permissions while it handles an "
				"update"));
	r = sandbox_update_prepare(&u, layers, n, &error);
	if (r == 0 && u.changed & CORRAL_PART_NETWORK)
		r = sandbox_setup_reach(u.next, &error);
	if (r == 0 && u.next) {
		/* What was granted below the ceiling of before is over, and nothing is granted
		 * until there is another one. */
		sandbox_live_pause(s);
		link = sandbox_hold_link(s, &built);
		r = update_apply(&u, link, built, &error);
		sandbox_live_declare(s);
	}
	if (r == 0)
		tell_caller(&u, ret);
	warden_link_unref(link);
	sandbox_setup_unref(built);
	sandbox_setup_unref(u.old);
	sandbox_setup_unref(u.next);
	(void)pthread_mutex_unlock(&s->updating);
	return r < 0 ? handles_error(e, &error, r) : 0;
}
