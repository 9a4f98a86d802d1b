/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces, tried the way a session makes them: as this user, without privileges, each together
 * with a user namespace. To be allowed to make one says little (under Ubuntu's AppArmor rules the
 * namespace is made, and then nothing may be done in it), so each check does in it what it is for.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/loopback.h"
#include "jail/probe/internal.h"
#include "jail/limits/rlimits.h"
#include "jail/userns.h"

int probe_enter(int namespaces, struct probe_answer *a)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return probe_fail(a, errno, "making a user namespace");
	r = userns_map(uid, gid);
	if (r < 0)
		return probe_fail(a, -r, "mapping the user into a new user namespace");
	if (namespaces && unshare(namespaces) < 0)
		return probe_fail(a, errno, "making a namespace in a new user namespace");
	if ((namespaces & CLONE_NEWNS) && mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return probe_fail(a, errno, "cutting a new mount namespace off from the host's");
	return 0;
}

int probe_userns(struct probe_answer *a)
{
	return probe_enter(0, a);
}

/* /proc is a folder that is there wherever users can be mapped. */
static int mount_tmpfs(struct probe_answer *a)
{
	if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") < 0)
		return probe_fail(a, errno, "mounting a tmpfs in a new mount namespace");
	return 0;
}

int probe_mountns(struct probe_answer *a)
{
	int r = probe_enter(CLONE_NEWNS, a);

	return r < 0 ? r : mount_tmpfs(a);
}

int probe_pivot(struct probe_answer *a)
{
	int r = probe_mountns(a);

	if (r < 0)
		return r;
	if (chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return probe_fail(a, errno, "making a tmpfs the root");
	if (umount2(".", MNT_DETACH) < 0)
		return probe_fail(a, errno, "taking the old root away");
	if (access("/proc", F_OK) == 0)
		return probe_fail(a, EEXIST, "looking for the old root");
	return 0;
}

static int in_pidns(struct probe_answer *a)
{
	if (getpid() != 1)
		return probe_fail(a, ESRCH, "being the first process of a pid namespace");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return probe_fail(a, errno, "mounting /proc of a new pid namespace");
	return 0;
}

/* Runs a check as pid 1 of a new pid namespace, in the mount namespace made before. */
static int in_new_pidns(probe_check *check, struct probe_answer *a)
{
	int r = probe_enter(CLONE_NEWNS | CLONE_NEWIPC, a);

	if (r < 0)
		return r;
	r = probe_in_child(CLONE_NEWPID, check, a);
	if (r < 0)
		return probe_fail(a, -r, "making a pid namespace");
	return a->error ? -a->error : 0;
}

int probe_pidns(struct probe_answer *a)
{
	return in_new_pidns(in_pidns, a);
}

static int in_capped(struct probe_answer *a)
{
	int r = in_pidns(a);

	if (r < 0)
		return r;
	auto_fd proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return probe_fail(a, errno, "opening /proc");
	r = rlimits_pid_max(proc, 1);
	return r < 0 ? probe_fail(a, -r, "setting pid_max of a pid namespace") : 0;
}

int probe_pid_max(struct probe_answer *a)
{
	return in_new_pidns(in_capped, a);
}

int probe_netns(struct probe_answer *a)
{
	int r = probe_enter(CLONE_NEWNET, a);

	if (r < 0)
		return r;
	r = loopback_up();
	return r < 0 ? probe_fail(a, -r, "bringing up lo in a new network namespace") : 0;
}

int probe_ipcns(struct probe_answer *a)
{
	return probe_enter(CLONE_NEWIPC, a);
}

int probe_utsns(struct probe_answer *a)
{
	int r = probe_enter(CLONE_NEWUTS, a);

	if (r < 0)
		return r;
	if (sethostname("corral", 6) < 0)
		return probe_fail(a, errno, "setting the host name of a new uts namespace");
	return 0;
}

int probe_cgroupns(struct probe_answer *a)
{
	return probe_enter(CLONE_NEWCGROUP, a);
}

int probe_sealed(struct probe_answer *a)
{
	int r = probe_enter(0, a);

	if (r < 0)
		return r;
	r = userns_seal();
	if (r < 0)
		return probe_fail(a, -r, "setting max_user_namespaces of a user namespace to 0");
	if (unshare(CLONE_NEWUSER) == 0)
		return probe_fail(a, EEXIST, "being refused another user namespace");
	return 0;
}

int probe_devpts(struct probe_answer *a)
{
	int r = probe_enter(CLONE_NEWNS, a);

	if (r < 0)
		return r;
	if (mount("devpts", "/proc", "devpts", MS_NOSUID | MS_NOEXEC,
		    "newinstance,ptmxmode=0666,mode=0620") < 0)
		return probe_fail(a, errno, "mounting a devpts of its own");
	auto_fd master = open("/proc/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return probe_fail(a, errno, "opening a terminal in a devpts of its own");
	return 0;
}
