/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signed bytes: a magic line that names the format, then the fields in the order of the struct,
 * numbers as 8 bytes, little-endian. All have a fixed length.
 *
 * Both files of a key hold one line of hexadecimal digits: the seed, and the public key. A new key
 * gets its name by link(), which neither replaces a key that another process made in the same
 * moment nor shows half a file to anyone.
 */
#include "audit/store/head.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/store/internal.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/json-writer.h"

_Static_assert(KEY_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(KEY_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(KEY_SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519");

enum { SEED_BYTES = crypto_sign_SEEDBYTES, LINE_BYTES = 2 * SEED_BYTES + 1 };
_Static_assert(
	crypto_sign_SEEDBYTES == crypto_sign_PUBLICKEYBYTES, "both lines have the same length");

/* 32 bytes as a line, and back. */
static void key_print_line(const uint8_t bytes[SEED_BYTES], char line[LINE_BYTES])
{
	encoding_hex(bytes, SEED_BYTES, line);
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
	error_hint(e, "a signing key must be a regular file with mode 0600 that you own");
	return -EPERM;
}

/* -ENOENT, without a complaint: there is none. */
static int key_read_seed(const char *path, uint8_t seed[SEED_BYTES], struct error *e)
{
	__attribute__((cleanup(key_forget_buffer))) struct buffer b = { 0 };
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return key_refuse(e, path, "it is a symbolic link");
	if (fd < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return key_refuse(e, path, "it is not a regular file");
	if (st.st_uid != geteuid())
		return key_refuse(e, path, "it belongs to another user");
	if (st.st_mode & 077)
		return key_refuse(e, path, "other users may read or write it");
	r = file_read_fd(fd, LINE_BYTES, &b);
	if (r < 0 && r != -EFBIG)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	if (r < 0 || key_parse_line(&b, seed) < 0)
		return error_set(e, -EBADMSG, NULL, "%s: not a signing key", path);
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
			e, -EBADMSG, NULL, "%s: not the public key of %s", name.data, path);
	return 0;
}

int key_open(struct key *ret, const char *path, struct error *e)
{
	uint8_t seed[SEED_BYTES];
	struct key k;
	int r;

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "libsodium could not be initialized");
	r = key_read_seed(path, seed, e);
	if (r == -ENOENT) {
		r = key_make_seed(path, e);
		if (r == 0)
			r = key_read_seed(path, seed, e);
		if (r == -ENOENT)
			(void)error_set(e, r, NULL, "%s: the file was removed", path);
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
		return error_set(e, r, NULL, "%s: not a public key", path);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	*ret = k;
	return 0;
}

void key_public_id(const struct key_public *k, uint8_t ret[KEY_ID_BYTES])
{
	(void)crypto_generichash(ret, KEY_ID_BYTES, k->bytes, sizeof(k->bytes), NULL, 0);
}

static const char magic[] = "corral-audit-head-1\n";
_Static_assert(sizeof(magic) - 1 == HEAD_MAGIC_BYTES, "the magic line has its length");

enum { FILE_MAX = 4096 };

/* The fields, in the order of the signed bytes; a number is 8 of them there, little-endian. */
static const struct {
	const char *name;
	size_t offset, len;
	bool is_number;
} fields[] = {
#define BYTES(member)                                                                          \
	{                                                                                      \
#member, offsetof(struct head, member), sizeof(((struct head *)NULL)->member), \
			false                                                                  \
	}
#define NUMBER(member)                                                           \
	{                                                                        \
#member, offsetof(struct head, member), CHAIN_NUMBER_BYTES, true \
	}
	BYTES(log), NUMBER(number), NUMBER(removed), NUMBER(time_ns), BYTES(chain), BYTES(root),
	BYTES(key), BYTES(signature), /* not part of what it signs */
};
enum { FIELDS = ROWS(fields), SIGNED_FIELDS = FIELDS - 1 };

void head_encode(const struct head *h, uint8_t out[HEAD_BYTES])
{
	uint8_t *p = out + HEAD_MAGIC_BYTES;

	memcpy(out, magic, HEAD_MAGIC_BYTES);
	for (size_t i = 0; i < SIGNED_FIELDS; i++) {
		const char *at = (const char *)h + fields[i].offset;

		if (fields[i].is_number)
			chain_put_number(p, *(const uint64_t *)(const void *)at);
		else
			memcpy(p, at, fields[i].len);
		p += fields[i].len;
	}
}

int head_decode(
	struct head *ret, const void *data, size_t len, const void *signature, size_t signature_len)
{
	const uint8_t *p = (const uint8_t *)data + HEAD_MAGIC_BYTES;
	struct head h = { 0 };

	if (len != HEAD_BYTES || signature_len != sizeof(h.signature) ||
		memcmp(data, magic, HEAD_MAGIC_BYTES) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < SIGNED_FIELDS; i++) {
		char *at = (char *)&h + fields[i].offset;

		if (fields[i].is_number)
			*(uint64_t *)(void *)at = chain_get_number(p);
		else
			memcpy(at, p, fields[i].len);
		p += fields[i].len;
	}
	memcpy(h.signature, signature, sizeof(h.signature));
	*ret = h;
	return 0;
}

void head_sign(struct head *h, const struct key *k)
{
	uint8_t data[HEAD_BYTES];

	key_public_id(&k->public, h->key);
	head_encode(h, data);
	(void)crypto_sign_detached(h->signature, NULL, data, sizeof(data), k->secret);
}

int head_check(const struct head *h, const struct key_public *k)
{
	uint8_t data[HEAD_BYTES], id[KEY_ID_BYTES];

	key_public_id(k, id);
	if (memcmp(id, h->key, sizeof(id)) != 0)
		return -EKEYREJECTED;
	head_encode(h, data);
	if (crypto_sign_verify_detached(h->signature, data, sizeof(data), k->bytes) < 0)
		return -EBADMSG;
	return h->removed <= h->number && h->number <= INT64_MAX ? 0 : -EBADMSG;
}

/* Numbers first, as people read it. */
void head_print(const struct head *h, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	json_put_count(w, "number", h->number);
	json_put_count(w, "removed", h->removed);
	json_put_count(w, "time_ns", h->time_ns);
	for (size_t i = 0; i < FIELDS; i++) {
		if (!fields[i].is_number)
			json_put_encoded(w, fields[i].name, ENCODING_HEX,
				(const char *)h + fields[i].offset, fields[i].len);
	}
	json_close(w);
}

int head_parse(struct head *ret, const struct node *n)
{
	struct head h = { 0 };

	for (size_t i = 0; i < FIELDS; i++) {
		const struct node *value = n ? node_get(n, fields[i].name) : NULL;
		const size_t len = fields[i].len;
		void *at = (char *)&h + fields[i].offset;
		int64_t number = 0;
		size_t got = len;

		if (!value)
			return -EBADMSG;
		if (fields[i].is_number) {
			if (node_integer(value, &number) < 0 || number < 0)
				return -EBADMSG;
			*(uint64_t *)at = (uint64_t)number;
		} else if (value->type != NODE_STRING || strlen(value->text) != 2 * len ||
			   sodium_hex2bin(at, len, value->text, 2 * len, NULL, &got, NULL) < 0 ||
			   got != len) {
			return -EBADMSG;
		}
	}
	*ret = h;
	return 0;
}

int head_save(const struct head *h, const char *path, struct error *e)
{
	auto_buffer text = { 0 };
	int r;

	head_print(h, &(struct json_writer){ .out = &text }, NULL);
	buffer_addc(&text, '\n');
	r = text.failed ? -ENOMEM : file_replace(path, text.data, text.len, 0644);
	return r < 0 ? error_set(e, r, NULL, "%s: %s", path, strerror(-r)) : 0;
}

int head_load(struct head *ret, const char *path, struct error *e)
{
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	int r = file_read(path, FILE_MAX, &text);

	if (r < 0 && r != -EFBIG)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	if (r == 0)
		r = json_read(&d, path, buffer_text(&text), text.len, NULL);
	if (r < 0 || head_parse(ret, d.root) < 0)
		return error_set(e, -EBADMSG, NULL, "%s: not a signed head", path);
	return 0;
}

#define COLUMNS "SELECT number, head, signature, frontier FROM head "

int heads_all(struct sql *s, sqlite3_stmt **ret, struct error *e)
{
	return sql_prepare(s, ret, COLUMNS "ORDER BY number", e);
}

int heads_read(sqlite3_stmt *st, struct heads_row *ret)
{
	size_t head_len = 0, signature_len = 0, frontier_len = 0;
	const uint8_t *head = sql_blob(st, 1, HEAD_BYTES, &head_len);
	const uint8_t *signature = sql_blob(st, 2, KEY_SIGNATURE_BYTES, &signature_len);
	const uint8_t *frontier = sql_blob(st, 3, MERKLE_PACKED_MAX, &frontier_len);
	struct heads_row row;
	struct hash root;

	if (!head || !signature || !frontier ||
		head_decode(&row.head, head, head_len, signature, signature_len) < 0 ||
		row.head.number != sql_number(st, 0) ||
		merkle_unpack(&row.chain.tree, row.head.number, frontier, frontier_len) < 0)
		return -EBADMSG;
	root = merkle_root(&row.chain.tree);
	if (!merkle_equal(&root, &row.head.root))
		return -EBADMSG;
	row.chain.hash = row.head.chain;
	*ret = row;
	return 0;
}

static int heads_find(
	struct sql *s, const char *text, uint64_t number, struct heads_row *ret, struct error *e)
{
	auto_statement *st = NULL;
	int r = sql_prepare_for(s, &st, text, number, e);

	if (r == 0)
		r = sql_step(s, st, e);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = heads_read(st, ret);
	return r < 0 ? error_set(e, r, NULL, "%s: a signed head was changed", s->path) : 0;
}

int heads_get(struct sql *s, enum heads_which which, struct heads_row *ret, struct error *e)
{
	static const char *const texts[] = {
		[HEADS_FIRST] = COLUMNS "ORDER BY number LIMIT 1",
		[HEADS_LAST] = COLUMNS "ORDER BY number DESC LIMIT 1",
	};

	return heads_find(s, texts[which], 0, ret, e);
}

int heads_at(struct sql *s, uint64_t number, struct heads_row *ret, struct error *e)
{
	return heads_find(s, COLUMNS "WHERE number = ?1", number, ret, e);
}

int heads_put(struct sql *s, const struct head *h, const struct merkle *frontier, struct error *e)
{
	uint8_t data[HEAD_BYTES], packed[MERKLE_PACKED_MAX];
	const size_t packed_len = merkle_pack(frontier, packed);
	auto_statement *st = NULL;
	int r = sql_prepare(s, &st, "INSERT OR REPLACE INTO head VALUES (?1, ?2, ?3, ?4)", e);

	if (r < 0)
		return r;
	head_encode(h, data);
	sql_bind_number(st, 1, h->number);
	sql_bind_blob(st, 2, data, sizeof(data));
	sql_bind_blob(st, 3, h->signature, sizeof(h->signature));
	sql_bind_blob(st, 4, packed, packed_len);
	return sql_finish(s, st, e);
}
