/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "jail/detach.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/beside.h"
#include "jail/userns.h"

enum { NO_NAMESPACES = 99 };

/* A new root with the folder "ours", and the old one mounted on it. */
static int change_root(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return NO_NAMESPACES;
	if (userns_map(uid, gid) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || chdir("/tmp") < 0 ||
		mkdir("ours", 0755) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return 1;
	return 0;
}

/* Returns what `run` returned in a process of its own. */
static int in_new_root(int (*run)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		int r = change_root();

		_exit(r ? r : run());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int old_is_above(void)
{
	return access("/..", F_OK) == 0 && access("/../ours", F_OK) < 0;
}

static void unmount_beside(struct beside *b)
{
	*(int *)b->data = detach_unmount();
}

static int detach_both(void)
{
	struct beside b = { 0 };
	int result = -EIO;

	if (!old_is_above())
		return 10;
	beside_begin(&b, unmount_beside, &result);
	/* Whatever the other process has done so far, "/" is the new root. */
	if (access("/ours", F_OK) < 0 || access("ours", F_OK) < 0)
		return 12;
	if (beside_end(&b) < 0 || result < 0 || detach_check() < 0)
		return 13;
	if (access("/ours", F_OK) < 0 || access("ours", F_OK) < 0)
		return 14;
	return old_is_above() ? 15 : 0;
}

static void test_detached(void **state)
{
	(void)state;
	assert_int_equal(in_new_root(detach_both), 0);
}

/* The old root still is where ".." leads. */
static int detach_never(void)
{
	return detach_check() == -EBUSY ? 0 : 20;
}

static void test_not_detached(void **state)
{
	(void)state;
	assert_int_equal(in_new_root(detach_never), 0);
}

/* The current directory is no mount. */
static int unmount_nothing(void)
{
	if (chdir("/ours") < 0)
		return 30;
	return detach_unmount() == -EINVAL && detach_check() == -EBUSY ? 0 : 31;
}

static void test_failed(void **state)
{
	(void)state;
	assert_int_equal(in_new_root(unmount_nothing), 0);
}

static int nothing(void)
{
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_not_detached),
		cmocka_unit_test(test_failed),
	};

	if (in_new_root(nothing) == NO_NAMESPACES) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
