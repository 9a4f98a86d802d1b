/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child in which a check runs, what its answer means, and a table of tiers.
 *
 * Children are made by clone() without an exit signal: they raise no SIGCHLD, a caller's wait()
 * does not see them, and they can be waited for (__WALL) even where SIGCHLD is ignored. They die
 * with the thread that made them, and by their own alarm when something hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/limits/cgroup.h"
#include "jail/probe/internal.h"
#include "jail/writes.h"

enum { ALARM_SECONDS = 30 };

static const struct tier_row {
	const char *name, *needs, *holds;
	bool implemented, by_name;
	int landlock;         /* which version it needs */
	const char *names[6]; /* of checks; none: all that are required */
} tiers[PROBE_TIERS] = {
	{ "1", "working user namespaces", "everything", true, false, 1, { NULL } },
	{ "2", "Landlock, seccomp notification and pidfd_getfd",
		"files and hosts; no masks, no processes of its own", false, false, 1,
		{ PROBE_NNP, PROBE_LANDLOCK, PROBE_SECCOMP, PROBE_NOTIFY, PROBE_GETFD } },
	{ "2b", "Landlock and seccomp notification (Docker's default profile)",
		"the same as 2, with sockets made from outside", false, false, 1,
		{ PROBE_NNP, PROBE_LANDLOCK, PROBE_SECCOMP, PROBE_NOTIFY } },
	{ "3", "Landlock from version 3 on",
		"where an agent writes: --mode sandbox or rx with --tier 3; nothing else", true,
		true, WRITES_LANDLOCK_MIN, { PROBE_NNP, PROBE_LANDLOCK, PROBE_SECCOMP } },
	{ "4", "seccomp filters", "no network; no policy about files", false, false, 0,
		{ PROBE_NNP, PROBE_SECCOMP } },
};

int probe_fail(struct probe_answer *a, int error, const char *step)
{
	a->error = error ? error : EIO;
	(void)snprintf(a->detail, sizeof(a->detail), "%s", step);
	return -a->error;
}

/* Enters the namespaces; the check then runs here, or as the first process of a pid namespace. */
static int probe_be_inside(int namespaces, probe_try *try, struct probe_answer *a)
{
	int r = namespaces == PROBE_AS_IS ? 0 : probe_enter(namespaces, a);

	if (r < 0 || !try)
		return r;
	if (namespaces == PROBE_AS_IS || !(namespaces & CLONE_NEWPID))
		return try(a);
	r = probe_in_child(CLONE_NEWPID, PROBE_AS_IS, try, a);
	return r < 0 ? probe_fail(a, -r, "making a pid namespace") : -a->error;
}

static _Noreturn void probe_be_child(int out, int namespaces, probe_try *try)
{
	struct probe_answer a = { 0 };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)alarm(ALARM_SECONDS);
	if (probe_be_inside(namespaces, try, &a) == 0)
		a.error = 0;
	_exit(write(out, &a, sizeof(a)) == sizeof(a) ? 0 : 1);
}

int probe_in_child(unsigned long flags, int namespaces, probe_try *try, struct probe_answer *a)
{
	int ends[2], status = 0;
	long pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	auto_fd in = ends[0], out = ends[1];
	pid = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		probe_be_child(out, namespaces, try);
	while (waitpid((pid_t)pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	/* The child is dead: its answer is in the pipe, or never comes. */
	if (read(in, a, sizeof(*a)) == sizeof(*a)) {
		a->detail[sizeof(a->detail) - 1] = '\0';
		return 0;
	}
	*a = (struct probe_answer){ 0 };
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		(void)probe_fail(a, ETIMEDOUT, "waiting for it");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		(void)probe_fail(a, EPERM, "surviving a seccomp filter");
	else
		(void)probe_fail(a, EIO, "trying it: the process died");
	return 0;
}

/*
 * What to do about something that failed. Settings are read here and nowhere else: they do not
 * decide whether something works, only which sentence helps a person whose check has just failed.
 */

/* The first byte of a setting; 0 if it is not there, '?' if it is, but not for us to read. */
static char probe_setting(const char *path)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? '?' : 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

static bool probe_by_apparmor(void)
{
	char c = probe_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");

	return geteuid() != 0 && (c == '?' || c == '1');
}

static bool probe_by_debian(void)
{
	return geteuid() != 0 && probe_setting("/proc/sys/kernel/unprivileged_userns_clone") == '0';
}

static bool probe_by_zero(void)
{
	return probe_setting("/proc/sys/user/max_user_namespaces") == '0';
}

static bool probe_by_filter(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

/* clang-format off */
#define DENIED { EPERM, EACCES }
#define ABSENT { ENOSYS, EINVAL, ENOTTY, ENODEV }
#define TOO_MANY { ENOSPC, EUSERS }
#define ANY { 0 }
/* clang-format on */

static const struct {
	const char *name; /* NULL: whatever it is */
	int errors[4];    /* none: any */
	bool (*when)(void);
	const char *text;
} hints[] = {
	{ PROBE_DEVICES, ANY, NULL,
		"a device that everybody may read and write is missing, or is no device. For "
		"/dev/null, as root: rm -f /dev/null; mknod -m 666 /dev/null c 1 3 (zero is 1 5, "
		"full 1 7, random 1 8, urandom 1 9)" },
	{ NULL, DENIED, probe_by_apparmor,
		"AppArmor lets only named programs use user namespaces here. Install Corral with "
		"its profiles, which must be in /etc/apparmor.d (from a prefix of your own: cp "
		"PREFIX/etc/apparmor.d/corral* /etc/apparmor.d), then: apparmor_parser -r "
		"/etc/apparmor.d/corral*. Or, for all programs: sysctl "
		"kernel.apparmor_restrict_unprivileged_userns=0" },
	{ NULL, { EPERM }, probe_by_debian,
		"user namespaces are off for ordinary users here: sysctl "
		"kernel.unprivileged_userns_clone=1" },
	{ NULL, TOO_MANY, probe_by_zero,
		"the number of user namespaces is limited to 0: sysctl "
		"user.max_user_namespaces=15000 (inside another sandbox this is intended: run "
		"corral outside)" },
	{ NULL, TOO_MANY, NULL,
		"there are too many namespaces already (see user.max_*_namespaces), or they are "
		"nested more than 32 deep" },
	{ PROBE_PIDNS, DENIED, NULL,
		"inside a container that hides parts of /proc, no new /proc may be mounted: for "
		"Docker, --security-opt systempaths=unconfined" },
	{ NULL, { EPERM, EACCES, ENOSYS }, probe_by_filter,
		"a seccomp filter is active and may deny it. Inside another sandbox, also "
		"Corral's own, this is intended: run corral outside. Docker's default profile "
		"does this: use --security-opt seccomp=FILE with a profile that permits unshare, "
		"clone, mount, pivot_root and the Landlock calls" },
	{ PROBE_USERNS, ABSENT, NULL, "the kernel needs CONFIG_USER_NS" },
	{ PROBE_USERNS, DENIED, NULL,
		"user namespaces are restricted by a security module, or because the process is "
		"in a chroot" },
	{ PROBE_MOUNT_CALLS, ABSENT, NULL, "Linux 5.12 or newer is needed" },
	{ PROBE_OPENAT2, ABSENT, NULL, "Linux 5.6 or newer is needed" },
	{ PROBE_PIDFD, ABSENT, NULL, "Linux 5.4 or newer is needed" },
	{ PROBE_GETFD, ABSENT, NULL, "Linux 5.6 or newer is needed" },
	{ PROBE_LANDLOCK, { EOPNOTSUPP }, NULL,
		"Landlock is in the kernel but was not turned on: add landlock to the list of "
		"lsm= in the kernel's command line" },
	{ PROBE_LANDLOCK, ABSENT, NULL,
		"Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK is needed" },
	{ PROBE_SECCOMP, ABSENT, NULL, "the kernel needs CONFIG_SECCOMP_FILTER" },
	{ PROBE_NOTIFY, ABSENT, NULL, "Linux 5.0 or newer is needed" },
	{ PROBE_MEMFD, ABSENT, NULL,
		"Linux 6.3 or newer is needed; before that, memfds are refused altogether where "
		"programs are listed" },
	{ PROBE_PID_MAX, ANY, NULL,
		"Linux 6.14 or newer is needed; before that, process limits for root are "
		"enforced by polling unless there is a cgroup" },
	{ PROBE_NFT, ANY, NULL,
		"the kernel needs nf_tables with CONFIG_NF_TABLES_INET, CONFIG_NFT_NAT, "
		"CONFIG_NFT_REDIR and CONFIG_NFT_CT, loaded: modprobe -a nft_chain_nat nft_redir "
		"nft_ct" },
	{ PROBE_TPROXY, ANY, NULL,
		"the kernel needs CONFIG_NFT_TPROXY, loaded: modprobe nft_tproxy" },
	{ PROBE_DEVPTS, ABSENT, NULL, "the kernel needs CONFIG_UNIX98_PTYS" },
};

const char *probe_hint(const char *name, int error)
{
	for (size_t i = 0; i < ROWS(hints); i++) {
		bool fits = hints[i].errors[0] == 0;

		for (size_t k = 0; k < ROWS(hints[i].errors); k++)
			fits = fits || hints[i].errors[k] == error;
		if (fits && (!hints[i].name || strcmp(hints[i].name, name) == 0) &&
			(!hints[i].when || hints[i].when()))
			return hints[i].text;
	}
	return "";
}

static int probe_run_check(const struct probe_check *c, struct probe_finding *f)
{
	struct probe_answer a = { 0 };
	struct error why = { 0 };
	int r;

	*f = (struct probe_finding){
		.name = c->name, .needed_for = c->needed_for, .weight = c->weight
	};
	if (c->namespaces == PROBE_OURSELF) {
		f->error = -cgroup_probe(&why);
		f->held = f->error == 0;
		(void)snprintf(f->detail, sizeof(f->detail), "%.159s", f->held ? "" : why.text);
		(void)snprintf(f->hint, sizeof(f->hint), "%s", f->held ? "" : why.hint);
		return 0;
	}
	r = probe_in_child(0, c->namespaces, c->try, &a);
	if (r < 0)
		return r;
	f->held = a.error == 0;
	f->error = a.error;
	if (f->held) {
		(void)snprintf(f->detail, sizeof(f->detail), "%s", a.detail);
		return 0;
	}
	(void)snprintf(f->detail, sizeof(f->detail), "%.100s: %.50s", a.detail,
		a.error == EEXIST ? "it was not" : strerror(a.error));
	(void)snprintf(f->hint, sizeof(f->hint), "%s", probe_hint(f->name, a.error));
	return 0;
}

static void probe_judge_tier(
	const struct tier_row *t, const struct probe_result *r, struct probe_tier *ret)
{
	size_t len = 0;

	*ret = (struct probe_tier){ .name = t->name,
		.needs = t->needs,
		.holds = t->holds,
		.implemented = t->implemented,
		.by_name = t->by_name,
		.possible = true };
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct probe_finding *f = &r->findings[i];
		bool needed = !t->names[0] && f->weight == PROBE_REQUIRED, held = f->held;

		for (size_t k = 0; k < ROWS(t->names) && t->names[k]; k++)
			needed = needed || strcmp(t->names[k], f->name) == 0;
		if (needed && strcmp(f->name, PROBE_LANDLOCK) == 0)
			held = held && r->landlock_abi >= t->landlock;
		if (held || !needed)
			continue;
		ret->possible = false;
		if (len < sizeof(ret->missing))
			len += (size_t)snprintf(ret->missing + len, sizeof(ret->missing) - len,
				"%s%s", len ? ", " : "", f->name);
	}
}

int probe_run(struct probe_result *ret)
{
	struct probe_result p = { 0 };
	int abi = landlock_version();
	struct utsname u;

	for (size_t i = 0; i < probe_n_checks; i++) {
		int r = probe_run_check(&probe_checks[i], &p.findings[i]);

		if (r < 0)
			return r;
		p.n_findings++;
	}
	p.landlock_abi = abi < 0 ? 0 : abi;
	for (size_t i = 0; i < PROBE_TIERS; i++)
		probe_judge_tier(&tiers[i], &p, &p.tiers[i]);
	if (uname(&u) == 0)
		(void)snprintf(p.kernel, sizeof(p.kernel), "%.40s %.60s %.20s", u.sysname,
			u.release, u.machine);
	probe_landlock_rights(p.landlock_abi, p.landlock_rights, sizeof(p.landlock_rights));
	*ret = p;
	return 0;
}

const struct probe_tier *probe_best(const struct probe_result *r)
{
	for (size_t i = 0; i < PROBE_TIERS; i++) {
		if (r->tiers[i].possible && r->tiers[i].implemented && !r->tiers[i].by_name)
			return &r->tiers[i];
	}
	return NULL;
}

const struct probe_finding *probe_find(const struct probe_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_findings; i++) {
		if (strcmp(r->findings[i].name, name) == 0)
			return &r->findings[i];
	}
	return NULL;
}

int probe_tier1(struct error *e)
{
	for (size_t i = 0; i < probe_n_checks; i++) {
		struct probe_finding f;
		int r;

		if (probe_checks[i].weight != PROBE_REQUIRED)
			continue;
		r = probe_run_check(&probe_checks[i], &f);
		if (r < 0)
			return error_set(e, r, NULL, "cannot check this kernel: %s", strerror(-r));
		if (f.held)
			continue;
		(void)error_set(e, -EOPNOTSUPP, NULL,
			"this system does not let Corral use %s, needed for %s (%s)", f.name,
			f.needed_for, f.detail);
		error_hint(e, "%s", f.hint);
		return -EOPNOTSUPP;
	}
	return 0;
}
