/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both files hold one line of hexadecimal digits: the seed, and the public key. A new key gets its
 * name by link(), which neither replaces a key that somebody else made in the same moment nor shows
 * half a file to anyone.
 */
#include "audit/store/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"

_Static_assert(KEY_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(KEY_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(KEY_SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519");

enum { SEED_BYTES = crypto_sign_SEEDBYTES, LINE_BYTES = 2 * SEED_BYTES + 1 };
_Static_assert(
	crypto_sign_SEEDBYTES == crypto_sign_PUBLICKEYBYTES, "both lines have the same length");

/* 32 bytes as a line, and back. */
static void key_print_line(const uint8_t bytes[SEED_BYTES], char line[LINE_BYTES])
{
	(void)sodium_bin2hex(line, LINE_BYTES, bytes, SEED_BYTES);
	line[LINE_BYTES - 1] = '\n';
}

static int key_parse_line(const struct buffer *b, uint8_t bytes[SEED_BYTES])
{
	size_t n;

	if (b->len != LINE_BYTES || b->data[LINE_BYTES - 1] != '\n')
		return -EBADMSG;
	if (sodium_hex2bin(bytes, SEED_BYTES, b->data, LINE_BYTES - 1, NULL, &n, NULL) < 0 ||
		n != SEED_BYTES)
		return -EBADMSG;
	return 0;
}

static void key_forget_buffer(struct buffer *b)
{
	if (b->data)
		sodium_memzero(b->data, b->cap);
	buffer_deinit(b);
}

static int key_refuse(struct error *e, const char *path, const char *why)
{
	(void)error_set(e, -EPERM, NULL, "%s: %s", path, why);
	error_hint(e, "a signing key is a plain file of its owner with mode 0600");
	return -EPERM;
}

static int key_check_file(int fd, const char *path, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return key_refuse(e, path, "it is no plain file");
	if (st.st_uid != geteuid())
		return key_refuse(e, path, "it belongs to somebody else");
	if (st.st_mode & 077)
		return key_refuse(e, path, "others may read or write it");
	return 0;
}

/* -ENOENT, without a complaint: there is none. */
static int key_read_seed(const char *path, uint8_t seed[SEED_BYTES], struct error *e)
{
	__attribute__((cleanup(key_forget_buffer))) struct buffer b = { 0 };
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return key_refuse(e, path, "it is a symbolic link");
	if (fd < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	r = key_check_file(fd, path, e);
	if (r < 0)
		return r;
	r = file_read_fd(fd, LINE_BYTES, &b);
	if (r < 0 && r != -EFBIG)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	if (r < 0 || key_parse_line(&b, seed) < 0)
		return error_set(e, -EBADMSG, NULL, "%s: it holds no signing key", path);
	return 0;
}

/* A new seed under the name path, unless there is one by now. */
static int key_make_seed(const char *path, struct error *e)
{
	auto_buffer temp = { 0 };
	uint8_t seed[SEED_BYTES];
	char line[LINE_BYTES];
	auto_fd fd = -1;
	int r;

	buffer_printf(&temp, "%s.XXXXXX", path);
	if (temp.failed)
		return error_no_memory(e);
	fd = mkostemp(temp.data, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	randombytes_buf(seed, sizeof(seed));
	key_print_line(seed, line);
	r = file_write_all(fd, line, sizeof(line));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && link(temp.data, path) < 0 && errno != EEXIST)
		r = -errno;
	(void)unlink(temp.data);
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(line, sizeof(line));
	return r < 0 ? error_set(e, r, NULL, "%s: %s", path, strerror(-r)) : 0;
}

static int key_read_public(const char *path, struct key_public *ret)
{
	auto_buffer b = { 0 };
	int r = file_read(path, LINE_BYTES, &b);

	if (r == -EFBIG)
		return -EBADMSG;
	return r < 0 ? r : key_parse_line(&b, ret->bytes);
}

/* The public half beside the key is there, and is its own. */
static int key_settle_public(const struct key *k, const char *path, struct error *e)
{
	auto_buffer name = { 0 };
	struct key_public there;
	char line[LINE_BYTES];
	int r;

	buffer_printf(&name, "%s.pub", path);
	if (name.failed)
		return error_no_memory(e);
	r = key_read_public(name.data, &there);
	if (r == -ENOENT) {
		key_print_line(k->public.bytes, line);
		r = file_replace(name.data, line, sizeof(line), 0644);
		there = k->public;
	}
	if (r < 0 && r != -EBADMSG)
		return error_set(e, r, NULL, "%s: %s", name.data, strerror(-r));
	if (r < 0 || memcmp(there.bytes, k->public.bytes, sizeof(there.bytes)) != 0)
		return error_set(
			e, -EBADMSG, NULL, "%s: it is not the public half of %s", name.data, path);
	return 0;
}

int key_open(struct key *ret, const char *path, struct error *e)
{
	uint8_t seed[SEED_BYTES];
	struct key k;
	int r;

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "libsodium does not work here");
	r = key_read_seed(path, seed, e);
	if (r == -ENOENT) {
		r = key_make_seed(path, e);
		if (r == 0)
			r = key_read_seed(path, seed, e);
		if (r == -ENOENT)
			(void)error_set(e, r, NULL, "%s: it went away", path);
	}
	if (r < 0)
		return r;
	(void)crypto_sign_seed_keypair(k.public.bytes, k.secret, seed);
	sodium_memzero(seed, sizeof(seed));
	r = key_settle_public(&k, path, e);
	if (r == 0)
		*ret = k;
	key_deinit(&k);
	return r;
}

void key_deinit(struct key *k)
{
	sodium_memzero(k, sizeof(*k));
}

int key_public_read(struct key_public *ret, const char *path, struct error *e)
{
	struct key_public k;
	int r = key_read_public(path, &k);

	if (r == -EBADMSG)
		return error_set(e, r, NULL, "%s: it holds no public key", path);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	*ret = k;
	return 0;
}

void key_public_id(const struct key_public *k, uint8_t ret[KEY_ID_BYTES])
{
	(void)crypto_generichash(ret, KEY_ID_BYTES, k->bytes, sizeof(k->bytes), NULL, 0);
}
