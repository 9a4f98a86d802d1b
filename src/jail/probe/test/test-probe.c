/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe, as the system is, and under restrictions that the test makes itself: a filter that
 * refuses namespaces or Landlock, a user namespace in which no others may be made. In each the
 * probe must name what is missing, and nothing else; and it must leave nothing behind.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "jail/probe/internal.h"
#include "jail/probe/probe.h"
#include "jail/userns.h"
#include "test/fds.h"

#define NEED(x)                                                                 \
	do {                                                                    \
		if (!(x)) {                                                     \
			(void)fprintf(stderr, "# line %d: %s\n", __LINE__, #x); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

/* Runs in a child, so that a restriction ends with it. */
static void run(void (*child)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void install(const struct sock_filter *code, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = (void *)code };

	NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

/* All calls from first to last do `action`. */
static void forbid(unsigned first, unsigned last, uint32_t action)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, ROWS(code));
}

static const struct probe_finding *find(const struct probe_result *r, const char *name)
{
	const struct probe_finding *f = probe_find(r, name);

	NEED(f);
	return f;
}

/* Is exactly this list of things missing, of those that are required? */
static void only_missing(const struct probe_result *r, const char *const *names, size_t n)
{
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct probe_finding *f = &r->findings[i];
		bool expected = false;

		for (size_t k = 0; k < n; k++)
			expected |= strcmp(names[k], f->name) == 0;
		if (f->weight == PROBE_REQUIRED && f->held == expected) {
			(void)fprintf(stderr, "# %s: %s\n", f->name, f->detail);
			_exit(1);
		}
	}
}

static void test_as_it_is(void **state)
{
	struct probe_result r;

	(void)state;
	assert_int_equal(probe_run(&r), 0);
	assert_true(r.n_findings > 20);
	for (size_t i = 0; i < r.n_findings; i++) {
		const struct probe_finding *f = &r.findings[i];

		if (f->weight == PROBE_REQUIRED && !f->held)
			fail_msg("%s: %s", f->name, f->detail);
		assert_true(f->held == (f->error == 0));
		assert_true(f->needed_for[0] != '\0');
		assert_true(f->held || f->detail[0] != '\0');
		assert_ptr_equal(probe_find(&r, f->name), f);
	}
	assert_non_null(probe_best(&r));
	assert_string_equal(probe_best(&r)->name, "1");
	assert_true(r.tiers[0].possible);
	assert_true(r.landlock_abi > 0);
	assert_non_null(strstr(r.landlock_rights, "execute"));
	assert_null(probe_find(&r, "no such thing"));
}

static void test_tier1_is_there(void **state)
{
	struct error e = { .text = "untouched" };

	(void)state;
	assert_int_equal(probe_tier1(&e), 0);
	assert_string_equal(e.text, "untouched");
	assert_int_equal(probe_tier1(NULL), 0);
}

/* Docker's default profile and others: unshare and clone with CLONE_NEWUSER are EPERM. */
static void no_userns(void)
{
	static const char *const missing[] = { PROBE_USERNS, PROBE_MOUNTNS, PROBE_MOUNT_CALLS,
		PROBE_PIVOT, PROBE_PIDNS, PROBE_NETNS, PROBE_IPCNS, PROBE_UTSNS, PROBE_SEALED,
		PROBE_DEVPTS };
	struct probe_result r = { 0 };
	struct error e = { 0 };

	forbid(SYS_unshare, SYS_unshare, SECCOMP_RET_ERRNO | EPERM);
	NEED(probe_run(&r) == 0);
	only_missing(&r, missing, ROWS(missing));
	NEED(!probe_best(&r));
	NEED(!r.tiers[0].possible && strstr(r.tiers[0].missing, PROBE_USERNS));
	NEED(r.tiers[1].possible && !r.tiers[1].implemented);
	NEED(r.tiers[4].possible);
	NEED(find(&r, PROBE_USERNS)->error == EPERM);
	NEED(strstr(find(&r, PROBE_USERNS)->hint, "seccomp") || geteuid() != 0);
	NEED(probe_tier1(&e) == -EOPNOTSUPP);
	NEED(strstr(e.text, PROBE_USERNS) && e.hint[0]);
}

static void test_no_userns(void **state)
{
	(void)state;
	run(no_userns);
}

/* Inside another sandbox. */
static void sealed(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	struct probe_result r = { 0 };
	struct error e = { 0 };

	NEED(unshare(CLONE_NEWUSER) == 0);
	NEED(userns_map(uid, gid) == 0 && userns_seal() == 0);
	NEED(probe_run(&r) == 0);
	NEED(!find(&r, PROBE_USERNS)->held && find(&r, PROBE_USERNS)->error == ENOSPC);
	NEED(strstr(find(&r, PROBE_USERNS)->hint, "max_user_namespaces"));
	NEED(find(&r, PROBE_LANDLOCK)->held && !probe_best(&r));
	NEED(probe_tier1(&e) == -EOPNOTSUPP && strstr(e.hint, "max_user_namespaces"));
}

static void test_sealed(void **state)
{
	(void)state;
	run(sealed);
}

static void no_landlock(void)
{
	static const char *const missing[] = { PROBE_LANDLOCK };
	struct probe_result r = { 0 };
	struct error e = { 0 };

	forbid(SYS_landlock_create_ruleset, SYS_landlock_restrict_self, SECCOMP_RET_ERRNO | ENOSYS);
	NEED(probe_run(&r) == 0);
	only_missing(&r, missing, ROWS(missing));
	NEED(r.landlock_abi == 0 && r.landlock_rights[0] == '\0');
	NEED(!r.tiers[0].possible && strcmp(r.tiers[0].missing, PROBE_LANDLOCK) == 0);
	NEED(!r.tiers[3].possible && r.tiers[4].possible);
	NEED(probe_tier1(&e) == -EOPNOTSUPP && strstr(e.text, PROBE_LANDLOCK));
}

static void test_no_landlock(void **state)
{
	(void)state;
	run(no_landlock);
}

/* A Landlock that accepts everything and does nothing is no Landlock. */
static void hollow_landlock(void)
{
	struct probe_result r = { 0 };

	forbid(SYS_landlock_restrict_self, SYS_landlock_restrict_self, SECCOMP_RET_ERRNO | 0);
	NEED(probe_run(&r) == 0);
	NEED(!find(&r, PROBE_LANDLOCK)->held && !probe_best(&r));
}

static void test_hollow_landlock(void **state)
{
	(void)state;
	run(hollow_landlock);
}

/* The namespace is made, but nothing may be done in it: AppArmor on Ubuntu 24.04. */
static void no_mounts(void)
{
	struct probe_result r = { 0 };

	forbid(SYS_mount, SYS_mount, SECCOMP_RET_ERRNO | EACCES);
	NEED(probe_run(&r) == 0);
	NEED(find(&r, PROBE_USERNS)->held);
	NEED(!find(&r, PROBE_MOUNTNS)->held && find(&r, PROBE_MOUNTNS)->error == EACCES);
	NEED(!find(&r, PROBE_PIDNS)->held && !probe_best(&r));
}

static void test_no_mounts(void **state)
{
	(void)state;
	run(no_mounts);
}

/* A filter that kills instead of refusing. */
static void killed(void)
{
	struct probe_result r = { 0 };

	forbid(SYS_openat2, SYS_openat2, SECCOMP_RET_KILL_PROCESS);
	NEED(probe_run(&r) == 0);
	NEED(!find(&r, PROBE_OPENAT2)->held && find(&r, PROBE_OPENAT2)->error == EPERM);
	NEED(find(&r, PROBE_PIDFD)->held && !probe_best(&r));
}

static void test_killed(void **state)
{
	(void)state;
	run(killed);
}

/* Whatever the caller did with SIGCHLD and SIGALRM. */
static void odd_signals(void)
{
	struct probe_result r = { 0 };
	sigset_t all;

	NEED(signal(SIGCHLD, SIG_IGN) != SIG_ERR && signal(SIGALRM, SIG_IGN) != SIG_ERR);
	NEED(sigfillset(&all) == 0 && sigprocmask(SIG_SETMASK, &all, NULL) == 0);
	NEED(probe_run(&r) == 0 && probe_best(&r));
}

static void test_odd_signals(void **state)
{
	(void)state;
	run(odd_signals);
}

static unsigned chld;

static void count_chld(int signal)
{
	(void)signal;
	chld++;
}

/* No descriptor, no process, no namespace, no filter, no SIGCHLD. */
static void leaves_nothing(void)
{
	static const char *const names[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
	char before[ROWS(names)][64] = { 0 }, after[64];
	struct probe_result r = { 0 };
	size_t fds = count_fds();
	int nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

	NEED(signal(SIGCHLD, count_chld) != SIG_ERR);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ROWS(names); i++) {
			char path[32];

			(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
			memset(after, 0, sizeof(after));
			NEED(readlink(path, round ? after : before[i], 63) > 0);
			NEED(!round || strcmp(before[i], after) == 0);
		}
		if (round == 0)
			NEED(probe_run(&r) == 0);
	}
	NEED(count_fds() == fds);
	NEED(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
	NEED(chld == 0);
	NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == nnp);
}

static void test_leaves_nothing(void **state)
{
	(void)state;
	run(leaves_nothing);
}

static int hang(struct probe_answer *a)
{
	(void)alarm(1); /* the child's own would take longer; the way it ends is the same */
	while (a)
		(void)pause();
	return 0;
}

static void test_hang(void **state)
{
	struct probe_answer a = { 0 };

	(void)state;
	assert_int_equal(probe_in_child(0, PROBE_AS_IS, hang, &a), 0);
	assert_int_equal(a.error, ETIMEDOUT);
}

/* A hint has to fit into struct error, or its end is lost. */
static void test_hints_fit(void **state)
{
	static const char *const names[] = { PROBE_USERNS, PROBE_PIDNS, PROBE_MOUNT_CALLS,
		PROBE_LANDLOCK, PROBE_PID_MAX, PROBE_NFT, PROBE_TPROXY, PROBE_MEMFD };
	static const int errors[] = { EPERM, EACCES, ENOSYS, EINVAL, ENOSPC, EOPNOTSUPP };
	const struct error e;

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		for (size_t k = 0; k < ROWS(errors); k++)
			assert_true(strlen(probe_hint(names[i], errors[k])) < sizeof(e.hint));
	}
}

static bool have_userns(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_it_is),
		cmocka_unit_test(test_tier1_is_there),
		cmocka_unit_test(test_no_userns),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_no_landlock),
		cmocka_unit_test(test_hollow_landlock),
		cmocka_unit_test(test_no_mounts),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_odd_signals),
		cmocka_unit_test(test_leaves_nothing),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_hints_fit),
	};

	if (!have_userns()) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
