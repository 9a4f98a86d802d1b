/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "lib/enclave/test/test-tree.h"
#include "test/scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[PATH_MAX];

int test_tree_make(void **state)
{
	char name[] = "/var/tmp/corral-tree-XXXXXX";

	(void)state;
	return scratch_make(name, root);
}

int test_tree_make_in_memory(void **state)
{
	char name[] = "/dev/shm/corral-tree-XXXXXX";

	return scratch_make(name, root) == 0 ? 0 : test_tree_make(state);
}

int test_tree_remove(void **state)
{
	(void)state;
	return scratch_remove(root);
}

const char *test_tree(const char *text)
{
	static char texts[8][TEST_TREE_BYTES];
	static unsigned turn;
	char *out = texts[turn++ % ROWS(texts)];
	size_t n = 0;

	for (; *text; text++) {
		const char *piece = *text == '@' ? root : (char[2]){ *text, '\0' };

		assert_true(n + strlen(piece) < TEST_TREE_BYTES);
		memcpy(out + n, piece, strlen(piece));
		n += strlen(piece);
	}
	out[n] = '\0';
	return out;
}

void test_tree_folder(const char *path)
{
	if (mkdir(test_tree(path), 0755) < 0)
		fail_msg("%s cannot be made", path);
}

void test_tree_file(const char *path, const char *text)
{
	int fd = open(test_tree(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("%s cannot be written", path);
	(void)close(fd);
}

void test_tree_link(const char *path, const char *target)
{
	if (symlink(test_tree(target), test_tree(path)) < 0)
		fail_msg("%s cannot be made", path);
}

void test_tree_hard_link(const char *path, const char *other)
{
	if (link(test_tree(other), test_tree(path)) < 0)
		fail_msg("%s cannot be made", path);
}

bool test_tree_says(const char *path, const char *text)
{
	char found[4096] = "";
	int fd = open(test_tree(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, found, sizeof(found) - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n < 0 || !text)
		return n < 0 && !text;
	return strcmp(found, text) == 0;
}
