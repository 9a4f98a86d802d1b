/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/warden-link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "lib/sandbox/spawn-warden.h"
#include "wire/sealed.h"

/* How long a warden may take to clean up before it is killed, and to die then. */
enum { LEAVE_MS = 5000, DIE_MS = 10000, BURY_MS = 10, BURY_TRIES = 500 };

/* 1: readable (or hung up); 0: the time is over. Signals do not end it. */
static int wait_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t end = (int64_t)clock_ms(CLOCK_MONOTONIC) + timeout_ms, left = timeout_ms;
	int r;

	do {
		r = poll(&p, 1, (int)left);
		left = end - (int64_t)clock_ms(CLOCK_MONOTONIC);
	} while (r < 0 && errno == EINTR && left > 0);
	return r > 0;
}

/*
 * Where SIGCHLD is ignored the child may be gone, and its number another's. waitid() knows only
 * children of ours: what it does not know is not used.
 */
static int open_pidfd(pid_t pid)
{
	auto_fd fd = (int)syscall(SYS_pidfd_open, pid, 0);
	siginfo_t info;

	if (fd < 0 || waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return -1;
	return fd_take(&fd);
}

/* It is dead; but whoever traces it (a debugger, a sanitizer) hears of that before its parent. */
static void warden_link_bury(const struct warden_link *l)
{
	for (int i = 0; i < BURY_TRIES; i++) {
		siginfo_t info = { 0 };
		int r = waitid((idtype_t)P_PIDFD, (id_t)l->pidfd, &info, WEXITED | WNOHANG);

		if (info.si_pid != 0 || (r < 0 && errno != EINTR))
			return;
		(void)poll(NULL, 0, BURY_MS);
	}
}

static void warden_link_reap(struct warden_link *l)
{
	int dead = wait_readable(l->pidfd, LEAVE_MS);

	if (!dead) {
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		dead = wait_readable(l->pidfd, DIE_MS);
	}
	if (dead)
		warden_link_bury(l);
}

void warden_link_end(struct warden_link *l)
{
	if (atomic_exchange(&l->ended, true))
		return;
	if (l->socket >= 0)
		/* As good as closing it, for the other side and for those who poll here. */
		(void)shutdown(l->socket, SHUT_RDWR);
	if (l->pidfd >= 0)
		warden_link_reap(l);
}

struct warden_link *warden_link_ref(struct warden_link *l)
{
	(void)atomic_fetch_add(&l->refs, 1);
	return l;
}

void warden_link_unref(struct warden_link *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	warden_link_end(l);
	frame_deinit(&l->frame);
	fd_close(&l->socket);
	fd_close(&l->channel);
	fd_close(&l->pidfd);
	free(l);
}

int warden_link_refusal(const struct frame *f, struct error *e)
{
	struct refusal r;

	if (refusal_decode(&r, f->body, f->len) < 0)
		return error_set(e, -EPROTO, NULL, "the warden sent something unreadable");
	(void)error_set(e, -r.error, NULL, "%s", r.text);
	if (r.hint[0])
		error_hint(e, "%s", r.hint);
	return -r.error;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int warden_link_await_ready(struct warden_link *l, int timeout_ms, struct error *e)
{
	int r;

	if (!wait_readable(l->socket, timeout_ms))
		return error_set(e, -ETIMEDOUT, NULL, "the session did not stand within %d seconds",
			timeout_ms / 1000);
	r = frame_receive(l->socket, &l->frame);
	if (r == 0)
		(void)error_set(e, -ECONNRESET, NULL, "the warden died while it built the session");
	if (r == 0)
		error_hint(e, "`corral doctor` says what this system can hold");
	if (r <= 0)
		return r < 0 ? r : -ECONNRESET;
	if (l->frame.type == FRAME_FAILED)
		return warden_link_refusal(&l->frame, e);
	if (l->frame.type != FRAME_READY ||
		ready_decode(&l->ready, l->frame.body, l->frame.len) < 0)
		return error_set(e, -EPROTO, NULL,
			"the program that was started as warden does not speak as one");
	return 0;
}

static int warden_link_configure(
	struct warden_link *l, const struct warden_link_options *o, struct error *e)
{
	auto_buffer body = { 0 };
	int r = configure_encode(o->configure, &body);

	if (r == 0 && body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = frame_send(l->socket, FRAME_CONFIGURE, 0, body.data, body.len, NULL, 0);
	/* It may have had a reason to leave at once, and told it. */
	if (r == 0 || r == -EPIPE)
		r = warden_link_await_ready(l, o->timeout_ms, e);
	/* Neither more nor less is confined than was asked for. */
	if (r == 0 &&
		(l->ready.tier == READY_TIER_NONE) != ((o->configure->flags & CONFIGURE_NONE) != 0))
		r = error_set(e, -EPROTO, NULL, "the warden did not build what it was asked for");
	return r;
}

static int warden_link_start(
	struct warden_link *l, const struct warden_link_options *o, struct error *e)
{
	auto_fd theirs = -1, policy = -1;
	int pair[2] = { -1, -1 }, r = sealed_new(o->policy, o->policy_len, &policy);
	pid_t pid;

	if (r == 0)
		r = frame_pair(pair);
	if (r < 0)
		return error_set(e, r, NULL, "cannot prepare a session: %s", strerror(-r));
	l->socket = pair[0];
	theirs = pair[1];
	r = set_nonblocking(l->socket);
	if (r == 0)
		r = spawn_warden(o->program, theirs, policy, &pid, e);
	if (r == 0)
		l->pidfd = open_pidfd(pid);
	return r;
}

int warden_link_new(struct warden_link **ret, const struct warden_link_options *o, struct error *e)
{
	struct warden_link *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->refs = 1;
	l->socket = l->pidfd = l->channel = l->wake = -1;
	r = warden_link_start(l, o, e);
	if (r == 0)
		r = warden_link_configure(l, o, e);
	if (r < 0)
		warden_link_unref(l);
	else
		*ret = l;
	return r;
}
