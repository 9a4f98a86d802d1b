/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "host/names.h"

/* As file systems of other machines answer; 0: as this one does. */
static uint32_t type_is;
static bool is_folding;

int __wrap_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);

	if (r == 0 && type_is)
		ret->f_type = type_is;
	return r;
}

/* What it is called with 64-bit offsets. */
int __wrap_fstatfs64(int fd, struct statfs *ret);
int __wrap_fstatfs64(int fd, struct statfs *ret)
{
	return __wrap_fstatfs(fd, ret);
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	(void)fd;
	assert_true(request == FS_IOC_GETFLAGS);
	va_start(args, request);
	*va_arg(args, int *) = is_folding ? FS_CASEFOLD_FL : 0;
	va_end(args);
	return 0;
}

static char folder[] = "/tmp/test-names.XXXXXX";

static int make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder) < 0 || mkdir("sub", 0700) < 0 ||
			       make("sub/.netrc") < 0 || make("sub/.AWS") < 0 ||
			       symlink("nowhere", "sub/.ssh") < 0
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") < 0 || system(command) != 0 ? -1 : 0; /* NOLINT(cert-env33-c) */
}

/* After the misses that make a listing pay. */
static struct names list(struct arena *a, const char *path)
{
	struct names n = { 0 };

	for (unsigned i = 0; i < NAMES_PATIENCE; i++) {
		assert_null(n.bits);
		assert_true(names_may_have(&n, "nothing", 7));
		assert_int_equal(names_miss(&n, a, AT_FDCWD, path), 0);
	}
	return n;
}

static bool has(const struct names *n, const char *name)
{
	return names_may_have(n, name, strlen(name));
}

static void test_a_listing_answers(void **state)
{
	auto_arena a = { 0 };
	struct names n = list(&a, "sub");

	(void)state;
	assert_non_null(n.bits);
	assert_true(has(&n, ".netrc"));
	assert_true(has(&n, ".ssh"));
	assert_false(has(&n, ".kube"));
	/* The file system may fold case: then this is another name of .AWS. */
	assert_true(has(&n, ".aws"));
	assert_true(has(&n, ".Netrc"));
	/* In its length, not as far as it goes. */
	assert_false(names_may_have(&n, ".netrc-old", 10));
	assert_true(names_may_have(&n, ".netrc/x", 6));
	/* What is not ASCII may be equal to another spelling. */
	assert_true(has(&n, "\xc3\xa9"));
}

static void test_types_that_are_not_known(void **state)
{
	static const uint32_t types[] = { AUTOFS_SUPER_MAGIC, NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC,
		SMB2_SUPER_MAGIC, V9FS_MAGIC };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		auto_arena a = { 0 };
		struct names n;

		type_is = types[i];
		n = list(&a, "sub");
		type_is = 0;
		assert_null(n.bits);
		assert_true(has(&n, ".kube"));
	}
}

/* The threads of other processes are not listed, and are there. */
static void test_proc(void **state)
{
	auto_arena a = { 0 };
	struct names n = list(&a, "/proc");

	(void)state;
	assert_null(n.bits);
	assert_true(has(&n, "thread-self"));
}

static void test_folding(void **state)
{
	auto_arena a = { 0 };
	struct names n;

	(void)state;
	/* U+212A, the Kelvin sign, folds to "k". */
	assert_int_equal(make("sub/.\xe2\x84\xaaube"), 0);
	is_folding = true;
	n = list(&a, "sub");
	assert_null(n.bits);
	is_folding = false;
	n = list(&a, "sub");
	assert_non_null(n.bits);
	assert_false(has(&n, ".kube"));
	assert_int_equal(unlink("sub/.\xe2\x84\xaaube"), 0);
}

static void test_what_cannot_be_listed(void **state)
{
	auto_arena a = { 0 };
	struct names n;

	(void)state;
	n = list(&a, "sub/.netrc");
	assert_null(n.bits);
	n = list(&a, "nowhere");
	assert_null(n.bits);
	assert_int_equal(symlink("sub", "link"), 0);
	n = list(&a, "link");
	assert_null(n.bits);
	assert_int_equal(unlink("link"), 0);
	if (geteuid() != 0) {
		assert_int_equal(chmod("sub", 0100), 0);
		n = list(&a, "sub");
		assert_null(n.bits);
		assert_int_equal(chmod("sub", 0700), 0);
	}
}

static void test_too_many(void **state)
{
	auto_arena a = { 0 };
	struct names n;
	char name[32];

	(void)state;
	assert_int_equal(mkdir("many", 0700), 0);
	/* With "." and "..". */
	for (unsigned i = 0; i < NAMES_LISTED - 2; i++) {
		(void)snprintf(name, sizeof(name), "many/%u", i);
		assert_int_equal(make(name), 0);
	}
	n = list(&a, "many");
	assert_non_null(n.bits);
	assert_true(has(&n, "0"));
	assert_true(has(&n, "4093"));
	assert_int_equal(make("many/more"), 0);
	n = list(&a, "many");
	assert_null(n.bits);
}

/* Where tables have few rows a listing pays later. */
static void test_patience(void **state)
{
	static const char *const folders[] = { "/", "/etc" };

	(void)state;
	for (size_t i = 0; i < ROWS(folders); i++) {
		auto_arena a = { 0 };
		struct names n = names_of(folders[i]);

		for (unsigned k = 0; k < NAMES_PATIENCE_LONG; k++) {
			assert_false(n.was_listed);
			assert_int_equal(names_miss(&n, &a, AT_FDCWD, folders[i]), 0);
		}
		assert_true(n.was_listed);
		assert_true(has(&n, "."));
	}
	assert_false(names_of("/etcetera").is_long);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_a_listing_answers),
		cmocka_unit_test(test_types_that_are_not_known),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_what_cannot_be_listed),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
