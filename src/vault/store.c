/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/store.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define STORE_LOCK "lock"
#define STORE_MARK "mark"
#define STORE_ATTEMPTS "attempts"
#define STORE_NEXT_BACKUP "vault.old.new"

enum {
	MARK_HASH_BYTES = 32,
	SMALL_MAX = 256,
	TEMPORARY_LETTERS = 6,
	/* So many wrong passphrases cost nothing but Argon2id; each further one doubles the wait.
	 */
	ATTEMPTS_FREE = 3,
	ATTEMPTS_DOUBLINGS = 9, /* 2^9 s: eight and a half minutes at most */
};

static int store_fail(struct error *e, int code, const char *file)
{
	return error_set(e, code, NULL, "%s of the vault: %s", file, strerror(-code));
}

static int store_check(const struct stat *st, const char *what, struct error *e)
{
	if (st->st_uid != geteuid())
		(void)error_set(e, -EPERM, NULL, "%s belongs to another user", what);
	else if (st->st_mode & (S_IRWXG | S_IRWXO))
		(void)error_set(e, -EPERM, NULL, "%s is open to other users", what);
	else
		return 0;
	error_hint(e,
		"other users may have changed or copied it: look at it, then set its owner, "
		"and its mode to 0%o",
		S_ISDIR(st->st_mode) ? 0700U : 0600U);
	return -EPERM;
}

int store_enter(int folder, struct error *e)
{
	struct stat st;
	int r = fstat(folder, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;

	if (r < 0)
		return store_fail(e, r, "the folder");
	r = store_check(&st, "the folder of the vault", e);
	if (r == 0 && fchdir(folder) < 0)
		r = store_fail(e, -errno, "the folder");
	return r;
}

int store_lock(unsigned most_ms, int *ret, struct error *e)
{
	auto_fd fd = open(STORE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : file_lock(fd, most_ms);

	if (r == -EBUSY) {
		(void)error_set(e, r, NULL, "another process is changing the vault");
		error_hint(e, "try again; a helper that does not answer may hold it");
		return r;
	}
	if (r < 0)
		return store_fail(e, r, "the lock");
	*ret = fd_take(&fd);
	return 0;
}

/* A file of ours in the current folder, whole. */
static int store_read_own(const char *name, size_t max, struct buffer *out, struct error *e)
{
	auto_fd fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 && errno == ELOOP)
		return error_set(e, -EPERM, NULL, "the file `%s` of the vault is a link", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return error_set(
			e, -EPERM, NULL, "the file `%s` of the vault is not a regular file", name);
	r = store_check(&st, "the vault file", e);
	return r < 0 ? r : file_read_fd(fd, max, out);
}

int store_read(struct buffer *out, struct error *e)
{
	int r = store_read_own(STORE_FILE, VAULT_FILE_MAX, out, e);

	if (r == -EFBIG)
		return error_set(e, -EBADMSG, NULL, "the vault file is too large to be one");
	return r < 0 && r != -ENOENT && r != -EPERM ? store_fail(e, r, "the file") : r;
}

/* What a writer that was killed left behind. With the lock there is no other. */
static void store_clean(void)
{
	static const char *const files[] = { STORE_FILE ".", STORE_MARK ".", STORE_ATTEMPTS ".",
		STORE_TURN "." };
	DIR *d = opendir(".");
	const struct dirent *entry;

	while (d && (entry = readdir(d)))
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			const size_t len = strlen(files[i]);

			if (strncmp(entry->d_name, files[i], len) == 0 &&
				strlen(entry->d_name) == len + TEMPORARY_LETTERS)
				(void)unlink(entry->d_name);
		}
	if (d)
		(void)closedir(d);
	(void)unlink(STORE_NEXT_BACKUP);
}

/* The file gets a second name; nothing is copied that could be cut off. */
static int store_keep(void)
{
	if (link(STORE_FILE, STORE_NEXT_BACKUP) < 0)
		return errno == ENOENT ? 0 : -errno;
	return rename(STORE_NEXT_BACKUP, STORE_BACKUP) < 0 ? -errno : 0;
}

int store_write(const struct buffer *file, struct error *e)
{
	auto_fd folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	store_clean();
	r = store_keep();
	if (r == 0)
		r = file_replace(STORE_FILE, file->data, file->len, 0600);
	/* The rename itself: without it a loss of power could bring the old file back. The new one
	 * is in its place either way. */
	if (r == 0 && folder >= 0)
		(void)fsync(folder);
	return r < 0 ? store_fail(e, r, "the file") : 0;
}

void store_forget_backup(void)
{
	(void)unlink(STORE_BACKUP);
}

/* The mark */

struct store_mark {
	uint8_t id[VAULT_ID_BYTES];
	uint64_t generation; /* little-endian */
	uint8_t hash[MARK_HASH_BYTES];
};

static void store_mark_hash(const struct store_mark *m, const uint8_t key[VAULT_KEY_BYTES],
	uint8_t ret[MARK_HASH_BYTES])
{
	(void)crypto_generichash(ret, MARK_HASH_BYTES, (const uint8_t *)m,
		offsetof(struct store_mark, hash), key, VAULT_KEY_BYTES);
}

void store_mark(const struct vault_header *h, const uint8_t key[VAULT_KEY_BYTES])
{
	struct store_mark m = { .generation = htole64(h->generation) };

	memcpy(m.id, h->id, sizeof(m.id));
	store_mark_hash(&m, key, m.hash);
	(void)file_replace(STORE_MARK, &m, sizeof(m), 0600);
}

uint64_t store_marked(const struct vault_header *h, const uint8_t key[VAULT_KEY_BYTES])
{
	auto_buffer text = { 0 };
	uint8_t hash[MARK_HASH_BYTES];
	struct store_mark m;

	if (store_read_own(STORE_MARK, SMALL_MAX, &text, NULL) < 0 || text.len != sizeof(m))
		return 0;
	memcpy(&m, text.data, sizeof(m));
	store_mark_hash(&m, key, hash);
	if (sodium_memcmp(hash, m.hash, sizeof(hash)) != 0 ||
		memcmp(m.id, h->id, sizeof(m.id)) != 0)
		return 0;
	return le64toh(m.generation);
}

/* The turn */

void store_turn_read(uint8_t ret[STORE_TURN_BYTES])
{
	auto_buffer text = { 0 };

	memset(ret, 0, STORE_TURN_BYTES);
	if (store_read_own(STORE_TURN, SMALL_MAX, &text, NULL) == 0 && text.len == STORE_TURN_BYTES)
		memcpy(ret, text.data, STORE_TURN_BYTES);
}

int store_turn(struct error *e)
{
	uint8_t turn[STORE_TURN_BYTES];
	int r;

	/* No count: of two at once the second would be none. */
	randombytes_buf(turn, sizeof(turn));
	r = file_replace(STORE_TURN, turn, sizeof(turn), 0600);
	return r < 0 ? store_fail(e, r, "the turn") : 0;
}

/* Attempts */

struct store_attempts {
	uint64_t n, last_s;
};

static struct store_attempts store_attempts_read(void)
{
	struct store_attempts a = { 0 };
	auto_buffer text = { 0 };
	char *end = NULL;

	if (store_read_own(STORE_ATTEMPTS, SMALL_MAX, &text, NULL) < 0)
		return a;
	a.n = strtoull(buffer_text(&text), &end, 10);
	a.last_s = strtoull(end, NULL, 10);
	return a;
}

uint64_t store_attempt_wait(uint64_t now_s)
{
	const struct store_attempts a = store_attempts_read();
	uint64_t doublings, wait, passed;

	if (a.n <= ATTEMPTS_FREE)
		return 0;
	doublings = a.n - ATTEMPTS_FREE;
	wait = UINT64_C(1) << (doublings < ATTEMPTS_DOUBLINGS ? doublings : ATTEMPTS_DOUBLINGS);
	/* A clock that was set back does not shorten it. */
	passed = now_s > a.last_s ? now_s - a.last_s : 0;
	return passed < wait ? wait - passed : 0;
}

int store_attempt(uint64_t now_s, uint64_t *ret_wait_s, struct error *e)
{
	const struct store_attempts a = store_attempts_read();
	const uint64_t wait = store_attempt_wait(now_s);
	auto_buffer text = { 0 };
	int r;

	if (wait > 0) {
		*ret_wait_s = wait;
		(void)error_set(
			e, -EAGAIN, NULL, "%" PRIu64 " passphrases in a row were wrong", a.n);
		error_hint(e, "try again in %" PRIu64 " seconds", wait);
		return -EAGAIN;
	}
	buffer_printf(&text, "%" PRIu64 " %" PRIu64 "\n", a.n + 1, now_s);
	r = text.failed ? -ENOMEM : file_replace(STORE_ATTEMPTS, text.data, text.len, 0600);
	/* A full disk must not make guessing free. */
	return r < 0 ? store_fail(e, r, "the count of attempts") : 0;
}

void store_attempt_succeeded(void)
{
	(void)unlink(STORE_ATTEMPTS);
}
