/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table, and each row that is entered, in a process of its own: what it says is what the
 * process may do. tests/rights has the processes themselves.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/landlock.h"
#include "process/confinement.h"

static void test_table(void **state)
{
	(void)state;
	for (int i = 0; i < PROCESS_ROLES; i++) {
		const struct confinement *row = &confinements[i];

		assert_non_null(row->name);
		assert_non_null(row->program);
		assert_non_null(row->task);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(row->name, confinements[k].name);
		/* Words are for rows that are not entered. */
		assert_true(i >= PROCESS_CONFINED || !row->steps);
		if (i >= PROCESS_CONFINED) {
			assert_null(row->places);
			assert_false(row->filter.closed);
			continue;
		}
		assert_true(row->filter.closed);
		assert_true(row->filter.no_memfd_exec);
		assert_true(row->is_hidden);
		for (const struct confinement_place *p = row->places; p && p->path; p++)
			assert_true(p->path[0] == '/' && p->access != 0);
	}
}

/* In a child: 0, or the number of the step that is not as its row says. */
static int tried(enum process_role role, const char *folder)
{
	const struct confinement *row = &confinements[role];
	const struct confinement_grant grants[] = {
		{ .path = folder, .access = LANDLOCK_READ, .is_needed = true },
		{ .path = "/nonexistent/x", .access = LANDLOCK_READ },
		{ .path = "/dev/null", .access = LANDLOCK_READ, .is_folder = true },
	};
	const struct confinement_more more = { .grants = grants, .n = ROWS(grants) };
	const bool no_network = row->filter.no_sockets || row->filter.only_unix;
	const bool no_unix = row->filter.no_sockets || row->filter.no_unix || row->filter.shared;
	struct rlimit core;

	if (confinement_enter(role, &more) < 0)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 2;
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 3;
	if (open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0)
		return 4;
	if (openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) >= 0)
		return 5;
	if ((socket(AF_INET, SOCK_STREAM, 0) < 0) != no_network)
		return 6;
	if ((socket(AF_UNIX, SOCK_STREAM, 0) < 0) != no_unix)
		return 7;
	/* Where programs may run, it is Landlock that refuses this one. */
	if (execl("/nonexistent/x", "x", NULL) == 0 || (errno == EPERM) != row->filter.no_exec)
		return 8;
	if (syscall(SYS_unshare, 0x10000000) == 0 || syscall(SYS_mount, 0, 0, 0, 0, 0) == 0)
		return 9;
	/* The only places with the null device: it is a program's standard input. */
	if (role != PROCESS_CLIPBOARD && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		return 10;
	if ((kill(getppid(), 0) == 0) != row->signals_others && landlock_version() >= 6)
		return 11;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || (core.rlim_max > 1 && row->no_core))
		return 12;
	return 0;
}

static int in_child(int (*task)(enum process_role, const char *), enum process_role role)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(task(role, "/var/tmp"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_rows(void **state)
{
	(void)state;
	for (int role = 0; role < PROCESS_CONFINED; role++) {
		int step = in_child(tried, (enum process_role)role);

		if (step != 0)
			print_error("%s: step %d\n", confinements[role].name, step);
		assert_int_equal(step, 0);
	}
}

static int needed(enum process_role role, const char *folder)
{
	const struct confinement_grant missing[] = {
		{ .path = "/nonexistent/x", .access = LANDLOCK_READ, .is_needed = true },
		{ .fd = -1, .access = LANDLOCK_READ, .is_needed = true },
	};

	(void)folder;
	if (confinement_enter(role, &(struct confinement_more){ .grants = missing, .n = 1 }) !=
		-ENOENT)
		return 1;
	if (confinement_enter(role, &(struct confinement_more){ .grants = missing + 1, .n = 1 }) !=
		-EBADF)
		return 2;
	/* Nothing was taken by what failed. */
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : 3;
}

static int words_alone(enum process_role role, const char *folder)
{
	(void)folder;
	return confinement_enter(role, NULL) != -EINVAL;
}

static void test_failures(void **state)
{
	(void)state;
	assert_int_equal(in_child(needed, PROCESS_WORKER), 0);
	for (int role = PROCESS_CONFINED; role < PROCESS_ROLES; role++)
		assert_int_equal(in_child(words_alone, (enum process_role)role), 0);
}

static int begun(enum process_role role, const char *folder)
{
	const struct confinement *row = &confinements[role];
	char name[16] = "";
	int signal_number = 0;

	(void)folder;
	if (dup2(STDERR_FILENO, (int)row->n_fds) < 0 ||
		dup2(STDERR_FILENO, (int)row->n_fds - 1) < 0)
		return 1;
	if (confinement_begin(role) < 0)
		return 2;
	if (fcntl((int)row->n_fds, F_GETFD) >= 0 || fcntl((int)row->n_fds - 1, F_GETFD) < 0)
		return 3;
	if (prctl(PR_GET_PDEATHSIG, &signal_number) < 0 || signal_number != SIGKILL)
		return 4;
	if (prctl(PR_GET_NAME, name) < 0 || strcmp(name, row->comm) != 0)
		return 5;
	return signal(SIGPIPE, SIG_DFL) == SIG_IGN ? 0 : 6;
}

static void test_begin(void **state)
{
	(void)state;
	for (int role = 0; role < PROCESS_CONFINED; role++)
		if (confinements[role].comm)
			assert_int_equal(in_child(begun, (enum process_role)role), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
