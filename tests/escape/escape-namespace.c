// SPDX-License-Identifier: Apache-2.0
/*
 * Namespaces, capabilities, identities: to become more than one is, or to go back to where one came
 * from. A nested user namespace would give all capabilities in it, and with them most of the
 * kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempt.h"

struct flags {
	uint64_t flags;
};

static int do_unshare(const struct attempt *a)
{
	return verdict(unshare((int)((const struct flags *)a->arg)->flags));
}

static int reap(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, __WALL);
	return verdict(pid);
}

static int do_clone(const struct attempt *a)
{
	unsigned long flags = (unsigned long)((const struct flags *)a->arg)->flags;

	return reap(syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL));
}

static int do_clone3(const struct attempt *a)
{
	struct clone_args args = {
		.flags = ((const struct flags *)a->arg)->flags,
		.exit_signal = SIGCHLD,
	};

	return reap(syscall(SYS_clone3, &args, sizeof(args)));
}

/* The second process of a new user namespace maps the whole range by itself. */
static int map_root(const struct attempt *a)
{
	const char *map = format("0 %d 1\n", (int)geteuid());
	int fd;

	(void)a;
	if (unshare(CLONE_NEWUSER) < 0)
		return verdict(-1);
	fd = open("/proc/self/uid_map", O_WRONLY);
	return verdict(fd < 0 ? -1 : write(fd, map, strlen(map)));
}

static const char *const namespaces[] = { "mnt", "pid", "net", "ipc", "uts", "user", "cgroup",
	"time" };

/* EINVAL is the answer for a user namespace one is in already: not refused. */
static int join_ns(const struct attempt *a)
{
	long pid = scene_number(a->arg);
	int error = ENOENT, opened = 0;

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++) {
		int fd = open(format("/proc/%ld/ns/%s", pid, namespaces[i]), O_RDONLY);

		if (fd >= 0)
			opened++;
		if (fd >= 0 && setns(fd, 0) == 0) {
			note("joined %s", namespaces[i]);
			return ESCAPED;
		}
		if (error != EPERM)
			error = errno;
		close(fd);
	}
	errno = error;
	return opened ? (note("opened %d, joined none", opened), HELD) : verdict(-1);
}

static int open_ns(const struct attempt *a)
{
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		if (open(format("/proc/%ld/ns/%s", scene_number(a->arg), namespaces[i]),
			    O_RDONLY) >= 0)
			return verdict(0);
	return verdict(-1);
}

static int join_pidfd(const struct attempt *a)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)scene_number(a->arg), 0);

	return verdict(fd < 0 ? -1 : setns(fd, CLONE_NEWNS | CLONE_NEWUTS));
}

/* Anything but one's own is a way up: the parent, or who owns one of them. */
static int ns_ioctl(const struct attempt *a)
{
	struct stat mine, other;

	(void)a;
	if (stat("/proc/self/ns/user", &mine) < 0)
		return verdict(-1);
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++) {
		int ns = open(format("/proc/self/ns/%s", namespaces[i]), O_RDONLY);
		int up = ns < 0 ? -1 : ioctl(ns, NS_GET_PARENT);
		int owner = ns < 0 ? -1 : ioctl(ns, NS_GET_USERNS);

		if (up >= 0 ||
			(owner >= 0 && fstat(owner, &other) == 0 && other.st_ino != mine.st_ino)) {
			note("of %s", namespaces[i]);
			return ESCAPED;
		}
	}
	return verdict(-1);
}

/* -- capabilities -- */

static int cap_set(const struct attempt *a)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)a;
	data[0].effective = data[0].permitted = 1u << CAP_SYS_ADMIN | 1u << CAP_DAC_OVERRIDE;
	return verdict(syscall(SYS_capset, &head, data));
}

static int cap_any(const struct attempt *a)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)a;
	if (syscall(SYS_capget, &head, data) < 0)
		return verdict(-1);
	note("effective %x, permitted %x", data[0].effective, data[0].permitted);
	return data[0].effective || data[0].permitted || data[1].permitted ? ESCAPED : HELD;
}

static int cap_bounding(const struct attempt *a)
{
	(void)a;
	return verdict(prctl(PR_CAPBSET_DROP, CAP_BLOCK_SUSPEND, 0, 0, 0));
}

static int cap_ambient(const struct attempt *a)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)a;
	syscall(SYS_capget, &head, data);
	data[0].inheritable |= 1u << CAP_CHOWN;
	syscall(SYS_capset, &head, data);
	return verdict(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
}

static int cap_securebits(const struct attempt *a)
{
	(void)a;
	return verdict(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0));
}

/* A program that would get capabilities by exec as uid 0: what is left of root's magic. */
static int cap_exec(const struct attempt *a)
{
	char *argv[] = { format("%s/attempt", scene("tools")), format("--caps"), NULL };
	int r = run_program(argv[0], argv);

	(void)a;
	note("exit %d", r);
	return r == RAN ? ESCAPED : HELD;
}

static int no_new_privs_off(const struct attempt *a)
{
	(void)a;
	prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
	note("no_new_privs is %d", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? ESCAPED : HELD;
}

/* -- identities -- */

static int id_setuid(const struct attempt *a)
{
	(void)a;
	return verdict(setresuid(1, 1, 1));
}

static int id_setgid(const struct attempt *a)
{
	(void)a;
	return verdict(setresgid(1, 1, 1));
}

static int id_setgroups(const struct attempt *a)
{
	const gid_t groups[] = { 0, 1 };

	(void)a;
	return verdict(setgroups(2, groups));
}

static int id_setfsuid(const struct attempt *a)
{
	(void)a;
	syscall(SYS_setfsuid, 1);
	errno = EPERM;
	return verdict((uid_t)syscall(SYS_setfsuid, -1) == 1 ? 0 : -1);
}

static int id_chown(const struct attempt *a)
{
	make_file(work_file(a), "x");
	return verdict(chown(work_file(a), 1, 1));
}

/* The runner, as root, made these two programs. */
static int id_program(const struct attempt *a)
{
	char *argv[] = { format("%s/%s", scene("tools"), (const char *)a->arg),
		format(!strcmp(a->arg, "setuid") ? "--uid" : "--caps"), NULL };
	struct stat st;
	int r;

	if (!scene_has("privileged-programs")) {
		note("needs root to make such a program");
		return ABSENT;
	}
	if (stat(argv[0], &st) < 0)
		return verdict(-1);
	r = run_program(argv[0], argv);
	note("exit %d", r);
	return r == RAN ? ESCAPED : HELD;
}

static int id_setcap(const struct attempt *a)
{
	/* VFS_CAP_REVISION_2, effective, CAP_CHOWN */
	const uint32_t data[5] = { 0x02000001, 1, 0, 0, 0 };

	make_file(work_file(a), "x");
	return verdict(setxattr(work_file(a), "security.capability", data, sizeof(data), 0));
}

#define FLAGS(x) (&(const struct flags){ x })

static const struct attempt table[] = {
	{ "ns-unshare-user", "default", "", "a user namespace gives all capabilities in it",
		do_unshare, FLAGS(CLONE_NEWUSER) },
	{ "ns-unshare-user-map", "default", "", "in a user namespace one is root", map_root, NULL },
	{ "ns-unshare-user-mount", "default", "", "a user namespace with mounts of its own",
		do_unshare, FLAGS(CLONE_NEWUSER | CLONE_NEWNS) },
	{ "ns-unshare-mount", "default", "SYS_ADMIN", "a mount namespace of its own", do_unshare,
		FLAGS(CLONE_NEWNS) },
	{ "ns-unshare-net", "default", "SYS_ADMIN", "a network namespace of its own", do_unshare,
		FLAGS(CLONE_NEWNET) },
	{ "ns-unshare-pid", "default", "SYS_ADMIN", "a pid namespace of its own", do_unshare,
		FLAGS(CLONE_NEWPID) },
	{ "ns-unshare-ipc", "default", "SYS_ADMIN", "an ipc namespace of its own", do_unshare,
		FLAGS(CLONE_NEWIPC) },
	{ "ns-unshare-uts", "default", "SYS_ADMIN", "a uts namespace of its own", do_unshare,
		FLAGS(CLONE_NEWUTS) },
	{ "ns-unshare-cgroup", "default", "SYS_ADMIN", "a cgroup namespace of its own", do_unshare,
		FLAGS(CLONE_NEWCGROUP) },
	{ "ns-unshare-time", "default", "SYS_ADMIN", "a time namespace of its own", do_unshare,
		FLAGS(0x80) },
	{ "ns-clone-user", "default", "", "clone makes the user namespace", do_clone,
		FLAGS(CLONE_NEWUSER) },
	{ "ns-clone-all", "default", "", "clone makes all of them at once", do_clone,
		FLAGS(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) },
	{ "ns-clone-pid", "default", "SYS_ADMIN", "clone makes a pid namespace", do_clone,
		FLAGS(CLONE_NEWPID) },
	{ "ns-clone3-user", "default", "", "clone3 hides its flags from the filter", do_clone3,
		FLAGS(CLONE_NEWUSER) },
	{ "ns-clone3-mount", "default", "SYS_ADMIN", "clone3 makes a mount namespace", do_clone3,
		FLAGS(CLONE_NEWNS) },
	{ "ns-open-victim", "default", "", "/proc/PID/ns of a process outside can be opened",
		open_ns, "victim" },
	{ "ns-open-keeper", "default", "", "/proc/1/ns can be opened", open_ns, "keeper" },
	{ "ns-join-victim", "default", "SYS_ADMIN", "setns goes to the host's namespaces", join_ns,
		"victim" },
	{ "ns-join-keeper", "default", "SYS_ADMIN", "setns goes to those of pid 1", join_ns,
		"keeper" },
	{ "ns-join-self", "default", "SYS_ADMIN", "setns to one's own gives capabilities back",
		join_ns, "self" },
	{ "ns-join-pidfd", "default", "SYS_ADMIN", "setns by a pidfd of a process outside",
		join_pidfd, "victim" },
	{ "ns-ioctl-parent", "default", "kernel: the first namespace has no parent to hand out",
		"NS_GET_PARENT and NS_GET_USERNS hand out the host's namespaces", ns_ioctl, NULL },
	{ "cap-set", "default", "SYS_ADMIN", "capset takes capabilities back", cap_set, NULL },
	{ "cap-any", "default", "CHOWN", "some capability was left", cap_any, NULL },
	{ "cap-bounding", "default", "SETPCAP", "the bounding set can be changed", cap_bounding,
		NULL },
	{ "cap-ambient", "default", "CHOWN", "an ambient capability survives exec", cap_ambient,
		NULL },
	{ "cap-securebits", "default", "SETPCAP", "root's magic can be switched back on",
		cap_securebits, NULL },
	{ "cap-exec", "default", "CHOWN", "exec as uid 0 gives capabilities back", cap_exec, NULL },
	{ "cap-no-new-privs", "default", "", "no_new_privs can be switched off, or was not on",
		no_new_privs_off, NULL },
	{ "id-setuid", "default", "SETUID", "setuid to another user", id_setuid, NULL },
	{ "id-setgid", "default", "SETGID", "setgid to another group", id_setgid, NULL },
	{ "id-setgroups", "default", "SETGID", "setgroups drops a group that takes rights away",
		id_setgroups, NULL },
	{ "id-setfsuid", "default", "SETUID", "setfsuid changes who opens files", id_setfsuid,
		NULL },
	{ "id-chown", "default", "CHOWN", "a file can be given to another user", id_chown, NULL },
	{ "id-setuid-program", "default", "", "a setuid program lends its owner's rights",
		id_program, "setuid" },
	{ "id-filecap-program", "default", "", "a program with file capabilities lends them",
		id_program, "filecap" },
	{ "id-setcap", "default", "SETFCAP", "capabilities can be given to a file", id_setcap,
		NULL },
};
THEME(namespace, "Namespaces, capabilities, identities", table);
