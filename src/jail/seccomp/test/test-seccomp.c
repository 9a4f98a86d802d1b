/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters in the kernel. Each case is a call made by a child of its own three times: bare,
 * under the base filter, under both. A call that goes through has to end as it does bare; one that
 * is refused has to give the filter's errno. Where the bare call fails with just that errno the
 * case can't tell who refused: such cases are counted, and test/test-program.c has them all.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/seccomp/seccomp.h"
#include "jail/seccomp/test/test-cases.h"

#define X32 0x40000000L

enum mode {
	BARE,
	BASE,
	CLOSED,
};

enum {
	BROKEN = 255,     /* the child could not get so far as to make the call */
	BY_SIGNAL = 1000, /* plus the signal */
};

static int install(enum mode mode, bool noexec)
{
	struct seccomp_options o = { .no_memfd_exec = noexec };

	if (mode == BARE)
		return 0;
	if (seccomp_base(&o) < 0)
		return -1;
	return mode == CLOSED ? seccomp_close(false) : 0;
}

/* vhangup() has no terminal to hang up in a session of its own. */
static int prepare(enum mode mode, bool noexec)
{
	struct rlimit none = { 0 };

	if (setsid() < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return install(mode, noexec);
}

static int end_of(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		return BY_SIGNAL + WTERMSIG(status);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), BROKEN);
	return WEXITSTATUS(status);
}

/* The errno of a call, 0 for success. */
static int outcome(enum mode mode, bool noexec, long nr, const uint64_t *a)
{
	pid_t child = fork();

	if (child == 0) {
		if (prepare(mode, noexec) < 0)
			_exit(BROKEN);
		/* If the call is fork, both end here. */
		_exit(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0);
	}
	return end_of(child);
}

static size_t check(const struct seccomp_case *c, bool noexec)
{
	int nr = seccomp_case_number(c->name, seccomp_native);
	int bare, expected[] = { 0, c->base, c->closed };
	size_t told = 0;

	assert_int_not_equal(nr, -2);
	if (nr == SECCOMP_NONE)
		return 1;
	bare = outcome(BARE, noexec, nr, c->args);
	for (enum mode m = BASE; m <= CLOSED; m++) {
		int got = outcome(m, noexec, nr, c->args);
		int want = expected[m] ? expected[m] : bare;

		if (got != want)
			fail_msg("%s(%llx, %llx, %llx) in mode %d: %d, not %d; bare %d", c->name,
				(unsigned long long)c->args[0], (unsigned long long)c->args[1],
				(unsigned long long)c->args[2], (int)m, got, want, bare);
		told += !expected[m] || expected[m] != bare;
	}
	return told == 2;
}

static void calls(void **state)
{
	size_t told = 0;

	(void)state;
	for (size_t i = 0; i < seccomp_n_cases; i++)
		told += check(&seccomp_cases[i], false);
	print_message("# %zu of %zu cases tell who refused\n", told, seccomp_n_cases);
	/* Most do even for an ordinary user. */
	assert_true(told > seccomp_n_cases * 3 / 4);
}

static void memfd_noexec(void **state)
{
	(void)state;
	for (size_t i = 0; i < seccomp_n_noexec_cases; i++)
		(void)check(&seccomp_noexec_cases[i], true);
}

/* Numbers that no kernel knows yet, and those that never were one. */
static void unknown_calls(void **state)
{
	static const long numbers[] = { 500, 511, 512, 1000, 100000, -1 };
	uint64_t args[6] = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(numbers); i++) {
		assert_int_equal(outcome(BASE, false, numbers[i], args), ENOSYS);
		assert_int_equal(outcome(CLOSED, false, numbers[i], args), ENOSYS);
	}
}

static void x32_is_killed(void **state)
{
	int expected = seccomp_native->x32 ? BY_SIGNAL + SIGSYS : ENOSYS;
	uint64_t args[6] = { 0 };

	(void)state;
	assert_int_equal(outcome(BASE, false, X32 | 39, args), expected);
	assert_int_equal(outcome(BASE, false, X32 | 520, args), expected);
}

static void *thread(void *arg)
{
	return arg;
}

/* What every program and the init of a command do, for real. */
static int ordinary_work(void)
{
	char byte = 'x', name[] = "true", *argv[] = { name, NULL };
	int pair[2], status;
	pthread_t t;
	pid_t child;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	if (send(pair[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(pair[1], &byte, 1, 0) != 1)
		return 2;
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 3;
	child = vfork();
	if (child == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 4;
	return 0;
}

static void ordinary_work_goes_on(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(prepare(CLOSED, true) < 0 ? BROKEN : ordinary_work());
	assert_int_equal(end_of(child), 0);
}

/* What Corral's own processes can do without. */
static int closed_to_the_host(void)
{
	char *const argv[] = { (char *)"true", NULL };
	int pair[2];
	int inet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet < 0 || (udp < 0 && errno == EPERM))
		return 1;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 2;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 || errno != EPERM)
		return 3;
	if (socket(AF_NETLINK, SOCK_RAW, 0) >= 0 || socket(AF_INET, SOCK_RAW, IPPROTO_TCP) >= 0)
		return 4;
	(void)execvp(argv[0], argv);
	return errno == EPERM ? 0 : 5;
}

static void own_processes_can_do_less(void **state)
{
	const struct seccomp_options o = { .no_unix = true, .no_exec = true };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_base(&o) < 0)
			_exit(BROKEN);
		_exit(closed_to_the_host());
	}
	assert_int_equal(end_of(child), 0);
}

/* With `keys` a key can be kept and found; no keyring is joined, and no helper is asked. */
static int keeps_keys(void)
{
	const long none = syscall(
		SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "corral:test:none", 0UL);

	if (none >= 0 || errno == EPERM)
		return 1;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno != EPERM)
		return 2;
	if (syscall(SYS_request_key, "user", "corral:test:none", NULL, 0) >= 0 || errno != EPERM)
		return 3;
	return syscall(SYS_keyctl, KEYCTL_GET_PERSISTENT, -1, KEY_SPEC_PROCESS_KEYRING) < 0 &&
			       errno == EPERM
		       ? 0
		       : 4;
}

static void one_process_may_keep_keys(void **state)
{
	const struct seccomp_options o = { .keys = true, .closed = true };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_base(&o) < 0)
			_exit(BROKEN);
		_exit(keeps_keys());
	}
	assert_int_equal(end_of(child), 0);
}

static int closed_to_the_network(void)
{
	int pair[2], here[2];

	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno != EPERM)
		return 1;
	if (socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0 || errno != EPERM)
		return 2;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 3;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 || errno != EPERM)
		return 4;
	/* What is no socket stays. */
	return pipe2(here, O_CLOEXEC) == 0 ? 0 : 5;
}

static void own_processes_without_sockets(void **state)
{
	const struct seccomp_options o = { .no_sockets = true, .closed = true };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_base(&o) < 0)
			_exit(BROKEN);
		_exit(closed_to_the_network());
	}
	assert_int_equal(end_of(child), 0);
}

static int closed_but_for_streams(void)
{
	if (socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		return 1;
	if (socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0 || errno != EPERM)
		return 2;
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno != EPERM)
		return 3;
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0 && errno == EPERM ? 0 : 4;
}

static void own_processes_with_unix_sockets(void **state)
{
	const struct seccomp_options o = { .only_unix = true, .closed = true };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_base(&o) < 0)
			_exit(BROKEN);
		_exit(closed_but_for_streams());
	}
	assert_int_equal(end_of(child), 0);
}

/* Filters are not taken from whoever could still gain privileges; that is the kernel's rule. */
static void install_reports_failure(void **state)
{
	struct seccomp_options o = { 0 };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct rlimit none = { 0 };

		/* As root the capability would do in place of no_new_privs. */
		if (setrlimit(RLIMIT_CORE, &none) < 0 || (!getuid() && setuid(65534) < 0))
			_exit(BROKEN);
		_exit(seccomp_base(&o) == -EACCES && seccomp_close(false) == -EACCES ? 0 : 1);
	}
	assert_int_equal(end_of(child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(memfd_noexec),
		cmocka_unit_test(unknown_calls),
		cmocka_unit_test(x32_is_killed),
		cmocka_unit_test(ordinary_work_goes_on),
		cmocka_unit_test(own_processes_can_do_less),
		cmocka_unit_test(one_process_may_keep_keys),
		cmocka_unit_test(own_processes_without_sockets),
		cmocka_unit_test(own_processes_with_unix_sockets),
		cmocka_unit_test(install_reports_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
