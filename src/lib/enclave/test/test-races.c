/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody swaps a file, or a folder on the way, for a link that leads out, as fast as they can,
 * while the enclave reads, writes, lists and deletes. It may be refused or done, but never outside.
 *
 * Each contest is run against a naive tool as well, which asks where a path leads, finds that
 * allowed, and then uses the path. That one loses, mostly within a few rounds: so the swapper is
 * one that wins. If it should not win on a slow day, that is printed, and nothing fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-open.h"

enum { ROUNDS = 10000, NAIVE_ROUNDS = 100000 };

static struct corral_enclave *enclave;

/*
 * "@/w" is granted; in it are a file and a link that change places all the time, and a folder and a
 * link that do. "@/out" is what nobody may touch.
 */
static int make_tree(void **state)
{
	static const char *const lines[] = { "write @/w/**", NULL };

	if (test_tree_make_in_memory(state) < 0)
		return -1;
	test_tree_folder("@/w");
	test_tree_folder("@/w/folder");
	test_tree_folder("@/out");
	test_tree_file("@/w/file", "fine");
	test_tree_file("@/w/folder/file", "fine");
	test_tree_file("@/out/file", "SECRET");
	test_tree_file("@/out/hidden", "");
	test_tree_link("@/w/file-link", "@/out/file");
	test_tree_link("@/w/folder-link", "@/out");
	enclave = test_files_enclave(lines);
	return 0;
}

static int remove_tree(void **state)
{
	corral_enclave_free(enclave);
	return test_tree_remove(state);
}

/* The swapper */

/* Held for a swap, and to put something right in between; never while a tool works. */
static pthread_mutex_t between = PTHREAD_MUTEX_INITIALIZER;

struct swapper {
	pthread_t thread;
	char here[PATH_MAX], there[PATH_MAX];
	atomic_bool stop;
	atomic_ulong swaps;
};

static void *swap(void *data)
{
	struct swapper *s = data;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		(void)pthread_mutex_lock(&between);
		if (renameat2(AT_FDCWD, s->here, AT_FDCWD, s->there, RENAME_EXCHANGE) == 0)
			atomic_fetch_add_explicit(&s->swaps, 1, memory_order_relaxed);
		(void)pthread_mutex_unlock(&between);
	}
	return NULL;
}

static void start(struct swapper *s, const char *here, const char *there)
{
	*s = (struct swapper){ 0 };
	(void)snprintf(s->here, sizeof(s->here), "%s", test_tree(here));
	(void)snprintf(s->there, sizeof(s->there), "%s", test_tree(there));
	assert_int_equal(pthread_create(&s->thread, NULL, swap, s), 0);
	/* It has begun, however busy the machine is. */
	while (atomic_load(&s->swaps) == 0)
		(void)usleep(100);
}

static unsigned long end(struct swapper *s)
{
	atomic_store(&s->stop, true);
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	return atomic_load(&s->swaps);
}

/* The naive tool: where does it lead? Inside: then go. */
static bool looks_fine(const char *path)
{
	char real[PATH_MAX];
	const char *granted = test_tree("@/w/");

	return realpath(path, real) && strncmp(real, granted, strlen(granted)) == 0;
}

/* Rounds: 1 done, 0 refused, -1 it was outside. */

static int read_ours(const char *path)
{
	char text[64] = "";

	if (test_files_read(enclave, path, text) < 0)
		return 0;
	return strcmp(text, "fine") == 0 ? 1 : -1;
}

static int read_naive(const char *path)
{
	char text[64] = "";
	int fd = looks_fine(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		(void)close(fd);
	return n < 0 ? 0 : strcmp(text, "fine") == 0 ? 1 : -1;
}

/* All that is outside, as it was. What is not is put right for the next. */
static bool is_untouched(void)
{
	if (test_tree_says("@/out/file", "SECRET"))
		return true;
	test_tree_file("@/out/file", "SECRET");
	return false;
}

static bool is_link(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(test_tree(path), &st), 0);
	return S_ISLNK(st.st_mode);
}

/* A write replaces a link that got the name meanwhile: then the swapper needs a new one. */
static void mend_link(void)
{
	(void)pthread_mutex_lock(&between);
	if (!is_link("@/w/file") && !is_link("@/w/file-link")) {
		assert_int_equal(unlink(test_tree("@/w/file-link")), 0);
		test_tree_link("@/w/file-link", "@/out/file");
	}
	(void)pthread_mutex_unlock(&between);
}

static int write_ours(const char *path)
{
	int r = test_files_write(enclave, path, "fine");

	mend_link();
	return !is_untouched() ? -1 : r == 0;
}

static int write_naive(const char *path)
{
	int fd = looks_fine(path) ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
	bool written = fd >= 0 && write(fd, "fine", 4) == 4;

	if (fd >= 0)
		(void)close(fd);
	return !is_untouched() ? -1 : written;
}

static int list_ours(const char *path)
{
	char names[256];
	long n = test_files_list(enclave, path, names);

	return strstr(names, "hidden") ? -1 : n >= 0;
}

static int list_naive(const char *path)
{
	DIR *dir = looks_fine(path) ? opendir(path) : NULL;
	const struct dirent *d;
	int r = dir != NULL;

	while (dir && (d = readdir(dir)))
		r = strcmp(d->d_name, "hidden") == 0 ? -1 : r;
	if (dir)
		(void)closedir(dir);
	return r;
}

/* There is something to delete, by whichever name the folder has now. */
static int folder = -1;

static void refill(void)
{
	int fd = openat(folder, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

static int delete_ours(const char *path)
{
	int r;

	refill();
	r = test_files_delete(enclave, path);
	return !is_untouched() ? -1 : r == 0;
}

static int delete_naive(const char *path)
{
	int r;

	refill();
	r = looks_fine(path) ? unlink(path) : -1;
	return !is_untouched() ? -1 : r == 0;
}

/* Contests */

struct contest {
	const char *name, *path, *here, *there;
	int (*ours)(const char *path);
	int (*naive)(const char *path);
};

#define FILES "@/w/file", "@/w/file-link"
#define FOLDERS "@/w/folder", "@/w/folder-link"

static const struct contest contests[] = {
	{ "read a file", "@/w/file", FILES, read_ours, read_naive },
	{ "read in a folder", "@/w/folder/file", FOLDERS, read_ours, read_naive },
	{ "write a file", "@/w/file", FILES, write_ours, write_naive },
	{ "write in a folder", "@/w/folder/file", FOLDERS, write_ours, write_naive },
	{ "list a folder", "@/w/folder", FOLDERS, list_ours, list_naive },
	{ "delete in a folder", "@/w/folder/file", FOLDERS, delete_ours, delete_naive },
};

/* The round in which the naive tool lost; 0: it did not. */
static int beat_the_naive(const struct contest *c, const char *path)
{
	for (int i = 1; i <= NAIVE_ROUNDS; i++) {
		if (c->naive(path) < 0)
			return i;
	}
	return 0;
}

/* As many rounds as were asked for, and at least as many as it took to beat the naive tool. */
static void run(const struct contest *c)
{
	char path[PATH_MAX];
	struct swapper s;
	int done = 0, beaten, rounds;
	unsigned long swaps;

	(void)snprintf(path, sizeof(path), "%s", test_tree(c->path));
	start(&s, c->here, c->there);
	beaten = beat_the_naive(c, path);
	rounds = beaten > ROUNDS ? beaten : ROUNDS;
	for (int i = 0; i < rounds; i++) {
		int r = c->ours(path);

		if (r < 0) {
			(void)end(&s);
			fail_msg("%s: round %d went outside", c->name, i);
		}
		done += r;
	}
	swaps = end(&s);
	(void)fprintf(stderr,
		"# %s: %d rounds, %d done, %d refused; %lu swaps; the naive tool %s %d\n", c->name,
		rounds, done, rounds - done, swaps, beaten ? "lost in round" : "did not lose in",
		beaten ? beaten : NAIVE_ROUNDS);
}

/* The tree as it was, whatever the swapper had done last. */
static void tidy(void)
{
	if (is_link("@/w/folder"))
		assert_int_equal(renameat2(AT_FDCWD, test_tree("@/w/folder"), AT_FDCWD,
					 test_tree("@/w/folder-link"), RENAME_EXCHANGE),
			0);
	if (folder < 0)
		folder = open(test_tree("@/w/folder"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	test_tree_file("@/w/folder/file", "fine");
}

static void test_contests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(contests); i++) {
		tidy();
		run(&contests[i]);
	}
	assert_int_equal(close(folder), 0);
}

/* A file that somebody deletes all the time is written all the same, and never half. */
static void *delete_always(void *data)
{
	struct swapper *s = data;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		if (unlink(s->here) == 0)
			atomic_fetch_add_explicit(&s->swaps, 1, memory_order_relaxed);
	}
	return NULL;
}

static void test_deleted_while_written(void **state)
{
	struct swapper s = { 0 };
	char text[64];

	(void)state;
	(void)snprintf(s.here, sizeof(s.here), "%s", test_tree("@/w/short"));
	assert_int_equal(pthread_create(&s.thread, NULL, delete_always, &s), 0);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(test_files_write(enclave, "@/w/short", "whole"), 0);
		if (test_files_read(enclave, "@/w/short", text) == 0)
			assert_string_equal(text, "whole");
	}
	(void)fprintf(stderr, "# %d writes, %lu deletions\n", ROUNDS, end(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contests),
		cmocka_unit_test(test_deleted_while_written),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
