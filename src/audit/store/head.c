/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signed bytes: a magic line that names the format, then the fields in the order of the struct,
 * numbers as 8 bytes, little-endian. All have a fixed length.
 */
#include "audit/store/head.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "audit/store/internal.h"
#include "base/array.h"
#include "base/file.h"
#include "codec/json.h"

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
void head_print(const struct head *h, struct buffer *out)
{
	buffer_printf(out, "{\"number\":%" PRIu64 ",\"removed\":%" PRIu64 ",\"time_ns\":%" PRIu64,
		h->number, h->removed, h->time_ns);
	for (size_t i = 0; i < FIELDS; i++) {
		if (fields[i].is_number)
			continue;
		buffer_printf(out, ",\"%s\":\"", fields[i].name);
		hash_print(out, (const char *)h + fields[i].offset, fields[i].len);
		buffer_addc(out, '"');
	}
	buffer_addc(out, '}');
}

static int head_parse_number(const struct node *n, void *ret)
{
	int64_t value;

	if (node_integer(n, &value) < 0 || value < 0)
		return -EBADMSG;
	*(uint64_t *)ret = (uint64_t)value;
	return 0;
}

static int head_parse_bytes(const struct node *n, void *bytes, size_t len)
{
	size_t got;

	if (n->type != NODE_STRING || strlen(n->text) != 2 * len ||
		sodium_hex2bin(bytes, len, n->text, 2 * len, NULL, &got, NULL) < 0)
		return -EBADMSG;
	return got == len ? 0 : -EBADMSG;
}

int head_parse(struct head *ret, const struct node *n)
{
	struct head h = { 0 };

	for (size_t i = 0; i < FIELDS; i++) {
		const struct node *value = n ? node_get(n, fields[i].name) : NULL;
		void *at = (char *)&h + fields[i].offset;

		if (!value ||
			(fields[i].is_number ? head_parse_number(value, at)
					     : head_parse_bytes(value, at, fields[i].len)) < 0)
			return -EBADMSG;
	}
	*ret = h;
	return 0;
}

int head_save(const struct head *h, const char *path, struct error *e)
{
	auto_buffer text = { 0 };
	int r;

	head_print(h, &text);
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
		return error_set(e, -EBADMSG, NULL, "%s: it holds no signed head", path);
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
