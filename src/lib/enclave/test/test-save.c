/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are written piece by piece, and what an attacker who may write in the folder does to
 * the part that an earlier attempt left, or while it is written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-open.h"

#define URL "https://example.com/big"

static struct corral_enclave *enclave;

static int make_tree(void **state)
{
	static const char *const lines[] = { "write @/w/**", "read @/r/**", "deny @/w/denied/.*",
		"ask @/w/asked", NULL };

	if (test_tree_make(state) < 0)
		return -1;
	test_tree_folder("@/w");
	test_tree_folder("@/r");
	test_tree_folder("@/out");
	test_tree_file("@/out/file", "SECRET");
	enclave = test_files_enclave(lines);
	return 0;
}

static int remove_tree(void **state)
{
	corral_enclave_free(enclave);
	return test_tree_remove(state);
}

static int code_of(int r, struct corral_error **e)
{
	assert_true((r < 0) == (*e != NULL));
	if (*e)
		assert_non_null(strchr(corral_error_message(*e), ' '));
	corral_error_free(*e);
	*e = NULL;
	return r;
}

static int try_begin(const char *path, const struct corral_save_options *o, struct corral_save **s)
{
	struct corral_error *e = NULL;

	*s = NULL;
	return code_of(corral_enclave_fs_save(s, enclave, NULL, test_tree(path), o, &e), &e);
}

static struct corral_save *begin(const char *path, const char *resume)
{
	const struct corral_save_options o = { .size = sizeof(o), .resume = resume };
	struct corral_save *s;

	assert_int_equal(try_begin(path, &o, &s), 0);
	return s;
}

static int put(struct corral_save *s, const char *text)
{
	struct corral_error *e = NULL;

	return code_of(corral_save_write(s, text, strlen(text), &e), &e);
}

static int commit(struct corral_save *s)
{
	struct corral_error *e = NULL;
	int r = code_of(corral_save_commit(s, &e), &e);

	corral_save_free(s);
	return r;
}

static void leave(const char *path, const char *text)
{
	struct corral_save *s = begin(path, URL);

	assert_int_equal(put(s, text), 0);
	corral_save_free(s);
}

/* Names in the folder whose text holds that; the last one's path in `ret`, with "@". */
static unsigned find_names(const char *folder, const char *text, char ret[512])
{
	DIR *dir = opendir(test_tree(folder));
	const struct dirent *d;
	unsigned n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		if (!strstr(d->d_name, text))
			continue;
		n++;
		if (ret)
			(void)snprintf(ret, 512, "%s/%s", folder, d->d_name);
	}
	(void)closedir(dir);
	return n;
}

static unsigned leftovers(const char *folder)
{
	return find_names(folder, ".corral", NULL);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(test_tree(path), &st), 0);
	return st.st_mode & 07777;
}

/* Saves */

static void test_appears_when_complete(void **state)
{
	const struct corral_save_options o = { .size = sizeof(o), .mode = 04755 };
	struct corral_save *s = begin("@/w/new", NULL);
	mode_t mask = umask(027);

	(void)state;
	assert_int_equal(corral_save_bytes(s), 0);
	assert_int_equal(put(s, "one "), 0);
	assert_int_equal(put(s, "two"), 0);
	assert_int_equal(corral_save_bytes(s), 7);
	assert_true(test_tree_says("@/w/new", NULL));
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/new", "one two"));
	assert_int_equal(leftovers("@/w"), 0);

	assert_int_equal(try_begin("@/w/program", &o, &s), 0);
	assert_int_equal(commit(s), 0);
	assert_int_equal(mode_of("@/w/program"), 0750);
	(void)umask(mask);

	/* One that is there is replaced as a whole, and keeps its mode. */
	assert_int_equal(chmod(test_tree("@/w/new"), 0640), 0);
	s = begin("@/w/new", URL);
	assert_int_equal(put(s, "three"), 0);
	assert_true(test_tree_says("@/w/new", "one two"));
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/new", "three"));
	assert_int_equal(mode_of("@/w/new"), 0640);
	assert_int_equal(leftovers("@/w"), 0);
}

static void test_ends(void **state)
{
	struct corral_save *s = begin("@/w/ends", NULL);
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(put(s, "x"), 0);
	corral_save_free(s);
	assert_true(test_tree_says("@/w/ends", NULL));
	s = begin("@/w/ends", URL);
	assert_int_equal(put(s, "x"), 0);
	corral_save_discard(s);
	assert_int_equal(put(s, "x"), -EINVAL);
	assert_int_equal(commit(s), -EINVAL);
	s = begin("@/w/ends", NULL);
	assert_int_equal(code_of(corral_save_commit(s, &e), &e), 0);
	assert_int_equal(put(s, "x"), -EINVAL);
	assert_int_equal(commit(s), -EINVAL);
	/* Nothing written is nothing to go on with. */
	corral_save_free(begin("@/w/ends", URL));
	corral_save_free(NULL);
	assert_int_equal(leftovers("@/w"), 0);
}

static void test_is_judged(void **state)
{
	struct corral_save_options o = { .size = sizeof(o) };
	struct corral_save *s;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(try_begin("@/r/file", &o, &s), -EACCES);
	assert_int_equal(try_begin("@/out/file", NULL, &s), -EACCES);
	assert_int_equal(try_begin("@/w/asked", NULL, &s), -EINPROGRESS);
	assert_int_equal(try_begin("@/w", NULL, &s), -EISDIR);
	assert_int_equal(try_begin("@/w/../out/file", NULL, &s), -EINVAL);
	test_tree_link("@/w/link", "@/out/file");
	assert_int_equal(try_begin("@/w/link", NULL, &s), -EACCES);
	assert_int_equal(mkfifo(test_tree("@/w/fifo"), 0600), 0);
	assert_int_equal(try_begin("@/w/fifo", NULL, &s), -ELOOP);
	o.size = 0;
	assert_int_equal(try_begin("@/w/x", &o, &s), -EINVAL);
	/* A host of before `resume`: what lies behind its struct does not count. */
	o.size = offsetof(struct corral_save_options, resume);
	o.resume = (const char *)1;
	assert_int_equal(try_begin("@/w/x", &o, &s), 0);
	corral_save_free(s);

	/* What is revoked while it is written does not appear. */
	assert_int_equal(corral_enclave_grant(enclave, test_files_token, CORRAL_FS_WRITE,
				 test_tree("@/r/late"), NULL, &e),
		0);
	s = begin("@/r/late", NULL);
	assert_int_equal(put(s, "x"), 0);
	assert_int_equal(corral_enclave_revoke(enclave, test_files_token, CORRAL_FS_WRITE,
				 test_tree("@/r/late"), NULL, &e),
		0);
	assert_int_equal(commit(s), -EACCES);
	assert_int_equal(find_names("@/r", "late", NULL), 0);
}

static void test_is_bounded(void **state)
{
	const struct corral_save_options o = { .size = sizeof(o), .max_bytes = 8, .resume = URL };
	struct corral_save *s;

	(void)state;
	test_tree_file("@/w/bounded", "old");
	assert_int_equal(try_begin("@/w/bounded", &o, &s), 0);
	assert_int_equal(put(s, "12345678"), 0);
	assert_int_equal(put(s, ""), 0);
	assert_int_equal(put(s, "9"), -EFBIG);
	assert_int_equal(put(s, ""), -EINVAL);
	assert_int_equal(commit(s), -EINVAL);
	assert_true(test_tree_says("@/w/bounded", "old"));
	assert_int_equal(leftovers("@/w"), 0);
}

static unsigned count(const char *log, const char *text)
{
	unsigned n = 0;

	for (log = strstr(log, text); log; log = strstr(log + 1, text))
		n++;
	return n;
}

/* One event for one save, whatever becomes of it. */
static void test_is_told(void **state)
{
	struct corral_save *s = begin("@/w/told", NULL);
	char *log = NULL;

	(void)state;
	assert_int_equal(put(s, "four"), 0);
	assert_int_equal(commit(s), 0);
	corral_save_free(begin("@/w/told", NULL));
	s = begin("@/w/told", NULL);
	corral_save_discard(s);
	corral_save_free(s);
	assert_int_equal(corral_enclave_get_audit_log(enclave, 0, &log, NULL), 0);
	assert_int_equal(count(log, "/w/told\""), 3);
	assert_int_equal(count(log, "it was discarded") >= 1, 1);
	assert_int_equal(count(log, "it was not completed") >= 1, 1);
	corral_free(log);
}

/* Going on */

static void test_goes_on(void **state)
{
	struct corral_save *s;
	struct corral_error *e = NULL;
	char part[512];

	(void)state;
	leave("@/w/big", "begun, ");
	assert_true(test_tree_says("@/w/big", NULL));
	assert_int_equal(find_names("@/w", ".corral-part", part), 1);
	assert_non_null(strstr(part, "/.big."));

	/* Something else by the same name is no part of it. */
	s = begin("@/w/big", URL "?other");
	assert_int_equal(corral_save_bytes(s), 0);
	corral_save_free(s);
	s = begin("@/w/other", URL);
	assert_int_equal(corral_save_bytes(s), 0);
	corral_save_free(s);

	s = begin("@/w/big", URL);
	assert_int_equal(corral_save_bytes(s), 7);
	assert_true(corral_save_modified(s) > 0);
	assert_int_equal(put(s, "and "), 0);
	corral_save_free(s);
	s = begin("@/w/big", URL);
	assert_int_equal(corral_save_bytes(s), 11);
	assert_int_equal(put(s, "ended"), 0);
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/big", "begun, and ended"));
	assert_int_equal(leftovers("@/w"), 0);

	leave("@/w/big", "of an older version");
	s = begin("@/w/big", URL);
	assert_int_equal(corral_save_bytes(s), 19);
	assert_int_equal(code_of(corral_save_restart(s, &e), &e), 0);
	assert_int_equal(corral_save_bytes(s), 0);
	assert_int_equal(corral_save_modified(s), 0);
	assert_int_equal(put(s, "new"), 0);
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/big", "new"));
	assert_int_equal(leftovers("@/w"), 0);
}

/* Two at once do not write into the same part. */
static void test_two_at_once(void **state)
{
	struct corral_save *first, *second;

	(void)state;
	leave("@/w/two", "both ");
	first = begin("@/w/two", URL);
	second = begin("@/w/two", URL);
	assert_int_equal(corral_save_bytes(first), 5);
	assert_int_equal(corral_save_bytes(second), 0);
	assert_int_equal(put(first, "one"), 0);
	assert_int_equal(put(second, "two"), 0);
	assert_int_equal(commit(first), 0);
	assert_true(test_tree_says("@/w/two", "both one"));
	assert_int_equal(commit(second), 0);
	assert_true(test_tree_says("@/w/two", "two"));
	assert_int_equal(leftovers("@/w"), 0);
}

/* A part has a name, and the policy has a say about names. */
static void test_part_is_judged(void **state)
{
	struct corral_save *s;

	(void)state;
	test_tree_folder("@/w/denied");
	leave("@/w/denied/file", "x");
	assert_int_equal(leftovers("@/w/denied"), 0);
	s = begin("@/w/denied/file", URL);
	assert_int_equal(corral_save_bytes(s), 0);
	assert_int_equal(put(s, "whole"), 0);
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/denied/file", "whole"));
}

static void test_long_names(void **state)
{
	char path[300] = "@/w/";
	struct corral_save *s;

	(void)state;
	memset(path + 4, 'n', 255);
	leave(path, "long ");
	s = begin(path, URL);
	assert_int_equal(corral_save_bytes(s), 5);
	assert_int_equal(put(s, "name"), 0);
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says(path, "long name"));
	assert_int_equal(leftovers("@/w"), 0);
}

/* Attacks on a part that was left */

static void put_link(const char *part)
{
	test_tree_link(part, "@/out/file");
}

static void put_hard_link(const char *part)
{
	test_tree_hard_link(part, "@/out/file");
}

static void put_fifo(const char *part)
{
	assert_int_equal(mkfifo(test_tree(part), 0600), 0);
}

static void put_large(const char *part)
{
	test_tree_file(part, "");
	assert_int_equal(truncate(test_tree(part), (65 << 20)), 0);
}

/* Only root can make one; for others their own file with two names must do. */
static void put_foreign(const char *part)
{
	test_tree_file(part, "of another");
	if (geteuid() == 0)
		assert_int_equal(chown(test_tree(part), 12345, 12345), 0);
	else
		assert_int_equal(link(test_tree(part), test_tree("@/w/second")), 0);
}

static void put_unreadable_folder(const char *part)
{
	assert_int_equal(mkdir(test_tree(part), 0755), 0);
}

/* What one writes who just opens the part and appends. */
static bool append_naively(const char *part)
{
	int fd = open(test_tree(part), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, "tail", 4) == 4;

	if (fd >= 0)
		(void)close(fd);
	return written;
}

static void test_parts_that_are_not_ours(void **state)
{
	static const struct {
		void (*attack)(const char *part);
		bool writes_outside; /* the naive way */
	} attacks[] = {
		{ put_link, true },
		{ put_hard_link, true },
		{ put_fifo, false },
		{ put_large, false },
		{ put_foreign, false },
		{ put_unreadable_folder, false },
	};
	char part[512];

	(void)state;
	for (size_t i = 0; i < ROWS(attacks); i++) {
		struct corral_save *s;

		leave("@/w/attacked", "begun ");
		assert_int_equal(find_names("@/w", ".attacked.", part), 1);
		assert_int_equal(unlink(test_tree(part)), 0);
		attacks[i].attack(part);
		s = begin("@/w/attacked", URL);
		assert_int_equal(corral_save_bytes(s), 0);
		assert_int_equal(put(s, "whole"), 0);
		assert_int_equal(commit(s), 0);
		assert_true(test_tree_says("@/w/attacked", "whole"));
		assert_true(test_tree_says("@/out/file", "SECRET"));
		(void)rmdir(test_tree(part));
		assert_int_equal(leftovers("@/w"), 0);
		if (attacks[i].writes_outside) {
			attacks[i].attack(part);
			assert_true(append_naively(part));
			assert_true(test_tree_says("@/out/file", "SECRETtail"));
			assert_int_equal(unlink(test_tree(part)), 0);
			test_tree_file("@/out/file", "SECRET");
		}
		assert_int_equal(unlink(test_tree("@/w/attacked")), 0);
	}
	(void)unlink(test_tree("@/w/second"));
}

/* A mode that whoever may write there gave it is not kept. */
static void test_part_with_a_mode(void **state)
{
	struct corral_save *s;
	char part[512];

	(void)state;
	leave("@/w/moded", "begun ");
	assert_int_equal(find_names("@/w", ".moded.", part), 1);
	assert_int_equal(chmod(test_tree(part), 06777), 0);
	s = begin("@/w/moded", URL);
	assert_int_equal(corral_save_bytes(s), 6);
	assert_int_equal(commit(s), 0);
	assert_int_equal(mode_of("@/w/moded"), 0644);
}

/* Attacks while it is written */

static void change_delete(const char *part)
{
	assert_int_equal(unlink(test_tree(part)), 0);
}

static void change_grow(const char *part)
{
	assert_true(append_naively(part));
}

static void change_cut(const char *part)
{
	assert_int_equal(truncate(test_tree(part), 1), 0);
}

static void change_link(const char *part)
{
	assert_int_equal(link(test_tree(part), test_tree("@/w/second")), 0);
}

static void change_folder(const char *part)
{
	(void)part;
	assert_int_equal(rename(test_tree("@/w/sub"), test_tree("@/w/moved")), 0);
}

static void change_folder_to_link(const char *part)
{
	change_folder(part);
	test_tree_link("@/w/sub", "@/out");
}

static void test_changed_while_written(void **state)
{
	static void (*const changes[])(const char *part) = { change_delete, change_grow, change_cut,
		change_link, change_folder, change_folder_to_link };
	char part[512];

	(void)state;
	for (size_t i = 0; i < ROWS(changes); i++) {
		struct corral_save *s;

		test_tree_folder("@/w/sub");
		s = begin("@/w/sub/saved", URL);
		assert_int_equal(put(s, "content"), 0);
		assert_int_equal(find_names("@/w/sub", ".corral-part", part), 1);
		changes[i](part);
		assert_int_equal(commit(s), -EBUSY);
		assert_true(test_tree_says("@/w/sub/saved", NULL));
		assert_true(test_tree_says("@/w/moved/saved", NULL));
		assert_true(test_tree_says("@/out/file", "SECRET"));
		(void)unlink(test_tree("@/w/second"));
		(void)unlink(test_tree("@/w/sub"));
		(void)rename(test_tree("@/w/moved"), test_tree("@/w/sub"));
		(void)unlink(test_tree(part));
		assert_int_equal(rmdir(test_tree("@/w/sub")), 0);
	}
}

/* Another file that got the part's name is not what appears. */
static void test_part_replaced_while_written(void **state)
{
	struct corral_save *s = begin("@/w/swapped", URL);
	char part[512];

	(void)state;
	assert_int_equal(put(s, "ours"), 0);
	assert_int_equal(find_names("@/w", ".swapped.", part), 1);
	assert_int_equal(rename(test_tree(part), test_tree("@/w/aside")), 0);
	put_link(part);
	assert_int_equal(commit(s), 0);
	assert_true(test_tree_says("@/w/swapped", "ours"));
	assert_true(test_tree_says("@/out/file", "SECRET"));
	assert_int_equal(unlink(test_tree(part)), 0);
	assert_int_equal(unlink(test_tree("@/w/aside")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appears_when_complete),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_is_judged),
		cmocka_unit_test(test_is_bounded),
		cmocka_unit_test(test_is_told),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_part_is_judged),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_parts_that_are_not_ours),
		cmocka_unit_test(test_part_with_a_mode),
		cmocka_unit_test(test_changed_while_written),
		cmocka_unit_test(test_part_replaced_while_written),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
