/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/formats.h"
#include "test/scratch.h"

/* The process dies at this call of link() and rename(), counted from 1; 0: never. */
static int dies_at, calls;
static bool dies_after, has_no_links;

int __real_link(const char *old, const char *new);
int __real_rename(const char *old, const char *new);
int __wrap_link(const char *old, const char *new);
int __wrap_rename(const char *old, const char *new);

static int formats_step(int (*call)(const char *, const char *), const char *old, const char *new)
{
	const bool dies = ++calls == dies_at;
	int r;

	if (dies && !dies_after)
		_exit(1);
	r = call(old, new);
	if (dies)
		_exit(1);
	return r;
}

int __wrap_link(const char *old, const char *new)
{
	if (has_no_links) {
		errno = EPERM;
		return -1;
	}
	return formats_step(__real_link, old, new);
}

int __wrap_rename(const char *old, const char *new)
{
	return formats_step(__real_rename, old, new);
}

static void newer_is_refused(void **state)
{
	(void)state;
	for (int f = 0; f < FORMAT_COUNT; f++) {
		const struct format_row *row = &formats_rows[f];
		struct error e = { 0 };
		char version[32];

		assert_non_null(row->name);
		assert_true(row->oldest <= row->version);
		assert_int_equal(formats_check(f, row->version, "/p", &e), 0);
		assert_string_equal(e.text, "");
		if (row->oldest < row->version)
			assert_int_equal(formats_check(f, row->oldest, "/p", &e), 1);
		assert_int_equal(formats_check(f, row->version + 1, "/p", &e), -ENOTSUP);
		assert_int_equal(formats_check(f, UINT64_MAX, "/p", NULL), -ENOTSUP);
		/* Which file, what it is, its version, and what to do. */
		(void)snprintf(version, sizeof(version), "version %u", row->version + 1);
		assert_non_null(strstr(e.text, "/p: "));
		assert_non_null(strstr(e.text, row->name));
		assert_non_null(strstr(e.text, version));
		assert_non_null(strstr(e.hint, "upgrade"));
		assert_non_null(strstr(e.hint, row->instead));
	}
}

static void expect(const char *path, const char *text)
{
	auto_buffer out = { 0 };

	assert_int_equal(file_read(path, 4096, &out), 0);
	assert_string_equal(buffer_text(&out), text);
}

/* A file with an old text in a folder of its own, and the name under which it is kept. */
struct place {
	char folder[PATH_MAX], path[PATH_MAX + 8], kept[PATH_MAX + 16];
};

static void place_make(struct place *p)
{
	char template[] = "/tmp/corral-formats-XXXXXX";

	assert_int_equal(scratch_make(template, p->folder), 0);
	(void)snprintf(p->path, sizeof(p->path), "%s/file", p->folder);
	(void)snprintf(p->kept, sizeof(p->kept), "%s.v0", p->path);
	assert_int_equal(file_replace(p->path, "old", 3, 0600), 0);
}

static void old_is_kept(void **state)
{
	struct place p;
	struct stat st;

	(void)state;
	for (int i = 0; i < 2; i++) {
		place_make(&p);
		has_no_links = i == 1;
		assert_int_equal(formats_replace(p.path, 0, "newer", 5, 0600), 0);
		has_no_links = false;
		expect(p.path, "newer");
		expect(p.kept, "old");
		assert_int_equal(stat(p.kept, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		/* The first that was kept stays. */
		assert_int_equal(formats_replace(p.path, 0, "newest", 6, 0600), 0);
		expect(p.kept, "old");
		assert_int_equal(scratch_remove(p.folder), 0);
	}
	assert_int_equal(formats_replace("/nonexistent/file", 0, "x", 1, 0600), -ENOENT);
}

/* Killed before and after each step: the old file or the new one, never a part; the next try works.
 */
static void killed_between(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct place p;
		pid_t pid;
		int status;

		place_make(&p);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			calls = 0;
			dies_at = 1 + i / 2;
			dies_after = i % 2;
			(void)formats_replace(p.path, 0, "newer", 5, 0600);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
		expect(p.path, i == 3 ? "newer" : "old");
		assert_int_equal(formats_replace(p.path, 0, "newer", 5, 0600), 0);
		expect(p.path, "newer");
		expect(p.kept, "old");
		assert_int_equal(scratch_remove(p.folder), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newer_is_refused),
		cmocka_unit_test(old_is_kept),
		cmocka_unit_test(killed_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
