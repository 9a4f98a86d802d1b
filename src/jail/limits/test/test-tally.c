/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tally, taken by pid 1 of a pid namespace of its own, as an init does it: over children that
 * hold a known amount of memory and stay until they are killed. Each case runs in a namespace of
 * its own, which says what went wrong, and exits with 0 if nothing did.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "jail/limits/objects.h"
#include "jail/limits/tally.h"
#include "jail/userns.h"

#define MB UINT64_C(1048576)

#define NEED(x)                                                                                 \
	do {                                                                                    \
		if (!(x)) {                                                                     \
			(void)fprintf(                                                          \
				stderr, "# line %d: %s (%s)\n", __LINE__, #x, strerror(errno)); \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

static struct tally_proc proc;

static char *hold(size_t size, int sharing)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	memset(p, 1, size);
	return p;
}

/* A child that does something, says so, and stays. */
static pid_t stay(void (*prepare)(void *), void *argument)
{
	int ends[2];
	char c;
	pid_t pid;

	NEED(pipe(ends) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		if (prepare)
			prepare(argument);
		NEED(write(ends[1], "", 1) == 1);
		for (;;)
			(void)pause();
	}
	NEED(read(ends[0], &c, 1) == 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static struct tally look(void)
{
	const struct tally_limits none = { .scratch = objects_scratch() };
	struct tally t = { 0 };

	NEED(tally_check(&proc, &none, &t) == TALLY_WITHIN);
	return t;
}

static void hold_32(void *unused)
{
	(void)unused;
	(void)hold(32 * MB, MAP_PRIVATE);
}

static void count_nothing(void)
{
	/* pid 1 itself is not counted, whatever it holds. */
	(void)hold(32 * MB, MAP_PRIVATE);
	struct tally t = look();
	NEED(t.tasks == 0 && t.memory == 0);
}

static void count_memory(void)
{
	(void)stay(hold_32, NULL);
	(void)stay(hold_32, NULL);
	struct tally t = look();
	NEED(t.tasks == 2);
	NEED(t.memory >= 64 * MB && t.memory < 80 * MB);
	/* Again, by the same descriptor. */
	NEED(look().tasks == 2);
}

static void *idle(void *unused)
{
	for (;;)
		(void)pause();
	return unused;
}

static void make_threads(void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++) {
		pthread_t t;

		NEED(pthread_create(&t, NULL, idle, NULL) == 0);
	}
}

static void count_threads(void)
{
	const struct tally_limits five = { .pids = 5 }, six = { .pids = 6 };

	(void)stay(make_threads, NULL);
	NEED(look().tasks == 6);
	NEED(tally_check(&proc, &six, NULL) == TALLY_WITHIN);
	NEED(tally_check(&proc, &five, NULL) == TALLY_PIDS);
}

static void count_dead(void)
{
	pid_t pid = fork();
	siginfo_t info;

	NEED(pid >= 0);
	if (pid == 0)
		_exit(0);
	NEED(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	NEED(look().tasks == 1);
	NEED(waitpid(pid, NULL, 0) == pid);
	NEED(look().tasks == 0);
}

static void write_all(void *p)
{
	memset(p, 2, 32 * MB);
}

/* Four children of a process with 32 MB: one copy while nobody writes, five when all do. */
static void count_shared(void)
{
	const struct tally_limits limit = { .memory = 64 * MB };
	struct tally t = { 0 };
	char *p = hold(32 * MB, MAP_PRIVATE);
	pid_t pids[4];

	for (size_t i = 0; i < ROWS(pids); i++)
		pids[i] = stay(NULL, NULL);
	NEED(look().memory >= 128 * MB);
	NEED(tally_check(&proc, &limit, &t) == TALLY_WITHIN);
	NEED(t.memory < 48 * MB && t.tasks == 4);
	for (size_t i = 0; i < ROWS(pids); i++)
		NEED(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], NULL, 0) == pids[i]);
	for (size_t i = 0; i < ROWS(pids); i++)
		(void)stay(write_all, p);
	NEED(tally_check(&proc, &limit, &t) == TALLY_MEMORY);
}

/* Memory made to be shared counts as well, once. */
static void count_shmem(void)
{
	const struct tally_limits low = { .memory = 16 * MB }, high = { .memory = 64 * MB };
	char *p = hold(48 * MB, MAP_SHARED);

	(void)stay(write_all, p);
	(void)stay(write_all, p);
	NEED(tally_check(&proc, &high, NULL) == TALLY_WITHIN);
	NEED(tally_check(&proc, &low, NULL) == TALLY_MEMORY);
}

/* -- without a process -- */

/* A segment that nobody has attached any more. */
static int leave_segment(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	NEED(p != (void *)-1);
	memset(p, 1, size);
	NEED(shmdt(p) == 0);
	return id;
}

static void count_segments(void)
{
	const struct tally_limits low = { .memory = 16 * MB }, high = { .memory = 64 * MB };
	int id = leave_segment(32 * MB);
	uint64_t memory = look().memory;

	NEED(memory >= 32 * MB && memory < 33 * MB);
	NEED(tally_check(&proc, &high, NULL) == TALLY_WITHIN);
	NEED(tally_check(&proc, &low, NULL) == TALLY_MEMORY);
	NEED(shmctl(id, IPC_RMID, NULL) == 0);
	NEED(look().memory == 0);
}

static void attach(void *id)
{
	char *p = shmat(*(int *)id, NULL, 0);

	NEED(p != (void *)-1);
	memset(p, 2, 32 * MB);
}

/* Attached it is there once, too, also when it is removed already. */
static void count_attached(void)
{
	const struct tally_limits limit = { .memory = 48 * MB };
	struct tally t = { 0 };
	int id = leave_segment(32 * MB);

	(void)stay(attach, &id);
	(void)stay(attach, &id);
	NEED(look().memory >= 96 * MB);
	NEED(shmctl(id, IPC_RMID, NULL) == 0);
	NEED(tally_check(&proc, &limit, &t) == TALLY_WITHIN);
	NEED(t.memory >= 32 * MB && t.memory < 48 * MB);
}

static void count_messages(void)
{
	static struct {
		long type;
		char text[8192];
	} message = { .type = 1 };
	uint64_t before = look().memory, sent = 0;

	for (int i = 0; i < 8; i++) {
		int id = msgget(IPC_PRIVATE, 0600);

		NEED(id >= 0);
		while (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) == 0)
			sent += sizeof(message.text);
	}
	NEED(before == 0 && sent > 0 && look().memory >= sent);
	NEED(semget(IPC_PRIVATE, 10000, 0600) >= 0);
	NEED(look().memory >= sent + 10000 * 64);
}

enum { MAPPED = 1, SEVERAL = 2, CLOSED = 4 };

static void hold_memfd(void *how)
{
	int flags = *(int *)how, fd = memfd_create("some (deleted)", MFD_CLOEXEC);

	NEED(fd >= 0 && ftruncate(fd, (off_t)(32 * MB)) == 0);
	NEED(fallocate(fd, 0, 0, (off_t)(32 * MB)) == 0);
	if (flags & MAPPED) {
		char *p = mmap(NULL, 32 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		NEED(p != MAP_FAILED);
		memset(p, 1, 32 * MB);
	}
	for (int i = 0; flags & SEVERAL && i < 10; i++)
		NEED(dup(fd) >= 0);
	if (flags & CLOSED)
		NEED(close(fd) == 0);
	if (flags & SEVERAL && fork() == 0)
		for (;;)
			(void)pause();
}

/* However many have it, and however often: once. */
static void count_memfd(void)
{
	const struct tally_limits low = { .memory = 16 * MB }, high = { .memory = 48 * MB };

	for (int how = 0; how < 8; how++) {
		struct tally t = { 0 };
		pid_t pid;

		/* Closed, and mapped by nobody: then it is not there. */
		if (how == CLOSED || how == (SEVERAL | CLOSED))
			continue;
		pid = stay(hold_memfd, &how);
		NEED(look().memory >= 32 * MB);
		NEED(tally_check(&proc, &high, &t) == TALLY_WITHIN);
		NEED(tally_check(&proc, &low, NULL) == TALLY_MEMORY);
		NEED(kill(-1, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
		while (wait(NULL) > 0)
			;
	}
}

/* A limit that is more than the whole machine uses costs no look at processes. */
static void count_machine(void)
{
	const struct tally_limits wide = { .memory = UINT64_C(1) << 60, .pids = UINT64_C(1) << 60 };
	const struct tally_limits few = { .memory = UINT64_C(1) << 60, .pids = 3 };
	struct tally_limits near = { .memory = UINT64_C(1) << 60 };
	struct tally t = { 0 };
	struct sysinfo machine;

	for (int i = 0; i < 5; i++)
		(void)stay(make_threads, NULL);
	NEED(sysinfo(&machine) == 0);
	NEED(tally_check(&proc, &wide, &t) == TALLY_WITHIN);
	NEED(t.memory > 0 && t.memory <= (machine.totalram + machine.totalswap) * machine.mem_unit);
	NEED(t.tasks >= 30);
	/* Processes are still counted where there are more of them. */
	NEED(tally_check(&proc, &few, &t) == TALLY_PIDS);
	/* And where there are nearly as many: others' threads are no reason to look more often.
	 * Of those many may end meanwhile, and then the limit is far away: another try. */
	for (int tries = 0; t.tasks_is_all || tries == 0; tries++) {
		NEED(tries < 1000 && sysinfo(&machine) == 0);
		near.pids = (uint64_t)machine.procs + machine.procs / 2;
		NEED(tally_check(&proc, &near, &t) == TALLY_WITHIN);
	}
	NEED(t.tasks >= 5 && t.tasks <= 60 && t.tasks < machine.procs);
}

static void lie(void *unused)
{
	hold_32(unused);
	NEED(prctl(PR_SET_NAME, "\nRssAnon:\t1\n", 0, 0, 0) == 0);
	NEED(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

/* A process with a name that looks like a line, and that lets nobody look into it. */
static void count_liar(void)
{
	const struct tally_limits limit = { .memory = 16 * MB };

	(void)stay(lie, NULL);
	NEED(look().memory >= 32 * MB);
	NEED(tally_check(&proc, &limit, NULL) == TALLY_MEMORY);
}

static void stop_early(void)
{
	const struct tally_limits limit = { .pids = 3 };
	struct tally t = { 0 };

	for (int i = 0; i < 12; i++)
		(void)stay(NULL, NULL);
	NEED(tally_check(&proc, &limit, &t) == TALLY_PIDS);
	NEED(t.tasks > 3);
}

static void bad_folder(void)
{
	const struct tally_limits limit = { .pids = 3 };
	struct tally t = { .memory = 7, .tasks = 7 };
	struct tally_proc null = TALLY_PROC_NONE;

	NEED(tally_check(&null, &limit, &t) == -EBADF);
	null.folder = open("/dev/null", O_RDONLY | O_CLOEXEC);
	NEED(tally_check(&null, &limit, &t) == -ENOTDIR);
	NEED(t.memory == 7 && t.tasks == 7);
}

/* pid 1 of a new pid namespace with its own /proc. */
static void be_first(void (*count)(void))
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int status;

	NEED(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC) == 0);
	NEED(userns_map(uid, gid) == 0);
	pid_t pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		NEED(mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) == 0);
		NEED(mount("proc", "/proc", "proc", 0, NULL) == 0);
		NEED(tally_open(&proc) == 0);
		count();
		_exit(0);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void run(void (*count)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		be_first(count);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CASE(name)                            \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run(name);                    \
	}

CASE(count_nothing)
CASE(count_memory)
CASE(count_threads)
CASE(count_dead)
CASE(count_shared)
CASE(count_shmem)
CASE(count_segments)
CASE(count_attached)
CASE(count_messages)
CASE(count_memfd)
CASE(count_machine)
CASE(count_liar)
CASE(stop_early)
CASE(bad_folder)

/* 3000 groups make a line of /proc/PID/status longer than any buffer here. Only root has so many.
 */
static void test_many_groups(void **state)
{
	(void)state;
	if (geteuid() == 0) {
		static gid_t groups[3000];
		pid_t pid = fork();
		int status;

		for (gid_t i = 0; i < ROWS(groups); i++)
			groups[i] = 100000 + i;
		assert_true(pid >= 0);
		if (pid == 0) {
			NEED(setgroups(ROWS(groups), groups) == 0);
			be_first(count_memory);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void test_interval(void **state)
{
	static const struct {
		struct tally now;
		struct tally_limits limits;
		int ms;
	} rows[] = {
		{ { 0, 0, 0, false, false }, { 0, 0, 0, false }, 1000 },
		{ { 1 << 30, 1000, 0, false, false }, { 0, 0, 0, false }, 1000 },
		{ { 0, 0, 0, false, false }, { 64 << 20, 0, 0, false }, 8 },
		{ { 0, 0, 0, false, false }, { 512 << 20, 4096, 0, false }, 64 },
		{ { 256 << 20, 0, 0, false, false }, { 512 << 20, 4096, 0, false }, 32 },
		{ { 500 << 20, 0, 0, false, false }, { 512 << 20, 4096, 0, false }, 2 },
		{ { 600 << 20, 0, 0, false, false }, { 512 << 20, 4096, 0, false }, 2 },
		{ { 0, 0, 0, false, false }, { UINT64_C(16) << 30, 1152, 0, false }, 36 },
		{ { 0, 1100, 0, false, false }, { UINT64_C(16) << 30, 1152, 0, false }, 2 },
		/* Much is left: an eighth of the time past 100 ms, and a second at most. */
		{ { 0, 0, 0, false, false }, { 800 << 20, 0, 0, false }, 100 },
		{ { 0, 0, 0, false, false }, { 1600 << 20, 0, 0, false }, 112 },
		{ { 0, 0, 0, false, false }, { UINT64_C(16) << 30, 0, 0, false }, 343 },
		{ { 0, 0, 0, false, false }, { UINT64_C(1) << 40, 0, 0, false }, 1000 },
		/* The kernel has a limit of processes, too. */
		{ { 0, 2, 0, false, false }, { UINT64_C(16) << 30, 1152, 0, true }, 343 },
		{ { 0, 0, 0, false, false }, { 0, 1152, 0, true }, 375 },
		{ { 0, 1100, 0, false, false }, { UINT64_C(16) << 30, 1152, 0, true }, 64 },
		{ { 0, 1150, 0, false, false }, { UINT64_C(16) << 30, 1152, 0, true }, 2 },
		{ { 0, 2, 0, false, false }, { 0, 10, 0, true }, 2 },
		/* What a look costs: far from a limit, near one, and what no look may cost. */
		{ { 0, 0, 10000, false, false }, { UINT64_C(16) << 30, 0, 0, false }, 500 },
		{ { 0, 0, 1500, false, false }, { 1 << 30, 0, 0, false }, 150 },
		{ { 0, 0, 700, false, false }, { 512 << 20, 4096, 0, false }, 70 },
		{ { 500 << 20, 0, 700, false, false }, { 512 << 20, 4096, 0, false }, 7 },
		{ { 500 << 20, 0, 90000, false, false }, { 512 << 20, 4096, 0, false }, 500 },
		{ { 0, 0, 0, false, false }, { 1, 1, 0, false }, 2 },
		{ { 0, 0, 0, false, false }, { UINT64_MAX, UINT64_MAX, 0, false }, 1000 },
		{ { UINT64_MAX, UINT64_MAX, 0, false, false }, { UINT64_MAX, UINT64_MAX, 0, false },
			2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		int ms = tally_interval_ms(&rows[i].now, &rows[i].limits);

		if (ms != rows[i].ms)
			fail_msg("row %zu: %d ms, not %d", i, ms, rows[i].ms);
	}
}

static bool have_namespaces(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count_nothing),
		cmocka_unit_test(test_count_memory),
		cmocka_unit_test(test_count_threads),
		cmocka_unit_test(test_count_dead),
		cmocka_unit_test(test_count_shared),
		cmocka_unit_test(test_count_shmem),
		cmocka_unit_test(test_count_segments),
		cmocka_unit_test(test_count_attached),
		cmocka_unit_test(test_count_messages),
		cmocka_unit_test(test_count_memfd),
		cmocka_unit_test(test_count_machine),
		cmocka_unit_test(test_count_liar),
		cmocka_unit_test(test_stop_early),
		cmocka_unit_test(test_bad_folder),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_interval),
	};

	if (!have_namespaces()) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
