/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real cgroup2 hierarchy, as far as there is one to write to (root, mostly): making, moving into,
 * killing, removing. Limits too, where the controllers are there; else cgroup_probe() has to say
 * that they are not.
 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "jail/limits/internal.h"

static struct cgroup_home home = { .fd = -1 };

static int open_own(void)
{
	auto_buffer cgroups = { 0 }, mounts = { 0 }, folder = { 0 };

	if (file_read("/proc/self/cgroup", 1 << 20, &cgroups) < 0 ||
		file_read("/proc/self/mountinfo", 1 << 20, &mounts) < 0 ||
		cgroup_find(buffer_text(&cgroups), buffer_text(&mounts), &folder) < 0)
		return -1;
	return open(buffer_text(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	return pid;
}

static void test_life(void **state)
{
	const struct cgroup_limits none = { 0 };
	char name[CGROUP_NAME_MAX], text[CGROUP_TEXT_MAX], want[32];
	struct cgroup_usage u;
	struct cgroup *c = NULL;
	pid_t pid = sleeper();
	int status;

	(void)state;
	assert_int_equal(cgroup_new(&c, &home, &none, NULL), 0);
	(void)snprintf(name, sizeof(name), "%s", c->name);
	assert_int_equal(cgroup_add(c, pid), 0);
	(void)snprintf(want, sizeof(want), "%d\n", pid);
	assert_true(cgroup_load(c->fd, "cgroup.procs", text, sizeof(text)) > 0);
	assert_string_equal(text, want);
	assert_int_equal(cgroup_kill(c), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(cgroup_read(c, &u), 0);
	cgroup_free(c);
	assert_int_equal(faccessat(home.fd, name, F_OK, 0), -1);
}

/* What still runs is killed, and the folder goes, although nobody has waited for the dead yet. */
static void test_free_kills(void **state)
{
	const struct cgroup_limits none = { 0 };
	char name[CGROUP_NAME_MAX];
	struct cgroup *c = NULL;
	pid_t pid = sleeper();
	int status;

	(void)state;
	assert_int_equal(cgroup_new(&c, &home, &none, NULL), 0);
	(void)snprintf(name, sizeof(name), "%s", c->name);
	assert_int_equal(cgroup_add(c, pid), 0);
	cgroup_free(c);
	assert_int_equal(faccessat(home.fd, name, F_OK, 0), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Those that this process made, by their names: others are made and removed beside them. */
static unsigned long children(void)
{
	DIR *folder = fdopendir(openat(home.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	char own[32];
	const struct dirent *d;
	unsigned long n = 0;

	assert_non_null(folder);
	(void)snprintf(own, sizeof(own), "corral-%d-", (int)getpid());
	while ((d = readdir(folder)))
		n += strncmp(d->d_name, own, strlen(own)) == 0;
	(void)closedir(folder);
	return n;
}

/* Refused limits leave nothing behind; without controllers they are refused. */
static void test_limits(void **state)
{
	const struct cgroup_limits limits = { .memory = 64 << 20, .pids = 16 };
	unsigned long before = children();
	struct cgroup *c = NULL;
	struct error e = { 0 };
	char text[64];
	int r = cgroup_new(&c, &home, &limits, &e);

	(void)state;
	if (r < 0) {
		assert_null(c);
		assert_true(e.text[0] != '\0');
	} else {
		assert_true(cgroup_load(c->fd, "pids.max", text, sizeof(text)) > 0);
		assert_string_equal(text, "17\n");
		cgroup_free(c);
	}
	assert_int_equal(children(), before);
}

static void test_probe(void **state)
{
	unsigned long before = children();
	struct error why = { 0 };
	char text[CGROUP_TEXT_MAX];
	int r = cgroup_probe(&why);

	(void)state;
	assert_true(r == 0 || why.text[0] != '\0');
	assert_true(cgroup_load(home.fd, "cgroup.controllers", text, sizeof(text)) >= 0);
	if (!cgroup_has_word(text, "memory") || !cgroup_has_word(text, "pids"))
		assert_int_equal(r, -EOPNOTSUPP);
	assert_int_equal(children(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_free_kills),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_probe),
	};
	char name[CGROUP_NAME_MAX];
	int fd, r;

	home.fd = open_own();
	r = home.fd < 0 ? -ENOENT : cgroup_make(home.fd, name, &fd);
	if (r < 0 || faccessat(fd, "cgroup.kill", W_OK, 0) < 0) {
		(void)puts("1..0 # SKIP kernel: no cgroup2 that this user may write to");
		return 0;
	}
	(void)close(fd);
	if (cgroup_remove(home.fd, name) < 0)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)close(home.fd);
	return r;
}
