/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/mcp/client-file.h"
#include "cli/verb.h"
#include "test/scratch.h"

static char template[] = "/tmp/test-client-file.XXXXXX";
static char real[PATH_MAX];
static struct arena arena;
static struct error fault;
static struct call call = { .arena = &arena, .error = &fault };

static const char *at(const char *name)
{
	static char paths[4][PATH_BYTES];
	static size_t n;
	char *path = paths[n++ % ROWS(paths)];

	(void)snprintf(path, PATH_BYTES, "%.4000s/%s", real, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static void has(const char *name, const char *text)
{
	auto_buffer got = { 0 };

	assert_int_equal(file_read(at(name), 1 << 20, &got), 0);
	assert_string_equal(buffer_text(&got), text);
}

static void open_place(struct client_place *p, const char *name)
{
	fault = (struct error){ 0 };
	if (client_place_open(p, client_find("claude"), at(name), false, &call) < 0)
		print_message("%s\n", fault.text);
	assert_string_equal(fault.text, "");
}

static int put_place(struct client_place *p, const char *text)
{
	struct buffer b = { .data = (char *)(uintptr_t)text, .len = text ? strlen(text) : 0 };

	return client_place_put(p, text ? &b : NULL, &call);
}

/* What another program does between reading and writing. */
static void change_text(void)
{
	put("f", "theirs, longer");
}

static void change_file(void)
{
	put("g", "{}");
	assert_int_equal(rename(at("g"), at("f")), 0);
}

static void change_link(void)
{
	put("victim", "{}");
	assert_int_equal(unlink(at("f")), 0);
	assert_int_equal(symlink("victim", at("f")), 0);
}

static void change_gone(void)
{
	assert_int_equal(unlink(at("f")), 0);
}

static void test_changed(void **state)
{
	static const struct {
		void (*change)(void);
		const char *then; /* NULL: no file */
	} rows[] = { { change_text, "theirs, longer" }, { change_file, "{}" },
		{ change_link, "{}" }, { change_gone, NULL } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (int removes = 0; removes < 2; removes++) {
			struct client_place p;

			(void)unlink(at("f"));
			put("f", "{}");
			open_place(&p, "f");
			assert_true(p.exists);
			assert_string_equal(buffer_text(&p.text), "{}");
			rows[i].change();
			assert_int_equal(put_place(&p, removes ? NULL : "ours"), -ESTALE);
			client_place_close(&p);
			if (rows[i].then)
				has("f", rows[i].then);
			else
				assert_int_equal(access(at("f"), F_OK), -1);
		}
	}
}

/* A file or a folder that was not there, and is now. */
static void test_appears(void **state)
{
	struct client_place p;

	(void)state;
	open_place(&p, "new");
	assert_false(p.exists);
	put("new", "theirs");
	assert_int_equal(put_place(&p, "ours"), -ESTALE);
	client_place_close(&p);
	has("new", "theirs");

	open_place(&p, "folder/f");
	assert_false(p.exists);
	assert_int_equal(mkdir(at("folder"), 0700), 0);
	put("folder/f", "theirs");
	assert_int_equal(put_place(&p, "ours"), -ESTALE);
	client_place_close(&p);
	has("folder/f", "theirs");
}

static void test_made(void **state)
{
	struct client_place p;
	struct stat st;

	(void)state;
	open_place(&p, "a/b/f");
	assert_false(p.exists);
	assert_int_equal(put_place(&p, "ours"), 0);
	client_place_close(&p);
	has("a/b/f", "ours");
	assert_int_equal(stat(at("a/b/f"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	open_place(&p, "a/b/f");
	assert_int_equal(put_place(&p, NULL), 0);
	client_place_close(&p);
	assert_int_equal(access(at("a/b/f"), F_OK), -1);
}

static int setup(void **state)
{
	(void)state;
	return scratch_make(template, real);
}

static int teardown(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return scratch_remove(real);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_changed),
		cmocka_unit_test(test_appears), cmocka_unit_test(test_made) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
