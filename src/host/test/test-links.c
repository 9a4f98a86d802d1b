/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "host/links.h"

/* The links of the scratch folder; "@" is that folder. */
static const struct {
	const char *name, *target;
} links[] = {
	{ "file", "real/file" },
	{ "folder", "real" },
	{ "absolute", "@/real" },
	{ "up", "real/../other" },
	{ "dangling", "nowhere/new" },
	{ "first", "second" },
	{ "second", "./third" },
	{ "third", "real/file" },
	{ "self", "self" },
	{ "ping", "pong" },
	{ "pong", "ping" },
	{ "real/back", ".." },
	{ "root", "/" },
};

static const struct {
	const char *path, *end;
} cases[] = {
	{ "@", "@" },
	{ "@/", "@" },
	{ "/", "/" },
	{ "/..", "/" },
	{ "@//real/./file", "@/real/file" },
	{ "@/file", "@/real/file" },
	{ "@/folder/file", "@/real/file" },
	{ "@/folder/new/deeper", "@/real/new/deeper" },
	{ "@/absolute/file", "@/real/file" },
	{ "@/up", "@/other" },
	{ "@/dangling", "@/nowhere/new" },
	{ "@/first", "@/real/file" },
	{ "@/nothing/../file", "@/real/file" },
	/* To the kernel this is the parent of where the link leads. */
	{ "@/folder/../file", "@/real/file" },
	{ "@/real/back/file", "@/real/file" },
	{ "@/folder/back/folder/back/folder/file", "@/real/file" },
	{ "@/root/..", "/" },
	{ "@/root/no-such-folder/x", "/no-such-folder/x" },
	/* A file is no folder; the rest is taken as it is written. */
	{ "@/file/x", "@/real/file/x" },
};

static char folder[] = "/tmp/test-links.XXXXXX";

/* With the scratch folder in place of '@'. */
static char *expand(const char *text)
{
	struct buffer out = { 0 };

	for (; *text; text++) {
		if (*text == '@')
			buffer_adds(&out, folder);
		else
			buffer_addc(&out, *text);
	}
	return buffer_take(&out);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || chdir(folder) < 0 || mkdir("real", 0700) < 0)
		return -1;
	for (size_t i = 0; i < ROWS(links); i++) {
		char *target = expand(links[i].target);
		int r = symlink(target, links[i].name);

		free(target);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(links); i++)
		(void)unlink(links[i].name);
	return rmdir("real") < 0 || chdir("/") < 0 || rmdir(folder) < 0 ? -1 : 0;
}

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		char *path = expand(cases[i].path), *end = expand(cases[i].end);
		char out[PATH_BYTES] = "";

		assert_int_equal(links_follow(path, NULL, NULL, out), 0);
		assert_string_equal(out, end);
		free(path);
		free(end);
	}
}

static int note(void *data, const char *path)
{
	buffer_printf(data, "%s\n", path);
	return 0;
}

static void test_hops(void **state)
{
	char *path = expand("@/first"), out[PATH_BYTES];
	char *hops = expand("@/second\n@/third\n@/real/file\n");
	auto_buffer seen = { 0 };

	(void)state;
	assert_int_equal(links_follow(path, note, &seen, out), 0);
	assert_string_equal(buffer_text(&seen), hops);
	free(path);
	free(hops);
}

static int note_link(void *data, const char *link, const char *target)
{
	buffer_printf(data, "%s -> %s\n", link, target ? target : "(left)");
	return 0;
}

static int stop_at_link(void *data, const char *link, const char *target)
{
	(void)data;
	(void)link;
	(void)target;
	return -EACCES;
}

/* Each link by itself, in a folder that has no more links on its way. */
static void test_walk(void **state)
{
	char *path = expand("@/folder/back/first"), out[PATH_BYTES] = "";
	char *seen = expand("@/folder -> real\n@/real/back -> ..\n@/first -> second\n"
			    "@/second -> ./third\n@/third -> real/file\n");
	char *end = expand("@/real/file");
	auto_buffer text = { 0 };

	(void)state;
	assert_int_equal(links_walk(path, note_link, &text, out), 0);
	assert_string_equal(buffer_text(&text), seen);
	assert_string_equal(out, end);
	assert_int_equal(links_walk(path, stop_at_link, NULL, out), -EACCES);
	free(path);
	free(seen);
	free(end);
}

/* With a link in place of such a folder, the way would lead elsewhere. */
static void test_left_folders(void **state)
{
	static const struct {
		const char *path, *seen;
	} rows[] = {
		{ "@/up", "@/up -> real/../other\n@/real -> (left)\n" },
		{ "@/folder/back/up", "@/folder -> real\n@/real/back -> ..\n@/up -> real/../other\n"
				      "@/real -> (left)\n" },
		{ "@/real/back/real", "@/real/back -> ..\n" },
		{ "@/real/..", "@/real -> (left)\n" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char *path = expand(rows[i].path), *seen = expand(rows[i].seen), out[PATH_BYTES];
		auto_buffer text = { 0 };

		assert_int_equal(links_walk(path, note_link, &text, out), 0);
		assert_string_equal(buffer_text(&text), seen);
		free(path);
		free(seen);
	}
}

static int stop(void *data, const char *path)
{
	(void)data;
	(void)path;
	return -ECANCELED;
}

static void test_errors(void **state)
{
	static const struct {
		const char *path;
		int code;
	} bad[] = {
		{ "@/self", -ELOOP },
		{ "@/ping/x", -ELOOP },
		{ "relative", -EINVAL },
		{ "", -EINVAL },
	};
	char out[PATH_BYTES] = "untouched", *path = expand("@/file");
	char *longest = malloc(PATH_BYTES + 1);

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		char *text = expand(bad[i].path);

		assert_int_equal(links_follow(text, NULL, NULL, out), bad[i].code);
		assert_string_equal(out, "untouched");
		free(text);
	}
	assert_int_equal(links_follow(path, stop, NULL, out), -ECANCELED);
	assert_non_null(longest);
	memset(longest, 'x', PATH_BYTES);
	longest[0] = '/';
	longest[PATH_BYTES] = '\0';
	assert_int_equal(links_follow(longest, NULL, NULL, out), -ENAMETOOLONG);
	assert_string_equal(out, "untouched");
	free(longest);
	free(path);
}

static void check_end(const char *path, const char *end)
{
	char *from = expand(path), *to = expand(end), out[PATH_BYTES];

	assert_int_equal(links_follow(from, NULL, NULL, out), 0);
	assert_string_equal(out, to);
	free(from);
	free(to);
}

/* Only what is there and is no link is kept, and only as long as the caller wants that. */
static void test_kept(void **state)
{
	(void)state;
	assert_int_equal(mkdir("plain", 0700), 0);
	assert_int_equal(symlink("real", "moved"), 0);
	links_keep(true);
	check_end("@/plain/x", "@/plain/x");
	check_end("@/moved/x", "@/real/x");
	check_end("@/later/x", "@/later/x");
	assert_int_equal(rmdir("plain"), 0);
	assert_int_equal(symlink("real", "plain"), 0);
	assert_int_equal(unlink("moved"), 0);
	assert_int_equal(symlink("other", "moved"), 0);
	assert_int_equal(symlink("real", "later"), 0);
	check_end("@/plain/x", "@/plain/x");
	check_end("@/moved/x", "@/other/x");
	check_end("@/later/x", "@/real/x");
	links_keep(false);
	check_end("@/plain/x", "@/real/x");
	links_keep(true);
	check_end("@/plain/x", "@/real/x");
	links_keep(false);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unlink((const char *[]){ "plain", "moved", "later" }[i]), 0);
}

/* More folders than are kept, and a longer way than there is room for. */
static void test_kept_is_bounded(void **state)
{
	char name[32], path[128];

	(void)state;
	links_keep(true);
	for (int i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "n-%d", i);
		(void)snprintf(path, sizeof(path), "@/n-%d/x", i);
		assert_int_equal(mkdir(name, 0700), 0);
		check_end(path, path);
		check_end(path, path);
	}
	links_keep(false);
	for (int i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "n-%d", i);
		assert_int_equal(rmdir(name), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_hops),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_left_folders),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kept_is_bounded),
	};

	return cmocka_run_group_tests_name("links", tests, set_up, tear_down);
}
