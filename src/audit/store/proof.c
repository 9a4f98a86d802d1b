/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proving reads the log once, without keeping anything: inner nodes of the tree are not stored,
 * they cost the writer more than the rare proof is worth. What was made is checked before it is
 * given away: from a log that was tampered with no proof comes out.
 */
#include "audit/store/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "audit/store/internal.h"
#include "base/formats.h"
#include "codec/json-writer.h"
#include "codec/json.h"

static const char format_name[] = "corral-audit-proof-1", format_start[] = "corral-audit-proof-";

struct proof {
	uint64_t number;
	const uint8_t *record;
	size_t len;
	struct hash path[MERKLE_LEVELS];
	size_t path_len;
	struct head head;
};

static int proof_holds(const struct proof *p)
{
	const struct hash leaf = merkle_leaf(p->record, p->len);

	if (p->number == 0 || p->len <= CHAIN_NUMBER_BYTES ||
		chain_get_number(p->record) != p->number)
		return -EBADMSG;
	return merkle_check(
		&leaf, p->number - 1, p->head.number, p->path, p->path_len, &p->head.root);
}

static void proof_print(const struct proof *p, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, "format", format_name);
	json_put_count(&w, "number", p->number);
	json_put_encoded(&w, "record", ENCODING_HEX, p->record, p->len);
	json_open_list(&w, "path");
	for (size_t i = 0; i < p->path_len; i++)
		json_put_encoded(&w, NULL, ENCODING_HEX, p->path[i].bytes, HASH_BYTES);
	json_close(&w);
	head_print(&p->head, &w, "head");
	json_close(&w);
}

/* The records of a log as leaves. */
struct proof_leaves {
	struct audit_log *log;
	sqlite3_stmt *st;
	struct error *error;
};

/* The row of this record; it stays until the next question. */
static int proof_find_record(struct proof_leaves *l, uint64_t number, struct log_record *ret)
{
	int r;

	(void)sqlite3_reset(l->st);
	sql_bind_number(l->st, 1, number);
	r = sql_step(&l->log->sql, l->st, l->error);
	if (r < 0)
		return r;
	if (r == 0)
		return error_set(l->error, -ENOENT, NULL, "%s: there is no record %" PRIu64,
			l->log->path, number);
	r = log_record_read(l->st, ret);
	if (r < 0)
		(void)error_set(l->error, r, NULL, "%s: record %" PRIu64 " cannot be read",
			l->log->path, number);
	return r;
}

static int proof_leaf_of(void *context, uint64_t i, struct hash *ret)
{
	struct log_record record = { 0 };
	int r = proof_find_record(context, i + 1, &record);

	if (r == 0)
		*ret = merkle_leaf(record.data, record.len);
	return r;
}

static int proof_make(struct proof_leaves *l, uint64_t number, struct buffer *out)
{
	struct heads_row first = { 0 }, last = { 0 };
	struct log_record record = { 0 };
	struct proof p = { .number = number };
	struct error *e = l->error;
	int r = heads_get(&l->log->sql, HEADS_FIRST, &first, e);

	if (r == 0)
		r = heads_get(&l->log->sql, HEADS_LAST, &last, e);
	if (r == -ENOENT)
		return error_set(e, -EBADMSG, NULL, "%s: the log has no signed head", l->log->path);
	if (r < 0)
		return r;
	if (number == 0 || number <= first.head.number)
		return error_set(
			e, -ENOENT, NULL, "%s: there is no record %" PRIu64, l->log->path, number);
	if (number > last.head.number)
		return error_set(e, -ENOENT, NULL,
			"%s: no signed head covers record %" PRIu64 " yet", l->log->path, number);
	p.head = last.head;
	r = merkle_prove(proof_leaf_of, l, &first.chain.tree, number - 1, p.head.number, p.path);
	if (r < 0)
		return r;
	p.path_len = (size_t)r;
	r = proof_find_record(l, number, &record);
	if (r < 0)
		return r;
	p.record = record.data;
	p.len = record.len;
	if (proof_holds(&p) < 0)
		return error_set(e, -EBADMSG, NULL, "%s: the records do not match the signed head",
			l->log->path);
	proof_print(&p, out);
	return out->failed ? error_no_memory(e) : 0;
}

int audit_log_prove(struct audit_log *l, uint64_t number, struct buffer *out, struct error *e)
{
	auto_statement *st = NULL;
	struct proof_leaves leaves = { .log = l, .error = e };
	int r = log_freeze(l, e);

	if (r < 0)
		return r;
	r = sql_prepare(&l->sql, &st, LOG_RECORDS "WHERE number = ?1", e);
	leaves.st = st;
	if (r == 0)
		r = proof_make(&leaves, number, out);
	if (st)
		(void)sqlite3_reset(st);
	log_thaw(l);
	return r;
}

static int proof_parse_bytes(const struct node *n, uint8_t *bytes, size_t max, size_t *ret_len)
{
	size_t text_len;

	if (!n || n->type != NODE_STRING)
		return -EBADMSG;
	text_len = strlen(n->text);
	if (text_len % 2 || text_len / 2 > max ||
		sodium_hex2bin(bytes, max, n->text, text_len, NULL, ret_len, NULL) < 0)
		return -EBADMSG;
	return *ret_len == text_len / 2 ? 0 : -EBADMSG;
}

/* record: room for LOG_RECORD_MAX bytes. */
static int proof_parse(const struct node *root, uint8_t *record, struct proof *p)
{
	const char *name = node_text(node_get(root, "format"));
	const struct node *path = node_get(root, "path");
	int64_t number;
	size_t len;

	if (!name || strcmp(name, format_name) != 0 || !node_get(root, "number") ||
		node_integer(node_get(root, "number"), &number) < 0 || number <= 0 ||
		proof_parse_bytes(node_get(root, "record"), record, LOG_RECORD_MAX, &p->len) < 0 ||
		!path || path->type != NODE_LIST || path->count > MERKLE_LEVELS ||
		head_parse(&p->head, node_get(root, "head")) < 0)
		return -EBADMSG;
	node_for_each(n, path) {
		if (proof_parse_bytes(n, p->path[p->path_len++].bytes, HASH_BYTES, &len) < 0 ||
			len != HASH_BYTES)
			return -EBADMSG;
	}
	p->number = (uint64_t)number;
	p->record = record;
	return 0;
}

/* Only whether it is a newer one. */
static int proof_check_version(const struct node *root, struct error *e)
{
	const char *name = node_get_text(root, "format");
	const size_t start = sizeof(format_start) - 1;
	int r;

	if (strncmp(name, format_start, start) != 0 || !name[start] ||
		strspn(name + start, "0123456789") != strlen(name + start))
		return 0;
	r = formats_check(FORMAT_PROOF, strtoull(name + start, NULL, 10), "the proof", e);
	return r < 0 ? r : 0;
}

int audit_proof_check(const char *text, size_t len, const char *public_path, struct audit_row *ret,
	struct buffer *texts, struct error *e)
{
	uint8_t record[LOG_RECORD_MAX];
	struct proof p = { 0 };
	auto_document d = { 0 };
	struct key_public key;
	struct audit_row row;
	int r;

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "libsodium could not be initialized");
	if (json_read(&d, NULL, text, len, NULL) < 0)
		return error_set(e, -EBADMSG, NULL, "not a proof of Corral");
	r = proof_check_version(d.root, e);
	if (r < 0)
		return r;
	if (proof_parse(d.root, record, &p) < 0)
		return error_set(e, -EBADMSG, NULL, "not a proof of Corral");
	r = key_public_read(&key, public_path, e);
	if (r < 0)
		return r;
	r = head_check(&p.head, &key);
	if (r < 0)
		return error_set(e, -EBADMSG, NULL, "the proof's head %s",
			r == -EKEYREJECTED ? "was signed with another key"
					   : "was changed after it was signed");
	if (proof_holds(&p) < 0)
		return error_set(
			e, -EBADMSG, NULL, "the record is not in the log that this head signs");
	/* The event's texts must outlive the proof. */
	buffer_clear(texts);
	buffer_add(texts, record + CHAIN_NUMBER_BYTES, p.len - CHAIN_NUMBER_BYTES);
	if (texts->failed)
		return error_no_memory(e);
	row = (struct audit_row){ .number = p.number, .hash = merkle_leaf(record, p.len) };
	if (audit_event_decode(&row.event, texts->data, texts->len) < 0)
		return error_set(e, -EBADMSG, NULL, "the proof's record cannot be read");
	*ret = row;
	return 0;
}
