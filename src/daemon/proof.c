/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/proof.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codec/encoding.h"

enum { PROOF_COUNT_TEXT = 21, PROOF_COUNT_DIGITS = 15, PROOF_HOST = 288, PROOF_STATUS = 12 };

static void proof_digest(const void *data, size_t len, char ret[PROOF_MAC + 1])
{
	uint8_t bytes[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(bytes, data, len);
	encoding_hex(bytes, sizeof(bytes), ret);
}

void proof_mac(const uint8_t key[PROOF_KEY], const char *const *lines, uint8_t ret[PROOF_MAC / 2])
{
	crypto_auth_hmacsha256_state state;

	(void)crypto_auth_hmacsha256_init(&state, key, PROOF_KEY);
	for (size_t i = 0; lines[i]; i++) {
		if (i > 0)
			(void)crypto_auth_hmacsha256_update(&state, (const uint8_t *)"\n", 1);
		(void)crypto_auth_hmacsha256_update(
			&state, (const uint8_t *)lines[i], strlen(lines[i]));
	}
	(void)crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
}

/* n hexadecimal digits and what ends them; NULL: there is something else. */
static const char *proof_take(const char *text, size_t n, char end, char *ret)
{
	if (strspn(text, "0123456789abcdef") != n || text[n] != end)
		return NULL;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return text + n + (end ? 1 : 0);
}

bool proof_read(const char *authorization, struct proof_claim *ret)
{
	static const char scheme[] = "Corral ";
	struct proof_claim c;
	const char *at = authorization;
	size_t digits;

	if (!at || strncasecmp(at, scheme, strlen(scheme)) != 0)
		return false;
	at = proof_take(at + strlen(scheme), PROOF_ID, ':', c.tab);
	digits = at ? strspn(at, "0123456789") : 0;
	/* One spelling of each number. */
	if (digits == 0 || digits > PROOF_COUNT_DIGITS || at[0] == '0' || at[digits] != ':')
		return false;
	c.count = strtoull(at, NULL, 10);
	at = proof_take(at + digits + 1, PROOF_MAC, ':', c.body);
	if (!at || !proof_take(at, PROOF_MAC, '\0', c.mac))
		return false;
	*ret = c;
	return true;
}

bool proof_is_right(
	const struct proof_tab *t, const struct proof_claim *c, const struct proof_request *r)
{
	char count[PROOF_COUNT_TEXT], host[PROOF_HOST], mac[PROOF_MAC + 1];
	const char *const lines[] = { "corral-request-1", r->start, c->tab, count, r->method, host,
		r->path, r->query ? r->query : "", c->body, NULL };
	uint8_t bytes[PROOF_MAC / 2];

	if (!t->id[0] || strcmp(t->id, c->tab) != 0)
		return false;
	(void)snprintf(count, sizeof(count), "%" PRIu64, c->count);
	(void)snprintf(host, sizeof(host), "%s:%u", r->host, r->port);
	proof_mac(t->key, lines, bytes);
	encoding_hex(bytes, sizeof(bytes), mac);
	return sodium_memcmp(mac, c->mac, PROOF_MAC) == 0;
}

bool proof_is_body(const struct proof_claim *c, const void *body, size_t len)
{
	char digest[PROOF_MAC + 1];

	proof_digest(body, len, digest);
	return sodium_memcmp(digest, c->body, PROOF_MAC) == 0;
}

/* The window moves on: the bits of counts that it leaves stand for greater ones now. */
static void proof_move(struct proof_tab *t, uint64_t count)
{
	const uint64_t from = count - t->last > PROOF_WINDOW ? count - PROOF_WINDOW : t->last;

	for (uint64_t i = count; i > from; i--)
		t->seen[i % PROOF_WINDOW / 64] &= ~(1ULL << i % 64);
	t->last = count;
}

bool proof_count(struct proof_tab *t, uint64_t count)
{
	uint64_t *word = &t->seen[count % PROOF_WINDOW / 64];
	const uint64_t bit = 1ULL << count % 64;

	if (count > t->last)
		proof_move(t, count);
	else if (count == 0 || t->last - count >= PROOF_WINDOW || *word & bit)
		return false;
	*word |= bit;
	return true;
}

void proof_of_answer(
	const struct proof_tab *t, const struct proof_answer *a, char ret[PROOF_MAC + 1])
{
	char count[PROOF_COUNT_TEXT], status[PROOF_STATUS], digest[PROOF_MAC + 1] = "stream";
	const char *const lines[] = { "corral-answer-1", a->start, t->id, count, status, digest,
		NULL };
	uint8_t bytes[PROOF_MAC / 2];

	(void)snprintf(count, sizeof(count), "%" PRIu64, a->count);
	(void)snprintf(status, sizeof(status), "%u", a->status);
	if (a->body)
		proof_digest(a->body, a->len, digest);
	proof_mac(t->key, lines, bytes);
	encoding_hex(bytes, sizeof(bytes), ret);
}
