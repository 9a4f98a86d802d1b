/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder: what it refuses, and that a writer that is killed before or after any of its calls
 * leaves the old file or the new one.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "test/scratch.h"
#include "vault/store.h"

static const uint8_t key[VAULT_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static struct secret scratch;
static char folder[PATH_MAX];

/* Calls that are counted; at -1 none is. Even: before the call; odd: after it. */
static long kill_at = -1;
/* Which call fails instead, as on a full disk. */
static long fail_at = -1;

static void step(void)
{
	if (kill_at == 0)
		(void)raise(SIGKILL);
	kill_at -= kill_at > 0;
}

static bool fails(void)
{
	const bool now = fail_at == 0;

	fail_at -= fail_at >= 0;
	if (now)
		errno = ENOSPC;
	return now;
}

#define STEPPED(type, name, parameters, ...)      \
	type __real_##name parameters;            \
	type __wrap_##name parameters;            \
	type __wrap_##name parameters             \
	{                                         \
		type got;                         \
                                                  \
		step();                           \
		if (fails())                      \
			return -1;                \
		got = __real_##name(__VA_ARGS__); \
		step();                           \
		return got;                       \
	}

STEPPED(ssize_t, write, (int fd, const void *data, size_t len), fd, data, len)
STEPPED(int, fsync, (int fd), fd)
STEPPED(int, fchmod, (int fd, mode_t mode), fd, mode)
STEPPED(int, rename, (const char *from, const char *to), from, to)
STEPPED(int, link, (const char *from, const char *to), from, to)
STEPPED(int, unlink, (const char *path), path)
STEPPED(int, mkostemp, (char *name, int flags), name, flags)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	step();
	fd = __real_open(path, flags, mode);
	step();
	return fd;
}

static int begin(void **state)
{
	static char template[] = "/tmp/corral-vault-XXXXXX";

	(void)state;
	return scratch_make(template, folder) < 0 || secret_begin() < 0 ||
	       secret_new(&scratch, VAULT_SCRATCH_BYTES) < 0 || chdir(folder) < 0;
}

static int end(void **state)
{
	(void)state;
	secret_free(&scratch);
	return chdir("/") < 0 || scratch_remove(folder) < 0;
}

/* What set and rotate do: the lock, the file, a change, the file, the mark. */
static int change(const char *value, bool is_first)
{
	auto_buffer old = { 0 }, new = { 0 };
	auto_vault v = { 0 };
	struct vault_entry *x;
	auto_fd lock = -1;
	int r = store_lock(1000, &lock, NULL);

	if (r == 0 && !is_first) {
		r = store_read(&old, NULL);
		if (r == 0)
			r = vault_decode(&v, old.data, old.len, "vault", key, NULL);
	}
	if (r < 0)
		return r;
	if (is_first) {
		v.header.n_slots = 1;
		vault_slot_new(&v.header.slots[0], VAULT_SLOT_SYSTEMD);
	}
	x = vault_find(&v, "TOKEN");
	if (!x)
		x = vault_add(&v, "TOKEN");
	x->value = (const uint8_t *)value;
	x->value_len = (uint32_t)strlen(value);
	v.header.generation++;
	r = vault_encode(&v, key, &scratch, &new);
	if (r == 0)
		r = store_write(&new, NULL);
	if (r == 0)
		store_mark(&v.header, key);
	return r;
}

static void require_value(const char *one, const char *other)
{
	auto_buffer file = { 0 };
	auto_vault v = { 0 };
	const struct vault_entry *x;

	assert_int_equal(store_read(&file, NULL), 0);
	assert_int_equal(vault_decode(&v, file.data, file.len, "vault", key, NULL), 0);
	x = vault_find(&v, "TOKEN");
	assert_non_null(x);
	if (x->value_len != strlen(one) || memcmp(x->value, one, x->value_len) != 0) {
		assert_int_equal(x->value_len, strlen(other));
		assert_memory_equal(x->value, other, x->value_len);
	}
	assert_true(store_marked(&v.header, key) <= v.header.generation);
}

static void test_kills(void **state)
{
	long n = 0;
	int status = 0;

	(void)state;
	assert_int_equal(change("old value", true), 0);
	for (;; n++) {
		pid_t child;

		assert_int_equal(change("old value", false), 0);
		child = fork();
		if (child == 0) {
			kill_at = n;
			_exit(change("a new value", false) < 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		require_value("old value", "a new value");
		if (!WIFSIGNALED(status))
			break;
		assert_int_equal(WTERMSIG(status), SIGKILL);
		assert_true(n < 1000);
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	require_value("a new value", "a new value");
	/* The calls before and after which it was killed. */
	print_message("# killed at %ld points\n", n);
	assert_true(n >= 24);
}

/* No room, at every call: an error, and the old file stays. */
static void test_full_disk(void **state)
{
	long n = 0;
	int r;

	(void)state;
	assert_int_equal(change("old value", false), 0);
	for (bool did = true; did; n++) {
		assert_true(n < 1000);
		fail_at = n;
		r = change("a new value", false);
		did = fail_at < 0;
		fail_at = -1;
		require_value("old value", "a new value");
		if (r < 0)
			require_value("old value", "old value");
		assert_int_equal(change("old value", false), 0);
	}
	assert_true(n > 8);
}

static void test_leftovers(void **state)
{
	(void)state;
	assert_int_equal(file_replace("vault.abcdef", "x", 1, 0600), 0);
	assert_int_equal(file_replace("vault.old.new", "x", 1, 0600), 0);
	assert_int_equal(change("old value", false), 0);
	assert_int_equal(access("vault.abcdef", F_OK), -1);
	assert_int_equal(access("vault.old.new", F_OK), -1);
	assert_int_equal(access("vault.old", F_OK), 0);
	store_forget_backup();
	assert_int_equal(access("vault.old", F_OK), -1);
}

static void test_refused(void **state)
{
	auto_buffer file = { 0 };
	struct error e = { 0 };
	auto_fd here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(store_enter(here, &e), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(store_enter(here, &e), -EPERM);
	assert_non_null(strstr(e.text, "open to other users"));
	assert_int_equal(chmod(".", 0700), 0);
	assert_int_equal(chmod("vault", 0640), 0);
	assert_int_equal(store_read(&file, &e), -EPERM);
	assert_int_equal(chmod("vault", 0600), 0);
	assert_int_equal(rename("vault", "elsewhere"), 0);
	assert_int_equal(store_read(&file, &e), -ENOENT);
	assert_int_equal(symlink("elsewhere", "vault"), 0);
	assert_int_equal(store_read(&file, &e), -EPERM);
	assert_non_null(strstr(e.text, "is a link"));
	assert_int_equal(unlink("vault"), 0);
	assert_int_equal(mkfifo("vault", 0600), 0);
	assert_int_equal(store_read(&file, &e), -EPERM);
	assert_int_equal(unlink("vault"), 0);
	assert_int_equal(rename("elsewhere", "vault"), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown("vault", 65534, 65534), 0);
		assert_int_equal(store_read(&file, &e), -EPERM);
		assert_non_null(strstr(e.text, "another user"));
		assert_int_equal(chown("vault", 0, 0), 0);
	}
	assert_int_equal(store_read(&file, &e), 0);
}

/* The file before, put back: the mark is newer. */
static void test_rollback(void **state)
{
	auto_buffer file = { 0 };
	auto_vault v = { 0 };
	uint8_t other[VAULT_KEY_BYTES] = { 1 };

	(void)state;
	assert_int_equal(change("one", false), 0);
	assert_int_equal(change("two", false), 0);
	assert_int_equal(rename("vault.old", "vault"), 0);
	assert_int_equal(store_read(&file, NULL), 0);
	assert_int_equal(vault_decode(&v, file.data, file.len, "vault", key, NULL), 0);
	assert_int_equal(store_marked(&v.header, key), v.header.generation + 1);
	assert_int_equal(store_marked(&v.header, other), 0);
	assert_int_equal(unlink("mark"), 0);
	assert_int_equal(store_marked(&v.header, key), 0);
}

static void test_attempts(void **state)
{
	uint64_t wait = 0, now = 1000, waited = 0;
	struct error e = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(store_attempt(now, &wait, &e), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(store_attempt(now, &wait, &e), -EAGAIN);
		assert_true(wait >= waited && wait <= 512);
		/* A clock that was set back does not help. */
		assert_true(store_attempt_wait(0) == wait);
		now += wait;
		waited = wait;
		assert_int_equal(store_attempt(now, &wait, &e), 0);
	}
	assert_int_equal(waited, 512);
	store_attempt_succeeded();
	assert_int_equal(store_attempt_wait(now), 0);
	assert_int_equal(store_attempt(now, &wait, &e), 0);
	store_attempt_succeeded();
	/* Without room for the count, nothing is tried. */
	fail_at = 0;
	assert_int_equal(store_attempt(now, &wait, &e), -ENOSPC);
	fail_at = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kills),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_rollback),
		cmocka_unit_test(test_attempts),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
