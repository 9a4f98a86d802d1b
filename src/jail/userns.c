/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

static int userns_put(const char *path, const char *text)
{
	size_t len = strlen(text);
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

int userns_map(uid_t uid, gid_t gid)
{
	char users[64], groups[64];
	int r = userns_put("/proc/self/setgroups", "deny");

	(void)snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	(void)snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	if (r == 0)
		r = userns_put("/proc/self/uid_map", users);
	return r < 0 ? r : userns_put("/proc/self/gid_map", groups);
}

int userns_seal(void)
{
	return userns_put("/proc/sys/user/max_user_namespaces", "0");
}

int userns_limit(void)
{
	/* Half of what most machines let a user have. */
	int r = userns_put("/proc/sys/user/max_inotify_instances", "64");

	/* A kernel without inotify. */
	return r == -ENOENT ? 0 : r;
}

int loopback_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	auto_fd s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s < 0 || ioctl(s, SIOCSIFFLAGS, &r) < 0 ? -errno : 0;
}
