/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each limit is set in a child, which then tries to pass it, says what went wrong, and exits with 0
 * if nothing did.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/limits/rlimits.h"
#include "jail/userns.h"

#define NEED(x)                                                                                 \
	do {                                                                                    \
		if (!(x)) {                                                                     \
			(void)fprintf(                                                          \
				stderr, "# line %d: %s (%s)\n", __LINE__, #x, strerror(errno)); \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

static int run(void (*child)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void must_work(void (*child)(void))
{
	assert_int_equal(run(child), 0);
}

static void nothing_asked(void)
{
	struct rlimit before[RLIM_NLIMITS], after[RLIM_NLIMITS];
	const struct start s = { 0 };

	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		NEED(getrlimit((__rlimit_resource_t)i, &before[i]) == 0);
	NEED(rlimits_apply(&s) == 0);
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		NEED(getrlimit((__rlimit_resource_t)i, &after[i]) == 0);
		NEED(memcmp(&before[i], &after[i], sizeof(after[i])) == 0);
	}
}

/* 1 and not 0: see rlimits.h. */
static void no_core(void)
{
	struct rlimit before, after;

	NEED(getrlimit(RLIMIT_CORE, &before) == 0);
	NEED(rlimits_no_core() == 0);
	NEED(getrlimit(RLIMIT_CORE, &after) == 0);
	NEED(after.rlim_cur == after.rlim_max);
	NEED(after.rlim_max == (before.rlim_max > 0 ? 1 : 0));
}

static void test_no_core(void **state)
{
	(void)state;
	must_work(no_core);
}

static void test_nothing_asked(void **state)
{
	(void)state;
	must_work(nothing_asked);
}

static void small_files(void)
{
	const struct start s = { .file_size = 8192 };
	auto_fd fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char bytes[8192] = { 0 };

	NEED(fd >= 0);
	NEED(rlimits_apply(&s) == 0);
	NEED(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	(void)!write(fd, bytes, 1);
	NEED(!"a file grew past its limit");
}

static void test_file_size(void **state)
{
	int status = run(small_files);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

static void few_files(void)
{
	const struct start s = { .open_files = 16 };
	int fd, n = 0;

	NEED(rlimits_apply(&s) == 0);
	while (n < 64 && (fd = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	NEED(n < 16 && errno == EMFILE);
	/* Nor can it be raised again, unless by root of the whole machine. */
	const struct rlimit more = { 64, 64 };
	NEED(geteuid() == 0 || setrlimit(RLIMIT_NOFILE, &more) < 0);
}

static void test_open_files(void **state)
{
	(void)state;
	must_work(few_files);
}

static void small_queues(void)
{
	const struct start s = { .memory = 4 << 20 };
	struct rlimit l;

	NEED(rlimits_apply(&s) == 0);
	NEED(getrlimit(RLIMIT_MSGQUEUE, &l) == 0);
	NEED(l.rlim_cur == l.rlim_max && l.rlim_max <= (4 << 20) / 8);
}

static void test_queues(void **state)
{
	(void)state;
	must_work(small_queues);
}

static void *map(size_t size, int protection)
{
	return mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* What the test itself holds: little, or terabytes under a sanitizer. */
static uint64_t own_data(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	unsigned long kb = 0;

	NEED(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmData:", 7) == 0)
			kb = strtoul(line + 7, NULL, 10);
	}
	(void)fclose(f);
	NEED(kb > 0);
	return (uint64_t)kb << 10;
}

/* Address space may be reserved (Go and Node do), memory that could be written may not. */
static void little_memory(void)
{
	const struct start s = { .memory = own_data() + (64 << 20) };
	size_t mine = own_data();
	struct sysinfo machine;
	bool is_set;

	NEED(sysinfo(&machine) == 0);
	/* Not where the test itself holds more than the machine has, under a sanitizer. */
	is_set = 2 * s.memory < (uint64_t)machine.totalram * machine.mem_unit;
	NEED(rlimits_apply(&s) == 0);
	NEED(map(SIZE_MAX >> 30, PROT_NONE) != MAP_FAILED);
	NEED(map(16 << 20, PROT_READ | PROT_WRITE) != MAP_FAILED);
	NEED((map(mine + (512 << 20), PROT_READ | PROT_WRITE) == MAP_FAILED) == is_set);
}

/* A limit that is a large share of the machine: who reserves terabytes can still do so. */
static void much_memory(void)
{
	struct sysinfo machine;
	struct rlimit before, after;
	struct start s = { 0 };

	NEED(sysinfo(&machine) == 0);
	s.memory = (uint64_t)machine.totalram * machine.mem_unit / 4 * 3;
	NEED(getrlimit(RLIMIT_DATA, &before) == 0);
	NEED(rlimits_apply(&s) == 0);
	NEED(getrlimit(RLIMIT_DATA, &after) == 0);
	NEED(before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max);
}

static void test_much_memory(void **state)
{
	(void)state;
	must_work(much_memory);
}

static void test_memory(void **state)
{
	(void)state;
	must_work(little_memory);
}

static void lower_already(void)
{
	const struct rlimit low = { 100, 100 };
	const struct start s = { .open_files = 5000 };
	struct rlimit now;

	NEED(setrlimit(RLIMIT_NOFILE, &low) == 0);
	NEED(rlimits_apply(&s) == 0);
	NEED(getrlimit(RLIMIT_NOFILE, &now) == 0);
	NEED(now.rlim_cur == 100 && now.rlim_max == 100);
}

static void test_never_raises(void **state)
{
	(void)state;
	must_work(lower_already);
}

/* Makes processes that stay, until there is no more or there are `max`. */
static unsigned fill(unsigned max)
{
	unsigned n = 0;

	while (n < max) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			for (;;)
				(void)pause();
		}
		n++;
	}
	return n;
}

/* A user namespace, as somebody who is not root. */
static void become_nobody(int namespaces)
{
	uid_t uid = getuid() ? getuid() : 65534;
	gid_t gid = getuid() ? getgid() : 65534;

	NEED(setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0);
	/* A change of the user takes the files in /proc away. */
	NEED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	NEED(unshare(CLONE_NEWUSER | namespaces) == 0);
	NEED(userns_map(uid, gid) == 0);
}

static void few_processes(void)
{
	const struct start s = { .pids = 20 };
	unsigned n;

	become_nobody(CLONE_NEWPID);
	/* The first child of a pid namespace takes all others with it. */
	pid_t first = fork();
	NEED(first >= 0);
	if (first > 0) {
		int status;

		NEED(waitpid(first, &status, 0) == first);
		_exit(WEXITSTATUS(status));
	}
	/* Capabilities over nothing but the own namespace do not lift it. */
	NEED(rlimits_apply(&s) == 0);
	n = fill(200);
	NEED(errno == EAGAIN);
	NEED(n >= 20 && n <= 20 + RLIMITS_OURS);
}

static void test_pids(void **state)
{
	(void)state;
	must_work(few_processes);
}

static int mount_proc(void)
{
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0)
		return -errno;
	return 0;
}

/* Runs as pid 1: a bomb of processes stops, and a long row of short ones does not. */
static void capped(void)
{
	auto_fd proc = -1;
	int r;

	NEED(mount_proc() == 0);
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	NEED(proc >= 0);
	NEED(rlimits_caps_processes(proc, 20) == rlimits_holds_processes());
	r = rlimits_pid_max(proc, 20);
	if (r == -EOPNOTSUPP)
		_exit(77);
	NEED(r == 0);
	NEED(rlimits_caps_processes(proc, 20));
	NEED(rlimits_caps_processes(proc, 10) == rlimits_holds_processes());
	for (unsigned i = 0; i < 1000; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0)
			_exit(0);
		NEED(waitpid(pid, NULL, 0) == pid);
	}
	unsigned n = fill(2000);
	NEED(errno == EAGAIN);
	NEED(n >= 20 && n <= 400);
}

static void in_new_pidns(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int status;

	NEED(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0);
	NEED(userns_map(uid, gid) == 0);
	pid_t pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		capped();
		_exit(0);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static unsigned long host_pid_max(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	char line[32];

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	return strtoul(line, NULL, 10);
}

static void test_pid_max(void **state)
{
	unsigned long before = host_pid_max();
	int status = run(in_new_pidns);

	(void)state;
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		print_message("# pid_max of its own: not on this kernel; refused, as it must be\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(host_pid_max(), before);
}

static void test_pid_max_not_first(void **state)
{
	auto_fd proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned long before = host_pid_max();

	(void)state;
	assert_true(proc >= 0);
	assert_true(getpid() != 1);
	assert_int_equal(rlimits_pid_max(proc, 20), -EPERM);
	assert_int_equal(host_pid_max(), before);
}

static void only_make(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0)
		_exit(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_asked),
		cmocka_unit_test(test_no_core),
		cmocka_unit_test(test_file_size),
		cmocka_unit_test(test_open_files),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_much_memory),
		cmocka_unit_test(test_never_raises),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_pid_max),
		cmocka_unit_test(test_pid_max_not_first),
	};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		only_make();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
