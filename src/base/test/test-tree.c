/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree.h"

static char place[] = "/tmp/corral-test-tree-XXXXXX";

static void write_at(int folder, const char *name)
{
	auto_fd fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

/* Links are removed, and what they lead to stays. */
static void test_links(void **state)
{
	auto_fd fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(mkdirat(fd, "kept", 0700), 0);
	write_at(fd, "kept/file");
	assert_int_equal(mkdirat(fd, "tree", 0700), 0);
	assert_int_equal(symlinkat("../kept", fd, "tree/link"), 0);
	assert_int_equal(symlinkat("kept", fd, "alias"), 0);
	tree_remove(fd, "tree");
	tree_remove(fd, "alias");
	assert_int_equal(faccessat(fd, "tree", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(faccessat(fd, "alias", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(faccessat(fd, "kept/file", F_OK, 0), 0);
	tree_remove(fd, "kept");
	tree_remove(fd, "absent");
	assert_int_equal(faccessat(fd, "kept", F_OK, 0), -1);
}

/* Deeper than descriptors reach, and folders that cannot be read. */
static void test_deep(void **state)
{
	auto_fd fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int at;

	(void)state;
	assert_int_equal(mkdirat(fd, "tree", 0700), 0);
	at = openat(fd, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 2000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		write_at(at, "f");
		next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_int_equal(mkdirat(fd, "tree/closed", 0700), 0);
	write_at(fd, "tree/closed/file");
	assert_int_equal(fchmodat(fd, "tree/closed", 0, 0), 0);
	tree_remove(fd, "tree");
	assert_int_equal(faccessat(fd, "tree", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_deep),
	};
	int r;

	if (!mkdtemp(place))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(place);
	return r;
}
