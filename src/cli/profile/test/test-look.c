/* SPDX-License-Identifier: Apache-2.0 */
/* What a look reaches, and what it says of the rest. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/look.h"

static char folder[] = "/tmp/test-look.XXXXXX";

/* Makes folders on the way, and a file unless the name ends with '/'. */
static void make(const char *name)
{
	char path[PATH_BYTES];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	if (path[strlen(path) - 1] == '/')
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static int begin(void **state)
{
	(void)state;
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[PATH_BYTES];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command); /* NOLINT(cert-env33-c): our own path */
}

struct seen {
	struct look look;
	struct buffer text;
	size_t n;
};

/* One line for each folder with something in it. */
static int note(void *data, const struct look_folder *f)
{
	struct seen *s = data;

	s->n++;
	for (size_t i = 0; i < threat_heads_n; i++) {
		if (look_has(f, i))
			buffer_printf(&s->text, "%s:%.*s%s\n", f->path, (int)threat_heads[i].len,
				threat_texts + threat_heads[i].name, f->is_new ? " new" : "");
	}
	if (f->is_bare)
		buffer_printf(&s->text, "%s:bare%s\n", f->path, f->is_new ? " new" : "");
	return 0;
}

static void look(struct seen *s)
{
	s->look.fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(s->look.fd >= 0);
	assert_int_equal(look_first(&s->look, note, s), 0);
}

static void look_again(struct seen *s, unsigned more)
{
	struct timespec since = { .tv_sec = INT32_MAX };

	buffer_deinit(&s->text);
	s->text = (struct buffer){ 0 };
	s->n = 0;
	assert_int_equal(look_second(&s->look, &since, more, note, s), 0);
}

static void look_end(struct seen *s)
{
	(void)close(s->look.fd);
	arena_deinit(&s->look.arena);
	buffer_deinit(&s->text);
}

static void test_names(void **state)
{
	struct seen s = { 0 };

	(void)state;
	make(".envrc");
	make("a/b/.git/config");
	make("a/b/.git/x/.envrc");
	make("node_modules/c/.envrc");
	make("bare/HEAD");
	make("bare/objects/aa/.envrc");
	make("bare/refs/");
	make("bare/src/.envrc");
	make("lean/HEAD");
	make("lean/commondir");
	make("half/HEAD");
	make("half/refs/.envrc");
	look(&s);
	assert_non_null(strstr(buffer_text(&s.text), ":.envrc\n"));
	assert_non_null(strstr(buffer_text(&s.text), "a/b:.git\n"));
	assert_null(strstr(buffer_text(&s.text), ".git/x"));
	assert_null(strstr(buffer_text(&s.text), "node_modules/c"));
	assert_non_null(strstr(buffer_text(&s.text), "bare:bare\n"));
	assert_non_null(strstr(buffer_text(&s.text), "lean:bare\n"));
	assert_null(strstr(buffer_text(&s.text), "objects"));
	assert_non_null(strstr(buffer_text(&s.text), "bare/src:.envrc\n"));
	assert_null(strstr(buffer_text(&s.text), "half:bare"));
	assert_non_null(strstr(buffer_text(&s.text), "half/refs:.envrc\n"));
	assert_false(s.look.is_cut);
	look_end(&s);
}

static void test_second(void **state)
{
	struct seen s = { 0 };
	char path[PATH_BYTES];

	(void)state;
	make("a/.envrc");
	make("b/");
	make("gone/.envrc");
	look(&s);
	make("b/new/deep/.envrc");
	make("c/.envrc");
	make("b/.envrc");
	(void)snprintf(path, sizeof(path), "%s/gone/.envrc", folder);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	look_again(&s, 0);
	assert_non_null(strstr(buffer_text(&s.text), "a:.envrc\n"));
	assert_non_null(strstr(buffer_text(&s.text), "b:.envrc\n"));
	assert_non_null(strstr(buffer_text(&s.text), "b/new/deep:.envrc new\n"));
	assert_non_null(strstr(buffer_text(&s.text), "c:.envrc new\n"));
	assert_null(strstr(buffer_text(&s.text), "gone"));
	assert_false(s.look.is_cut);
	look_end(&s);
}

/* More folders than are read; those that are new come first, the others as time allows. */
static void test_folders(void **state)
{
	struct seen s = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2 * LOOK_FOLDERS_MAX; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "d%u/e/.envrc", i);
		make(name);
	}
	look(&s);
	assert_true(s.look.is_cut);
	assert_int_equal(s.n, LOOK_FOLDERS_MAX);
	make("fresh/.envrc");
	look_again(&s, 0);
	assert_true(s.look.is_cut);
	assert_int_equal(s.n, LOOK_FOLDERS_MAX + 1);
	assert_non_null(strstr(buffer_text(&s.text), "fresh:.envrc new\n"));
	look_again(&s, 8 * LOOK_FOLDERS_MAX);
	assert_false(s.look.is_cut);
	assert_int_equal(s.n, 4 * LOOK_FOLDERS_MAX + 2);
	assert_null(strstr(buffer_text(&s.text), "e:.envrc new\n"));
	look_end(&s);
}

/* What is read while there is nothing else to do is known, too. */
static void test_idle(void **state)
{
	struct seen s = { 0 };
	int r;

	(void)state;
	for (unsigned i = 0; i < 2 * LOOK_FOLDERS_MAX; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "d%u/e/.envrc", i);
		make(name);
	}
	look(&s);
	assert_int_equal(s.n, LOOK_FOLDERS_MAX);
	assert_int_equal(look_idle(&s.look, note, &s), 1);
	assert_int_equal(s.n, LOOK_FOLDERS_MAX + LOOK_FEW);
	do
		r = look_idle(&s.look, note, &s);
	while (r == 1);
	assert_int_equal(r, 0);
	assert_int_equal(s.n, 4 * LOOK_FOLDERS_MAX + 1);
	assert_false(s.look.is_cut);
	make("d0/e/new/.envrc");
	look_again(&s, 0);
	assert_false(s.look.is_cut);
	assert_int_equal(s.n, 4 * LOOK_FOLDERS_MAX + 2);
	assert_non_null(strstr(buffer_text(&s.text), "d0/e/new:.envrc new\n"));
	look_end(&s);
}

/* More names than are read: those of the table are found all the same. */
static void test_many_names(void **state)
{
	struct seen s = { 0 };

	(void)state;
	for (unsigned i = 0; i < LOOK_NAMES_MAX + 100; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "f%u", i);
		make(name);
	}
	make(".envrc");
	make("HEAD");
	make("objects/");
	make("refs/");
	look(&s);
	assert_true(s.look.is_cut);
	assert_non_null(strstr(buffer_text(&s.text), ":.envrc\n"));
	assert_non_null(strstr(buffer_text(&s.text), ":bare\n"));
	look_end(&s);
}

/* Names are known from the first look, and need no times. */
static void test_counts_files(void **state)
{
	struct timespec since = { 0 };
	struct seen s = { 0 };

	(void)state;
	make("old");
	make(".git/own");
	look(&s);
	make("new");
	make("made/deep");
	make(".git/more");
	assert_int_equal(look_second(&s.look, &since, 0, note, &s), 0);
	assert_int_equal(s.look.count.created, 2);
	assert_int_equal(s.look.count.changed, 1);
	assert_false(s.look.count.is_cut);
	look_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_second, begin, end),
		cmocka_unit_test_setup_teardown(test_folders, begin, end),
		cmocka_unit_test_setup_teardown(test_idle, begin, end),
		cmocka_unit_test_setup_teardown(test_many_names, begin, end),
		cmocka_unit_test_setup_teardown(test_counts_files, begin, end),
	};

	return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
