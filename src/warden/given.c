/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/given.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"

/* A datagram socket can be sent anywhere; one that listens is no connection. */
static bool is_connection(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int);
	int type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type == SOCK_DGRAM)
		return false;
	len = sizeof(peer);
	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

static bool given_is_unix(int fd)
{
	socklen_t len = sizeof(int);
	int family = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 && family == AF_UNIX;
}

/* Also one that is closed by its peer already: what it sent may be there. */
static bool given_is_stream(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0, listens = 1;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && !listens;
}

bool given_is_copied(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || fstat(fd, &st) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		return (flags & O_ACCMODE) != O_RDONLY ||
		       (st.st_nlink == 0 && fcntl(fd, F_GET_SEALS) >= 0);
	return S_ISFIFO(st.st_mode) || (S_ISSOCK(st.st_mode) && given_is_stream(fd));
}

bool given_is_same(int a, int b)
{
	struct stat first, second;

	return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino && fcntl(a, F_GETFL) == fcntl(b, F_GETFL);
}

int given_check(int fd, bool network, struct error *e)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || fstat(fd, &st) < 0)
		return error_set(e, -EBADF, NULL, "descriptor %d is not an open file", fd);
	if (S_ISDIR(st.st_mode))
		return error_set(e, -EISDIR, NULL,
			"a folder cannot be standard input or output: other files could be "
			"reached through it");
	if (S_ISBLK(st.st_mode))
		return error_set(e, -EACCES, NULL, "a disk cannot be standard input or output");
	/* A pidfd, a namespace, an io_uring … */
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode) &&
		!S_ISSOCK(st.st_mode))
		return error_set(e, -EACCES, NULL,
			"descriptor %d is not a file, pipe, terminal or connection, and cannot "
			"be standard input or output",
			fd);
	if (!S_ISSOCK(st.st_mode) || (given_is_unix(fd) ? is_connection(fd) : network))
		return 0;
	(void)error_set(e, -EPROTOTYPE, NULL,
		"this socket cannot be standard input or output: the command could connect it "
		"again");
	error_hint(e, "use a pipe, such as cat |");
	return -EPROTOTYPE;
}

/* By its name, or, if it was renamed or linked, by what it is. */
static bool given_is_covered(const struct plan *plan, const char *path, const struct stat *st)
{
	const struct plan_entry *around = plan_find(plan, path);

	if (around && around->over && (around->kind == PLAN_MASK || !around->writable))
		return true;
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *e = &plan->entries[i];

		if (e->over && !e->is_dir && e->dev == st->st_dev && e->ino == st->st_ino)
			return true;
	}
	return false;
}

int given_check_cover(int fd, const struct plan *plan, struct error *e)
{
	char descriptor[32], target[PATH_BYTES];
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return error_set(e, -errno, NULL, "descriptor %d: %s", fd, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return 0;
	(void)snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", fd);
	len = readlink(descriptor, target, sizeof(target) - 1);
	if (len < 0)
		return error_set(e, -errno, NULL, "%s: %s", descriptor, strerror(errno));
	target[len] = '\0';
	if (target[0] != '/' || !given_is_covered(plan, target, &st))
		return 0;
	(void)error_set(e, -EACCES, NULL,
		"%s is denied to commands, so it cannot be their standard input or output", target);
	error_hint(e, "pass a copy, such as cat %s | corral run …", target);
	return -EACCES;
}

int given_inside(int fd, int *null)
{
	static const struct {
		unsigned minor;
		const char *path;
	} devices[] = {
		{ 3, "/dev/null" },
		{ 5, "/dev/zero" },
		{ 7, "/dev/full" },
		{ 8, "/dev/random" },
		{ 9, "/dev/urandom" },
	};
	enum { MEMORY = 1 }; /* the major number that they all have */
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) != MEMORY)
		return -ENODEV;
	if (minor(st.st_rdev) == devices[0].minor && mode == O_RDWR && *null >= 0)
		return fd_take(null);
	for (size_t i = 0; i < ROWS(devices); i++)
		if (minor(st.st_rdev) == devices[i].minor) {
			int own = open(devices[i].path, mode | O_CLOEXEC);

			return own < 0 ? -errno : own;
		}
	return -ENODEV;
}
