/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "event/wait.h"
#include "policy/match/glob.h"
#include "process/starting.h"

enum {
	GATEWAY_PROCESS_CHUNK = 64 << 10,
	GATEWAY_PROCESS_PAUSE_MS = 1000,
	GATEWAY_PROCESS_PAUSE_MAX_MS = 60 * 1000,
	GATEWAY_PROCESS_ERROR_LINE = 4096,
	GATEWAY_PROCESS_LIST_MS = 500,
	GATEWAY_PROCESS_GRACE_MS = 900, /* less than GATEWAY_PROCESS_PAUSE_MS */
};

static void process_close(struct gateway_process *p, struct watcher *w)
{
	const int fd = w->fd;

	if (fd < 0)
		return;
	loop_remove(p->loop, w);
	(void)close(fd);
	w->fd = -1;
}

/* With all that it started: it leads its session, and `corral run` ends its sandbox. */
static void process_kill(struct gateway_process *p)
{
	loop_stop(p->loop, &p->killing);
	if (p->dying == 0)
		return;
	(void)kill(-p->dying, SIGKILL);
	(void)kill(p->dying, SIGKILL);
	while (waitpid(p->dying, NULL, 0) < 0 && errno == EINTR)
		;
	p->dying = 0;
}

static void process_kill_late(struct timer *t)
{
	process_kill(container_of(t, struct gateway_process, killing));
}

/* It may end by itself, for a moment. */
static void process_dismiss(struct gateway_process *p)
{
	if (p->pid == 0)
		return;
	(void)kill(p->pid, SIGTERM);
	p->dying = p->pid;
	p->pid = 0;
	p->killing.expired = process_kill_late;
	if (loop_start(p->loop, &p->killing, GATEWAY_PROCESS_GRACE_MS) < 0)
		process_kill(p);
}

static void process_clear(struct gateway_process *p)
{
	loop_stop(p->loop, &p->start);
	loop_stop(p->loop, &p->again);
	loop_stop(p->loop, &p->list);
	process_close(p, &p->in);
	process_close(p, &p->out);
	process_close(p, &p->err);
	process_dismiss(p);
	mcp_lines_deinit(&p->lines);
	mcp_lines_deinit(&p->errors);
	p->lines = p->errors = (struct mcp_lines){ 0 };
	upstream_reset(&p->upstream);
	p->at = 0;
}

/* what: a sentence's end. */
static void process_end(struct gateway_process *p, const char *what)
{
	char why[2 * GATEWAY_PROCESS_WORDS];

	(void)snprintf(why, sizeof(why), "%s%s%s", what, p->last[0] ? "; it said: " : "", p->last);
	process_clear(p);
	p->last[0] = '\0';
	p->pause_ms = p->pause_ms == 0 ? GATEWAY_PROCESS_PAUSE_MS : 2 * p->pause_ms;
	if (p->pause_ms > GATEWAY_PROCESS_PAUSE_MAX_MS)
		p->pause_ms = GATEWAY_PROCESS_PAUSE_MAX_MS;
	/* Without memory for a timer it is not started again. */
	if (!p->is_once)
		(void)loop_start(p->loop, &p->again, p->pause_ms);
	p->ended(p->context, why);
}

/* After lines of it: whether it goes on. */
static bool process_check(struct gateway_process *p)
{
	if (p->upstream.state == UPSTREAM_BROKEN) {
		process_end(p, p->upstream.why);
		return false;
	}
	if (p->lines.held.failed || p->upstream.out.failed) {
		process_end(p, "out of memory");
		return false;
	}
	if (p->upstream.state == UPSTREAM_READY) {
		loop_stop(p->loop, &p->start);
		p->pause_ms = 0;
	}
	/* One that changes all the time is listed now and then. */
	if (p->upstream.state == UPSTREAM_STALE && !p->list.place &&
		loop_start(p->loop, &p->list, GATEWAY_PROCESS_LIST_MS) < 0) {
		process_end(p, "out of memory");
		return false;
	}
	return true;
}

void gateway_process_flush(struct gateway_process *p)
{
	struct buffer *out = &p->upstream.out;

	if (p->in.fd < 0)
		return;
	while (p->at < out->len) {
		const ssize_t n = write(p->in.fd, out->data + p->at, out->len - p->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break; /* that it has ended its output says */
		p->at += (size_t)n;
	}
	if (p->at == out->len) {
		buffer_clear(out);
		p->at = 0;
	}
	(void)loop_change(p->loop, &p->in, p->at < out->len ? EPOLLOUT : 0);
}

static void process_writable(struct watcher *w, uint32_t events)
{
	struct gateway_process *p = container_of(w, struct gateway_process, in);

	if (events & (EPOLLERR | EPOLLHUP))
		process_close(p, &p->in);
	else
		gateway_process_flush(p);
}

static void process_readable(struct watcher *w, uint32_t events)
{
	static char bytes[GATEWAY_PROCESS_CHUNK];
	struct gateway_process *p = container_of(w, struct gateway_process, out);
	const ssize_t n = read(p->out.fd, bytes, sizeof(bytes));
	enum mcp_line what;
	const char *line;
	size_t len;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		process_end(p, "it ended");
		return;
	}
	mcp_lines_add(&p->lines, bytes, (size_t)n);
	while ((what = mcp_lines_next(&p->lines, &line, &len)) != MCP_LINE_NONE) {
		upstream_line(&p->upstream, what == MCP_LINE_WHOLE ? line : NULL, len);
		if (!process_check(p))
			return;
	}
	if (process_check(p))
		gateway_process_flush(p);
}

/* As visible text. What to do stands below what went wrong, two spaces in. */
static void process_remember(struct gateway_process *p, const char *line, size_t len)
{
	const bool goes_on = len > 2 && line[0] == ' ' && line[1] == ' ' && p->last[0];
	const size_t at = goes_on ? strlen(p->last) : 0;
	auto_buffer text = { 0 };

	buffer_add_visible(&text, line + goes_on, len - goes_on);
	(void)snprintf(
		p->last + at, sizeof(p->last) - at, "%s%s", goes_on ? ";" : "", buffer_text(&text));
}

static void process_hear_error(struct watcher *w, uint32_t events)
{
	static char bytes[GATEWAY_PROCESS_CHUNK];
	struct gateway_process *p = container_of(w, struct gateway_process, err);
	const ssize_t n = read(p->err.fd, bytes, sizeof(bytes));
	const char *line;
	size_t len;
	enum mcp_line what;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		process_close(p, &p->err);
		return;
	}
	mcp_lines_add(&p->errors, bytes, (size_t)n);
	while ((what = mcp_lines_next(&p->errors, &line, &len)) != MCP_LINE_NONE) {
		if (what != MCP_LINE_WHOLE || len == 0)
			continue;
		process_remember(p, line, len);
		p->said(p->context, line, len);
	}
}

static void process_late(struct timer *t)
{
	process_end(container_of(t, struct gateway_process, start),
		"it did not list its tools in time");
}

static void process_list(struct timer *t)
{
	struct gateway_process *p = container_of(t, struct gateway_process, list);

	/* As at its start, it has so long for it. */
	if (loop_start(p->loop, &p->start, p->config->start_ms) < 0) {
		process_end(p, "out of memory");
		return;
	}
	upstream_list(&p->upstream);
	gateway_process_flush(p);
}

static void process_restart(struct timer *t)
{
	gateway_process_start(container_of(t, struct gateway_process, again));
}

/* As --deny reads it. NULL: out of memory. */
static const char *process_hide(struct arena *a, const char *path)
{
	auto_buffer pattern = { 0 };

	glob_print_literal(path, strlen(path), &pattern);
	return pattern.failed ? NULL : arena_strdup(a, buffer_text(&pattern));
}

/* In the arena, ending with NULL. */
static const char **process_argv(const struct gateway_process *p, struct arena *a)
{
	const struct gateway_server *s = p->config;
	const char *const head[] = { "corral", "mcp", s->is_remote ? "remote" : "wrap" };
	const char **argv = arena_calloc(a,
		3 + 2 * (size_t)GATEWAY_HIDDEN_MAX + 2 * (size_t)GATEWAY_WORDS_MAX + 2,
		sizeof(*argv));
	size_t n = 0;

	for (size_t i = 0; argv && i < 3; i++)
		argv[n++] = head[i];
	/* One over HTTP has no files. */
	for (size_t i = 0; argv && !s->is_remote && p->hidden && p->hidden[i]; i++) {
		argv[n++] = "--deny";
		argv[n++] = process_hide(a, p->hidden[i]);
		if (!argv[n - 1])
			return NULL;
	}
	for (size_t i = 0; argv && s->options[i]; i++)
		argv[n++] = s->options[i];
	if (argv && !s->is_remote)
		argv[n++] = "--";
	for (size_t i = 0; argv && s->command[i]; i++)
		argv[n++] = s->command[i];
	return argv;
}

static int process_spawn(struct gateway_process *p)
{
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, err[2] = { -1, -1 };
	auto_arena a = { 0 };
	struct starting s = { .program = "/proc/self/exe",
		.argv = process_argv(p, &a),
		.env = (const char *const *)environ,
		.n = 3,
		.place = STARTING_SESSION };
	int r = s.argv ? 0 : -ENOMEM;

	if (r == 0 && (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 ||
			      pipe2(err, O_CLOEXEC) < 0))
		r = -errno;
	if (r == 0) {
		const int fds[] = { to[0], from[1], err[1] };

		s.fds = fds;
		r = starting_program(&s, &p->pid);
	}
	if (r == 0 &&
		(fcntl(to[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(from[0], F_SETFL, O_NONBLOCK) < 0 ||
			fcntl(err[0], F_SETFL, O_NONBLOCK) < 0))
		r = -errno;
	if (r == 0)
		r = loop_add(p->loop, &p->in, to[1], 0);
	if (r == 0)
		(void)fd_take(&to[1]);
	if (r == 0)
		r = loop_add(p->loop, &p->out, from[0], EPOLLIN);
	if (r == 0)
		(void)fd_take(&from[0]);
	if (r == 0)
		r = loop_add(p->loop, &p->err, err[0], EPOLLIN);
	if (r == 0)
		(void)fd_take(&err[0]);
	for (int i = 0; i < 2; i++) {
		fd_close(&to[i]);
		fd_close(&from[i]);
		fd_close(&err[i]);
	}
	return r;
}

void gateway_process_start(struct gateway_process *p)
{
	int r;

	process_kill(p);
	p->in = (struct watcher){ .ready = process_writable, .fd = -1 };
	p->out = (struct watcher){ .ready = process_readable, .fd = -1 };
	p->err = (struct watcher){ .ready = process_hear_error, .fd = -1 };
	p->errors.max = GATEWAY_PROCESS_ERROR_LINE;
	p->start.expired = process_late;
	p->again.expired = process_restart;
	p->list.expired = process_list;
	r = process_spawn(p);
	if (r == 0)
		r = loop_start(p->loop, &p->start, p->config->start_ms);
	if (r < 0) {
		process_end(p, strerror(-r));
		return;
	}
	upstream_begin(&p->upstream);
	gateway_process_flush(p);
}

void gateway_process_stop(struct gateway_process *p)
{
	process_clear(p);
}

void gateway_process_wait(struct gateway_process *p, uint64_t until_ms)
{
	auto_fd end = p->dying ? (int)syscall(SYS_pidfd_open, p->dying, 0) : -1;

	if (end >= 0)
		(void)wait_for_one(end, POLLIN, until_ms);
	process_kill(p);
	upstream_deinit(&p->upstream);
}
