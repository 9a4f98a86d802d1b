/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/landlock.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The kernel's interface, with constants of our own: the headers of a distribution are often older
 * than the kernel it runs on.
 */
struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

enum { RULE_PATH = 1, CREATE_VERSION = 1 };

enum { NET_BIND_TCP = 1 << 0, NET_CONNECT_TCP = 1 << 1 };

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,        /* version 2 */
	FS_TRUNCATE = 1 << 14,     /* 3 */
	FS_IOCTL_DEV = 1 << 15,    /* 5 */
	FS_RESOLVE_UNIX = 1 << 16, /* 9: connecting to sockets that others made */

	SCOPE_ABSTRACT_SOCKET = 1 << 0, /* 6 */
	SCOPE_SIGNAL = 1 << 1,
};

/* What can be granted on something that is no folder. */
static const uint64_t file_rights =
	FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV | FS_RESOLVE_UNIX;

/* No one needs a device node of its own: these two are granted nowhere. */
static const uint64_t write_rights = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |
				     FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM |
				     FS_REFER | FS_TRUNCATE;

static uint64_t landlock_handled(int version)
{
	return ((FS_MAKE_SYM << 1) - 1) | (version >= 2 ? FS_REFER : 0) |
	       (version >= 3 ? FS_TRUNCATE : 0) | (version >= 5 ? FS_IOCTL_DEV : 0) |
	       (version >= 9 ? FS_RESOLVE_UNIX : 0);
}

static uint64_t landlock_rights(unsigned access)
{
	return (access & LANDLOCK_READ ? FS_READ_FILE | FS_READ_DIR : 0) |
	       (access & LANDLOCK_LIST ? FS_READ_DIR : 0) |
	       (access & LANDLOCK_EXECUTE ? FS_EXECUTE : 0) |
	       (access & LANDLOCK_WRITE ? write_rights : 0) |
	       (access & LANDLOCK_DEVICE ? FS_IOCTL_DEV : 0) |
	       (access & LANDLOCK_CONNECT ? FS_RESOLVE_UNIX : 0);
}

int landlock_version(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return r < 0 ? -errno : (int)r;
}

static int landlock_create(int version, bool scoped, uint64_t net)
{
	struct ruleset_attr attr = { .fs = landlock_handled(version), .net = net };
	/* Scopes came with version 6, ports with 4. */
	size_t size = version >= 6   ? sizeof(attr)
		      : version >= 4 ? offsetof(struct ruleset_attr, scoped)
				     : sizeof(attr.fs);
	long r;

	if (version >= 6 && scoped)
		attr.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
	r = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return r < 0 ? -errno : (int)r;
}

/* Ports are left to the network namespace: a server inside may use any port of its own loopback. */
int landlock_new(int version, bool scoped)
{
	return landlock_create(version, scoped, 0);
}

int landlock_new_ports(int version, bool scoped)
{
	return landlock_create(version, scoped, version >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0);
}

int landlock_grant(int ruleset, int version, int fd, unsigned access)
{
	struct path_attr attr = { .access = landlock_rights(access) & landlock_handled(version),
		.fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		attr.access &= file_rights;
	if (attr.access == 0)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &attr, 0) < 0 ? -errno : 0;
}

int landlock_enter(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
