/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about something that failed. Settings are read here and nowhere else: they do not
 * decide whether something works, only which sentence helps a person whose check has just failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/probe/internal.h"

/* The first byte of a setting; 0 if it is not there, '?' if it is, but not for us to read. */
static char setting(const char *path)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? '?' : 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

static bool by_apparmor(int error)
{
	char c = setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");

	return (error == EPERM || error == EACCES) && geteuid() != 0 && (c == '?' || c == '1');
}

static bool by_debian(int error)
{
	return error == EPERM && geteuid() != 0 &&
	       setting("/proc/sys/kernel/unprivileged_userns_clone") == '0';
}

static bool by_number(int error)
{
	return error == ENOSPC || error == EUSERS;
}

static bool by_zero(int error)
{
	return by_number(error) && setting("/proc/sys/user/max_user_namespaces") == '0';
}

static bool by_filter(int error)
{
	return (error == EPERM || error == EACCES || error == ENOSYS) &&
	       prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

static bool by_permission(int error)
{
	return error == EPERM || error == EACCES;
}

static bool by_absence(int error)
{
	return error == ENOSYS || error == EINVAL || error == ENOTTY || error == ENODEV;
}

static bool by_boot(int error)
{
	return error == EOPNOTSUPP;
}

static bool always(int error)
{
	return error != 0;
}

static const struct {
	const char *name; /* NULL: whatever it is */
	bool (*when)(int error);
	const char *text;
} rows[] = {
	{ NULL, by_apparmor,
		"AppArmor lets only named programs use user namespaces here: install Corral's "
		"profiles (make install; then apparmor_parser -r /etc/apparmor.d/corral*), or, "
		"for all programs: sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
	{ NULL, by_debian,
		"user namespaces are off for ordinary users here: sysctl "
		"kernel.unprivileged_userns_clone=1" },
	{ NULL, by_zero,
		"the number of user namespaces is limited to 0 here: sysctl "
		"user.max_user_namespaces=15000 (inside another sandbox that is meant so: run "
		"corral outside)" },
	{ NULL, by_number,
		"there are too many namespaces already (see user.max_*_namespaces), or they are "
		"nested more than 32 deep" },
	{ PROBE_PIDNS, by_permission,
		"inside a container that hides parts of /proc, no new /proc may be mounted: for "
		"Docker, --security-opt systempaths=unconfined" },
	{ NULL, by_filter,
		"a seccomp filter is in force, and may forbid it. Inside another sandbox, Corral's "
		"own too, that is meant so: run corral outside. Docker's default profile does it: "
		"--security-opt seccomp=FILE, with a profile that permits unshare, clone, mount, "
		"pivot_root and the Landlock calls" },
	{ PROBE_USERNS, by_absence, "the kernel needs CONFIG_USER_NS" },
	{ PROBE_USERNS, by_permission,
		"who may make user namespaces is limited here: by a security module, or for a "
		"process in a chroot" },
	{ PROBE_MOUNT_CALLS, by_absence, "Linux 5.12 or newer is needed" },
	{ PROBE_OPENAT2, by_absence, "Linux 5.6 or newer is needed" },
	{ PROBE_PIDFD, by_absence, "Linux 5.4 or newer is needed" },
	{ PROBE_GETFD, by_absence, "Linux 5.6 or newer is needed" },
	{ PROBE_LANDLOCK, by_boot,
		"Landlock is in the kernel but was not turned on: add landlock to the list of "
		"lsm= in the kernel's command line" },
	{ PROBE_LANDLOCK, by_absence,
		"Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK is needed" },
	{ PROBE_SECCOMP, by_absence, "the kernel needs CONFIG_SECCOMP_FILTER" },
	{ PROBE_NOTIFY, by_absence, "Linux 5.0 or newer is needed" },
	{ PROBE_MEMFD, by_absence,
		"Linux 6.3 or newer is needed; before that, memfds are refused altogether where "
		"programs are listed" },
	{ PROBE_PID_MAX, always,
		"Linux 6.14 or newer is needed; before that, limits of processes hold root only "
		"by polling, unless there is a cgroup" },
	{ PROBE_NFT, always,
		"the kernel needs nf_tables with CONFIG_NF_TABLES_INET, CONFIG_NFT_NAT, "
		"CONFIG_NFT_REDIR and CONFIG_NFT_CT, loaded: modprobe -a nft_chain_nat nft_redir "
		"nft_ct" },
	{ PROBE_TPROXY, always, "the kernel needs CONFIG_NFT_TPROXY, loaded: modprobe nft_tproxy" },
	{ PROBE_DEVPTS, by_absence, "the kernel needs CONFIG_UNIX98_PTYS" },
};

const char *probe_hint(const char *name, int error)
{
	for (size_t i = 0; i < ROWS(rows); i++) {
		if ((!rows[i].name || strcmp(rows[i].name, name) == 0) && rows[i].when(error))
			return rows[i].text;
	}
	return "";
}
