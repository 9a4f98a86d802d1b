/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of checks, a table of tiers, and the child in which a check runs.
 *
 * Children are made by clone() without an exit signal: they raise no SIGCHLD, a caller's wait()
 * does not see them, and they can be waited for (__WALL) even where SIGCHLD is ignored. They die
 * with the thread that made them, and by their own alarm when something hangs.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "jail/limits/cgroup.h"
#include "jail/probe/internal.h"
#include "jail/probe/probe.h"

enum { ALARM_SECONDS = 5 };

/* Sorted so that the first thing missing is the cause of what is missing after it. */
static const struct check {
	const char *name, *needed_for;
	enum probe_weight weight;
	probe_check *check; /* NULL: cgroups, which are tried by the caller's own process */
} checks[] = {
	{ PROBE_USERNS, "every other namespace, without root", PROBE_REQUIRED, probe_userns },
	{ PROBE_MOUNTNS, "a file tree with only what was granted", PROBE_REQUIRED, probe_mountns },
	{ PROBE_MOUNT_CALLS, "grants that are never writable for a moment", PROBE_REQUIRED,
		probe_mount_calls },
	{ PROBE_PIVOT, "leaving the host's file tree behind", PROBE_REQUIRED, probe_pivot },
	{ PROBE_PIDNS, "hiding other processes, and ending a command as a whole", PROBE_REQUIRED,
		probe_pidns },
	{ PROBE_NETNS, "a network with no way out", PROBE_REQUIRED, probe_netns },
	{ PROBE_IPCNS, "keeping System V and POSIX queues apart", PROBE_REQUIRED, probe_ipcns },
	{ PROBE_UTSNS, "a host name of its own", PROBE_REQUIRED, probe_utsns },
	{ PROBE_SEALED, "commands that cannot become root of anything", PROBE_REQUIRED,
		probe_sealed },
	{ PROBE_DEVPTS, "terminals that are not the host's", PROBE_REQUIRED, probe_devpts },
	{ PROBE_NNP, "set-user-id programs without their power", PROBE_REQUIRED,
		probe_no_new_privs },
	{ PROBE_LANDLOCK, "a second wall behind the mounts, and lists of programs", PROBE_REQUIRED,
		probe_landlock },
	{ PROBE_SECCOMP, "a list of allowed system calls", PROBE_REQUIRED, probe_seccomp },
	{ PROBE_PIDFD, "watching and ending processes without mixing them up", PROBE_REQUIRED,
		probe_pidfd },
	{ PROBE_OPENAT2, "opening paths without following links", PROBE_REQUIRED, probe_openat2 },
	{ PROBE_CGROUP, "limits of memory and processes that the kernel holds for a whole command",
		PROBE_USEFUL, NULL },
	{ PROBE_PID_MAX, "limits of processes when run by root, without a cgroup", PROBE_USEFUL,
		probe_pid_max },
	{ PROBE_MEMFD, "memfds for commands whose programs are listed", PROBE_USEFUL, probe_memfd },
	{ PROBE_NFT,
		"all grants of hosts; without it only names and addresses with their ports: no *, "
		"no "
		"prefixes, no UDP, nothing of the host's loopback, no name servers but the "
		"sandbox's, and no word of connections to ports that are not granted",
		PROBE_USEFUL, probe_nft },
	{ PROBE_TPROXY, "UDP to single hosts", PROBE_USEFUL, probe_tproxy },
	{ PROBE_CGROUPNS, "hiding the names of the host's cgroups", PROBE_LATER, probe_cgroupns },
	{ PROBE_NOTIFY, "--explain: telling which files a command was refused (and tier 2)",
		PROBE_USEFUL, probe_notify },
	{ PROBE_GETFD, "tier 2", PROBE_LATER, probe_getfd },
};

_Static_assert(ROWS(checks) <= PROBE_FINDINGS_MAX, "more checks than findings");

static const struct tier {
	const char *name, *needs, *holds;
	bool implemented;
	const char *names[6]; /* of checks; none: all that are required */
} tiers[PROBE_TIERS] = {
	{ "1", "user namespaces that really work", "everything", true, { NULL } },
	{ "2", "Landlock, seccomp notification and pidfd_getfd",
		"files and hosts; no masks, no processes of its own", false,
		{ PROBE_NNP, PROBE_LANDLOCK, PROBE_SECCOMP, PROBE_NOTIFY, PROBE_GETFD } },
	{ "2b", "Landlock and seccomp notification (Docker's default profile)",
		"the same as 2, with sockets made from outside", false,
		{ PROBE_NNP, PROBE_LANDLOCK, PROBE_SECCOMP, PROBE_NOTIFY } },
	{ "3", "Landlock", "files, TCP ports, signals and abstract sockets", false,
		{ PROBE_NNP, PROBE_LANDLOCK } },
	{ "4", "seccomp filters", "no network; no policy about files", false,
		{ PROBE_NNP, PROBE_SECCOMP } },
};

int probe_fail(struct probe_answer *a, int error, const char *step)
{
	a->error = error ? error : EIO;
	(void)snprintf(a->detail, sizeof(a->detail), "%s", step);
	return -a->error;
}

static _Noreturn void be_child(int out, probe_check *check)
{
	struct probe_answer a = { 0 };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)alarm(ALARM_SECONDS);
	if (check(&a) == 0)
		a.error = 0;
	_exit(write(out, &a, sizeof(a)) == sizeof(a) ? 0 : 1);
}

/* The child is dead: its answer is in the pipe, or never comes. */
static void hear_child(int in, int status, struct probe_answer *a)
{
	if (read(in, a, sizeof(*a)) == sizeof(*a)) {
		a->detail[sizeof(a->detail) - 1] = '\0';
		return;
	}
	*a = (struct probe_answer){ 0 };
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		(void)probe_fail(a, ETIMEDOUT, "waiting for it");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		(void)probe_fail(a, EPERM, "surviving a seccomp filter");
	else
		(void)probe_fail(a, EIO, "trying it: the process died");
}

int probe_in_child(unsigned long flags, probe_check *check, struct probe_answer *a)
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
		be_child(out, check);
	while (waitpid((pid_t)pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	hear_child(in, status, a);
	return 0;
}

static void try_cgroup(struct probe_finding *f)
{
	struct error why = { 0 };
	int r = cgroup_probe(&why);

	f->held = r == 0;
	f->error = -r;
	if (r < 0) {
		(void)snprintf(f->detail, sizeof(f->detail), "%.159s", why.text);
		(void)snprintf(f->hint, sizeof(f->hint), "%s", why.hint);
	}
}

static void probe_conclude(struct probe_finding *f, const struct probe_answer *a)
{
	f->held = a->error == 0;
	f->error = a->error;
	if (f->held) {
		(void)snprintf(f->detail, sizeof(f->detail), "%s", a->detail);
		return;
	}
	(void)snprintf(f->detail, sizeof(f->detail), "%.100s: %.50s", a->detail,
		a->error == EEXIST ? "it was not" : strerror(a->error));
	(void)snprintf(f->hint, sizeof(f->hint), "%s", probe_hint(f->name, a->error));
}

static int probe_run_check(const struct check *c, struct probe_finding *f)
{
	struct probe_answer a = { 0 };
	int r;

	*f = (struct probe_finding){
		.name = c->name, .needed_for = c->needed_for, .weight = c->weight
	};
	if (!c->check) {
		try_cgroup(f);
		return 0;
	}
	r = probe_in_child(0, c->check, &a);
	if (r == 0)
		probe_conclude(f, &a);
	return r;
}

static bool tier_needs(const struct tier *t, const struct probe_finding *f)
{
	if (!t->names[0])
		return f->weight == PROBE_REQUIRED;
	for (size_t i = 0; i < ROWS(t->names) && t->names[i]; i++) {
		if (strcmp(t->names[i], f->name) == 0)
			return true;
	}
	return false;
}

static void judge_tier(const struct tier *t, const struct probe_result *r, struct probe_tier *ret)
{
	size_t len = 0;

	*ret = (struct probe_tier){ .name = t->name,
		.needs = t->needs,
		.holds = t->holds,
		.implemented = t->implemented,
		.possible = true };
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct probe_finding *f = &r->findings[i];

		if (f->held || !tier_needs(t, f))
			continue;
		ret->possible = false;
		if (len < sizeof(ret->missing))
			len += (size_t)snprintf(ret->missing + len, sizeof(ret->missing) - len,
				"%s%s", len ? ", " : "", f->name);
	}
}

static void name_kernel(char *text, size_t size)
{
	struct utsname u;

	text[0] = '\0';
	if (uname(&u) == 0)
		(void)snprintf(text, size, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
}

int probe_run(struct probe_result *ret)
{
	struct probe_result p = { 0 };

	for (size_t i = 0; i < ROWS(checks); i++) {
		int r = probe_run_check(&checks[i], &p.findings[i]);

		if (r < 0)
			return r;
		p.n_findings++;
	}
	for (size_t i = 0; i < PROBE_TIERS; i++)
		judge_tier(&tiers[i], &p, &p.tiers[i]);
	name_kernel(p.kernel, sizeof(p.kernel));
	p.landlock_abi = probe_landlock_abi();
	probe_landlock_rights(p.landlock_abi, p.landlock_rights, sizeof(p.landlock_rights));
	*ret = p;
	return 0;
}

const struct probe_tier *probe_best(const struct probe_result *r)
{
	for (size_t i = 0; i < PROBE_TIERS; i++) {
		if (r->tiers[i].possible && r->tiers[i].implemented)
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
	for (size_t i = 0; i < ROWS(checks); i++) {
		struct probe_finding f;
		int r;

		if (checks[i].weight != PROBE_REQUIRED)
			continue;
		r = probe_run_check(&checks[i], &f);
		if (r < 0)
			return error_set(
				e, r, NULL, "this kernel cannot be probed: %s", strerror(-r));
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
