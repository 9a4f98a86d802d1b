/* SPDX-License-Identifier: Apache-2.0 */
/* inotify, and its limits: which of them is used up, and that the daemon goes on without. */
#include "daemon/supervisor/test/test-link.h"

#include <limits.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "daemon/watch/changes.h"
#include "test/fds.h"
#include "test/scratch.h"

static char folder[PATH_MAX];
static struct watcher watcher;
static size_t n_ready;
/* Errors of the kernel, on request; 0: none. */
static int init_error, add_error, loop_error;

int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
int __wrap_inotify_init1(int flags)
{
	assert_int_equal(flags, IN_CLOEXEC | IN_NONBLOCK);
	if (!init_error)
		return __real_inotify_init1(flags);
	errno = init_error;
	return -1;
}

int __real_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	/* Never a file in a folder's place. */
	assert_true(mask & IN_ONLYDIR);
	if (!add_error)
		return __real_inotify_add_watch(fd, path, mask);
	errno = add_error;
	return -1;
}

int __real_loop_add(struct loop *l, struct watcher *w, int fd, uint32_t events);
int __wrap_loop_add(struct loop *l, struct watcher *w, int fd, uint32_t events);
int __wrap_loop_add(struct loop *l, struct watcher *w, int fd, uint32_t events)
{
	return loop_error ? loop_error : __real_loop_add(l, w, fd, events);
}

static void on_ready(struct watcher *w, uint32_t events)
{
	char room[4096];

	(void)events;
	n_ready++;
	while (read(w->fd, room, sizeof(room)) > 0)
		;
}

static int setup(void **state)
{
	char template[] = "/tmp/corral-test-XXXXXX";

	init_error = add_error = loop_error = 0;
	n_ready = 0;
	watcher = (struct watcher){ .ready = on_ready, .fd = -1 };
	return link_setup(state) < 0 ? -1 : scratch_make(template, folder);
}

static int teardown(void **state)
{
	int fd = watcher.fd;

	loop_remove(link_s->loop, &watcher);
	fd_close(&fd);
	(void)scratch_remove(folder);
	return link_teardown(state);
}

/* changes_why(), as text. */
static const char *why(void)
{
	static char text[128];
	auto_buffer out = { 0 };

	changes_why(link_s, &out);
	(void)snprintf(text, sizeof(text), "%s", buffer_text(&out));
	return text;
}

static void make(const char *name)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void test_works(void **state)
{
	size_t fds;
	int first;

	(void)state;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	first = watcher.fd;
	assert_true(first >= 0);
	assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(first, F_GETFL) & O_NONBLOCK);
	assert_true(changes_add(link_s, &watcher, folder, IN_CREATE) >= 0);
	assert_int_equal(loop_turn(link_s->loop, 0), 0);
	assert_int_equal(n_ready, 0);
	make("a");
	assert_int_equal(loop_turn(link_s->loop, 0), 0);
	assert_int_equal(n_ready, 1);

	/* Once more: it has one. */
	fds = count_fds();
	assert_int_equal(changes_open(link_s, &watcher), 0);
	assert_int_equal(watcher.fd, first);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(link_s->watch.unwatched, 0);
	assert_null(changes_limit(link_s));
	assert_string_equal(why(), "");
}

/* The same folder has the same number, by which policies.c sees that it is another one. */
static void test_number(void **state)
{
	int number;

	(void)state;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	number = changes_add(link_s, &watcher, folder, IN_CREATE);
	assert_true(number >= 0);
	assert_int_equal(changes_add(link_s, &watcher, folder, IN_CREATE), number);
}

/* What is not there, or no folder, is not watched; that is no limit. */
static void test_no_folder(void **state)
{
	char path[PATH_MAX + 16];
	int fd;

	(void)state;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	(void)snprintf(path, sizeof(path), "%s/missing", folder);
	assert_int_equal(changes_add(link_s, &watcher, path, IN_CREATE), -1);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(changes_add(link_s, &watcher, path, IN_CREATE), -1);
	assert_int_equal(link_s->watch.unwatched, 0);
}

static void test_instances(void **state)
{
	(void)state;
	init_error = EMFILE;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	assert_int_equal(watcher.fd, -1);
	assert_int_equal(link_s->watch.unwatched, EMFILE);
	assert_false(link_s->watch.is_files_limit);
	assert_string_equal(changes_limit(link_s), "fs.inotify.max_user_instances");
	assert_string_equal(why(), "fs.inotify.max_user_instances is used up");
	/* Without an instance there are no watches, and the reason stays. */
	assert_int_equal(changes_add(link_s, &watcher, folder, IN_CREATE), -1);
	assert_int_equal(link_s->watch.unwatched, EMFILE);

	/* Other programs have ended: the next try has one. */
	init_error = 0;
	link_s->watch.unwatched = 0;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	assert_true(watcher.fd >= 0);
	assert_null(changes_limit(link_s));
}

/* EMFILE of the kernel itself: no descriptor is left for anything. */
static void test_open_files(void **state)
{
	struct rlimit old, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(changes_open(link_s, &watcher), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(watcher.fd, -1);
	assert_int_equal(link_s->watch.unwatched, EMFILE);
	assert_true(link_s->watch.is_files_limit);
	assert_string_equal(changes_limit(link_s), "RLIMIT_NOFILE");
	assert_string_equal(why(), "RLIMIT_NOFILE is used up");
}

static void test_watches(void **state)
{
	(void)state;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	add_error = ENOSPC;
	assert_int_equal(changes_add(link_s, &watcher, folder, IN_CREATE), -1);
	assert_string_equal(changes_limit(link_s), "fs.inotify.max_user_watches");
	assert_string_equal(why(), "fs.inotify.max_user_watches is used up");
	/* The instance stays: what is watched already is seen. */
	assert_true(watcher.fd >= 0);
}

/* Errors that are no limits have no name, and are said. */
static void test_other_errors(void **state)
{
	static const int errors[] = { ENOSYS, ENOMEM, EPERM };

	(void)state;
	for (size_t i = 0; i < ROWS(errors); i++) {
		auto_buffer text = { 0 };

		init_error = errors[i];
		assert_int_equal(changes_open(link_s, &watcher), 0);
		assert_int_equal(link_s->watch.unwatched, errors[i]);
		assert_null(changes_limit(link_s));
		buffer_printf(&text, "inotify: %s", strerror(errors[i]));
		assert_string_equal(why(), text.data);
	}
	/* Of a single folder they say nothing about others. */
	init_error = link_s->watch.unwatched = 0;
	assert_int_equal(changes_open(link_s, &watcher), 0);
	add_error = EACCES;
	assert_int_equal(changes_add(link_s, &watcher, folder, IN_CREATE), -1);
	assert_int_equal(link_s->watch.unwatched, 0);
}

/* A loop that takes no more is an error of the daemon, and leaves no descriptor behind. */
static void test_loop_fails(void **state)
{
	const size_t fds = count_fds();

	(void)state;
	loop_error = -ENOSPC;
	assert_int_equal(changes_open(link_s, &watcher), -ENOSPC);
	assert_int_equal(watcher.fd, -1);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(link_s->watch.unwatched, 0);
}

#define CHANGES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGES_TEST(test_works),
		CHANGES_TEST(test_number),
		CHANGES_TEST(test_no_folder),
		CHANGES_TEST(test_instances),
		CHANGES_TEST(test_open_files),
		CHANGES_TEST(test_watches),
		CHANGES_TEST(test_other_errors),
		CHANGES_TEST(test_loop_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
