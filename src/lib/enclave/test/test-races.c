/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody swaps a file, or a folder on the way, for a link that leads out, as fast as they can,
 * while the enclave reads, writes, lists and deletes. It may be refused or done, but never outside.
 *
 * Each contest is run against a naive tool as well, which asks where a path leads, finds that
 * allowed, and then uses the path. That one loses, mostly within a few rounds: so the swapper is
 * one that wins. If it should not win on a slow day, that is printed, and nothing fails.
 *
 * All of it in three worlds: from the host's root; below a root that is a plain folder; and on a
 * private place of another mount namespace, where no grant is needed and the links lead to a mount
 * inside of it. There the naive tool asks on which mount something lies, and then uses its name.
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
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-jail.h"
#include "lib/enclave/test/test-open.h"

enum { ROUNDS_MIN = 2000, ROUNDS = 10000, TIMES_NAIVE = 10, NAIVE_ROUNDS = 100000, ALONE = 7 };

/* Where the contests take place; of now. */
struct world {
	const char *name;
	struct corral_enclave *enclave;
	char outside[PATH_MAX]; /* what stands before "/w" for the swapper and the naive tool */
	char inside[PATH_MAX];  /* and for the enclave */
	bool (*looks_fine)(const char *path);
};

static struct world worlds[3];
static const struct world *world;
static struct test_jail jail;
static bool has_jail;

/* Eight of them live at the same time. */
static const char *join(const char *before, const char *path)
{
	static char texts[8][2 * PATH_MAX];
	static unsigned turn;
	char *out = texts[turn++ % ROWS(texts)];
	size_t n = strlen(before), len = strlen(path);

	assert_true(n + len < sizeof(texts[0]));
	memcpy(out, before, n);
	memcpy(out + n, path, len + 1);
	return out;
}

static const char *outside(const char *path)
{
	return join(world->outside, path);
}

/*
 * "/w" may be written; in it are a file and a link that change places all the time, and a folder
 * and a link that do. "@/out" is what must not be touched; the links lead there.
 */
static void make_world(const char *out)
{
	test_tree_folder(outside("/w"));
	test_tree_folder(outside("/w/folder"));
	test_tree_file(outside("/w/file"), "fine");
	test_tree_file(outside("/w/folder/file"), "fine");
	test_tree_link(outside("/w/file-link"), join(out, "/file"));
	test_tree_link(outside("/w/part-link"), join(out, "/file"));
	test_tree_link(outside("/w/folder-link"), out);
}

/* The naive tool: where does it lead? Inside: then go. */
static bool leads_inside(const char *path)
{
	char real[PATH_MAX];
	const char *granted = test_tree("@/w/");

	return realpath(path, real) && strncmp(real, granted, strlen(granted)) == 0;
}

/* The same by the mount. */
static bool is_on_place(const char *path)
{
	struct statx here, place;

	return statx(AT_FDCWD, path, 0, STATX_MNT_ID, &here) == 0 &&
	       statx(jail.root, "tmp", 0, STATX_MNT_ID, &place) == 0 &&
	       here.stx_mnt_id == place.stx_mnt_id;
}

static void make_host_worlds(void)
{
	static const char *const on_host[] = { "write @/w/**", NULL };
	static const char *const below_root[] = { "write /w/**", NULL };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	int root = open(test_tree("@"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	worlds[0] = (struct world){ .name = "host", .looks_fine = leads_inside };
	worlds[1] = (struct world){ .name = "root", .looks_fine = leads_inside };
	(void)snprintf(worlds[0].outside, PATH_MAX, "%s", test_tree("@"));
	(void)snprintf(worlds[1].outside, PATH_MAX, "%s", test_tree("@"));
	(void)snprintf(worlds[0].inside, PATH_MAX, "%s", test_tree("@"));
	worlds[0].enclave = test_files_enclave(on_host);
	o.root_fd = &root;
	worlds[1].enclave = test_files_enclave_of(below_root, &o);
	assert_int_equal(close(root), 0);
	world = &worlds[0];
	make_world("../out");
}

static void make_private_world(void)
{
	static const char *const none[] = { NULL }, *const places[] = { "/tmp" };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;

	worlds[2] = (struct world){ .name = "private", .looks_fine = is_on_place };
	(void)snprintf(worlds[2].outside, PATH_MAX, "/proc/self/fd/%d/tmp", jail.root);
	(void)snprintf(worlds[2].inside, PATH_MAX, "/tmp");
	o.root_fd = &jail.root;
	o.private_places = places;
	o.n_private_places = 1;
	worlds[2].enclave = test_files_enclave_of(none, &o);
	world = &worlds[2];
	make_world("../bound");
}

static int make_worlds(void **state)
{
	if (test_tree_make_in_memory(state) < 0)
		return -1;
	test_tree_folder("@/out");
	test_tree_folder("@/host");
	test_tree_file("@/out/file", "SECRET");
	test_tree_file("@/out/hidden", "");
	make_host_worlds();
	has_jail = test_jail_make(&jail) == 0;
	if (has_jail)
		make_private_world();
	return 0;
}

static int remove_worlds(void **state)
{
	for (size_t i = 0; i < ROWS(worlds); i++)
		corral_enclave_free(worlds[i].enclave);
	if (has_jail)
		test_jail_remove(&jail);
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
	atomic_ulong rounds; /* of the tool */
	unsigned long seen;  /* of those */
	unsigned alone;      /* swaps since the last one that it saw */
};

/*
 * Where the tool has no processor of its own meanwhile, all swaps of a slice of time fall into the
 * same place of it, and the next slice is thousands of rounds away. So who sees no round pass
 * leaves the processor for a moment, and comes back in the midst of a round. The number of swaps is
 * odd: things are not as the tool saw them.
 */
static void give_way(struct swapper *s)
{
	const unsigned long rounds = atomic_load_explicit(&s->rounds, memory_order_relaxed);
	const struct timespec moment = { .tv_nsec = 1 };

	s->alone = rounds == s->seen ? s->alone + 1 : 1;
	s->seen = rounds;
	if (s->alone < ALONE)
		return;
	s->alone = 0;
	(void)nanosleep(&moment, NULL);
}

static void *swap(void *data)
{
	struct swapper *s = data;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		(void)pthread_mutex_lock(&between);
		if (renameat2(AT_FDCWD, s->here, AT_FDCWD, s->there, RENAME_EXCHANGE) == 0)
			atomic_fetch_add_explicit(&s->swaps, 1, memory_order_relaxed);
		(void)pthread_mutex_unlock(&between);
		give_way(s);
	}
	return NULL;
}

static void start(struct swapper *s, const char *here, const char *there)
{
	*s = (struct swapper){ 0 };
	(void)snprintf(s->here, sizeof(s->here), "%s", outside(here));
	(void)snprintf(s->there, sizeof(s->there), "%s", outside(there));
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

/* Rounds: 1 done, 0 refused, -1 it was outside. Paths are those of the world. */

static bool naive_may(const char *path)
{
	return world->looks_fine(outside(path));
}

static int read_ours(const char *path)
{
	char text[64] = "";

	if (test_files_read(world->enclave, join(world->inside, path), text) < 0)
		return 0;
	return strcmp(text, "fine") == 0 ? 1 : -1;
}

static int read_naive(const char *path)
{
	char text[64] = "";
	int fd = naive_may(path) ? open(outside(path), O_RDONLY | O_CLOEXEC) : -1;
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

	return lstat(outside(path), &st) == 0 && S_ISLNK(st.st_mode);
}

/* A write replaces a link that got the name meanwhile: then the swapper needs a new one. */
static void mend_link(const char *file, const char *link)
{
	char target[] = "../bound/file";

	(void)pthread_mutex_lock(&between);
	if (!is_link(file) && !is_link(link)) {
		if (world != &worlds[2])
			(void)strcpy(target, "../out/file");
		(void)unlink(outside(link));
		test_tree_link(outside(link), target);
	}
	(void)pthread_mutex_unlock(&between);
}

static int write_ours(const char *path)
{
	int r = test_files_write(world->enclave, join(world->inside, path), "fine");

	mend_link("/w/file", "/w/file-link");
	return !is_untouched() ? -1 : r == 0;
}

static int write_naive(const char *path)
{
	int fd = naive_may(path) ? open(outside(path), O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
	bool written = fd >= 0 && write(fd, "fine", 4) == 4;

	if (fd >= 0)
		(void)close(fd);
	return !is_untouched() ? -1 : written;
}

static int list_ours(const char *path)
{
	char names[256];
	long n = test_files_list(world->enclave, join(world->inside, path), names);

	return strstr(names, "hidden") ? -1 : n >= 0;
}

static int list_naive(const char *path)
{
	DIR *dir = naive_may(path) ? opendir(outside(path)) : NULL;
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
	r = test_files_delete(world->enclave, join(world->inside, path));
	return !is_untouched() ? -1 : r == 0;
}

static int delete_naive(const char *path)
{
	int r;

	refill();
	r = naive_may(path) ? unlink(outside(path)) : -1;
	return !is_untouched() ? -1 : r == 0;
}

/* The same in pieces */

static struct corral_save *begin(const char *path, const char *resume)
{
	const struct corral_save_options o = { .size = sizeof(o), .resume = resume };
	struct corral_save *s = NULL;

	(void)corral_enclave_fs_save(&s, world->enclave, NULL, join(world->inside, path), &o, NULL);
	return s;
}

static int save_ours(const char *path)
{
	struct corral_save *s = begin(path, NULL);
	int r = s && corral_save_write(s, "fine", 4, NULL) == 0 ? corral_save_commit(s, NULL) : -1;

	corral_save_free(s);
	return !is_untouched() ? -1 : r == 0;
}

static int save_naive(const char *path)
{
	const char *draft = outside(join(path, "~"));
	int fd = naive_may(path) ? open(draft, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	bool saved = fd >= 0 && write(fd, "fine", 4) == 4 && rename(draft, outside(path)) == 0;

	if (fd >= 0)
		(void)close(fd);
	return !is_untouched() ? -1 : saved;
}

/* What is left of "/w/big": its part changes places with a link. */
static char part[NAME_MAX + 8];

static int continue_ours(const char *path)
{
	struct corral_save *s = begin(path, "it");
	int r = s ? corral_save_restart(s, NULL) : -1;

	if (r == 0)
		r = corral_save_write(s, "more", 4, NULL);
	corral_save_free(s);
	mend_link(part, "/w/part-link");
	return !is_untouched() ? -1 : r == 0;
}

static int continue_naive(const char *path)
{
	struct stat st;
	bool fits = lstat(outside(part), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
	int fd = fits ? open(outside(part), O_WRONLY | O_CLOEXEC) : -1;
	bool written = fd >= 0 && write(fd, "more", 4) == 4;

	(void)path;
	if (fd >= 0)
		(void)close(fd);
	return !is_untouched() ? -1 : written;
}

static void find_part(void)
{
	struct corral_save *s = begin("/w/big", "it");
	const struct dirent *d;
	DIR *dir;

	assert_non_null(s);
	assert_int_equal(corral_save_write(s, "more", 4, NULL), 0);
	corral_save_free(s);
	part[0] = '\0';
	dir = opendir(outside("/w"));
	assert_non_null(dir);
	while ((d = readdir(dir))) {
		if (strncmp(d->d_name, ".big.", 5) == 0)
			(void)snprintf(part, sizeof(part), "/w/%s", d->d_name);
	}
	(void)closedir(dir);
	assert_true(part[0]);
}

/* Contests */

struct contest {
	const char *name, *path, *here, *there;
	int (*ours)(const char *path);
	int (*naive)(const char *path);
};

#define FILES "/w/file", "/w/file-link"
#define PARTS part, "/w/part-link"
#define FOLDERS "/w/folder", "/w/folder-link"

static const struct contest contests[] = {
	{ "read a file", "/w/file", FILES, read_ours, read_naive },
	{ "read in a folder", "/w/folder/file", FOLDERS, read_ours, read_naive },
	{ "write a file", "/w/file", FILES, write_ours, write_naive },
	{ "write in a folder", "/w/folder/file", FOLDERS, write_ours, write_naive },
	{ "list a folder", "/w/folder", FOLDERS, list_ours, list_naive },
	{ "delete in a folder", "/w/folder/file", FOLDERS, delete_ours, delete_naive },
	{ "save in a folder", "/w/folder/file", FOLDERS, save_ours, save_naive },
	{ "continue a part", "/w/big", PARTS, continue_ours, continue_naive },
};

/* The round in which the naive tool lost; 0: it did not. */
static int beat_the_naive(const struct contest *c, struct swapper *s)
{
	for (int i = 1; i <= NAIVE_ROUNDS; i++) {
		if (c->naive(c->path) < 0)
			return i;
		atomic_fetch_add_explicit(&s->rounds, 1, memory_order_relaxed);
	}
	return 0;
}

static unsigned count_outside(void)
{
	DIR *dir = opendir(test_tree("@/out"));
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

/*
 * How hard the swapper is to withstand is seen by the naive tool: TIMES_NAIVE times the rounds that
 * it lasted, at most ROUNDS, but never fewer than it lasted. Where it did not lose, ROUNDS.
 */
static int rounds_for(int beaten)
{
	const int wanted = beaten && beaten < ROUNDS / TIMES_NAIVE ? beaten * TIMES_NAIVE : ROUNDS;

	if (beaten > wanted)
		return beaten;
	return wanted < ROUNDS_MIN ? ROUNDS_MIN : wanted;
}

static void run(const struct contest *c)
{
	struct swapper s;
	int done = 0, beaten, rounds;
	unsigned long swaps;
	unsigned there;

	start(&s, c->here, c->there);
	beaten = beat_the_naive(c, &s);
	there = count_outside();
	rounds = rounds_for(beaten);
	for (int i = 0; i < rounds; i++) {
		int r = c->ours(c->path);

		if (r < 0) {
			(void)end(&s);
			fail_msg("%s, %s: round %d went outside", world->name, c->name, i);
		}
		done += r;
		atomic_fetch_add_explicit(&s.rounds, 1, memory_order_relaxed);
	}
	swaps = end(&s);
	assert_int_equal(count_outside(), there);
	(void)fprintf(stderr,
		"# %s, %s: %d rounds, %d done, %d refused; %lu swaps; the naive tool %s %d\n",
		world->name, c->name, rounds, done, rounds - done, swaps,
		beaten ? "lost in round" : "did not lose in", beaten ? beaten : NAIVE_ROUNDS);
}

/* The tree as it was, whatever the swapper and the tools had done last: a tool may have put a file
 * in the place of a link, and two files that change places would prove nothing. */
static void tidy(void)
{
	mend_link("/w/file", "/w/file-link");
	mend_link(part, "/w/part-link");
	if (is_link("/w/folder"))
		assert_int_equal(renameat2(AT_FDCWD, outside("/w/folder"), AT_FDCWD,
					 outside("/w/folder-link"), RENAME_EXCHANGE),
			0);
	if (folder < 0)
		folder = open(outside("/w/folder"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	test_tree_file(outside("/w/folder/file"), "fine");
}

static void run_all(const struct world *where)
{
	world = where;
	find_part();
	for (size_t i = 0; i < ROWS(contests); i++) {
		tidy();
		run(&contests[i]);
	}
	assert_int_equal(close(folder), 0);
	folder = -1;
}

static void test_contests(void **state)
{
	(void)state;
	run_all(&worlds[0]);
}

static void test_contests_below_a_root(void **state)
{
	(void)state;
	run_all(&worlds[1]);
}

static void test_contests_on_a_private_place(void **state)
{
	(void)state;
	if (!has_jail)
		skip();
	run_all(&worlds[2]);
}

/* A file that somebody deletes all the time is written all the same, and never half. */
static void *delete_always(void *data)
{
	struct swapper *s = data;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		if (unlink(s->here) == 0)
			atomic_fetch_add_explicit(&s->swaps, 1, memory_order_relaxed);
		give_way(s);
	}
	return NULL;
}

static void test_deleted_while_written(void **state)
{
	struct swapper s = { 0 };
	char text[64];

	(void)state;
	world = &worlds[0];
	(void)snprintf(s.here, sizeof(s.here), "%s", outside("/w/short"));
	assert_int_equal(pthread_create(&s.thread, NULL, delete_always, &s), 0);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(test_files_write(world->enclave, "@/w/short", "whole"), 0);
		if (test_files_read(world->enclave, "@/w/short", text) == 0)
			assert_string_equal(text, "whole");
		atomic_fetch_add_explicit(&s.rounds, 1, memory_order_relaxed);
	}
	(void)fprintf(stderr, "# %d writes, %lu deletions\n", ROUNDS, end(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contests),
		cmocka_unit_test(test_contests_below_a_root),
		cmocka_unit_test(test_contests_on_a_private_place),
		cmocka_unit_test(test_deleted_while_written),
	};

	return cmocka_run_group_tests(tests, make_worlds, remove_worlds);
}
