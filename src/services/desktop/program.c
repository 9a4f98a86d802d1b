/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "host/lookup.h"

int program_find(const char *name, const char *folder, char out[PATH_BYTES])
{
	const int n = folder ? snprintf(out, PATH_BYTES, "%s/%s", folder, name) : 0;

	if (n > 0 && n < PATH_BYTES && access(out, X_OK) == 0)
		return 0;
	return lookup_find(getenv("PATH"), name, out);
}

/* A group of its own, to end with all that it started; signals as programs expect them. */
static int program_attributes(posix_spawnattr_t *a)
{
	sigset_t usual;
	int r = posix_spawnattr_init(a);

	if (r != 0)
		return r;
	(void)sigemptyset(&usual);
	(void)sigaddset(&usual, SIGPIPE);
	r = posix_spawnattr_setpgroup(a, 0);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &usual);
	if (r == 0)
		r = posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	if (r != 0)
		(void)posix_spawnattr_destroy(a);
	return r;
}

/* Starts it; *in and *out are our ends, -1 where there is none. */
static int program_spawn(const struct program_run *p, pid_t *pid, int *in, int *out)
{
	int ends[2][2] = { { -1, -1 }, { -1, -1 } };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t a;
	int r = program_attributes(&a);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_init(&files);
	if (r != 0) {
		(void)posix_spawnattr_destroy(&a);
		return -r;
	}
	if ((p->input && pipe2(ends[0], O_CLOEXEC) < 0) ||
		(p->output && pipe2(ends[1], O_CLOEXEC) < 0))
		r = errno;
	if (r == 0)
		r = p->input
			    ? posix_spawn_file_actions_adddup2(&files, ends[0][0], 0)
			    : posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = p->output
			    ? posix_spawn_file_actions_adddup2(&files, ends[1][1], 1)
			    : posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = p->output && p->errors
			    ? posix_spawn_file_actions_adddup2(&files, ends[1][1], 2)
			    : posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn(
			pid, p->path, &files, &a, (char *const *)(uintptr_t)p->argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&a);
	fd_close(&ends[0][0]);
	fd_close(&ends[1][1]);
	*in = ends[0][1];
	*out = ends[1][0];
	if (r != 0) {
		fd_close(in);
		fd_close(out);
	}
	return -r;
}

/* The next bytes. 1: there are no more. */
static int program_read(const struct program_run *p, int fd)
{
	char bytes[16384];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return 1;
	if ((size_t)n > p->max - p->output->len)
		return -EFBIG;
	buffer_add(p->output, bytes, (size_t)n);
	return p->output->failed ? -ENOMEM : 0;
}

/* Feeds and reads it until both are done. */
static int program_talk(const struct program_run *p, int *in, int *out)
{
	size_t sent = 0;
	int r = 0;

	while (r == 0 && (*in >= 0 || *out >= 0)) {
		struct pollfd fds[] = { { .fd = *in, .events = POLLOUT },
			{ .fd = *out, .events = POLLIN } };
		const int n = wait_for(fds, ROWS(fds), p->until_ms);

		if (n <= 0)
			r = n < 0 ? n : -ETIMEDOUT;
		if (n > 0 && fds[0].revents) {
			ssize_t done = write(*in, p->input + sent, p->input_len - sent);

			/* It need not read all: its exit status says whether it worked. */
			sent += done > 0 ? (size_t)done : 0;
			if ((done < 0 && errno != EAGAIN) || sent == p->input_len)
				fd_close(in);
		}
		if (n > 0 && fds[1].revents) {
			r = program_read(p, *out);
			if (r == 1) {
				fd_close(out);
				r = 0;
			}
		}
	}
	return r;
}

static int program_wait(const struct program_run *p, pid_t pid, int pidfd)
{
	const int n = wait_for_one(pidfd, POLLIN, p->until_ms);
	int status = 0;

	if (n <= 0)
		return n < 0 ? n : -ETIMEDOUT;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int program_run(const struct program_run *p)
{
	auto_fd in = -1, out = -1, pidfd = -1;
	pid_t pid = 0;
	int r = program_spawn(p, &pid, &in, &out);

	if (r < 0)
		return r;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		r = -errno;
	if (in >= 0)
		(void)fcntl(in, F_SETFL, O_NONBLOCK);
	if (r == 0)
		r = program_talk(p, &in, &out);
	if (r == 0)
		r = program_wait(p, pid, pidfd);
	if (r < 0) {
		(void)kill(-pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return r;
}
