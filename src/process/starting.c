/* SPDX-License-Identifier: Apache-2.0 */
#include "process/starting.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "process/starting-rest.h"

/* Copies above all targets, so that no dup2() overwrites one that is still needed, and none keeps
 * its number and with it close-on-exec. */
struct starting_files {
	int fds[STARTING_FDS_MAX]; /* -1: the null device */
	size_t n;
};

static int starting_copy_files(struct starting_files *f, const struct starting *s)
{
	if (s->n < 3 || s->n > STARTING_FDS_MAX)
		return -EINVAL;
	for (; f->n < s->n; f->n++) {
		f->fds[f->n] = s->fds[f->n] < 0
				       ? -1
				       : fcntl(s->fds[f->n], F_DUPFD_CLOEXEC, STARTING_FDS_MAX);
		if (s->fds[f->n] >= 0 && f->fds[f->n] < 0)
			return -errno;
	}
	return 0;
}

static void starting_close(struct starting_files *f)
{
	while (f->n > 0)
		fd_close(&f->fds[--f->n]);
}

static int starting_set_files(
	posix_spawn_file_actions_t *a, const struct starting_files *f, const struct starting *s)
{
	int r = 0;

	for (int i = 0; r == 0 && i < (int)f->n; i++)
		r = f->fds[i] < 0 ? posix_spawn_file_actions_addopen(a, i, "/dev/null", O_RDWR, 0)
				  : posix_spawn_file_actions_adddup2(a, f->fds[i], i);
	if (r == 0 && s->folder)
		r = posix_spawn_file_actions_addchdir_np(a, s->folder);
	return r == 0 && s->closes_rest ? starting_rest_close(a, (int)f->n) : r;
}

static int starting_set_attributes(posix_spawnattr_t *a, const struct starting *s)
{
	static const short places[] = { [STARTING_HERE] = 0,
		[STARTING_GROUP] = POSIX_SPAWN_SETPGROUP,
		[STARTING_SESSION] = POSIX_SPAWN_SETSID };
	const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawnattr_setsigmask(a, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(a, 0);
	return r ? r : posix_spawnattr_setflags(a, (short)(flags | places[s->place]));
}

static int starting_spawn(const struct starting *s, const struct starting_files *f, pid_t *ret)
{
	static const char *const empty[] = { NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t a;
	pid_t pid = -1;
	int r = posix_spawn_file_actions_init(&files);

	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&a);
	if (r == 0) {
		r = starting_set_files(&files, f, s);
		if (r == 0)
			r = starting_set_attributes(&a, s);
		/* It does not write to them; its prototype is older than const. */
		if (r == 0)
			r = posix_spawn(&pid, s->program, &files, &a,
				(char *const *)(uintptr_t)s->argv,
				(char *const *)(uintptr_t)(s->env ? s->env : empty));
		(void)posix_spawnattr_destroy(&a);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	if (r == 0)
		*ret = pid;
	return -r;
}

int starting_program(const struct starting *s, pid_t *ret)
{
	struct starting_files files = { .n = 0 };
	int r = starting_copy_files(&files, s);

	if (r == 0)
		r = starting_spawn(s, &files, ret);
	starting_close(&files);
	return r;
}

pid_t starting_copy(unsigned long flags, int *ret_pidfd)
{
	/* Without memory of its own, or a stack: all is copied. */
	const long pid = syscall(SYS_clone, flags | (ret_pidfd ? CLONE_PIDFD : 0) | SIGCHLD, NULL,
		ret_pidfd, NULL, NULL);

	return pid < 0 ? -errno : (pid_t)pid;
}
