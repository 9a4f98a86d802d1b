/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

static int mount_open_with(int root, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	/* Without a ".." in the path this is one case: a mount on the way was taken off while the
	 * kernel was in it, because the host replaced or removed what it stood on. */
	return errno == EXDEV ? -ENOENT : -errno;
}

int mount_open(int root, const char *path)
{
	return mount_open_with(root, path, O_PATH);
}

int mount_open_file(int root, const char *path)
{
	return mount_open_with(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static uint64_t mount_attributes(unsigned flags)
{
	return MOUNT_ATTR_NOSUID | (flags & MOUNT_WRITABLE ? 0 : MOUNT_ATTR_RDONLY) |
	       (flags & MOUNT_EXEC ? 0 : MOUNT_ATTR_NOEXEC) |
	       (flags & MOUNT_DEVICES ? 0 : MOUNT_ATTR_NODEV);
}

int mount_copy(int fd, unsigned flags)
{
	/* Private: what the host mounts below it later must not appear inside with other flags. */
	struct mount_attr attr = { .attr_set = mount_attributes(flags), .propagation = MS_PRIVATE };
	auto_fd copy = open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (copy < 0)
		return -errno;
	if (mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	return fd_take(&copy);
}

int mount_put(int mount, int root, const char *path)
{
	auto_fd at = mount_open(root, path);

	if (at < 0)
		return at;
	return move_mount(mount, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
		       ? -errno
		       : 0;
}

int mount_new(const char *type, const char *const *options, unsigned flags)
{
	auto_fd fs = fsopen(type, FSOPEN_CLOEXEC);
	auto_fd mount = -1;

	if (fs < 0)
		return -errno;
	for (; *options; options += 2)
		if (fsconfig(fs, options[1][0] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			    options[0], options[1][0] ? options[1] : NULL, 0) < 0)
			return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)mount_attributes(flags));
	return mount < 0 ? -errno : fd_take(&mount);
}

int mount_put_copy(int source, unsigned flags, int root, const char *path)
{
	auto_fd mount = source < 0 ? source : mount_copy(source, flags);

	return mount < 0 ? mount : mount_put(mount, root, path);
}

int mount_put_same(int source, int root, const char *path)
{
	auto_fd mount = open_tree(source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return mount < 0 ? -errno : mount_put(mount, root, path);
}

int mount_put_named(int folder, const char *name, int root, const char *path)
{
	auto_fd source = mount_open(folder, name);

	return mount_put_copy(source, 0, root, path);
}

int mount_change(int mount, const char *const *options)
{
	auto_fd fs = fspick(mount, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

	if (fs < 0)
		return -errno;
	for (; *options; options += 2)
		if (fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0)
			return -errno;
	return fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0 ? -errno : 0;
}

/* A private /dev */

static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };

static const struct {
	const char *name, *target;
} links[] = {
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
	/* The instance of pts/ below, never the host's. */
	{ "ptmx", "pts/ptmx" },
};

int mount_name_devices(int folder)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(nodes); i++) {
		auto_fd place =
			openat(folder, nodes[i], O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0666);

		r = place < 0 ? -errno : 0;
	}
	for (size_t i = 0; r == 0 && i < ROWS(links); i++)
		r = symlinkat(links[i].target, folder, links[i].name) < 0 ? -errno : 0;
	if (r == 0 && (mkdirat(folder, "shm", 0755) < 0 || mkdirat(folder, "pts", 0755) < 0))
		r = -errno;
	return r;
}

int mount_devices(int dev, int host)
{
	/* The machine has 3,072 for all such instances together. */
	static const char *const options[] = { "newinstance", "", "ptmxmode", "0666", "mode",
		"0620", "max", "256", NULL };
	auto_fd terminals = -1;

	for (size_t i = 0; i < ROWS(nodes); i++) {
		char path[32];
		auto_fd node = -1;
		auto_fd mount = -1;
		int r;

		(void)snprintf(path, sizeof(path), "dev/%s", nodes[i]);
		node = mount_open(host, path);
		/* Read-only does not keep anybody from writing to a device, but from changing the
		 * mode or the owner of the host's own: root inside is the owner. */
		mount = node < 0 ? node : mount_copy(node, MOUNT_DEVICES);
		r = mount < 0 ? mount : mount_put(mount, dev, nodes[i]);
		if (r < 0)
			return r;
	}
	/* Of a private instance: those of the host have no name inside. */
	terminals = mount_new("devpts", options, MOUNT_WRITABLE | MOUNT_DEVICES);
	return terminals < 0 ? terminals : mount_put(terminals, dev, "pts");
}

/* Lines of mountinfo */

/* Space, tab, newline and backslash are written as \040 and so on. */
static const char *mount_unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		if (in[0] == '\\' && strspn(in + 1, "01234567") >= 3) {
			*out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + in[3] - '0');
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return text;
}

/* "36 35 0:30 ROOT POINT rw,… [optional…] - TYPE SOURCE OPTIONS" */
bool mount_line_parse(char *line, struct mount_line *ret)
{
	char *words[5], *rest = line;

	for (size_t i = 0; i < ROWS(words); i++) {
		words[i] = strsep(&rest, " ");
		if (!rest)
			return false;
	}
	rest = strstr(rest, " - ");
	if (!rest)
		return false;
	rest += 3;
	*ret = (struct mount_line){ .device = words[2],
		.root = mount_unescape(words[3]),
		.path = mount_unescape(words[4]),
		.type = strsep(&rest, " ") };
	return true;
}
