/* SPDX-License-Identifier: Apache-2.0 */
/* Files of missed events: what was put is read, and what is not such a file is refused. */
#include "test/unit.h"

#include <errno.h>
#include <sys/resource.h>

#include "audit/missed.h"
#include "audit/test/test-audit.h"
#include "base/array.h"
#include "base/fd.h"

static const char id[] = "0123456789abcdef";
static const struct audit_missed_name plain = { .id = "0123456789abcdef" }, noted = {
	.id = "0123456789abcdef", .is_noted = true, .number = 17
};

struct folder {
	struct bench *bench;
	char path[160];
	int fd;
};

static struct folder folder_new(void)
{
	struct folder f = { .bench = bench_new(), .fd = -1 };

	snprintf(f.path, sizeof(f.path), "%s/missed", f.bench->folder);
	assert_int_equal(audit_missed_open(f.path, &f.fd), -ENOENT);
	assert_int_equal(mkdir(f.path, 0700), 0);
	assert_int_equal(audit_missed_open(f.path, &f.fd), 0);
	return f;
}

static void folder_free(struct folder *f)
{
	fd_close(&f->fd);
	bench_free(f->bench);
}

static void add(struct buffer *out, const char *session, const char *target)
{
	const struct audit_event e = { .session = session, .target = target, .sequence = 7 };
	auto_buffer bytes = { 0 };

	audit_event_encode(&e, &bytes);
	assert_true(audit_missed_add(out, bytes.data, bytes.len, 0));
}

static void folder_name(const struct folder *f, const char *name, char ret[256])
{
	snprintf(ret, 256, "%s/%s", f->path, name);
}

static void what_is_put_is_read(void **state)
{
	struct folder f = folder_new();
	auto_buffer bytes = { 0 }, back = { 0 };
	struct audit_event e;
	char path[256];
	struct stat st;
	size_t at = 0;

	(void)state;
	add(&bytes, id, "one");
	add(&bytes, id, "two");
	assert_int_equal(audit_missed_put(f.fd, -1, &plain, &bytes), 0);
	folder_name(&f, id, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(audit_missed_read(f.fd, id, &back), 0);
	assert_int_equal(audit_missed_check(back.data, back.len, id), 2);
	assert_true(audit_missed_next(back.data, back.len, &at, &e));
	assert_string_equal(e.target, "one");
	assert_true(audit_missed_next(back.data, back.len, &at, &e));
	assert_string_equal(e.target, "two");
	assert_int_equal(e.sequence, 7);
	assert_false(audit_missed_next(back.data, back.len, &at, &e));
	/* Cut off anywhere, or with something behind it, it is none. */
	for (size_t len = 0; len < back.len; len++)
		assert_int_equal(audit_missed_check(back.data, len, id), -EBADMSG);
	buffer_addc(&back, '\0');
	assert_int_equal(audit_missed_check(back.data, back.len, id), -EBADMSG);
	folder_free(&f);
}

static void events_of_others(void **state)
{
	auto_buffer bytes = { 0 };

	(void)state;
	add(&bytes, id, "one");
	add(&bytes, "fedcba9876543210", "of another session");
	buffer_add(&bytes, "\0\0\0\0", 4);
	assert_int_equal(audit_missed_check(bytes.data, bytes.len, id), -EBADMSG);
	/* None at all. */
	assert_int_equal(audit_missed_check("corral missed 1\n\0\0\0\0", 20, id), -EBADMSG);
}

static void a_file_has_a_bound(void **state)
{
	static char long_text[AUDIT_TEXT_MAX];
	struct folder f = folder_new();
	auto_buffer event = { 0 }, bytes = { 0 }, back = { 0 };
	struct audit_event e = { .session = id, .target = long_text };
	int n = 0;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	audit_event_encode(&e, &event);
	while (audit_missed_add(&bytes, event.data, event.len, 1000))
		n++;
	assert_true(bytes.len <= AUDIT_MISSED_BYTES_MAX - 1000);
	assert_true(bytes.len > AUDIT_MISSED_BYTES_MAX - 1000 - 2 * event.len);
	assert_int_equal(audit_missed_put(f.fd, -1, &plain, &bytes), 0);
	assert_int_equal(audit_missed_read(f.fd, id, &back), 0);
	assert_int_equal(audit_missed_check(back.data, back.len, id), n);
	folder_free(&f);
}

static void a_prepared_file(void **state)
{
	struct folder f = folder_new();
	auto_buffer bytes = { 0 }, back = { 0 };
	auto_fd fd = -1;

	(void)state;
	add(&bytes, id, "one");
	/* If the descriptor is no prepared file, audit_missed_put() creates the file. */
	if (audit_missed_prepare(f.fd, &fd) < 0)
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(audit_missed_put(f.fd, fd, &noted, &bytes), 0);
	assert_int_equal(audit_missed_read(f.fd, "0123456789abcdef.17", &back), 0);
	assert_int_equal(audit_missed_check(back.data, back.len, id), 1);
	folder_free(&f);
}

static void a_folder_has_a_bound(void **state)
{
	static const struct audit_missed_name bad[] = { { .id = "../escape" }, { .id = "" },
		{ .id = "0123456789abcdef", .is_noted = true, .number = UINT64_MAX } };
	struct folder f = folder_new();
	auto_buffer bytes = { 0 };
	char name[32];

	(void)state;
	add(&bytes, id, "one");
	for (int i = 0; i < AUDIT_MISSED_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		close(openat(f.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	assert_int_equal(audit_missed_put(f.fd, -1, &plain, &bytes), -EDQUOT);
	assert_int_equal(faccessat(f.fd, id, F_OK, 0), -1);
	assert_int_equal(unlinkat(f.fd, "0", 0), 0);
	assert_int_equal(audit_missed_put(f.fd, -1, &plain, &bytes), 0);
	assert_int_equal(unlinkat(f.fd, id, 0), 0);
	assert_int_equal(audit_missed_put(f.fd, -1, &noted, &bytes), 0);
	assert_int_equal(faccessat(f.fd, "0123456789abcdef.17", F_OK, 0), 0);
	assert_int_equal(unlinkat(f.fd, "0123456789abcdef.17", 0), 0);
	for (size_t i = 0; i < ROWS(bad); i++)
		assert_int_equal(audit_missed_put(f.fd, -1, &bad[i], &bytes), -EINVAL);
	folder_free(&f);
}

/* A folder that cannot be read is not a full one. */
static void a_process_has_a_bound(void **state)
{
	struct folder f = folder_new();
	struct rlimit before, none;
	auto_buffer bytes = { 0 };
	int fd = -1;

	(void)state;
	add(&bytes, id, "one");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(audit_missed_put(f.fd, -1, &plain, &bytes), -EMFILE);
	assert_int_equal(audit_missed_prepare(f.fd, &fd), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fd, -1);
	folder_free(&f);
}

/* Runs that find the folder full add up, to a bound; the file is not one that others put there. */
static void what_is_not_there_is_counted(void **state)
{
	struct folder f = folder_new();
	uint64_t runs = 0, events = 0;

	(void)state;
	assert_int_equal(audit_missed_take_count(f.fd), -ENOENT);
	assert_int_equal(audit_missed_counted(f.fd, 0, &runs, &events), -ENOENT);
	audit_missed_count(f.fd, 3);
	audit_missed_count(f.fd, UINT64_MAX);
	assert_int_equal(audit_missed_take_count(f.fd), 0);
	assert_int_equal(audit_missed_counted(f.fd, 0, &runs, &events), 0);
	assert_int_equal(runs, 2);
	assert_int_equal(events, 3 + (uint64_t)UINT32_MAX);
	assert_int_equal(audit_missed_counted(f.fd, 1, &runs, &events), 0);
	assert_int_equal(runs, 1);
	assert_int_equal(events, (uint64_t)UINT32_MAX);
	/* What comes meanwhile is in another one, which waits. */
	for (int i = 0; i < AUDIT_MISSED_BYTES_MAX / 4 + 2; i++)
		audit_missed_count(f.fd, 1);
	assert_int_equal(audit_missed_take_count(f.fd), -EEXIST);
	assert_int_equal(audit_missed_counted(f.fd, 2, &runs, &events), 0);
	assert_int_equal(runs, 0);
	assert_int_equal(unlinkat(f.fd, AUDIT_MISSED_TAKEN, 0), 0);
	assert_int_equal(audit_missed_take_count(f.fd), 0);
	assert_int_equal(audit_missed_counted(f.fd, 0, &runs, &events), 0);
	assert_int_equal(runs, AUDIT_MISSED_BYTES_MAX / 4);
	assert_int_equal(events, runs);
	assert_int_equal(unlinkat(f.fd, AUDIT_MISSED_TAKEN, 0), 0);
	assert_int_equal(symlinkat("other", f.fd, AUDIT_MISSED_FULL), 0);
	audit_missed_count(f.fd, 1);
	assert_int_equal(faccessat(f.fd, "other", F_OK, 0), -1);
	assert_int_equal(audit_missed_take_count(f.fd), -ELOOP);
	assert_int_equal(symlinkat("other", f.fd, AUDIT_MISSED_TAKEN), 0);
	assert_int_equal(audit_missed_counted(f.fd, 0, &runs, &events), -ELOOP);
	folder_free(&f);
}

static void what_is_no_file_of_ours(void **state)
{
	struct folder f = folder_new();
	auto_buffer back = { 0 };
	char path[256], other[256];

	(void)state;
	folder_name(&f, "link", path);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(audit_missed_read(f.fd, "link", &back), -ELOOP);
	folder_name(&f, "fifo", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(audit_missed_read(f.fd, "fifo", &back), -EPERM);
	folder_name(&f, "folder", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(audit_missed_read(f.fd, "folder", &back), -EPERM);
	folder_name(&f, "file", path);
	assert_int_equal(file_replace(path, "x", 1, 0644), 0);
	assert_int_equal(audit_missed_read(f.fd, "file", &back), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(audit_missed_read(f.fd, "file", &back), 0);
	folder_name(&f, "name", other);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(audit_missed_read(f.fd, "file", &back), -EPERM);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(truncate(path, INT64_C(1) << 40), 0);
	assert_int_equal(audit_missed_read(f.fd, "file", &back), -EFBIG);
	if (geteuid() == 0) {
		assert_int_equal(truncate(path, 1), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(audit_missed_read(f.fd, "file", &back), -EPERM);
	}
	folder_free(&f);
}

static void folders_of_others(void **state)
{
	struct folder f = folder_new();
	char link[256];
	int fd = -1;

	(void)state;
	snprintf(link, sizeof(link), "%s/link", f.bench->folder);
	assert_int_equal(symlink(f.path, link), 0);
	assert_true(audit_missed_open(link, &fd) < 0);
	assert_int_equal(chmod(f.path, 0750), 0);
	assert_int_equal(audit_missed_open(f.path, &fd), -EPERM);
	assert_int_equal(chmod(f.path, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(f.path, 65534, 65534), 0);
		assert_int_equal(audit_missed_open(f.path, &fd), -EPERM);
	}
	assert_int_equal(fd, -1);
	folder_free(&f);
}

static void names(void **state)
{
	static const struct {
		const char *name;
		bool is_one, is_noted;
		uint64_t number;
	} rows[] = {
		{ "0123456789abcdef", true, false, 0 },
		{ "0123456789abcdef.0", true, true, 0 },
		{ "0123456789abcdef.123456789012345678", true, true, 123456789012345678 },
		{ "0123456789abcdef.1234567890123456789", false, false, 0 },
		{ "0123456789abcdef.", false, false, 0 },
		{ "0123456789abcdef.07", false, false, 0 },
		{ "0123456789abcdef.bad", false, false, 0 },
		{ "0123456789abcdef.1.2", false, false, 0 },
		{ "0123456789abcdef.-1", false, false, 0 },
		{ "0123456789ABCDEF", false, false, 0 },
		{ "0123456789abcde", false, false, 0 },
		{ "0123456789abcdef0", false, false, 0 },
		{ ".0123456789abcdef", false, false, 0 },
		{ "", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_missed_name n;

		assert_int_equal(audit_missed_parse_name(rows[i].name, &n), rows[i].is_one);
		if (!rows[i].is_one)
			continue;
		assert_string_equal(n.id, id);
		assert_int_equal(n.is_noted, rows[i].is_noted);
		assert_int_equal(n.number, rows[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_read),
		cmocka_unit_test(events_of_others),
		cmocka_unit_test(a_file_has_a_bound),
		cmocka_unit_test(a_prepared_file),
		cmocka_unit_test(a_folder_has_a_bound),
		cmocka_unit_test(a_process_has_a_bound),
		cmocka_unit_test(what_is_not_there_is_counted),
		cmocka_unit_test(what_is_no_file_of_ours),
		cmocka_unit_test(folders_of_others),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
