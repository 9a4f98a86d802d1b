/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/spawn-warden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/fd.h"

enum { FD_SOCKET = 3, FD_POLICY = 4, FD_REST = 5, FD_HIGH = 16 };

static int add_stdio(posix_spawn_file_actions_t *a)
{
	int r = posix_spawn_file_actions_addchdir_np(a, "/");

	for (int fd = 0; r == 0 && fd < FD_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(a, fd, "/dev/null", O_RDWR, 0);
	return r;
}

/* Both sources lie above all targets, so that no dup2() treads on one that is still needed. */
static int spawn_warden_add_files(posix_spawn_file_actions_t *a, int socket, int policy)
{
	int r = add_stdio(a);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(a, socket, FD_SOCKET);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(a, policy, FD_POLICY);
	return r ? r : spawn_warden_close_rest(a, FD_REST);
}

static int set_attributes(posix_spawnattr_t *a)
{
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawnattr_setflags(
		a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	if (r == 0)
		r = posix_spawnattr_setsigmask(a, &none);
	return r ? r : posix_spawnattr_setsigdefault(a, &all);
}

static int spawn_warden_start(const char *path, int socket, int policy, pid_t *ret)
{
	char *argv[] = { (char *)"corral-warden", NULL };
	char *env[] = { (char *)"CORRAL_POLICY_FD=4", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid = -1;
	int r = posix_spawn_file_actions_init(&files);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		r = spawn_warden_add_files(&files, socket, policy);
		if (r == 0)
			r = set_attributes(&attributes);
		if (r == 0)
			r = posix_spawn(&pid, path, &files, &attributes, argv, env);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	if (r == 0)
		*ret = pid;
	return -r;
}

int spawn_warden(const char *path, int socket, int policy, pid_t *ret, struct error *e)
{
	auto_fd high_socket = fcntl(socket, F_DUPFD_CLOEXEC, FD_HIGH);
	auto_fd high_policy = fcntl(policy, F_DUPFD_CLOEXEC, FD_HIGH);
	int r;

	if (high_socket < 0 || high_policy < 0)
		return error_set(e, -errno, NULL, "no descriptor is left to start the warden: %s",
			strerror(errno));
	r = spawn_warden_start(path, high_socket, high_policy, ret);
	return r < 0 ? error_set(e, r, NULL, "cannot start %s: %s", path, strerror(-r)) : 0;
}
