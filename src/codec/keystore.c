/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     list         = FEEDFEED, version, count, entry * count, digest; numbers begin with the
 *                    highest byte
 *     entry        = 2, name, time in ms (8 bytes), "X.509", length, certificate (DER)
 *     name, "…"    = length (2 bytes), bytes
 *
 * Entries have no order, so new ones stand in front of those of the other list.
 */
#include "codec/keystore.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "codec/encoding.h"

enum {
	KEYSTORE_MAGIC = 0xfeedfeed,
	KEYSTORE_VERSION = 2,
	KEYSTORE_CERTIFICATE = 2,
	KEYSTORE_HEAD = 12,
	KEYSTORE_MAX = 65536, /* entries */
	SHA1_BYTES = 20,
	SHA1_BLOCK = 64,
	SHA1_LENGTH_AT = 56,
	SHA1_ROUNDS = 80,
};

/* "changeit", and what Java puts behind each password. */
static const char keystore_salt[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";

static void keystore_add_number(struct buffer *out, uint64_t n, size_t bytes)
{
	while (bytes-- > 0)
		buffer_addc(out, (char)(n >> (8 * bytes)));
}

static uint32_t keystore_number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* SHA-1 (FIPS 180-4): it finds errors here, and protects nothing. */

static uint32_t sha1_roll(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static uint32_t sha1_mix(size_t round, uint32_t b, uint32_t c, uint32_t d)
{
	if (round < 20)
		return ((b & c) | (~b & d)) + 0x5a827999;
	if (round >= 40 && round < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	return (b ^ c ^ d) + (round < 40 ? 0x6ed9eba1 : 0xca62c1d6);
}

static void sha1_add_block(uint32_t state[5], const uint8_t *block)
{
	uint32_t w[SHA1_ROUNDS] = { 0 }, s[5];

	for (size_t i = 0; i < SHA1_ROUNDS; i++)
		w[i] = i < 16 ? keystore_number(block + 4 * i)
			      : sha1_roll(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(s, state, sizeof(s));
	for (size_t i = 0; i < SHA1_ROUNDS; i++) {
		const uint32_t next =
			sha1_roll(s[0], 5) + sha1_mix(i, s[1], s[2], s[3]) + s[4] + w[i];

		s[4] = s[3];
		s[3] = s[2];
		s[2] = sha1_roll(s[1], 30);
		s[1] = s[0];
		s[0] = next;
	}
	for (size_t i = 0; i < 5; i++)
		state[i] += s[i];
}

static void keystore_add_digest(const char *data, size_t len, struct buffer *out)
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	auto_buffer all = { 0 };

	buffer_add(&all, keystore_salt, sizeof(keystore_salt) - 1);
	buffer_add(&all, data, len);
	len = all.len;
	buffer_addc(&all, (char)0x80);
	while (!all.failed && all.len % SHA1_BLOCK != SHA1_LENGTH_AT)
		buffer_addc(&all, '\0');
	keystore_add_number(&all, 8 * (uint64_t)len, sizeof(uint64_t));
	out->failed = out->failed || all.failed;
	for (size_t at = 0; !all.failed && at < all.len; at += SHA1_BLOCK)
		sha1_add_block(state, (const uint8_t *)all.data + at);
	for (size_t i = 0; i < 5; i++)
		keystore_add_number(out, state[i], sizeof(state[i]));
}

/* Entries */

static void keystore_add_text(struct buffer *out, const char *text)
{
	keystore_add_number(out, strlen(text), 2);
	buffer_adds(out, text);
}

static int keystore_add_certificate(
	const char *base64, size_t len, size_t number, struct buffer *out)
{
	struct arena a = { 0 };
	const char *der;
	size_t der_len;
	int r = encoding_decode(ENCODING_BASE64, base64, len, &a, &der, &der_len);

	if (r == 0) {
		auto_buffer name = { 0 };

		buffer_printf(&name, "corral-%zu", number);
		keystore_add_number(out, KEYSTORE_CERTIFICATE, 4);
		keystore_add_text(out, buffer_text(&name));
		keystore_add_number(out, 0, 8);
		keystore_add_text(out, "X.509");
		keystore_add_number(out, der_len, 4);
		buffer_add(out, der, der_len);
		out->failed = out->failed || name.failed;
	}
	arena_deinit(&a);
	return r;
}

static int keystore_add_pem(const char *pem, size_t *n, struct buffer *out)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----",
			  end[] = "-----END CERTIFICATE-----";
	int r = 0;

	while (r == 0 && (pem = strstr(pem, begin))) {
		const char *from = pem + strlen(begin), *to = strstr(from, end);

		if (!to || *n == KEYSTORE_MAX)
			return -EINVAL;
		while (*from == '\r' || *from == '\n')
			from++;
		r = keystore_add_certificate(from, (size_t)(to - from), ++*n, out);
		pem = to;
	}
	return r < 0 ? r : *n > 0 ? 0 : -EINVAL;
}

int keystore_print(const char *pem, const char *list, size_t len, struct buffer *out)
{
	const uint8_t *head = (const uint8_t *)list;
	auto_buffer entries = { 0 }, all = { 0 };
	size_t n = 0, others = 0;
	int r;

	if (list && (len < KEYSTORE_HEAD + SHA1_BYTES || keystore_number(head) != KEYSTORE_MAGIC ||
			    keystore_number(head + 4) != KEYSTORE_VERSION ||
			    keystore_number(head + 8) > KEYSTORE_MAX))
		return -EINVAL;
	r = keystore_add_pem(pem, &n, &entries);
	if (r < 0)
		return r;
	if (list)
		others = keystore_number(head + 8);
	keystore_add_number(&all, KEYSTORE_MAGIC, 4);
	keystore_add_number(&all, KEYSTORE_VERSION, 4);
	keystore_add_number(&all, n + others, 4);
	buffer_add(&all, buffer_text(&entries), entries.len);
	if (list)
		buffer_add(&all, list + KEYSTORE_HEAD, len - KEYSTORE_HEAD - SHA1_BYTES);
	if (all.failed || entries.failed)
		return -ENOMEM;
	keystore_add_digest(all.data, all.len, &all);
	buffer_add(out, buffer_text(&all), all.len);
	return all.failed || out->failed ? -ENOMEM : 0;
}
