/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where our cgroup is: a table of texts. Reading and writing: a folder of plain files that stands
 * for a cgroup, since few machines that run tests have one to give away. test-cgroup-live.c uses a
 * real one, as far as there is one.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "jail/limits/internal.h"

#define PROC "24 29 0:23 / /proc rw,relatime - proc proc rw\n"
#define UNIFIED                                                                      \
	"35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 master:2 - cgroup2 cgroup2 " \
	"rw,nsdelegate\n"
#define HYBRID                                                                 \
	"34 33 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" \
	"43 33 0:40 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

static const struct {
	const char *what, *cgroups, *mounts;
	int error;
	const char *folder;
} finds[] = {
	{ "unified", "0::/user.slice/a.scope\n", PROC UNIFIED, 0,
		"/sys/fs/cgroup/user.slice/a.scope" },
	{ "unified, at the root", "0::/\n", PROC UNIFIED, 0, "/sys/fs/cgroup" },
	{ "hybrid", "9:name=systemd:/x\n4:memory:/y\n0::/z\n", PROC HYBRID, 0,
		"/sys/fs/cgroup/unified/z" },
	{ "v1 alone", "4:memory:/y\n", PROC HYBRID, -ENOENT, NULL },
	{ "not mounted", "0::/z\n", PROC, -ENOENT, NULL },
	{ "no last newline", "0::/z", UNIFIED, 0, "/sys/fs/cgroup/z" },
	{ "a part of the tree", "0::/docker/ab/c\n",
		"35 24 0:30 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n", 0,
		"/sys/fs/cgroup/c" },
	{ "a part of the tree, its root", "0::/docker/ab\n",
		"35 24 0:30 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n", 0,
		"/sys/fs/cgroup" },
	{ "another part", "0::/docker/abc\n",
		"35 24 0:30 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n", -EXDEV, NULL },
	{ "another part, then ours", "0::/docker/abc\n",
		"35 24 0:30 /docker/ab /mnt/a ro - cgroup2 cgroup rw\n" UNIFIED, 0,
		"/sys/fs/cgroup/docker/abc" },
	{ "outside of the namespace", "0::/../other\n", UNIFIED, -EXDEV, NULL },
	{ "not quite outside", "0::/..other\n", UNIFIED, 0, "/sys/fs/cgroup/..other" },
	{ "escapes", "0::/z\n", "35 24 0:30 / /mnt/a\\040b\\134c rw - cgroup2 cgroup2 rw\n", 0,
		"/mnt/a b\\c/z" },
	{ "removed", "0::/gone (deleted)\n", UNIFIED, -ESTALE, NULL },
	{ "empty files", "", "", -ENOENT, NULL },
	{ "no path", "0::\n", UNIFIED, -ENOENT, NULL },
	{ "no absolute path", "0::z\n", UNIFIED, -EINVAL, NULL },
	{ "short lines", "0::/z\n", "35\n35 24\n35 24 0:30 /\n\n" UNIFIED, 0, "/sys/fs/cgroup/z" },
	{ "no type", "0::/z\n", "35 24 0:30 / /sys rw -\n", -ENOENT, NULL },
	{ "a mount point named like a type", "0::/z\n",
		"35 24 0:30 / cgroup2 rw - tmpfs cgroup2 rw\n", -ENOENT, NULL },
};

static void test_find(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(finds); i++) {
		auto_buffer folder = { 0 };
		int r = cgroup_find(finds[i].cgroups, finds[i].mounts, &folder);

		if (r != finds[i].error)
			fail_msg("%s: %d, not %d", finds[i].what, r, finds[i].error);
		if (r == 0 && strcmp(buffer_text(&folder), finds[i].folder) != 0)
			fail_msg("%s: %s", finds[i].what, buffer_text(&folder));
		if (r < 0)
			assert_string_equal(buffer_text(&folder), "");
	}
}

struct cgroup_fixture {
	char path[64];
	int fd;
	struct cgroup cgroup;
};

static void fill(struct cgroup_fixture *f, const char *file, const char *text)
{
	int fd = openat(f->fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void expect(struct cgroup_fixture *f, const char *file, const char *text)
{
	char now[CGROUP_TEXT_MAX];

	assert_true(cgroup_load(f->fd, file, now, sizeof(now)) >= 0);
	assert_string_equal(now, text);
}

static int setup(void **state)
{
	struct cgroup_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)snprintf(f->path, sizeof(f->path), "/tmp/test-cgroup-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	f->cgroup.home = f->cgroup.fd = f->fd;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group",
		"pids.max", "memory.peak", "memory.events", "pids.events", "cpu.stat",
		"cgroup.procs", "cgroup.kill", "large" };
	struct cgroup_fixture *f = *state;

	for (size_t i = 0; i < ROWS(files); i++)
		(void)unlinkat(f->fd, files[i], 0);
	(void)close(f->fd);
	assert_int_equal(rmdir(f->path), 0);
	free(f);
	return 0;
}

static void test_limits(void **state)
{
	const struct cgroup_limits both = { .memory = 512 << 20, .pids = 64 };
	struct cgroup_fixture *f = *state;
	struct error e = { 0 };

	/* The two that old kernels lack may be missing, the two that matter may not. */
	assert_int_equal(cgroup_limit(f->fd, &both, &e), -ENOENT);
	assert_non_null(strstr(e.text, "memory.max"));
	fill(f, "memory.max", "");
	assert_int_equal(cgroup_limit(f->fd, &both, &e), -ENOENT);
	assert_non_null(strstr(e.text, "pids.max"));
	fill(f, "pids.max", "");
	assert_int_equal(cgroup_limit(f->fd, &both, &e), 0);
	fill(f, "memory.max", "");
	fill(f, "pids.max", "");
	fill(f, "memory.swap.max", "");
	fill(f, "memory.oom.group", "");
	assert_int_equal(cgroup_limit(f->fd, &both, &e), 0);
	expect(f, "memory.max", "536870912");
	expect(f, "memory.swap.max", "0");
	expect(f, "memory.oom.group", "1");
	expect(f, "pids.max", "65");
}

static void test_no_limits(void **state)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_fixture *f = *state;

	/* No file is touched: none is there. */
	assert_int_equal(cgroup_limit(f->fd, &none, NULL), 0);
}

static void test_read(void **state)
{
	struct cgroup_fixture *f = *state;
	struct cgroup_usage u = { .memory_peak = 7 };

	/* Without controllers there is nothing to read, and that is no failure. */
	assert_int_equal(cgroup_read(&f->cgroup, &u), 0);
	assert_int_equal(u.memory_peak, 0);
	fill(f, "memory.peak", "123456789\n");
	fill(f, "memory.events", "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 1\n");
	fill(f, "pids.events", "max 5\n");
	fill(f, "cpu.stat", "usage_usec 300\nuser_usec 200\nsystem_usec 100\nnr_periods 0\n");
	assert_int_equal(cgroup_read(&f->cgroup, &u), 0);
	assert_int_equal(u.memory_peak, 123456789);
	assert_int_equal(u.oom_kills, 2);
	assert_int_equal(u.pids_refused, 5);
	assert_int_equal(u.user_us, 200);
	assert_int_equal(u.system_us, 100);
}

static void test_add_and_kill(void **state)
{
	struct cgroup_fixture *f = *state;

	assert_int_equal(cgroup_add(&f->cgroup, 0), -EINVAL);
	assert_int_equal(cgroup_add(&f->cgroup, -1), -EINVAL);
	assert_int_equal(cgroup_add(&f->cgroup, 4711), -ENOENT);
	assert_int_equal(cgroup_kill(&f->cgroup), -ENOENT);
	fill(f, "cgroup.procs", "");
	fill(f, "cgroup.kill", "");
	assert_int_equal(cgroup_add(&f->cgroup, 4711), 0);
	assert_int_equal(cgroup_kill(&f->cgroup), 0);
	expect(f, "cgroup.procs", "4711");
	expect(f, "cgroup.kill", "1");
	assert_int_equal(f->cgroup.fd, f->fd);
}

static void test_texts(void **state)
{
	static char large[CGROUP_TEXT_MAX + 1];
	struct cgroup_fixture *f = *state;
	char text[CGROUP_TEXT_MAX];

	memset(large, 'x', sizeof(large) - 1);
	fill(f, "large", large);
	assert_int_equal(cgroup_load(f->fd, "large", text, sizeof(text)), -EFBIG);
	assert_true(cgroup_has_word("cpu memory pids\n", "memory"));
	assert_true(cgroup_has_word("cpu memory pids\n", "pids"));
	assert_false(cgroup_has_word("cpu memory_x pids\n", "memory"));
	assert_false(cgroup_has_word("", "memory"));
	assert_int_equal(cgroup_key("oom 3\noom_kill 2\n", "oom_kill"), 2);
	assert_int_equal(cgroup_key("oom 3\noom_kill 2\n", "oom"), 3);
	assert_int_equal(cgroup_key("xoom 3\n", "oom"), 0);
	assert_int_equal(cgroup_key("", "oom"), 0);
}

/* A link is never followed: who controls the folder does not get us to write elsewhere. */
static void test_links(void **state)
{
	struct cgroup_fixture *f = *state;

	assert_int_equal(symlinkat("/dev/null", f->fd, "cgroup.kill"), 0);
	assert_int_equal(cgroup_kill(&f->cgroup), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add_and_kill, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
