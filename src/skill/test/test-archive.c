/* SPDX-License-Identifier: Apache-2.0 */
/* A skill as it was hashed: the list of its entries, and the copy that reaches the sandbox. */
#include "test/unit.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/buffer.h"
#include "skill/archive.h"
#include "skill/content.h"
#include "skill/test/test.h"
#include "wire/frame.h"

static const struct skill_live live_items[] = { { "data", true }, { "state", false },
	{ "sub/store", true } };
static const struct skill_lives lives = { live_items, ROWS(live_items) };

static void fill(struct folder *f)
{
	static char big[200000];

	memset(big, 'x', sizeof(big));
	assert_int_equal(mkdirat(f->fd, "sub", 0700), 0);
	assert_int_equal(mkdirat(f->fd, "sub/deep", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "sub/store", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "data", 0755), 0);
	assert_int_equal(mkdirat(f->fd, "empty", 0755), 0);
	folder_add_bytes(f, "run", "#!/bin/sh\n", 10, 0750);
	folder_add(f, "sub/a", "a");
	folder_add(f, "sub/deep/nothing", "");
	folder_add_bytes(f, "big", big, sizeof(big), 0600);
	folder_add(f, "data/live", "never copied");
	folder_add(f, "sub/store/live", "never copied");
	folder_add(f, "state", "never copied");
	assert_int_equal(symlinkat("sub/a", f->fd, "link"), 0);
	assert_int_equal(symlinkat("../run", f->fd, "sub/up"), 0);
	assert_int_equal(symlinkat("data/live", f->fd, "into"), 0);
	assert_int_equal(symlinkat("loop", f->fd, "loop"), 0);
	assert_int_equal(
		utimensat(f->fd, "sub/a", (struct timespec[2]){ { 1, 1 }, { 1000, 7 } }, 0), 0);
}

/* Reads and copies. */
static int copy(const struct folder *f, struct skill_content *c, int *ret, struct error *e)
{
	struct skill_archive_writer w;
	int r = skill_archive_begin(&w, "/the/skill", e);

	if (r == 0)
		r = skill_content_read(c, f->fd, &lives, &w, e);
	if (r == 0)
		r = skill_archive_finish(&w, ret, e);
	skill_archive_abandon(&w);
	return r;
}

static void reads(const struct folder *f, const char *name, const char *text)
{
	char bytes[64] = "";
	auto_fd fd = openat(f->fd, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes) - 1), strlen(text));
	assert_string_equal(bytes, text);
}

static void finds(const struct skill_archive *a)
{
	static const struct {
		const char *path, *found;
		int code;
	} rows[] = {
		{ "/run", "/run", 0 },
		{ "/link", "/sub/a", 0 },
		{ "/sub/up", "/run", 0 },
		{ "/loop", NULL, -ELOOP },
		/* What is live, a folder, what is not there. */
		{ "/into", NULL, -ENOENT },
		{ "/data/live", NULL, -ENOENT },
		{ "/sub", NULL, -ENOENT },
		{ "", NULL, -ENOENT },
		{ "/run/more", NULL, -ENOENT },
		{ "/ru", NULL, -ENOENT },
	};
	struct skill_archive_entry entry;

	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(skill_archive_find(a, rows[i].path, &entry), rows[i].code);
		if (rows[i].found)
			assert_string_equal(entry.path, rows[i].found);
	}
}

static void test_round_trip(void **state)
{
	struct folder *f = *state, *to = folder_new();
	struct skill_content c = { 0 }, again = { 0 };
	struct skill_archive a;
	struct stat st;
	auto_fd fd = -1;

	fill(f);
	assert_int_equal(copy(f, &c, &fd, NULL), 0);
	assert_int_equal(skill_archive_open(&a, fd), 0);
	assert_string_equal(a.path, "/the/skill");
	assert_int_equal(a.entries, c.n);
	/* What is in the folder by now does not matter. */
	folder_add(f, "sub/a", "evil");
	assert_int_equal(skill_archive_unpack(&a, to->fd), 0);
	reads(to, "sub/a", "a");
	reads(to, "sub/up", "#!/bin/sh\n");
	reads(to, "state", "");
	assert_int_equal(faccessat(to->fd, "data/live", F_OK, 0), -1);
	assert_int_equal(faccessat(to->fd, "sub/store/live", F_OK, 0), -1);
	assert_int_equal(fstatat(to->fd, "run", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0755);
	assert_int_equal(fstatat(to->fd, "big", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(fstatat(to->fd, "sub", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	assert_int_equal(fstatat(to->fd, "sub/a", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
	/* The same skill. */
	assert_int_equal(skill_content_read(&again, to->fd, &lives, NULL, NULL), 0);
	assert_memory_equal(&c.digest, &again.digest, sizeof(c.digest));
	finds(&a);
	skill_archive_close(&a);
	skill_content_deinit(&c);
	skill_content_deinit(&again);
	folder_free(to);
}

/* What is live does not count, and neither does whether it is there; a link in its place does. */
static void test_live(void **state)
{
	struct folder *f = *state;
	struct skill_content c = { 0 }, d = { 0 }, all = { 0 };
	struct error e = { 0 };

	fill(f);
	assert_int_equal(skill_content_read(&c, f->fd, &lives, NULL, NULL), 0);
	assert_int_equal(skill_content_read(&all, f->fd, NULL, NULL, NULL), 0);
	assert_memory_not_equal(&c.digest, &all.digest, sizeof(c.digest));
	folder_add(f, "data/live", "something else");
	assert_int_equal(unlinkat(f->fd, "state", 0), 0);
	assert_int_equal(skill_content_read(&d, f->fd, &lives, NULL, NULL), 0);
	assert_memory_equal(&c.digest, &d.digest, sizeof(c.digest));
	skill_content_deinit(&d);
	assert_int_equal(symlinkat("run", f->fd, "state"), 0);
	assert_int_equal(skill_content_read(&d, f->fd, &lives, NULL, NULL), 0);
	assert_memory_not_equal(&c.digest, &d.digest, sizeof(c.digest));
	skill_content_deinit(&d);
	assert_int_equal(unlinkat(f->fd, "state", 0), 0);
	assert_int_equal(linkat(f->fd, "run", f->fd, "state", 0), 0);
	assert_int_equal(skill_content_read(&d, f->fd, &lives, NULL, &e), -EPERM);
	assert_string_equal(
		e.text, "state: it is granted for writing and has more than one hard link");
	skill_content_deinit(&c);
	skill_content_deinit(&d);
	skill_content_deinit(&all);
}

static void test_find(void **state)
{
	static const struct {
		const char *path;
		int code;
		const char *found;
	} cases[] = {
		{ "run", 0, "run" },
		{ "/./run", 0, "run" },
		{ "link", 0, "sub/a" },
		{ "sub/../sub//up", 0, "run" },
		{ "sub/deep/", 0, "sub/deep" },
		{ "data", 0, "data" },
		{ "data/live", 0, "data" },
		{ "data/../../x", 0, "data" },
		{ "into", 0, "data" },
		{ "state", 0, "state" },
		{ "", -EISDIR, NULL },
		{ "sub/..", -EISDIR, NULL },
		{ "absent", -ENOENT, NULL },
		{ "run/x", -ENOENT, NULL },
		{ "link/x", -ENOENT, NULL },
		{ "absent/../run", -ENOENT, NULL },
		{ "..", -EXDEV, NULL },
		{ "sub/../../run", -EXDEV, NULL },
		{ "loop", -ELOOP, NULL },
	};
	struct folder *f = *state;
	struct skill_content c = { 0 };

	fill(f);
	assert_int_equal(skill_content_read(&c, f->fd, &lives, NULL, NULL), 0);
	for (size_t i = 0; i < ROWS(cases); i++) {
		const struct skill_item *item = NULL;

		assert_int_equal(skill_content_find(&c, cases[i].path, &item), cases[i].code);
		if (cases[i].found)
			assert_string_equal(item->path, cases[i].found);
		else
			assert_null(item);
	}
	skill_content_deinit(&c);
}

static void change_content(struct folder *f)
{
	folder_add(f, "sub/a", "b");
}
static void change_and_set_back(struct folder *f)
{
	folder_add(f, "sub/a", "b");
	folder_add(f, "sub/a", "a");
	assert_int_equal(
		utimensat(f->fd, "sub/a", (struct timespec[2]){ { 1, 1 }, { 1000, 7 } }, 0), 0);
}
static void change_mode(struct folder *f)
{
	assert_int_equal(fchmodat(f->fd, "sub/a", 0755, 0), 0);
}
static void change_add(struct folder *f)
{
	folder_add(f, "sub/deep/new", "");
}
static void change_add_above(struct folder *f)
{
	folder_add(f, "new", "");
}
static void change_remove(struct folder *f)
{
	assert_int_equal(unlinkat(f->fd, "link", 0), 0);
}
static void change_exchange(struct folder *f)
{
	assert_int_equal(renameat(f->fd, "sub", f->fd, "gone"), 0);
	assert_int_equal(symlinkat("gone", f->fd, "sub"), 0);
}
static void change_live_to_link(struct folder *f)
{
	assert_int_equal(renameat(f->fd, "sub/store", f->fd, "sub/gone"), 0);
	assert_int_equal(symlinkat("gone", f->fd, "sub/store"), 0);
}

static void test_check(void **state)
{
	static void (*const changes[])(struct folder * f) = { change_content, change_and_set_back,
		change_mode, change_add, change_add_above, change_remove, change_exchange,
		change_live_to_link };

	(void)state;
	for (size_t i = 0; i < ROWS(changes); i++) {
		struct folder *f = folder_new();
		struct skill_content c = { 0 };
		struct error e = { 0 };

		fill(f);
		assert_int_equal(skill_content_read(&c, f->fd, &lives, NULL, NULL), 0);
		folder_add(f, "data/more", "may be written");
		assert_int_equal(skill_content_check(&c, f->fd, &e), 0);
		/* A clock of the file system goes in steps. */
		assert_int_equal(usleep(20000), 0);
		changes[i](f);
		assert_int_equal(skill_content_check(&c, f->fd, &e), -ESTALE);
		assert_non_null(strstr(e.text, "changed after it was read"));
		skill_content_deinit(&c);
		folder_free(f);
	}
}

static void test_bounds(void **state)
{
	struct folder *f = *state;
	struct skill_content c = { 0 };
	struct rlimit saved, limit;
	struct error e = { 0 };
	int none = -1;
	auto_fd fd = openat(f->fd, "large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, (off_t)SKILL_ARCHIVE_MAX + 1), 0);
	assert_int_equal(copy(f, &c, &none, &e), -E2BIG);
	assert_non_null(strstr(e.text, "large: the skill is larger than 256 MiB"));
	assert_non_null(strstr(e.hint, "fs.read"));
	skill_content_deinit(&c);
	/* To look at it, it is not copied. */
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	limit = saved;
	limit.rlim_cur = 1 << 19;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(copy(f, &c, &none, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	assert_non_null(strstr(e.text, "large: cannot copy the skill: File too large"));
	assert_int_equal(none, -1);
	skill_content_deinit(&c);
}

/* Bytes that nobody of ours has written. */

struct raw {
	uint64_t size;
	int64_t seconds;
	uint32_t nanoseconds;
	uint16_t type, flags;
};

static void add_head(struct buffer *out)
{
	static const uint64_t bytes = 0;
	static const uint32_t rest[2] = { 1, 0 };

	buffer_add(out, "corralA1", 8);
	buffer_add(out, &bytes, sizeof(bytes));
	buffer_add(out, rest, sizeof(rest));
	buffer_add(out, "/the/skill", 11);
}

static void add_record(struct buffer *out, unsigned type, const char *path, const char *data)
{
	/* Of a link the NUL is data. */
	const struct raw raw = { .size = strlen(data) + (type == SKILL_LINK),
		.type = (uint16_t)type };

	buffer_add(out, &raw, sizeof(raw));
	buffer_add(out, path, strlen(path) + 1);
	buffer_add(out, data, raw.size);
}

static int unpack(const struct buffer *bytes, int folder)
{
	struct skill_archive a;
	int r = skill_archive_open_bytes(&a, bytes->data, bytes->len);

	return r < 0 ? r : skill_archive_unpack(&a, folder);
}

static void test_ways_out(void **state)
{
	static const struct {
		struct {
			unsigned type;
			const char *path, *data;
		} records[2];
		int code;
	} cases[] = {
		{ { { SKILL_FILE, "/ok", "x" } }, 0 },
		{ { { SKILL_FILE, "/../out", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "out", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "/a/../../out", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "//out", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "/", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "", "x" } }, -EPROTO },
		{ { { SKILL_FOLDER, "/folder", "x" } }, -EPROTO },
		{ { { SKILL_LINK, "/link", "" } }, -EPROTO },
		{ { { 3, "/other", "x" } }, -EPROTO },
		{ { { SKILL_FILE, "/absent/x", "x" } }, -ENOENT },
		{ { { SKILL_LINK, "/link", ".." }, { SKILL_FILE, "/link/out", "x" } }, -ELOOP },
		{ { { SKILL_LINK, "/link", "../out" }, { SKILL_FILE, "/link", "x" } }, -EEXIST },
		{ { { SKILL_FILE, "/a", "1" }, { SKILL_FILE, "/a", "2" } }, -EEXIST },
	};
	const struct folder *f = *state;

	for (size_t i = 0; i < ROWS(cases); i++) {
		struct folder *to = folder_new();
		auto_buffer bytes = { 0 };

		add_head(&bytes);
		for (size_t k = 0; k < 2 && cases[i].records[k].path; k++)
			add_record(&bytes, cases[i].records[k].type, cases[i].records[k].path,
				cases[i].records[k].data);
		assert_int_equal(mkdirat(to->fd, "in", 0700), 0);
		{
			auto_fd in = openat(to->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			assert_int_equal(unpack(&bytes, in), cases[i].code);
		}
		assert_int_equal(faccessat(to->fd, "out", F_OK, 0), -1);
		assert_int_equal(faccessat(f->fd, "out", F_OK, 0), -1);
		folder_free(to);
	}
}

/* Cut anywhere it is refused, or is a shorter one. */
static void test_cut(void **state)
{
	auto_buffer bytes = { 0 };
	size_t full = 0;

	(void)state;
	add_head(&bytes);
	full = bytes.len;
	add_record(&bytes, SKILL_FILE, "/a", "content");
	for (size_t len = 0; len < bytes.len; len++) {
		struct skill_archive_entry entry;
		struct skill_archive a;
		int r = skill_archive_open_bytes(&a, bytes.data, len);

		assert_int_equal(r, len < full ? -EPROTO : 0);
		if (r == 0)
			assert_int_equal(
				skill_archive_next(&a.records, &entry), len == full ? 0 : -EPROTO);
	}
}

static void test_sealed(void **state)
{
	auto_buffer bytes = { 0 };
	struct skill_archive a;
	auto_fd open = -1, sealed = -1, garbage = -1;

	(void)state;
	add_head(&bytes);
	assert_int_equal(sealed_begin(&open), 0);
	assert_int_equal(write(open, bytes.data, bytes.len), bytes.len);
	assert_int_equal(skill_archive_open(&a, open), -EPROTO);
	assert_int_equal(sealed_new(bytes.data, bytes.len, &sealed), 0);
	assert_int_equal(skill_archive_open(&a, sealed), 0);
	skill_archive_close(&a);
	assert_int_equal(sealed_new("no archive", 10, &garbage), 0);
	assert_int_equal(skill_archive_open(&a, garbage), -EPROTO);
	assert_int_equal(skill_archive_open(&a, -1), -EBADF);
}

#define WITH_FOLDER(function) \
	cmocka_unit_test_setup_teardown(function, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_round_trip),
		WITH_FOLDER(test_live),
		WITH_FOLDER(test_find),
		cmocka_unit_test(test_check),
		WITH_FOLDER(test_bounds),
		WITH_FOLDER(test_ways_out),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_sealed),
	};

	return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
