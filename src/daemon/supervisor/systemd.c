/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

enum { SYSTEMD_FDS_START = 3, SYSTEMD_FDS_MAX = 16 };

int systemd_notify(const char *state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	const size_t len = path ? strlen(path) : 0;
	auto_fd fd = -1;

	if (len == 0)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, path, len);
	/* An abstract one. */
	if (path[0] == '@')
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
			      (const struct sockaddr *)&a,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	return 0;
}

/* A variable that is a number; 0 if it is none. */
static uint64_t systemd_number(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
		return 0;
	return strtoull(text, NULL, 10);
}

/* Meant for this process. */
static int systemd_is_ours(const char *name)
{
	return !getenv(name) || systemd_number(name) == (uint64_t)getpid();
}

uint64_t systemd_watchdog_ms(void)
{
	const uint64_t us = systemd_number("WATCHDOG_USEC");

	if (!systemd_is_ours("WATCHDOG_PID"))
		return 0;
	return us > 0 && us < 2000 ? 1 : us / 2000;
}

size_t systemd_listen_fds(void)
{
	const uint64_t n = systemd_number("LISTEN_FDS");
	const int ours = getenv("LISTEN_PID") && systemd_is_ours("LISTEN_PID");
	size_t count = 0;

	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDNAMES");
	if (!ours || n > SYSTEMD_FDS_MAX)
		return 0;
	for (; count < n; count++)
		if (fcntl(SYSTEMD_FDS_START + (int)count, F_SETFD, FD_CLOEXEC) < 0)
			return 0;
	return count;
}
