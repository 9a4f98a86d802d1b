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
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "host/own.h"
#include "lib/sandbox/lent.h"
#include "process/starting.h"
#include "wire/frame.h"

/* How long a warden may take to clean up before it is killed, and to die then. */
enum { LEAVE_MS = 5000, DIE_MS = 10000, BURY_MS = 10, BURY_TRIES = 500 };

/* 1: readable (or hung up); 0: the time is over. Signals do not end it. */
static int wait_readable(int fd, int timeout_ms)
{
	return wait_for_one(fd, POLLIN, wait_until(timeout_ms)) > 0;
}

void warden_link_await_end(int socket, int pidfd)
{
	int dead;

	if (socket >= 0)
		/* As good as closing it, for the other side and for those who poll here. */
		(void)shutdown(socket, SHUT_RDWR);
	if (pidfd < 0)
		return;
	dead = wait_readable(pidfd, LEAVE_MS);
	if (!dead) {
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		dead = wait_readable(pidfd, DIE_MS);
	}
	/* Whoever traces it (a debugger, a sanitizer) hears of its death before its parent. */
	for (int i = 0; dead && i < BURY_TRIES; i++) {
		siginfo_t info = { 0 };
		int r = waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);

		if (info.si_pid != 0 || (r < 0 && errno != EINTR))
			return;
		(void)poll(NULL, 0, BURY_MS);
	}
}

void warden_link_end(struct warden_link *l)
{
	if (!atomic_exchange(&l->ended, true))
		warden_link_await_end(l->socket, l->pidfd);
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

const char *warden_link_program(void)
{
	const char *named = secure_getenv("CORRAL_WARDEN");

	return named && *named ? named : CORRAL_WARDEN_PATH;
}

static int warden_link_exec(const char *path, int socket, int policy, pid_t *ret)
{
	const char *const argv[] = { "corral-warden", NULL };
	char *env[2 + OWN_VARIABLES] = { (char *)(policy >= 0 ? "CORRAL_POLICY_FD=4" : "LANG=C") };
	const struct starting s = { .program = path,
		.argv = argv,
		.env = (const char *const *)env,
		.fds = (int[]){ -1, -1, -1, socket, policy },
		.n = policy >= 0 ? 5 : 4,
		.folder = "/",
		.place = STARTING_SESSION,
		.closes_rest = true };

	/* Where Corral's own folders are, which the warden hides. */
	own_variables(env + 1);
	return starting_program(&s, ret);
}

static int warden_link_await_ready(struct warden_link *l, int timeout_ms, struct error *e)
{
	int r;

	if (!wait_readable(l->socket, timeout_ms))
		return error_set(e, -ETIMEDOUT, NULL,
			"the session could not be started within %d seconds", timeout_ms / 1000);
	r = frame_receive(l->socket, &l->frame);
	if (r == 0) {
		(void)error_set(e, -ECONNRESET, NULL, "the warden died while it built the session");
		error_hint(e, "run `corral doctor` to see what this system supports");
		return -ECONNRESET;
	}
	if (r == -EPROTONOSUPPORT) {
		(void)frame_explain(&l->frame, "corral-warden", e);
		error_hint(e, "start the program again: libcorral was replaced while it ran, or "
			      "CORRAL_WARDEN names the warden of another build");
	}
	if (r < 0)
		return r;
	if (l->frame.type == FRAME_FAILED)
		return warden_link_refusal(&l->frame, e);
	if (l->frame.type != FRAME_READY ||
		ready_decode(&l->ready, l->frame.body, l->frame.len) < 0)
		return error_set(e, -EPROTO, NULL,
			"the program started as warden does not speak its protocol");
	return 0;
}

static int warden_link_lend(struct warden_link *l, const struct sandbox_lent *lent)
{
	int r = frame_send(l->socket, FRAME_LEND_SETUP, 0, lent->setup, lent->setup_len, NULL, 0);

	return r < 0 ? r
		     : frame_send(l->socket, FRAME_LEND_READY, 0, lent->ready, lent->ready_len,
			       lent->relays, lent->n_relays);
}

static int warden_link_configure(
	struct warden_link *l, const struct warden_link_options *o, struct error *e)
{
	auto_buffer body = { 0 };
	int fds[2];
	size_t n = 0;
	int r = configure_encode(o->configure, &body);

	if (o->skill >= 0)
		fds[n++] = o->skill;
	if (o->configure->flags & CONFIGURE_LEDGER)
		fds[n++] = o->ledger;
	if (r == 0 && body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = frame_send(l->socket, FRAME_CONFIGURE, 0, body.data, body.len, fds, n);
	if (r == 0 && o->configure->flags & CONFIGURE_LENT)
		r = warden_link_lend(l, o->lent);
	if (r == 0 && o->configure->flags & CONFIGURE_BROKER)
		r = frame_send(
			l->socket, FRAME_BROKER, 0, o->broker->data, o->broker->len, NULL, 0);
	/* It may have had a reason to leave at once, and told it. */
	if (r == 0 || r == -EPIPE)
		r = warden_link_await_ready(l, o->timeout_ms, e);
	/* Neither more nor less is confined than was asked for. */
	if (r == 0 &&
		(l->ready.tier == READY_TIER_NONE) != ((o->configure->flags & CONFIGURE_NONE) != 0))
		r = error_set(e, -EPROTO, NULL, "the warden did not build the requested session");
	return r;
}

/*
 * The program gets the socket as descriptor 3, the policy as 4, nothing else of the host: /dev/null
 * as stdio, default signals, the folder /, a session of its own, so that a Ctrl-C at the host's
 * terminal is the host's matter.
 */
int warden_link_spawn(
	const char *program, int policy, int *ret_socket, int *ret_pidfd, struct error *e)
{
	auto_fd ours = -1, theirs = -1, pidfd = -1;
	int pair[2] = { -1, -1 }, r = frame_pair(pair);
	siginfo_t info;
	pid_t pid = -1;

	if (r < 0)
		return error_set(e, r, NULL, "cannot prepare a session: %s", strerror(-r));
	ours = pair[0];
	theirs = pair[1];
	/* For our end alone: the flag is each end's own. */
	if (fcntl(ours, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return -errno;
	r = warden_link_exec(program, theirs, policy, &pid);
	if (r < 0)
		return error_set(e, r, NULL, "cannot start %s: %s", program, strerror(-r));
	/*
	 * Where SIGCHLD is ignored the child may be gone, and its number another's. waitid() knows
	 * only children of ours: what it does not know is not used.
	 */
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0 &&
		waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		*ret_pidfd = fd_take(&pidfd);
	*ret_socket = fd_take(&ours);
	return 0;
}

static int warden_link_start(
	struct warden_link *l, const struct warden_link_options *o, struct error *e)
{
	auto_fd policy = -1;
	int r = sealed_new(o->policy, o->policy_len, &policy);

	if (r < 0)
		return error_set(e, r, NULL, "cannot prepare a session: %s", strerror(-r));
	return warden_link_spawn(o->program, policy, &l->socket, &l->pidfd, e);
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
