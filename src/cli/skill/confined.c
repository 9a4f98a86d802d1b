/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "event/wait.h"
#include "jail/landlock.h"
#include "process/confinement.h"
#include "process/starting.h"

enum {
	CONFINED_FOLDERS = 64,
	CONFINED_MEMORY = 512 << 20, /* more than it has at its start */
	CONFINED_REFUSED = 125,      /* the child's status where it could not be confined */
};

/* Never raises a limit. */
static int confined_limit(int which, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(which, &l) < 0)
		return -errno;
	if (l.rlim_cur == RLIM_INFINITY || l.rlim_cur > most)
		l.rlim_cur = most;
	return setrlimit(which, &l) < 0 ? -errno : 0;
}

/* RLIMIT_DATA counts what is mapped already, which is much where a sanitizer runs. */
static int confined_limit_memory(void)
{
	enum { DATA = 6 }; /* its place among the numbers of statm */
	auto_buffer text = { 0 };
	unsigned long long pages = 0;
	const int r = file_read("/proc/self/statm", 256, &text);
	const char *at = buffer_text(&text);

	if (r < 0)
		return r;
	for (int i = 0; i < DATA; i++) {
		char *end;

		pages = strtoull(at, &end, 10);
		if (end == at)
			return -EIO;
		at = end;
	}
	return confined_limit(
		RLIMIT_DATA, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + CONFINED_MEMORY);
}

/* Standard output is the pipe, and nothing else is open. */
static int confined_close(int out)
{
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
		dup2(null, STDERR_FILENO) < 0)
		return -errno;
	null = -1;
	return syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0 ? -errno : 0;
}

static int confined_enter(const struct confined *c)
{
	struct confinement_grant grants[CONFINED_FOLDERS];
	struct confinement_more more = { .grants = grants };
	int r = confined_limit_memory();

	for (const char *const *path = c->reads; r == 0 && *path; path++) {
		if (more.n == CONFINED_FOLDERS)
			return -E2BIG;
		grants[more.n++] = (struct confinement_grant){
			.path = *path, .access = LANDLOCK_READ, .is_folder = true
		};
	}
	if (r == 0)
		r = confined_limit(RLIMIT_CPU, (rlim_t)(c->ms / 1000 + 1));
	return r < 0 ? r : confinement_enter(PROCESS_INSPECTOR, &more);
}

static _Noreturn void confined_child(
	const struct confined *c, confined_task *task, void *data, int out, pid_t parent)
{
	/* It ends with who asked, and a reader that has gone is an error like another. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getppid() != parent || confined_close(out) < 0 || confined_enter(c) < 0)
		_exit(CONFINED_REFUSED);
	_exit(task(data));
}

/* Until there is something to read, or it has ended; -ETIME: not until then. */
static int confined_poll(int fd, uint64_t until)
{
	const int r = wait_for_one(fd, POLLIN, until);

	return r > 0 ? 0 : r < 0 ? r : -ETIME;
}

/* All that it prints, until it closes the pipe. */
static int confined_read(const struct confined *c, int fd, uint64_t until, struct buffer *ret)
{
	char room[16 << 10];
	size_t total = 0;

	for (;;) {
		const int r = confined_poll(fd, until);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(fd, room, sizeof(room));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		total += (size_t)n;
		if (total > c->max)
			return -EFBIG;
		buffer_add(ret, room, (size_t)n);
	}
}

/* Its end, for which it has the same time: one that closed the pipe may go on. */
static int confined_wait(pid_t pid, uint64_t until)
{
	auto_fd end = (int)syscall(SYS_pidfd_open, pid, 0);

	return end < 0 ? -errno : confined_poll(end, until);
}

static int confined_fail(int r, struct error *e)
{
	switch (r) {
	case -ETIME:
		return error_set(e, r, NULL, "reading it took too long");
	case -EFBIG:
		return error_set(e, r, NULL, "there is too much to say about it");
	case -EIO:
		return error_set(e, r, NULL, "the process that read it was ended by a signal");
	case -ENOTSUP:
		return error_set(e, r, NULL,
			"this system cannot confine a process that reads skills: Landlock is "
			"missing; corral inspect and corral approve read one without");
	default:
		return error_set(e, r, NULL, "cannot read it: %s", strerror(-r));
	}
}

int confined_run(const struct confined *c, confined_task *task, void *data, struct buffer *ret,
	struct error *e)
{
	auto_fd out = -1, in = -1;
	const pid_t parent = getpid();
	const uint64_t until = clock_ms(CLOCK_MONOTONIC) + c->ms;
	int pipes[2], status = 0, r;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return confined_fail(-errno, e);
	in = pipes[0];
	out = pipes[1];
	pid = starting_copy(0, NULL);
	if (pid < 0)
		return confined_fail(pid, e);
	if (pid == 0)
		confined_child(c, task, data, out, parent);
	fd_close(&out);
	r = confined_read(c, in, until, ret);
	if (r == 0)
		r = confined_wait(pid, until);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && ret->failed)
		r = -ENOMEM;
	if (r == 0 && !WIFEXITED(status))
		r = -EIO;
	if (r == 0 && WEXITSTATUS(status) == CONFINED_REFUSED)
		r = -ENOTSUP;
	return r < 0 ? confined_fail(r, e) : WEXITSTATUS(status);
}
