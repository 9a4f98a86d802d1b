/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static int userns_put(const char *path, const char *text)
{
	size_t len = strlen(text);
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int userns_map(uid_t uid, gid_t gid)
{
	char line[64];
	int r = userns_put("/proc/self/setgroups", "deny");

	if (r < 0)
		return r;
	(void)snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	r = userns_put("/proc/self/uid_map", line);
	if (r < 0)
		return r;
	(void)snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	return userns_put("/proc/self/gid_map", line);
}

int userns_seal(void)
{
	return userns_put("/proc/sys/user/max_user_namespaces", "0");
}
