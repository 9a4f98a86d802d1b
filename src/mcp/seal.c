/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/seal.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/arena.h"
#include "codec/encoding.h"

/* Of the form that follows. */
#define SEAL_WHAT "corral mcp requestState 1"

enum {
	SEAL_NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	SEAL_TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
};

_Static_assert(sizeof(((struct mcp_seal *)0)->key) == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
	"the key");

/* Only this process reads what it wrote. */
struct seal_content {
	unsigned char id[16];
	uint64_t until_ms;
	struct mcp_claims claims;
};

enum { SEAL_BYTES = SEAL_NONCE + sizeof(struct seal_content) + SEAL_TAG };

int mcp_seal_init(struct mcp_seal *s)
{
	*s = (struct mcp_seal){ 0 };
	if (sodium_init() < 0)
		return -EIO;
	randombytes_buf(s->key, sizeof(s->key));
	return 0;
}

void mcp_seal_deinit(struct mcp_seal *s)
{
	sodium_memzero(s, sizeof(*s));
}

void mcp_digest(const void *data, size_t len, unsigned char ret[MCP_DIGEST])
{
	(void)crypto_generichash(ret, MCP_DIGEST, data, len, NULL, 0);
}

static struct mcp_seal_waiting *seal_find(struct mcp_seal *s, const unsigned char id[16])
{
	for (size_t i = 0; i < MCP_SEALED_MAX; i++)
		if (s->waiting[i].until_ms && memcmp(s->waiting[i].id, id, 16) == 0)
			return &s->waiting[i];
	return NULL;
}

/* One that is free, or ends first. */
static struct mcp_seal_waiting *seal_room(struct mcp_seal *s)
{
	struct mcp_seal_waiting *best = &s->waiting[0];

	for (size_t i = 1; i < MCP_SEALED_MAX; i++)
		if (s->waiting[i].until_ms < best->until_ms)
			best = &s->waiting[i];
	return best;
}

void mcp_seal_close(struct mcp_seal *s, const struct mcp_claims *c, uint64_t now_ms,
	uint64_t ttl_ms, struct buffer *out)
{
	struct mcp_seal_waiting *w = seal_room(s);
	unsigned char sealed[SEAL_BYTES];
	struct seal_content content;

	/* Bytes between members, too. */
	memset(&content, 0, sizeof(content));
	randombytes_buf(content.id, sizeof(content.id));
	content.until_ms = now_ms + ttl_ms;
	content.claims = *c;
	memcpy(w->id, content.id, sizeof(w->id));
	w->until_ms = content.until_ms;
	randombytes_buf(sealed, SEAL_NONCE);
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + SEAL_NONCE, NULL,
		(const unsigned char *)&content, sizeof(content), (const unsigned char *)SEAL_WHAT,
		strlen(SEAL_WHAT), NULL, sealed, s->key);
	encoding_print(ENCODING_BASE64URL, sealed, sizeof(sealed), out);
}

static bool seal_decrypt(
	const struct mcp_seal *s, const char *text, size_t len, struct seal_content *ret)
{
	auto_arena a = { 0 };
	const unsigned char *sealed;
	const char *data = NULL;
	size_t n = 0;

	/* What is longer is none, and is not decoded. */
	if (len > 2 * SEAL_BYTES ||
		encoding_decode(ENCODING_BASE64URL, text, len, &a, &data, &n) < 0 ||
		n != SEAL_BYTES)
		return false;
	sealed = (const unsigned char *)data;
	return crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)ret, NULL, NULL,
		       sealed + SEAL_NONCE, n - SEAL_NONCE, (const unsigned char *)SEAL_WHAT,
		       strlen(SEAL_WHAT), sealed, s->key) == 0;
}

enum mcp_seal_fault mcp_seal_open(struct mcp_seal *s, const char *text, size_t len,
	const unsigned char principal[MCP_DIGEST], const unsigned char request[MCP_DIGEST],
	uint64_t now_ms, struct mcp_claims *ret)
{
	struct seal_content content;
	struct mcp_seal_waiting *w;

	if (!seal_decrypt(s, text, len, &content))
		return MCP_SEAL_ALTERED;
	if (memcmp(content.claims.principal, principal, MCP_DIGEST) != 0)
		return MCP_SEAL_PRINCIPAL;
	if (memcmp(content.claims.request, request, MCP_DIGEST) != 0)
		return MCP_SEAL_REQUEST;
	w = seal_find(s, content.id);
	if (w)
		*w = (struct mcp_seal_waiting){ 0 };
	if (now_ms >= content.until_ms)
		return MCP_SEAL_EXPIRED;
	if (!w)
		return MCP_SEAL_USED;
	*ret = content.claims;
	return MCP_SEAL_GOOD;
}

const char *mcp_seal_fault_text(enum mcp_seal_fault fault)
{
	static const char *const texts[MCP_SEAL_FAULTS] = {
		[MCP_SEAL_GOOD] = "requestState is good",
		[MCP_SEAL_ALTERED] = "requestState was changed, or another server made it: make "
				     "the call without it",
		[MCP_SEAL_PRINCIPAL] = "requestState belongs to another principal: make the call "
				       "without it",
		[MCP_SEAL_REQUEST] = "requestState belongs to another tool or other arguments: an "
				     "answer counts for the call that it was given for",
		[MCP_SEAL_EXPIRED] = "requestState has expired: make the call without it, and "
				     "answer sooner",
		[MCP_SEAL_USED] = "requestState was used already: an answer counts for one call",
	};

	return fault < MCP_SEAL_FAULTS ? texts[fault] : texts[MCP_SEAL_ALTERED];
}
