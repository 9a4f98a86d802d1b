/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/bare.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "warden/inherited.h"
#include "warden/spawn.h"
#include "wire/report.h"

struct bare_command {
	struct bare_command *next;
	uint64_t id;
	pid_t pid; /* and process group; not reaped as long as it is in the list */
	uint64_t began_ns;
	uint64_t end_ms; /* of CLOCK_MONOTONIC; UINT64_MAX: no time-out */
	uint32_t flags;  /* for its report */
};

struct bare {
	struct outbox *out;
	struct bare_command *first;
	int signals;
	struct frame frame;
};

static struct bare_command **bare_find(struct bare *b, uint64_t id)
{
	struct bare_command **c = &b->first;

	while (*c && (*c)->id != id)
		c = &(*c)->next;
	return c;
}

static void bare_kill(struct bare_command *c, uint32_t flags)
{
	c->flags |= flags;
	(void)kill(-c->pid, SIGKILL);
}

/* Starting */

static int bare_launch(struct bare *b, const struct start *s, struct bare_command *c)
{
	struct spawn l = { .start = s, .rules = -1, .witness = -1, .id = c->id, .tied = true };
	enum spawn_step step = SPAWN_SETUP;
	auto_fd master = -1, slave = -1;
	auto_buffer body = { 0 };
	int r = 0;

	if (s->flags & START_TTY)
		r = spawn_terminal(s, &master, &slave);
	for (size_t i = 0; i < 3; i++)
		l.stdio[i] = s->flags & START_TTY ? slave : b->frame.fds[i];
	if (r == 0)
		r = spawn_program(&l, &c->pid, &step);
	if (r == 0 && (!(s->flags & START_QUIET) || master >= 0))
		outbox_add(b->out, FRAME_STARTED, c->id, NULL, 0, master);
	else if (r < 0 && spawn_refuse(s, r, step, "cannot be entered", &body) == 0)
		outbox_add(b->out, FRAME_REFUSED, c->id, body.data, body.len, -1);
	return r;
}

static int bare_on_start(struct bare *b)
{
	const struct frame *f = &b->frame;
	auto_arena arena = { 0 };
	struct bare_command *c;
	struct start s;
	int r = start_decode(&s, f->body, f->len, &arena);

	if (r < 0 || f->n_fds != (s.flags & START_TTY ? 0 : 3) || *bare_find(b, f->id))
		return -EPROTO;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->id = f->id;
	c->began_ns = clock_ns(CLOCK_MONOTONIC);
	c->end_ms = s.timeout_ms ? c->began_ns / 1000000 + s.timeout_ms : UINT64_MAX;
	if (s.timeout_ms && c->end_ms < s.timeout_ms)
		c->end_ms = UINT64_MAX;
	if (bare_launch(b, &s, c) < 0) {
		free(c);
		return 0;
	}
	c->next = b->first;
	b->first = c;
	return 0;
}

/* The end */

/* It is dead, and its number still its own: the rest of the group goes before it is reaped. */
static void bare_finish(struct bare *b, struct bare_command **at)
{
	struct bare_command *c = *at;
	struct report report = { .flags = c->flags };
	struct rusage used = { 0 };
	int status = 0;

	(void)kill(-c->pid, SIGKILL);
	(void)wait4(c->pid, &status, 0, &used);
	spawn_end(&report, status, c->began_ns);
	spawn_count(&report, &used);
	outbox_add(b->out, FRAME_EXITED, c->id, &report, sizeof(report), -1);
	*at = c->next;
	free(c);
}

static void bare_reap(struct bare *b)
{
	struct bare_command **at = &b->first;
	struct signalfd_siginfo info;

	while (read(b->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	while (*at) {
		siginfo_t dead = { 0 };

		(void)waitid(P_PID, (id_t)(*at)->pid, &dead, WEXITED | WNOHANG | WNOWAIT);
		if (dead.si_pid != 0)
			bare_finish(b, at);
		else
			at = &(*at)->next;
	}
}

/* Kills what has run long enough; returns how long to wait for the next, or -1. */
static int bare_expire(struct bare *b)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t next = UINT64_MAX;

	for (struct bare_command *c = b->first; c; c = c->next) {
		if (c->end_ms <= now) {
			bare_kill(c, REPORT_TIMED_OUT);
			c->end_ms = UINT64_MAX;
		}
		if (c->end_ms < next)
			next = c->end_ms;
	}
	if (next == UINT64_MAX)
		return -1;
	return next - now < INT_MAX ? (int)(next - now) : INT_MAX;
}

/* The host's frames. One for a command that ended meanwhile is late, and no error. */
static int bare_take_frame(struct bare *b)
{
	struct frame *f = &b->frame;
	int r = frame_receive(b->out->socket, f);
	struct bare_command *c;
	uint32_t word = 0;

	if (r <= 0)
		return r == 0 ? -EPIPE : r == -EAGAIN || r == -EINTR ? 0 : r;
	if (f->type == FRAME_START)
		return bare_on_start(b);
	if (f->n_fds != 0 || (f->len != 0 && f->len != sizeof(word)))
		return -EPROTO;
	if (f->len > 0)
		memcpy(&word, f->body, sizeof(word));
	c = *bare_find(b, f->id);
	if (f->type == FRAME_KILL && c)
		bare_kill(c, word & REPORT_FLAGS);
	else if (f->type == FRAME_SIGNAL && c && word > 0 && word < NSIG)
		(void)kill(-c->pid, (int)word);
	return f->type == FRAME_KILL || f->type == FRAME_SIGNAL ? 0 : -EPROTO;
}

static void bare_heed_nothing(int number)
{
	(void)number;
}

/*
 * What the warden ignores, commands would ignore too. A handler that does nothing is as good here,
 * and exec() puts the default in its place.
 */
static int bare_watch_signals(struct bare *b)
{
	struct sigaction now;
	sigset_t set;

	for (int i = 1; i < NSIG; i++) {
		if (sigaction(i, NULL, &now) < 0)
			inherited_reset_signal(i);
		else if (now.sa_handler == SIG_IGN)
			(void)signal(i, bare_heed_nothing);
	}
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	b->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return b->signals < 0 ? -errno : 0;
}

void bare_serve(struct outbox *out, int host)
{
	static struct bare b;
	const struct ready ready = { .tier = READY_TIER_NONE };
	struct pollfd fds[] = {
		{ .fd = out->socket, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = host, .events = POLLIN },
	};
	int r;

	b.out = out;
	r = bare_watch_signals(&b);
	fds[1].fd = b.signals;
	if (r == 0)
		outbox_add(out, FRAME_READY, 0, &ready, sizeof(ready), -1);
	while (r == 0 && !out->broken && !fds[2].revents) {
		fds[0].events = (short)(outbox_is_empty(out) ? POLLIN : POLLIN | POLLOUT);
		if (poll(fds, 3, bare_expire(&b)) < 0)
			continue;
		if (fds[1].revents)
			bare_reap(&b);
		if (fds[0].revents & POLLOUT)
			outbox_flush(out);
		if (fds[0].revents & ~POLLOUT)
			r = bare_take_frame(&b);
		/* Ends of pipes that were for a command must not stay here: others wait for EOF. */
		frame_deinit(&b.frame);
	}
	for (struct bare_command *c = b.first; c; c = c->next)
		(void)kill(-c->pid, SIGKILL);
}
