/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which place is taken for our cgroups, and what is done there. Folders stand for cgroups:
 * functions of the C library are replaced (--wrap), so that a new folder has the files that the
 * kernel would make, a removed one loses them, and the marks of systemd can be set.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "jail/limits/internal.h"

static const char *const files[] = { "cgroup.procs", "cgroup.kill", "cgroup.type",
	"cgroup.controllers", "cgroup.subtree_control", "cgroup.stat", "memory.max",
	"memory.swap.max", "memory.oom.group", "pids.max", "mark" };

static char top[] = "/tmp/test-cgroup-home-XXXXXX";
static int parent_fd, own_fd;
static const char *own_path;
static unsigned made, removed;
static bool refuse_limits;

static void fill(int folder, const char *file, const char *text)
{
	int fd = openat(folder, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

int __wrap_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret)
{
	*ret = (struct statfs){ 0 };
	if (faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
		ret->f_type = CGROUP2_SUPER_MAGIC;
	return 0;
}

/* What it is called with 64-bit offsets. */
int __wrap_fstatfs64(int fd, struct statfs *ret);
int __wrap_fstatfs64(int fd, struct statfs *ret)
{
	return __wrap_fstatfs(fd, ret);
}

ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	assert_true(size > 0);
	if (strcmp(name, "user.delegate") != 0 || faccessat(fd, "mark", F_OK, 0) < 0) {
		errno = ENODATA;
		return -1;
	}
	*(char *)value = '1';
	return 1;
}

int __real_mkdirat(int folder, const char *name, mode_t mode);
int __wrap_mkdirat(int folder, const char *name, mode_t mode);
int __wrap_mkdirat(int folder, const char *name, mode_t mode)
{
	int r = __real_mkdirat(folder, name, mode), fd = openat(folder, name, O_RDONLY);

	assert_true(r == 0 && fd >= 0);
	for (size_t i = 0; i + 1 < ROWS(files); i++) {
		if (!refuse_limits || strcmp(files[i], "memory.max") != 0)
			fill(fd, files[i], "");
	}
	(void)close(fd);
	made++;
	return r;
}

static void empty(int folder)
{
	for (size_t i = 0; i < ROWS(files); i++)
		(void)unlinkat(folder, files[i], 0);
}

int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags)
{
	if (flags & AT_REMOVEDIR) {
		int fd = openat(folder, name, O_RDONLY);

		for (size_t i = 0; i < ROWS(files); i++)
			(void)__real_unlinkat(fd, files[i], 0);
		(void)close(fd);
		removed++;
	}
	return __real_unlinkat(folder, name, flags);
}

int __wrap_file_read(const char *path, size_t max, struct buffer *out);
int __wrap_file_read(const char *path, size_t max, struct buffer *out)
{
	assert_true(max > 4096);
	if (strcmp(path, "/proc/self/cgroup") == 0)
		buffer_printf(out, "0::%s\n", own_path);
	else
		buffer_printf(out, "1 1 0:1 / %s%s rw - cgroup2 cgroup2 rw\n", top,
			strcmp(own_path, "/") == 0 ? "/parent/own" : "");
	return 0;
}

enum place { NOWHERE, TREE, PARENT, OWN };

static const struct row {
	const char *what;
	const char *path;
	bool typed; /* not the root of the whole tree */
	bool own_marked, parent_marked, own_others, parent_others, no_controllers, no_limits;
	enum place place;
	const char *text;
} rows[] = {
	{ "the root of the tree", "/", .place = TREE },
	{ "nothing is given", "/parent/own", true, .place = NOWHERE,
		.text = "is not delegated to it" },
	{ "marked, alone", "/parent/own", true, .own_marked = true, .place = OWN },
	{ "marked, not alone", "/parent/own", true, .own_marked = true, .own_others = true,
		.place = NOWHERE, .text = "other processes" },
	{ "the parent is marked and empty", "/parent/own", true, .parent_marked = true,
		.own_others = true, .place = PARENT },
	{ "the parent is marked, but in use", "/parent/own", true, .parent_marked = true,
		.parent_others = true, .place = NOWHERE, .text = "is not delegated to it" },
	{ "the root of a namespace, alone", "/", true, .place = OWN },
	{ "the root of a namespace, not alone", "/", true, .own_others = true, .place = NOWHERE,
		.text = "other processes" },
	{ "no controllers", "/parent/own", true, .own_marked = true, .no_controllers = true,
		.place = NOWHERE, .text = "no memory and pids" },
	{ "limits are not taken", "/parent/own", true, .own_marked = true, .no_limits = true,
		.place = NOWHERE, .text = "memory.max" },
};

static void arrange(const struct row *r)
{
	char us[32];

	own_path = r->path;
	refuse_limits = r->no_limits;
	made = removed = 0;
	empty(parent_fd);
	empty(own_fd);
	(void)snprintf(us, sizeof(us), "%d\n%s", getpid(), r->own_others ? "1\n" : "");
	fill(own_fd, "cgroup.procs", us);
	fill(parent_fd, "cgroup.procs", r->parent_others ? "1\n" : "");
	fill(parent_fd, "cgroup.type", "domain\n");
	if (r->typed)
		fill(own_fd, "cgroup.type", "domain\n");
	fill(own_fd, "cgroup.controllers", r->no_controllers ? "cpu io\n" : "cpu memory pids\n");
	fill(parent_fd, "cgroup.subtree_control", "");
	fill(own_fd, "cgroup.subtree_control", "");
	fill(own_fd, "cgroup.stat", "nr_descendants 1\n");
	if (r->own_marked)
		fill(own_fd, "mark", "");
	if (r->parent_marked)
		fill(parent_fd, "mark", "");
}

static bool starts(int folder, const char *file, const char *text)
{
	char now[CGROUP_TEXT_MAX];

	assert_true(cgroup_load(folder, file, now, sizeof(now)) >= 0);
	return strncmp(now, text, strlen(text)) == 0;
}

static bool same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino;
}

/* While the home stands: the right folder, controllers on, and we are out of the way. */
static void check_home(const struct row *r, const struct cgroup_home *h)
{
	int expected = r->place == PARENT ? parent_fd : own_fd;

	if (!same(h->fd, expected))
		fail_msg("%s: another place", r->what);
	assert_true(starts(expected, "cgroup.subtree_control", "+memory +pids"));
	assert_int_equal(h->moved, r->place == OWN);
	/* The one of the trial is gone, the leaf is there. */
	assert_int_equal(made, r->place == OWN ? 2 : 1);
	assert_int_equal(removed, 1);
	if (r->place == OWN) {
		int leaf = openat(h->fd, h->leaf, O_RDONLY);

		assert_true(leaf >= 0 && starts(leaf, "cgroup.procs", "0"));
		(void)close(leaf);
	}
}

static void check_row(const struct row *r)
{
	struct cgroup_home *h = NULL;
	struct error e = { 0 };
	int error;

	arrange(r);
	error = cgroup_home_new(&h, &e);
	if ((error == 0) != (r->place != NOWHERE))
		fail_msg("%s: %d %s", r->what, error, e.text);
	if (error < 0) {
		assert_null(h);
		if (!strstr(e.text, r->text))
			fail_msg("%s: %s", r->what, e.text);
	} else {
		check_home(r, h);
		cgroup_home_free(h);
	}
	/* Whatever it came to, nothing of ours is left, and we are where we were. */
	assert_int_equal(made, removed);
	if (r->place == OWN) {
		assert_true(starts(own_fd, "cgroup.subtree_control", "-memory -pids"));
		assert_true(starts(own_fd, "cgroup.procs", "0"));
	}
}

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_row(&rows[i]);
}

/* Somebody else made cgroups beside ours: their controllers stay on. */
static void test_not_alone_any_more(void **state)
{
	struct cgroup_home *h = NULL;

	(void)state;
	arrange(&rows[2]);
	assert_int_equal(cgroup_home_new(&h, NULL), 0);
	fill(own_fd, "cgroup.stat", "nr_descendants 2\n");
	char leaf[CGROUP_NAME_MAX];
	(void)snprintf(leaf, sizeof(leaf), "%s", h->leaf);
	cgroup_home_free(h);
	assert_true(starts(own_fd, "cgroup.subtree_control", "+memory +pids"));
	assert_int_equal(unlinkat(own_fd, leaf, AT_REMOVEDIR), 0);
}

static int setup(void **state)
{
	char path[256];

	(void)state;
	assert_non_null(mkdtemp(top));
	(void)snprintf(path, sizeof(path), "%s/parent", top);
	assert_int_equal(mkdir(path, 0700), 0);
	parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/parent/own", top);
	assert_int_equal(mkdir(path, 0700), 0);
	own_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return parent_fd < 0 || own_fd < 0;
}

static int teardown(void **state)
{
	char path[256];

	(void)state;
	empty(own_fd);
	empty(parent_fd);
	(void)snprintf(path, sizeof(path), "%s/parent/own", top);
	assert_int_equal(rmdir(path), 0);
	(void)snprintf(path, sizeof(path), "%s/parent", top);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(top), 0);
	(void)close(own_fd);
	(void)close(parent_fd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_not_alone_any_more),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
