// SPDX-License-Identifier: Apache-2.0
/*
 * Devices: memory, disks, consoles, by the name in /dev or by a node of one's own. They are only
 * opened, and with O_RDONLY where that is enough to do harm.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attempt.h"

static int open_device(const struct attempt *a)
{
	int fd = open(a->arg, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO)) {
		note("%s", strerrorname_np(errno));
		return ABSENT;
	}
	return verdict(fd);
}

struct node {
	mode_t type;
	unsigned major, minor;
};

static int make_device(const struct attempt *a)
{
	const struct node *n = a->arg;

	if (mknod(work_file(a), n->type | 0600, makedev(n->major, n->minor)) < 0)
		return verdict(-1);
	return verdict(0);
}

/* The disk that the workspace is on, by a node made for its number. */
static int make_disk(const struct attempt *a)
{
	struct stat st;

	if (stat(".", &st) < 0)
		return verdict(-1);
	return verdict(mknod(work_file(a), S_IFBLK | 0600, st.st_dev));
}

/* Any block device that is there. */
static int any_disk(const struct attempt *a)
{
	DIR *d = opendir("/dev");
	struct dirent *e;
	struct stat st;

	(void)a;
	while (d && (e = readdir(d))) {
		const char *path = format("/dev/%s", e->d_name);

		if (lstat(path, &st) == 0 && S_ISBLK(st.st_mode) && open(path, O_RDONLY) >= 0) {
			note("%s", path);
			return ESCAPED;
		}
	}
	note("no block device can be opened");
	return ABSENT;
}

/* Devices that any program may have, and nothing else. */
static int unknown_device(const struct attempt *a)
{
	static const char ok[] = " null zero full random urandom tty ptmx console stdin stdout "
				 "stderr fd pts shm core ";
	DIR *d = opendir("/dev");
	struct dirent *e;
	struct stat st;

	(void)a;
	while (d && (e = readdir(d))) {
		if (lstat(format("/dev/%s", e->d_name), &st) < 0 ||
			(!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)))
			continue;
		if (!strstr(ok, format(" %s ", e->d_name))) {
			note("/dev/%s", e->d_name);
			return ESCAPED;
		}
	}
	note("only what every program needs");
	return HELD;
}

static const struct node mem = { S_IFCHR, 1, 1 }, kmsg = { S_IFCHR, 1, 11 },
			 console = { S_IFCHR, 5, 1 }, null = { S_IFCHR, 1, 3 },
			 loop = { S_IFBLK, 7, 0 };

static const struct attempt table[] = {
	{ "dev-mem", "default", "SYS_RAWIO", "/dev/mem is the machine's memory", open_device,
		"/dev/mem" },
	{ "dev-kmsg", "default", "SYSLOG", "/dev/kmsg is the kernel's log", open_device,
		"/dev/kmsg" },
	{ "dev-console", "default", "DAC_OVERRIDE", "the console belongs to the host", open_device,
		"/dev/console" },
	{ "dev-tty0", "default", "DAC_OVERRIDE",
		"a virtual terminal takes TIOCLINUX, which types for its user", open_device,
		"/dev/tty0" },
	{ "dev-kvm", "default", "DAC_OVERRIDE", "/dev/kvm is a large surface", open_device,
		"/dev/kvm" },
	{ "dev-fuse", "default", "DAC_OVERRIDE",
		"/dev/fuse serves file systems, and stops the kernel", open_device, "/dev/fuse" },
	{ "dev-tun", "default", "DAC_OVERRIDE", "/dev/net/tun makes network devices", open_device,
		"/dev/net/tun" },
	{ "dev-loop", "default", "DAC_OVERRIDE", "a loop device mounts files", open_device,
		"/dev/loop-control" },
	{ "dev-userfaultfd", "default", "DAC_OVERRIDE", "a userfaultfd without the call",
		open_device, "/dev/userfaultfd" },
	{ "dev-vsock", "default", "DAC_OVERRIDE",
		"/dev/vsock talks to the host of a virtual machine", open_device, "/dev/vsock" },
	{ "dev-disk", "default", "DAC_OVERRIDE", "a disk has all files", any_disk, NULL },
	{ "dev-unknown", "default", "", "some device is there that no program needs",
		unknown_device, NULL },
	{ "mknod-mem", "default", "MKNOD", "a node for the memory can be made", make_device, &mem },
	{ "mknod-kmsg", "default", "MKNOD", "a node for the log can be made", make_device, &kmsg },
	{ "mknod-console", "default", "MKNOD", "a node for the console can be made", make_device,
		&console },
	{ "mknod-null", "default", "MKNOD", "even a harmless node can't be made", make_device,
		&null },
	{ "mknod-loop", "default", "MKNOD", "a node for a block device can be made", make_device,
		&loop },
	{ "mknod-disk", "default", "MKNOD", "a node for the workspace's own disk can be made",
		make_disk, NULL },
};
THEME(device, "Devices", table);
