/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter is a process of its own, made before anything of the sandbox is, and has the client's
 * ends. This process goes on as `corral run`, whose standard input and output are the filter's
 * pipes.
 *
 *     client ── stdin ──▶ filter ── pipe ──▶ server, in the sandbox
 *        ▲ ──── stdout ─────┤  ▲ ── pipe ──────────┘
 *                 control ──┴──▶ corral: what was denied
 */
#include "cli/mcp/verb-wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/mcp/verbs.h"
#include "cli/run/run.h"
#include "event/wait.h"
#include "mcp/filter.h"
#include "process/starting.h"

/* What the client has not read by then it does not get. */
enum { WRAP_LAST_MS = 5000, WRAP_READY_MS = 10000 };

struct wrap {
	struct run_wrapped run; /* first: what begins has a pointer to it */
	verb_wrap_prepare *prepare;
	pid_t filter; /* 0: there is none */
	int end;      /* its pidfd */
};

static _Noreturn void wrap_child(const struct mcp_filter *f, pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	_exit(mcp_filter_run(f));
}

static int wrap_await_ready(const struct wrap *w)
{
	struct mcp_filter_word word;

	if (wait_for_one(w->run.control, POLLIN, wait_until(WRAP_READY_MS)) <= 0)
		return -ETIMEDOUT;
	return mcp_filter_hear(w->run.control, &word) == 1 && word.kind == MCP_FILTER_READY
		       ? 0
		       : -EPERM;
}

static int wrap_start(struct wrap *w)
{
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, control[2] = { -1, -1 };
	const pid_t self = getpid();
	int r = 0;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		r = -errno;
	w->filter = r == 0 ? starting_copy(0, &w->end) : 0;
	if (w->filter < 0)
		r = w->filter;
	if (r == 0 && w->filter == 0) {
		const struct mcp_filter f = { STDIN_FILENO, STDOUT_FILENO, to[1], from[0],
			control[1] };

		wrap_child(&f, self);
	}
	if (r == 0) {
		w->run.control = fd_take(&control[0]);
		if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
			r = -errno;
	}
	for (int i = 0; i < 2; i++) {
		fd_close(&to[i]);
		fd_close(&from[i]);
		fd_close(&control[i]);
	}
	return r;
}

static int wrap_begin(struct run_wrapped *wrapped, struct run *run)
{
	struct wrap *w = (struct wrap *)(void *)wrapped;
	int r = w->prepare ? w->prepare(run) : 0;

	if (r < 0)
		return r;
	r = wrap_start(w);

	if (r == 0)
		r = wrap_await_ready(w);
	if (r < 0)
		(void)error_set(run->call->error, r, NULL,
			"cannot start the process that reads the server's messages: %s",
			r == -EPERM ? "this kernel cannot confine it (`corral doctor`)"
				    : strerror(-r));
	return r;
}

/* What the server wrote last passes. */
static void wrap_finish(struct wrap *w)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	fd_close(&w->run.control);
	if (null > STDERR_FILENO)
		(void)close(null);
	if (w->filter <= 0)
		return;
	if (w->end < 0 || wait_for_one(w->end, POLLIN, wait_until(WRAP_LAST_MS)) <= 0)
		(void)kill(w->filter, SIGKILL);
	while (waitpid(w->filter, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(&w->end);
}

int verb_wrap_main(struct call *c, verb_wrap_prepare *prepare)
{
	struct wrap w = { .run = { wrap_begin, -1 }, .prepare = prepare, .end = -1 };
	const int status = run_main_wrapped(c, &w.run);

	wrap_finish(&w);
	return status;
}

int mcp_wrap_main(struct call *c)
{
	return verb_wrap_main(c, NULL);
}
