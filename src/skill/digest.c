/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest is the SHA-256 of this stream, entries sorted by the bytes of their paths:
 *
 *     "corral-skill-1\n"
 *     for each entry:  type      1 byte: d folder, f file, x executable file, l link
 *                      path      its length as 8 bytes, big-endian, then its bytes
 *                      content   likewise: nothing for a folder, the SHA-256 of a file's content
 *                                after the content's length, a link's target
 *
 * Every part has a length before it, so no two folders give the same stream. Contents enter by
 * their own digest because the walk meets files unsorted, and each is read once, when it is open.
 */
#include "skill/digest.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/encoding.h"
#include "skill/content.h"

_Static_assert(SKILL_DIGEST_BYTES == crypto_hash_sha256_BYTES, "the digest is a SHA-256");

/* Where the stream goes: into the hash, or to be kept. */
struct digest_sink {
	crypto_hash_sha256_state *hash;
	struct buffer *out;
};

static void digest_add(const struct digest_sink *to, const void *bytes, size_t len)
{
	if (to->hash)
		crypto_hash_sha256_update(to->hash, bytes, len);
	else
		buffer_add(to->out, bytes, len);
}

static void digest_add_length(const struct digest_sink *to, uint64_t n)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(n >> (56 - 8 * i));
	digest_add(to, bytes, sizeof(bytes));
}

static void digest_add_text(const struct digest_sink *to, const char *text)
{
	digest_add_length(to, strlen(text));
	digest_add(to, text, strlen(text));
}

static void digest_add_item(const struct digest_sink *to, const struct skill_item *item)
{
	static const char types[] = {
		[SKILL_FILE] = 'f', [SKILL_FOLDER] = 'd', [SKILL_LINK] = 'l'
	};
	const char type = item->executable ? 'x' : types[item->type];

	digest_add(to, &type, 1);
	digest_add_text(to, item->path);
	switch (item->type) {
	case SKILL_FOLDER:
		digest_add_length(to, 0);
		break;
	case SKILL_LINK:
		digest_add_text(to, item->target);
		break;
	case SKILL_FILE:
		digest_add_length(to, item->size);
		digest_add(to, item->hash, sizeof(item->hash));
	}
}

static void digest_add_all(const struct digest_sink *to, const struct skill_content *c)
{
	digest_add(to, SKILL_DIGEST_MAGIC, strlen(SKILL_DIGEST_MAGIC));
	for (size_t i = 0; i < c->n; i++) {
		if (!c->items[i].live)
			digest_add_item(to, &c->items[i]);
	}
}

void skill_digest(const struct skill_content *c, struct skill_digest *ret)
{
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	digest_add_all(&(struct digest_sink){ .hash = &hash }, c);
	crypto_hash_sha256_final(&hash, ret->bytes);
}

void skill_digest_print(const struct skill_content *c, struct buffer *out)
{
	digest_add_all(&(struct digest_sink){ .out = out }, c);
}

void skill_digest_hex(const struct skill_digest *d, char out[SKILL_DIGEST_HEX])
{
	encoding_hex(d->bytes, sizeof(d->bytes), out);
}

int skill_digest_parse(const char *hex, struct skill_digest *ret)
{
	struct skill_digest d;
	size_t len = 0;

	if (strlen(hex) != SKILL_DIGEST_HEX - 1 ||
		sodium_hex2bin(d.bytes, sizeof(d.bytes), hex, SKILL_DIGEST_HEX - 1, NULL, &len,
			NULL) < 0 ||
		len != sizeof(d.bytes))
		return -EINVAL;
	*ret = d;
	return 0;
}
