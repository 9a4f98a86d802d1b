/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest is the SHA-256 of this stream, entries sorted by the bytes of their paths:
 *
 *     "corral-skill-1\n"
 *     for each entry:  type      1 byte: d folder, f file, x executable file, l link
 *                      path      its length as 8 bytes, big-endian, then its bytes
 *                      content   likewise: nothing for a folder, the SHA-256 of a file's content
 *                                behind the content's length, a link's target
 *
 * Every part has a length before it, so no two folders give the same stream. Contents enter by
 * their own digest because the walk meets files unsorted, and each is read once, when it is open.
 */
#include "skill/digest.h"

#include <sodium.h>
#include <string.h>

#include "skill/content.h"

_Static_assert(SKILL_DIGEST_BYTES == crypto_hash_sha256_BYTES, "the digest is a SHA-256");

static void digest_add_length(crypto_hash_sha256_state *hash, uint64_t n)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(n >> (56 - 8 * i));
	crypto_hash_sha256_update(hash, bytes, sizeof(bytes));
}

static void digest_add_text(crypto_hash_sha256_state *hash, const char *text)
{
	digest_add_length(hash, strlen(text));
	crypto_hash_sha256_update(hash, (const unsigned char *)text, strlen(text));
}

static void digest_add_item(crypto_hash_sha256_state *hash, const struct skill_item *item)
{
	static const char types[] = {
		[SKILL_FILE] = 'f', [SKILL_FOLDER] = 'd', [SKILL_LINK] = 'l'
	};
	const char type = item->executable ? 'x' : types[item->type];

	crypto_hash_sha256_update(hash, (const unsigned char *)&type, 1);
	digest_add_text(hash, item->path);
	switch (item->type) {
	case SKILL_FOLDER:
		digest_add_length(hash, 0);
		break;
	case SKILL_LINK:
		digest_add_text(hash, item->target);
		break;
	case SKILL_FILE:
		digest_add_length(hash, item->size);
		crypto_hash_sha256_update(hash, item->hash, sizeof(item->hash));
	}
}

void skill_digest(const struct skill_content *c, struct skill_digest *ret)
{
	static const char magic[] = "corral-skill-1\n";
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	crypto_hash_sha256_update(&hash, (const unsigned char *)magic, strlen(magic));
	for (size_t i = 0; i < c->n; i++) {
		if (!c->items[i].live)
			digest_add_item(&hash, &c->items[i]);
	}
	crypto_hash_sha256_final(&hash, ret->bytes);
}

void skill_digest_hex(const struct skill_digest *d, char out[SKILL_DIGEST_HEX])
{
	(void)sodium_bin2hex(out, SKILL_DIGEST_HEX, d->bytes, sizeof(d->bytes));
}
