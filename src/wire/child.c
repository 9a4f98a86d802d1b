/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/frame.h"

/* Descriptors that become CHILD_SOCKET and those after it: copies above all of these numbers, so
 * that none is overwritten before it has its own, and none keeps its number and with it
 * close-on-exec. */
struct child_files {
	int fds[1 + CHILD_FDS_MAX];
	size_t n;
};

static int child_files_add(struct child_files *f, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FDS + CHILD_FDS_MAX);

	if (copy < 0)
		return -errno;
	f->fds[f->n++] = copy;
	return 0;
}

static void child_files_close(struct child_files *f)
{
	while (f->n > 0)
		fd_close(&f->fds[--f->n]);
}

static int child_set_files(posix_spawn_file_actions_t *files, const struct child_files *f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->n; i++)
		r = posix_spawn_file_actions_adddup2(files, f->fds[i], CHILD_SOCKET + (int)i);
	for (int i = 0; r == 0 && i < CHILD_SOCKET; i++)
		r = posix_spawn_file_actions_addopen(files, i, "/dev/null", O_RDWR, 0);
	return r;
}

static int child_set_attributes(posix_spawnattr_t *a)
{
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawnattr_setsigmask(a, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(
			a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	return r;
}

static int child_spawn(const char *program, const char *const *argv, const char *const *env,
	const struct child_files *handed, pid_t *ret)
{
	static const char *const empty[] = { NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t a;
	int r = posix_spawn_file_actions_init(&files);

	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&a);
	if (r == 0) {
		r = child_set_files(&files, handed);
		if (r == 0)
			r = child_set_attributes(&a);
		/* It does not write to them; its prototype is older than const. */
		if (r == 0)
			r = posix_spawn(ret, program, &files, &a, (char *const *)(uintptr_t)argv,
				(char *const *)(uintptr_t)(env ? env : empty));
		(void)posix_spawnattr_destroy(&a);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

int child_start_with(struct child *ret, const char *program, const char *const *argv,
	const char *const *env, const int *fds, size_t n)
{
	struct child_files handed = { .n = 0 };
	int pair[2];
	int r = n > CHILD_FDS_MAX ? -EINVAL : frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	pid_t pid = 0;

	if (r == 0)
		r = child_files_add(&handed, inner);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = child_files_add(&handed, fds[i]);
	if (r == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = child_spawn(program, argv, env, &handed, &pid);
	child_files_close(&handed);
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
