/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/peers/origin.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* What older headers lack. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int origin_read_own(struct marks *ret)
{
	return marks_read("self", ret);
}

static int origin_pidfd(int socket, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Of the process behind a pidfd; without one, if the kernel said so. */
static bool origin_has_ended(int pidfd, int error)
{
	if (pidfd < 0)
		return error == ESRCH;
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) != 0;
}

/* No process has the other end. */
static bool origin_is_closed(int socket)
{
	struct pollfd p = { .fd = socket };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

int origin_check(const struct marks *own, int socket, struct origin_peer *ret, const char **ret_why)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	struct marks marks = { 0 };
	auto_fd pidfd = -1;
	char process[16];
	int error, r;

	*ret = (struct origin_peer){ 0 };
	*ret_why = "the process cannot be looked at";
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || cred.pid <= 0)
		return -EACCES;
	*ret = (struct origin_peer){ cred.pid, cred.uid };
	if (cred.uid != geteuid() && cred.uid != 0) {
		*ret_why = "the process belongs to another user";
		return -EACCES;
	}
	pidfd = origin_pidfd(socket, cred.pid);
	error = errno;
	(void)snprintf(process, sizeof(process), "%d", (int)cred.pid);
	r = marks_read(process, &marks);
	/* If it has not ended, it was the one that was looked at. */
	if (origin_has_ended(pidfd, error)) {
		*ret_why = "the process has ended";
		return origin_is_closed(socket) ? -ESRCH : -EACCES;
	}
	if (pidfd < 0 || r < 0)
		return -EACCES;
	*ret_why = marks_differ(own, &marks);
	return *ret_why ? -EACCES : 0;
}
