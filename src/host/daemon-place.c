/* SPDX-License-Identifier: Apache-2.0 */
#include "host/daemon-place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

static void daemon_place_name(const char *name, struct buffer *out)
{
	if (name)
		buffer_printf(out, "/%s", name);
}

void daemon_place_system(const char *name, struct buffer *out)
{
	buffer_adds(out, "/run/corral");
	daemon_place_name(name, out);
}

int daemon_place(const char *name, struct buffer *out)
{
	const char *base = secure_getenv("XDG_RUNTIME_DIR");

	if (base && *base) {
		if (base[0] != '/')
			return -ENOENT;
		buffer_printf(out, "%s/corral", base);
	} else if (geteuid() == 0) {
		buffer_adds(out, "/run/corral");
	} else {
		buffer_printf(out, "/run/user/%u/corral", (unsigned)geteuid());
	}
	daemon_place_name(name, out);
	return out->failed ? -ENOMEM : 0;
}

static bool daemon_place_is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

int daemon_place_look(const char *name, int *ret_folder)
{
	auto_buffer path = { 0 };
	struct stat st;
	auto_fd fd = -1;
	int r = daemon_place(NULL, &path);

	if (r < 0)
		return r;
	fd = open(buffer_text(&path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EPERM : -errno;
	if (faccessat(fd, name, F_OK, 0) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!daemon_place_is_trusted(st.st_uid) || st.st_mode & 022)
		return -EPERM;
	*ret_folder = fd_take(&fd);
	return 0;
}

/* The process that listens. */
static int daemon_place_check_peer(int fd)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	return daemon_place_is_trusted(cred.uid) ? 0 : -EPERM;
}

int daemon_place_connect(const char *name, int fd)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd folder = -1;
	int n, r = daemon_place_look(name, &folder);

	if (r < 0)
		return r;
	/* The folder that was looked at, whatever has its name now. */
	n = snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", folder, name);
	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	return daemon_place_check_peer(fd);
}
