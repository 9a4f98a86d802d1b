/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/ask/kept.h"
#include "test/scratch.h"

#define LEADS "0123456789abcdef0123456789abcdef"

static void test_back(void **state)
{
	const struct ask_kept all[] = {
		{ ASK_WORD_ONCE, 1790000000, "--read", "/srv/a file", { ASK_KIND_FILE, LEADS },
			"" },
		{ ASK_WORD_DAY, 1790000001, "--exec", "gcc", { ASK_KIND_PROGRAM, LEADS }, LEADS },
		{ ASK_WORD_NO, 1790000002, "--write", "/srv/x\\*", { ASK_KIND_MISSING, LEADS },
			"" },
		{ ASK_WORD_NONE, 1790000003, "--read", "/srv/open", { ASK_KIND_FOLDER, LEADS },
			LEADS },
	};
	struct ask_kept got[ASK_KEPT_MAX];
	auto_buffer text = { 0 };
	size_t n = 0;

	(void)state;
	ask_kept_write("/home/u/p", all, ROWS(all), &text);
	buffer_addc(&text, '\0');
	assert_int_equal(ask_kept_read((char *)text.data, "/home/u/p", got, &n), 0);
	assert_int_equal(n, ROWS(all));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i].word, all[i].word);
		assert_int_equal(got[i].until_s, all[i].until_s);
		assert_string_equal(got[i].option, all[i].option);
		assert_string_equal(got[i].value, all[i].value);
		assert_true(ask_subject_is_same(&got[i].about, &all[i].about));
		assert_string_equal(got[i].project, all[i].project);
	}
}

/* Nothing is taken from a file that was not written by us, or that is of another folder. */
static void test_bad(void **state)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{ "", -EBADMSG },
		{ "corral-asked 2 /p", -EBADMSG },
		{ "corral-asked 3 /p\n", -EBADMSG },
		{ "corral-asked 2 /q\n1 day file " LEADS " - --read /a\n", -ESTALE },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --read /a", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --read \n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --read\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --net a:1\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --dangerously-allow /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 always file " LEADS " - --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n-1 day file " LEADS " - --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1x day file " LEADS " - --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n99999999999999999999999 day file " LEADS " - --read /a\n",
			-EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " - --read /a\x1b[2J\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day unknown " LEADS " - --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS "0 --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file ../../etc --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n1 day file " LEADS " /p --read /a\n", -EBADMSG },
		{ "corral-asked 2 /p\n\n", -EBADMSG },
		{ "corral-asked 2 /p\n", 0 },
	};
	struct ask_kept got[ASK_KEPT_MAX];
	char text[8192];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		(void)snprintf(text, sizeof(text), "%s", rows[i].text);
		assert_int_equal(ask_kept_read(text, "/p", got, &n), rows[i].error);
		assert_int_equal(n, 0);
	}
	/* More lines than are kept. */
	(void)snprintf(text, sizeof(text), "corral-asked 2 /p\n");
	for (size_t i = 0; i <= ASK_KEPT_MAX; i++)
		(void)strcat(text, "1 day file " LEADS " - --read /a\n");
	assert_int_equal(ask_kept_read(text, "/p", got, &n), -EBADMSG);
}

/* An answer names a question by all that it is about. */
static void test_id(void **state)
{
	static const struct {
		const char *folder;
		struct ask_kept k;
	} rows[] = {
		{ "/p", { .option = "--read", .value = "/a" } },
		{ "/q", { .option = "--read", .value = "/a" } },
		{ "/p", { .option = "--write", .value = "/a" } },
		{ "/p", { .option = "--read", .value = "/b" } },
		{ "/p--read", { .option = "", .value = "/a" } },
		{ "/p", { .option = "--read", .value = "/a", .about = { ASK_KIND_FILE, "" } } },
		{ "/p", { .option = "--read", .value = "/a", .about = { ASK_KIND_FILE, LEADS } } },
		{ "/p", { .option = "--read",
				.value = "/a",
				.about = { ASK_KIND_FOLDER, LEADS } } },
		{ "/p", { .option = "--read",
				.value = "/a",
				.about = { ASK_KIND_FOLDER, LEADS },
				.project = LEADS } },
	};
	char ids[ROWS(rows)][ASK_KEPT_ID], again[ASK_KEPT_ID];

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		ask_kept_id(rows[i].folder, &rows[i].k, ids[i]);
		assert_int_equal(strlen(ids[i]), ASK_KEPT_ID - 1);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
	}
	/* How it was answered, and for how long, is no part of it. */
	ask_kept_id("/p",
		&(struct ask_kept){ ASK_WORD_DAY, 1, rows[0].k.option, rows[0].k.value, { 0 }, "" },
		again);
	assert_string_equal(again, ids[0]);
}

/* One that is open is not an answer, and takes no place of one. */
static void test_put(void **state)
{
	static const char folder[] = "/p";
	char place[] = "/tmp/corral-kept-XXXXXX", value[32];
	struct ask_kept got[ASK_KEPT_MAX],
		k = { .option = "--read", .value = value, .about = { ASK_KIND_FILE, LEADS } };
	struct ask_open *open = NULL;
	struct error e = { 0 };
	auto_arena a = { 0 };
	struct call c = { .arena = &a, .error = &e };
	size_t n = 0;

	(void)state;
	assert_non_null(mkdtemp(place));
	assert_int_equal(setenv("XDG_STATE_HOME", place, 1), 0);
	for (int i = 0; i < ASK_KEPT_OPEN_MAX; i++) {
		(void)snprintf(value, sizeof(value), "/open%d", i);
		assert_int_equal(ask_kept_put(&c, folder, &k), 0);
		assert_int_equal(ask_kept_put(&c, folder, &k), 1);
	}
	(void)snprintf(value, sizeof(value), "/one-more");
	assert_int_equal(ask_kept_put(&c, folder, &k), -ENOSPC);
	k.word = ASK_WORD_ONCE;
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	(void)snprintf(value, sizeof(value), "/open0");
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	k.word = ASK_WORD_NONE;
	assert_int_equal(ask_kept_put(&c, folder, &k), 1);
	/* The same name of something else is another question; the answer does not hold for it. */
	k.about.kind = ASK_KIND_FOLDER;
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	assert_int_equal(ask_kept_put(&c, folder, &k), 1);
	k.about.kind = ASK_KIND_FILE;
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	k.word = ASK_WORD_ONCE;
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	assert_int_equal(ask_kept_open(&c, &open, &n), 0);
	assert_int_equal(n, ASK_KEPT_OPEN_MAX - 1);
	(void)snprintf(value, sizeof(value), "/open1");
	assert_int_equal(ask_kept_drop(&c, folder, &k), 0);
	assert_int_equal(ask_kept_drop(&c, folder, &k), 0);
	assert_int_equal(ask_kept_open(&c, &open, &n), 0);
	assert_int_equal(n, ASK_KEPT_OPEN_MAX - 2);
	/* By a run with a project: another question, in the place of the one that is open. */
	k.word = ASK_WORD_NONE;
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	memcpy(k.project, LEADS, sizeof(LEADS));
	assert_int_equal(ask_kept_put(&c, folder, &k), 0);
	assert_int_equal(ask_kept_put(&c, folder, &k), 1);
	assert_string_equal(open[0].folder, folder);
	assert_int_equal(ask_kept_take(&c, folder, got, &n), 0);
	assert_int_equal(n, ASK_KEPT_OPEN_MAX + 1);
	assert_int_equal(ask_kept_take(&c, folder, got, &n), 0);
	assert_int_equal(n, ASK_KEPT_OPEN_MAX - 1);
	assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
	assert_int_equal(scratch_remove(place), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
