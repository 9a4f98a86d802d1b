/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "process/starting.h"

int program_find(const char *name, const char *folder, char out[PATH_BYTES])
{
	const int n = folder ? snprintf(out, PATH_BYTES, "%s/%s", folder, name) : 0;

	if (n > 0 && n < PATH_BYTES && access(out, X_OK) == 0)
		return 0;
	return lookup_find(getenv("PATH"), name, out);
}

/* Starts it; *in and *out are our ends, -1 where there is none. */
static int program_spawn(const struct program_run *p, pid_t *pid, int *in, int *out)
{
	int ends[2][2] = { { -1, -1 }, { -1, -1 } };
	int r = 0;

	if ((p->input && pipe2(ends[0], O_CLOEXEC) < 0) ||
		(p->output && pipe2(ends[1], O_CLOEXEC) < 0))
		r = -errno;
	/* A group of its own, to end with all that it started. */
	if (r == 0)
		r = starting_program(&(struct starting){ .program = p->path,
					     .argv = p->argv,
					     .env = (const char *const *)environ,
					     .fds = (int[]){ ends[0][0], ends[1][1],
						     p->errors ? ends[1][1] : -1 },
					     .n = 3,
					     .place = STARTING_GROUP },
			pid);
	fd_close(&ends[0][0]);
	fd_close(&ends[1][1]);
	*in = ends[0][1];
	*out = ends[1][0];
	if (r < 0) {
		fd_close(in);
		fd_close(out);
	}
	return r;
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
