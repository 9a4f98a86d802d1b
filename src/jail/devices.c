/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/mount.h"

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

static int devices_add_name(int folder, const char *name)
{
	auto_fd place = openat(folder, name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0666);

	return place < 0 ? -errno : 0;
}

int devices_name(int folder)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(nodes); i++)
		r = devices_add_name(folder, nodes[i]);
	for (size_t i = 0; r == 0 && i < ROWS(links); i++)
		r = symlinkat(links[i].target, folder, links[i].name) < 0 ? -errno : 0;
	if (r == 0 && (mkdirat(folder, "shm", 0755) < 0 || mkdirat(folder, "pts", 0755) < 0))
		r = -errno;
	return r;
}

static int mount_node(int dev, int host, const char *name)
{
	char path[32];
	auto_fd node = -1;
	auto_fd mount = -1;

	(void)snprintf(path, sizeof(path), "dev/%s", name);
	node = mount_open(host, path);
	if (node < 0)
		return node;
	/* Read-only does not keep anybody from writing to a device, but from changing the mode or
	 * the owner of the host's own: root inside is the owner. */
	mount = mount_copy(node, MOUNT_DEVICES);
	return mount < 0 ? mount : mount_put(mount, dev, name);
}

/* Terminals of a private instance: those of the host have no name inside. */
static int mount_terminals(int dev)
{
	auto_fd fs = fsopen("devpts", FSOPEN_CLOEXEC);
	auto_fd mount = -1;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_FLAG, "newinstance", NULL, 0) < 0 ||
		fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) < 0 ||
		fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0620", 0) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return mount < 0 ? -errno : mount_put(mount, dev, "pts");
}

int devices_mount(int dev, int host)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(nodes); i++)
		r = mount_node(dev, host, nodes[i]);
	return r < 0 ? r : mount_terminals(dev);
}
