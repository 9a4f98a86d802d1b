/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/store/heads.h"

#include <errno.h>

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
		row.head.number != (uint64_t)sqlite3_column_int64(st, 0) ||
		merkle_unpack(&row.chain.tree, row.head.number, frontier, frontier_len) < 0)
		return -EBADMSG;
	root = merkle_root(&row.chain.tree);
	if (!merkle_equal(&root, &row.head.root))
		return -EBADMSG;
	row.chain.hash = row.head.chain;
	*ret = row;
	return 0;
}

static int store_heads_get(struct sql *s, sqlite3_stmt *st, struct heads_row *ret, struct error *e)
{
	int r = sql_step(s, st, e);

	if (r < 0)
		return r;
	if (r == 0)
		return -ENOENT;
	r = heads_read(st, ret);
	return r < 0 ? error_set(e, r, NULL, "%s: a signed head was changed", s->path) : 0;
}

int heads_get(struct sql *s, enum heads_which which, struct heads_row *ret, struct error *e)
{
	static const char *const texts[] = {
		[HEADS_FIRST] = COLUMNS "ORDER BY number LIMIT 1",
		[HEADS_LAST] = COLUMNS "ORDER BY number DESC LIMIT 1",
	};
	auto_statement *st = NULL;
	int r = sql_prepare(s, &st, texts[which], e);

	return r < 0 ? r : store_heads_get(s, st, ret, e);
}

int heads_at(struct sql *s, uint64_t number, struct heads_row *ret, struct error *e)
{
	auto_statement *st = NULL;
	int r = sql_prepare(s, &st, COLUMNS "WHERE number = ?1", e);

	if (r < 0)
		return r;
	sql_bind_number(st, 1, number);
	return store_heads_get(s, st, ret, e);
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
