/* SPDX-License-Identifier: Apache-2.0 */
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "process/starting.h"
#include "wire/frame.h"

int child_start_with(struct child *ret, const char *program, const char *const *argv,
	const char *const *env, const int *fds, size_t n)
{
	int handed[CHILD_FDS + CHILD_FDS_MAX] = { -1, -1, -1 };
	const struct starting s = { .program = program,
		.argv = argv,
		.env = env,
		.fds = handed,
		.n = CHILD_FDS + n,
		.place = STARTING_SESSION };
	int pair[2];
	int r = n > CHILD_FDS_MAX ? -EINVAL : frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	pid_t pid = 0;

	handed[CHILD_SOCKET] = inner;
	for (size_t i = 0; r == 0 && i < n; i++)
		handed[CHILD_FDS + i] = fds[i];
	if (r == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = starting_program(&s, &pid);
	if (r == 0)
		*ret = (struct child){ .pid = pid, .socket = fd_take(&outer) };
	return r;
}

int child_start(
	struct child *ret, const char *program, const char *const *argv, const char *const *env)
{
	return child_start_with(ret, program, argv, env, NULL, 0);
}

void child_end(struct child *c)
{
	if (c->pid == 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(&c->socket);
	*c = CHILD_NONE;
}
