/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock's rules on a tree that is wrong: here everything of the host is visible and nothing is
 * mounted, and still a command reaches only what the plan has. Decision 36 tells why rights to read
 * are among them, though mounts hold the same.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/confine.h"
#include "test/scratch.h"

static char folder[PATH_MAX];

static const char *in_folder(char path[PATH_MAX], const char *name)
{
	(void)snprintf(path, PATH_MAX, "%.3000s/%s", folder, name);
	return path;
}

static int try_read(const char *path)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int try_write(const char *path)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int try_truncate(const char *path)
{
	return truncate(path, 0) < 0 ? errno : 0;
}

static int try_open_truncate(const char *path)
{
	auto_fd fd = open(path, O_RDONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int try_make(const char *path)
{
	char name[PATH_MAX];

	(void)snprintf(name, sizeof(name), "%.3900s.made", path);
	auto_fd fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int try_remove(const char *path)
{
	return unlink(path) < 0 ? errno : 0;
}

static const struct {
	const char *name;
	int (*run)(const char *path);
	int writable, readable, absent; /* errno in a folder that the plan has so, or has not */
} ways[] = {
	{ "read", try_read, 0, 0, EACCES },
	{ "write", try_write, 0, EACCES, EACCES },
	{ "truncate", try_truncate, 0, EACCES, EACCES },
	{ "open and truncate", try_open_truncate, 0, EACCES, EACCES },
	{ "make", try_make, 0, EACCES, EACCES },
	{ "remove", try_remove, 0, EACCES, EACCES },
};

static const char *const folders[] = { "writable", "readable", "absent" };

static void make_files(void)
{
	char path[PATH_MAX], name[64];

	for (size_t i = 0; i < ROWS(folders); i++) {
		assert_int_equal(mkdir(in_folder(path, folders[i]), 0755), 0);
		for (size_t k = 0; k < ROWS(ways); k++) {
			(void)snprintf(name, sizeof(name), "%s/%zu", folders[i], k);
			auto_fd fd =
				open(in_folder(path, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

			assert_true(fd >= 0);
		}
	}
}

/* In a child: the number of what went otherwise, or 0. */
static int confine_and_try(void)
{
	char writable[PATH_MAX], readable[PATH_MAX], path[PATH_MAX], name[64];
	struct plan_entry entries[] = {
		{ .kind = PLAN_BIND, .path = in_folder(readable, "readable"), .is_dir = true },
		{ .kind = PLAN_BIND,
			.path = in_folder(writable, "writable"),
			.is_dir = true,
			.writable = true },
	};
	const struct plan plan = { .entries = entries, .n = ROWS(entries) };
	struct error e = { 0 };
	auto_fd rules = confine_rules(&plan, &e);
	int wrong = 0;

	if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		confine_enter(rules, false) < 0)
		return 100;
	for (size_t i = 0; i < ROWS(folders); i++) {
		for (size_t k = 0; k < ROWS(ways); k++) {
			const int want[] = { ways[k].writable, ways[k].readable, ways[k].absent };
			int got;

			(void)snprintf(name, sizeof(name), "%s/%zu", folders[i], k);
			got = ways[k].run(in_folder(path, name));
			if (got == want[i])
				continue;
			(void)fprintf(
				stderr, "%s, %s: %s\n", folders[i], ways[k].name, strerror(got));
			wrong++;
		}
	}
	return wrong;
}

static void a_wrong_tree_is_no_way_out(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	make_files();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(confine_and_try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_folder(void **state)
{
	char template[] = "/tmp/test-confine.XXXXXX";

	(void)state;
	return scratch_make(template, folder);
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_tree_is_no_way_out),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
