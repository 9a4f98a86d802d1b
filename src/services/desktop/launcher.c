/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "process/starting.h"
#include "services/desktop/page.h"

/* A program that still runs after this time was started well: a browser, not xdg-open. */
enum { LAUNCHER_MS = 3000 };

/* In the launcher */

/* A session of its own: what ends the sandbox does not end the user's browser. */
static int launcher_spawn(const char *program, const char *page, pid_t *ret)
{
	const char *const argv[] = { program, page, NULL };
	const struct starting s = { .program = program,
		.argv = argv,
		.env = (const char *const *)environ,
		.fds = (int[]){ -1, -1, -1 },
		.n = 3,
		.place = STARTING_SESSION };

	return starting_program(&s, ret);
}

static int launcher_run(const char *program, const char *page)
{
	struct pollfd ended = { .fd = -1, .events = POLLIN };
	auto_fd pidfd = -1;
	pid_t pid = 0;
	int status = 0, r = launcher_spawn(program, page, &pid);

	if (r < 0)
		return r;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	ended.fd = pidfd;
	if (pidfd < 0 || poll(&ended, 1, LAUNCHER_MS) <= 0)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static _Noreturn void launcher_serve(const char *program, int socket)
{
	static char page[PAGE_BYTES_MAX + 1];
	ssize_t n;

	(void)prctl(PR_SET_NAME, "corral-launcher", 0, 0, 0);
	while ((n = recv(socket, page, PAGE_BYTES_MAX, 0)) > 0) {
		int answer = -EINVAL;

		page[n] = '\0';
		if (page_is_normal(page, (size_t)n))
			answer = launcher_run(program, page);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
		/* Those that went on running for a while. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	_exit(0);
}

/* In the part that serves */

int launcher_start(const char *program, int *ret_socket)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = starting_copy(0, NULL);
	if (pid < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return pid;
	}
	if (pid == 0) {
		/* Neither the broker's socket nor ours. */
		const int own = dup2(pair[1], 3);

		(void)syscall(SYS_close_range, 4U, ~0U, 0U);
		(void)fcntl(own, F_SETFD, FD_CLOEXEC);
		launcher_serve(program, own);
	}
	(void)close(pair[1]);
	*ret_socket = pair[0];
	return 0;
}

int launcher_open(int socket, const char *page, size_t len, int timeout_ms)
{
	struct pollfd answer = { .fd = socket, .events = POLLIN };
	int result = 0;

	if (!page_is_normal(page, len))
		return -EINVAL;
	if (send(socket, page, len, MSG_NOSIGNAL) < 0)
		return -errno;
	if (poll(&answer, 1, timeout_ms) <= 0)
		return -ETIMEDOUT;
	return recv(socket, &result, sizeof(result), 0) == sizeof(result) ? result : -EPIPE;
}
