/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/array.h"
#include "base/buffer.h"
#include "skill/content.h"
#include "skill/test/test.h"
#include "skill/walk.h"

/* The linker sends reads here (--wrap): something may happen to a file while it is read. */
static int read_errno;
static void (*meanwhile)(void);

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __wrap_read(int fd, void *data, size_t len)
{
	void (*act)(void) = meanwhile;

	errno = read_errno;
	read_errno = 0;
	if (errno)
		return -1;
	meanwhile = NULL;
	if (act)
		act();
	return __real_read(fd, data, len);
}

/* A folder in words: "name=content" is a file, "name*=content" an executable one, "name/" a folder,
 * "name>target" a link; NULL ends it. */
static void fill(struct folder *f, const char *const *entries)
{
	for (; *entries; entries++) {
		char name[128];
		size_t n = strcspn(*entries, "=/>*");
		const char *rest = *entries + n;

		memcpy(name, *entries, n);
		name[n] = '\0';
		/* Names with slashes: "a:b" is b in the folder a. */
		for (char *c = name; (c = strchr(c, ':'));)
			*c = '/';
		if (*rest == '/')
			assert_int_equal(mkdirat(f->fd, name, 0755), 0);
		else if (*rest == '>')
			assert_int_equal(symlinkat(rest + 1, f->fd, name), 0);
		else if (*rest == '*')
			folder_add_bytes(f, name, rest + 2, strlen(rest + 2), 0755);
		else
			folder_add(f, name, rest + 1);
	}
}

static int digest_folder(int dirfd, struct skill_digest *ret, struct error *e)
{
	struct skill_content c = { 0 };
	int r = skill_content_read(&c, dirfd, NULL, NULL, e);

	if (r == 0)
		*ret = c.digest;
	skill_content_deinit(&c);
	return r;
}

static void digest_of(const char *const *entries, char hex[SKILL_DIGEST_HEX])
{
	struct folder *f = folder_new();
	struct skill_digest d;
	struct error e;

	fill(f, entries);
	if (digest_folder(f->fd, &d, &e) < 0)
		fail_msg("%s", e.text);
	skill_digest_hex(&d, hex);
	folder_free(f);
}

/* All different, whatever is moved between names, contents, types and places. */
static const char *const trees[][6] = {
	{ NULL },
	{ "a=", NULL },
	{ "a=x", NULL },
	{ "a=y", NULL },
	{ "ax=", NULL },
	{ "a*=x", NULL },
	{ "a/", NULL },
	{ "a>x", NULL },
	{ "a>y", NULL },
	{ "b=x", NULL },
	{ ".a=x", NULL },
	{ ".git/", ".git:a=x", NULL },
	{ "a=x", "b=", NULL },
	{ "a=x", "b=x", NULL },
	{ "a=", "b=x", NULL },
	{ "a=x", "b>a", NULL },
	{ "a/", "a:b=x", NULL },
	{ "a/", "b=x", NULL },
	{ "a/", "a:b/", NULL },
	{ "a/", "b/", NULL },
	{ "a=fb", NULL },
	{ "a=", "b=f", NULL },
	{ "a-b=x", "a/", "a:b=y", NULL },
	{ "a-b=y", "a/", "a:b=x", NULL },
};

static void test_different(void **state)
{
	enum { COUNT = ROWS(trees) };
	char hex[COUNT][SKILL_DIGEST_HEX];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		digest_of(trees[i], hex[i]);
		assert_int_equal(strspn(hex[i], "0123456789abcdef"), 64);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(hex[i], hex[k]);
	}
}

static void test_same(void **state)
{
	static const char *const one[] = { "b/", "b:x=1", "a=2", "a-z=3", "b:y>x", NULL };
	static const char *const two[] = { "a-z=3", "a=2", "b/", "b:y>x", "b:x=1", NULL };
	static const char *const none[] = { NULL };
	char x[SKILL_DIGEST_HEX], y[SKILL_DIGEST_HEX];

	(void)state;
	digest_of(one, x);
	digest_of(two, y);
	assert_string_equal(x, y);
	/* The stream is part of the format: approvals are kept. sha256sum of "corral-skill-1\n". */
	digest_of(none, x);
	assert_string_equal(x, "434c3fd37b6889fb1c5f34c00f92d9b5088523cdb336fe20726bcad3b2474b54");
	digest_of((const char *const[]){ "a*=hello", "b/", "c>a", NULL }, x);
	assert_string_equal(x, "32e5bfa13f5d87c821a80ea56e8827fb470f78a46469dff015c4c08634876e77");
}

/* Time and other permissions do not count. */
static void test_ignored(void **state)
{
	struct folder *f = *state;
	struct skill_digest before, after;

	folder_add(f, "a", "x");
	assert_int_equal(digest_folder(f->fd, &before, NULL), 0);
	assert_int_equal(fchmodat(f->fd, "a", 0600, 0), 0);
	assert_int_equal(utimensat(f->fd, "a", (struct timespec[2]){ { 1, 1 }, { 2, 2 } }, 0), 0);
	assert_int_equal(digest_folder(f->fd, &after, NULL), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(fchmodat(f->fd, "a", 0610, 0), 0);
	assert_int_equal(digest_folder(f->fd, &after, NULL), 0);
	assert_memory_not_equal(&before, &after, sizeof(before));
}

static void expect_error(struct folder *f, int code, const char *text)
{
	struct skill_digest d = { .bytes = { 42 } };
	struct error e = { 0 };

	assert_int_equal(digest_folder(f->fd, &d, &e), code);
	assert_string_equal(e.text, text);
	assert_int_equal(d.bytes[0], 42);
	assert_int_equal(digest_folder(f->fd, &d, NULL), code);
}

static const struct {
	const char *entries[4], *message; /* NULL: fine */
} links[] = {
	{ { "l>a" }, NULL }, /* dangling, but inside */
	{ { "l>./a//b/." }, NULL },
	{ { "d/", "d:l>../a" }, NULL },
	{ { "d/", "d:l>.." }, NULL },
	{ { "l>..." }, NULL },
	{ { "l>/etc/passwd" }, "l: it is a symbolic link to an absolute path, which may be "
			       "another file elsewhere" },
	{ { "l>.." }, "l: it is a symbolic link to a path outside of the skill's folder" },
	{ { "l>../x" }, "l: it is a symbolic link to a path outside of the skill's folder" },
	{ { "l>./.././x" }, "l: it is a symbolic link to a path outside of the skill's folder" },
	{ { "d/", "d:l>../../x" },
		"d/l: it is a symbolic link to a path outside of the skill's folder" },
	{ { "l>d/../.." }, "l: it is a symbolic link with .. after a name" },
	{ { "d/", "l>d/.." }, "l: it is a symbolic link with .. after a name" },
};

static void test_links(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(links); i++) {
		struct folder *f = folder_new();
		struct skill_digest d;

		fill(f, links[i].entries);
		if (links[i].message)
			expect_error(f, -EPERM, links[i].message);
		else
			assert_int_equal(digest_folder(f->fd, &d, NULL), 0);
		folder_free(f);
	}
}

static void test_pipe(void **state)
{
	struct folder *f = *state;

	assert_int_equal(mkdirat(f->fd, "d", 0700), 0);
	assert_int_equal(mkfifoat(f->fd, "d/p", 0600), 0);
	expect_error(f, -EPERM, "d/p: a pipe cannot be part of a skill");
}

static void test_set_id(void **state)
{
	struct folder *f = *state;

	folder_add_bytes(f, "run.sh", "#!/bin/sh\n", 10, 04755);
	expect_error(f, -EPERM,
		"run.sh: a set-user-id or set-group-id program cannot be part of a skill");
}

static void test_socket(void **state)
{
	struct folder *f = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_error(f, -EPERM, "s: a socket cannot be part of a skill");
}

static void test_device(void **state)
{
	struct folder *f = *state;

	/* Only root may make one, and not everywhere. */
	if (mknodat(f->fd, "n", S_IFCHR | 0600, makedev(1, 3)) == 0)
		expect_error(f, -EPERM, "n: a device cannot be part of a skill");
}

static void test_depth(void **state)
{
	struct folder *f = *state;
	auto_buffer path = { 0 };
	struct skill_digest d;

	for (size_t i = 0; i < SKILL_DEPTH_MAX; i++) {
		buffer_adds(&path, i ? "/d" : "d");
		assert_int_equal(mkdirat(f->fd, buffer_text(&path), 0700), 0);
	}
	buffer_adds(&path, "/f");
	folder_add(f, buffer_text(&path), "deepest");
	assert_int_equal(digest_folder(f->fd, &d, NULL), 0);
	assert_int_equal(unlinkat(f->fd, buffer_text(&path), 0), 0);
	assert_int_equal(mkdirat(f->fd, buffer_text(&path), 0700), 0);
	buffer_adds(&path, ": folders are nested deeper than 64 levels");
	expect_error(f, -E2BIG, buffer_text(&path));
}

static void test_size(void **state)
{
	struct folder *f = *state;
	auto_fd fd = openat(f->fd, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, (off_t)SKILL_BYTES_MAX + 1), 0);
	expect_error(f, -E2BIG, "big: the skill is larger than 1 GiB");
}

static int count_entries(void *data, const struct skill_entry *entry, struct error *e)
{
	(void)entry;
	(void)e;
	++*(unsigned *)data;
	return 0;
}

static void test_entries(void **state)
{
	struct folder *f = *state;
	unsigned n = 0;
	struct error e;

	folder_add(f, "0", "");
	for (int i = 1; i < SKILL_ENTRIES_MAX; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(linkat(f->fd, "0", f->fd, name, 0), 0);
	}
	assert_int_equal(skill_walk(f->fd, NULL, count_entries, &n, &e), 0);
	assert_int_equal(n, SKILL_ENTRIES_MAX);
	folder_add(f, "one more", "");
	assert_int_equal(skill_walk(f->fd, NULL, count_entries, &n, &e), -E2BIG);
	assert_non_null(strstr(e.text, "the skill has more than 20000 entries"));
}

static struct folder *changing;

static void grow(void)
{
	folder_add(changing, "a", "longer than before");
}

static void rewrite(void)
{
	folder_add(changing, "a", "new");
	assert_int_equal(
		utimensat(changing->fd, "a", (struct timespec[2]){ { 1, 1 }, { 2, 2 } }, 0), 0);
}

static void add_name(void)
{
	folder_add(changing, "b", "");
}

static void test_changes(void **state)
{
	struct folder *f = changing = *state;
	struct skill_digest d;
	struct error e;

	folder_add(f, "a", "old");
	meanwhile = grow;
	assert_int_equal(digest_folder(f->fd, &d, &e), -ESTALE);
	assert_string_equal(e.text, "a: it changed while it was being read; try again");
	folder_add(f, "a", "old");
	meanwhile = rewrite;
	assert_int_equal(digest_folder(f->fd, &d, &e), -ESTALE);
	assert_string_equal(e.text, "a: it changed while it was being read; try again");
	meanwhile = add_name;
	assert_int_equal(digest_folder(f->fd, &d, &e), -ESTALE);
	assert_string_equal(e.text, ".: it changed while it was being read; try again");
	assert_int_equal(digest_folder(f->fd, &d, &e), 0);
}

static void test_read_errors(void **state)
{
	struct folder *f = *state;
	struct skill_digest d;
	struct error e;

	folder_add(f, "a", "x");
	read_errno = EIO;
	assert_int_equal(digest_folder(f->fd, &d, &e), -EIO);
	assert_string_equal(e.text, "a: Input/output error");
	read_errno = EINTR;
	assert_int_equal(digest_folder(f->fd, &d, &e), 0);
	assert_int_equal(digest_folder(-1, &d, &e), -EBADF);
	assert_string_equal(e.text, ".: Bad file descriptor");
}

/* With one descriptor more each time: whatever cannot be opened ends the walk. */
static void test_descriptors(void **state)
{
	struct folder *f = *state;
	struct rlimit saved, limit;
	struct skill_digest d;
	struct error e;
	int r, n = dup(f->fd);

	close(n);
	fill(f, (const char *const[]){ "d/", "d:d/", "d:d:a=x", NULL });
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	limit = saved;
	for (limit.rlim_cur = (rlim_t)n;; limit.rlim_cur++) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		r = digest_folder(f->fd, &d, &e);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
		if (r == 0)
			break;
		assert_int_equal(r, -EMFILE);
		assert_non_null(strstr(e.text, ": Too many open files"));
	}
	/* Three folders, and the file. */
	assert_int_equal(limit.rlim_cur, n + 4);
}

static int remove_others(void *data, const struct skill_entry *entry, struct error *e)
{
	struct folder *f = data;

	(void)e;
	for (const char *name = "abc"; *name; name++) {
		if (*name != entry->path[0])
			(void)unlinkat(f->fd, (char[]){ *name, '\0' }, 0);
	}
	return 0;
}

static void test_vanished(void **state)
{
	struct folder *f = *state;
	struct error e;

	fill(f, (const char *const[]){ "a=", "b=", "c=", NULL });
	assert_int_equal(skill_walk(f->fd, NULL, remove_others, f, &e), -ENOENT);
	assert_string_equal(e.text + 1, ": No such file or directory");
}

#define WITH_FOLDER(function) \
	cmocka_unit_test_setup_teardown(function, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_different),
		cmocka_unit_test(test_same),
		WITH_FOLDER(test_ignored),
		cmocka_unit_test(test_links),
		WITH_FOLDER(test_pipe),
		WITH_FOLDER(test_set_id),
		WITH_FOLDER(test_socket),
		WITH_FOLDER(test_device),
		WITH_FOLDER(test_depth),
		WITH_FOLDER(test_size),
		WITH_FOLDER(test_entries),
		WITH_FOLDER(test_changes),
		WITH_FOLDER(test_read_errors),
		WITH_FOLDER(test_descriptors),
		WITH_FOLDER(test_vanished),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
