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

#include "base/buffer.h"
#include "base/file.h"
#include "codec/json.h"

static const char magic[] = "corral-audit-head-1\n";
_Static_assert(sizeof(magic) - 1 == HEAD_MAGIC_BYTES, "the magic line has its length");

enum { FILE_MAX = 4096 };

static void head_put(uint8_t **p, const void *data, size_t len)
{
	memcpy(*p, data, len);
	*p += len;
}

static void head_get(const uint8_t **p, void *data, size_t len)
{
	memcpy(data, *p, len);
	*p += len;
}

static void head_put_number(uint8_t **p, uint64_t number)
{
	chain_put_number(*p, number);
	*p += CHAIN_NUMBER_BYTES;
}

static uint64_t get_number(const uint8_t **p)
{
	*p += CHAIN_NUMBER_BYTES;
	return chain_get_number(*p - CHAIN_NUMBER_BYTES);
}

void head_encode(const struct head *h, uint8_t out[HEAD_BYTES])
{
	uint8_t *p = out;

	head_put(&p, magic, HEAD_MAGIC_BYTES);
	head_put(&p, h->log, sizeof(h->log));
	head_put_number(&p, h->number);
	head_put_number(&p, h->removed);
	head_put_number(&p, h->time_ns);
	head_put(&p, h->chain.bytes, sizeof(h->chain.bytes));
	head_put(&p, h->root.bytes, sizeof(h->root.bytes));
	head_put(&p, h->key, sizeof(h->key));
}

int head_decode(
	struct head *ret, const void *data, size_t len, const void *signature, size_t signature_len)
{
	const uint8_t *p = data;
	struct head h = { 0 };

	if (len != HEAD_BYTES || signature_len != sizeof(h.signature) ||
		memcmp(data, magic, HEAD_MAGIC_BYTES) != 0)
		return -EBADMSG;
	p += HEAD_MAGIC_BYTES;
	head_get(&p, h.log, sizeof(h.log));
	h.number = get_number(&p);
	h.removed = get_number(&p);
	h.time_ns = get_number(&p);
	head_get(&p, h.chain.bytes, sizeof(h.chain.bytes));
	head_get(&p, h.root.bytes, sizeof(h.root.bytes));
	head_get(&p, h.key, sizeof(h.key));
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

/* The signature is the longest field. */
static void head_print_hex(struct buffer *out, const char *key, const uint8_t *bytes, size_t len)
{
	char hex[2 * KEY_SIGNATURE_BYTES + 1];

	(void)sodium_bin2hex(hex, sizeof(hex), bytes, len);
	buffer_printf(out, ",\"%s\":\"%s\"", key, hex);
}

void head_print(const struct head *h, struct buffer *out)
{
	buffer_printf(out, "{\"number\":%" PRIu64 ",\"removed\":%" PRIu64 ",\"time_ns\":%" PRIu64,
		h->number, h->removed, h->time_ns);
	head_print_hex(out, "log", h->log, sizeof(h->log));
	head_print_hex(out, "chain", h->chain.bytes, sizeof(h->chain.bytes));
	head_print_hex(out, "root", h->root.bytes, sizeof(h->root.bytes));
	head_print_hex(out, "key", h->key, sizeof(h->key));
	head_print_hex(out, "signature", h->signature, sizeof(h->signature));
	buffer_addc(out, '}');
}

static int parse_hex(const struct node *map, const char *key, uint8_t *bytes, size_t len)
{
	const struct node *n = node_get(map, key);
	size_t got;

	if (!n || n->type != NODE_STRING || strlen(n->text) != 2 * len)
		return -EBADMSG;
	if (sodium_hex2bin(bytes, len, n->text, 2 * len, NULL, &got, NULL) < 0 || got != len)
		return -EBADMSG;
	return 0;
}

static int head_parse_number(const struct node *map, const char *key, uint64_t *ret)
{
	const struct node *n = node_get(map, key);
	int64_t value;

	if (!n || node_integer(n, &value) < 0 || value < 0)
		return -EBADMSG;
	*ret = (uint64_t)value;
	return 0;
}

int head_parse(struct head *ret, const struct node *n)
{
	struct head h = { 0 };

	if (!n || head_parse_number(n, "number", &h.number) < 0 ||
		head_parse_number(n, "removed", &h.removed) < 0 ||
		head_parse_number(n, "time_ns", &h.time_ns) < 0 ||
		parse_hex(n, "log", h.log, sizeof(h.log)) < 0 ||
		parse_hex(n, "chain", h.chain.bytes, sizeof(h.chain.bytes)) < 0 ||
		parse_hex(n, "root", h.root.bytes, sizeof(h.root.bytes)) < 0 ||
		parse_hex(n, "key", h.key, sizeof(h.key)) < 0 ||
		parse_hex(n, "signature", h.signature, sizeof(h.signature)) < 0)
		return -EBADMSG;
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
