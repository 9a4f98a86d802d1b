/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/birth.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/keyring.h"
#include "process/starting.h"

/* What clone() makes anew; the zygote makes the others itself, while the warden goes on. */
enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID };

/* Shared with the process in between, which runs in our memory: volatile, since to the compiler
 * what is written before _exit() is never read. */
struct birth {
	const struct zygote *zygote;
	pid_t pid;
	int error;
	bool has_keys; /* they could not be left behind */
};

/* A zygote that cannot be held by a descriptor is ended. It is our child: its number is its own. */
static int zygote_hold(pid_t pid, pid_t *ret, int *ret_pidfd)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const int r = pidfd < 0 ? -errno : 0;

	if (r < 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return r;
	}
	*ret = pid;
	*ret_pidfd = pidfd;
	return 0;
}

/*
 * Where keys cannot be left behind, namespaces may be refused as well, by a sandbox around this
 * one, and that is what the user has to know. Returns why, or 0.
 */
static int zygote_probe(void)
{
	const pid_t pid = starting_copy(NAMESPACES, NULL);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* In the process in between. The zygote is a copy of it, as after fork(), and the caller's child.
 */
static _Noreturn void zygote_bear(volatile struct birth *b)
{
	b->error = keyring_leave();
	if (b->error < 0) {
		const int r = zygote_probe();

		b->has_keys = r == 0;
		b->error = r < 0 ? r : b->error;
	}
	if (b->error == 0) {
		b->pid = starting_copy(NAMESPACES | CLONE_PARENT, NULL);
		b->error = b->pid < 0 ? b->pid : 0;
	}
	if (b->pid == 0 && b->error == 0)
		zygote_run(b->zygote);
	_exit(0);
}

/*
 * The shared keyring is found by its name, and the zygote's user namespace has names of its own. To
 * join it here would take the keys from the caller, too, and from all that it starts later.
 */
int zygote_begin(const struct zygote *z, pid_t *ret, int *ret_pidfd, int *ret_error)
{
	volatile struct birth b = { .zygote = z, .pid = -1, .error = -ECHILD };
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	pid_t between = vfork();

	if (between == 0)
		zygote_bear(&b); /* NOLINT(clang-analyzer-unix.Vfork) */
	if (between < 0)
		return -errno;
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	*ret_error = b.error;
	if (b.pid < 0)
		return b.has_keys ? -ENOKEY : b.error;
	return zygote_hold(b.pid, ret, ret_pidfd);
}
