/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses: a whole file, or the inside of one secret, which is encrypted first, as
 * no fuzzer finds a message that is authentic. What is accepted is written and read back the same.
 */
#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vault/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[VAULT_KEY_BYTES] = "0123456789abcdef0123456789abcde";

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void push(struct buffer *out, crypto_secretstream_xchacha20poly1305_state *s,
	const void *data, size_t len, const uint8_t *more, size_t more_len, uint8_t tag)
{
	const uint32_t n = htole32((uint32_t)(len + crypto_secretstream_xchacha20poly1305_ABYTES));
	uint8_t *cipher = calloc(1, len + crypto_secretstream_xchacha20poly1305_ABYTES);

	require(cipher);
	(void)crypto_secretstream_xchacha20poly1305_push(
		s, cipher, NULL, data, len, more, more_len, tag);
	buffer_add(out, &n, sizeof(n));
	buffer_add(out, cipher, len + crypto_secretstream_xchacha20poly1305_ABYTES);
	free(cipher);
}

/* A file with this as its only secret. */
static void wrap(struct buffer *out, const uint8_t *data, size_t size, struct secret *scratch)
{
	crypto_secretstream_xchacha20poly1305_state s;
	uint8_t header[crypto_secretstream_xchacha20poly1305_HEADERBYTES], hash[32];
	static uint8_t padded[8192 + 128];
	auto_vault v = { .header.n_slots = 1 };
	struct vault_header h;
	size_t at = 0;

	vault_slot_new(&v.header.slots[0], VAULT_SLOT_SYSTEMD);
	require(vault_encode(&v, key, scratch, out) == 0);
	require(vault_header_decode(&h, out->data, out->len, "vault", &at, NULL) == 0);
	out->len = at;
	(void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)out->data, at, NULL, 0);
	(void)crypto_secretstream_xchacha20poly1305_init_push(&s, header, key);
	buffer_add(out, header, sizeof(header));
	memcpy(padded, data, size);
	require(sodium_pad(&size, padded, size, 128, sizeof(padded)) == 0);
	push(out, &s, padded, size, hash, sizeof(hash), 0);
	push(out, &s, "", 0, NULL, 0, crypto_secretstream_xchacha20poly1305_TAG_FINAL);
}

static bool same(const struct vault_entry *a, const struct vault_entry *b)
{
	bool is_same = strcmp(a->name, b->name) == 0 && strcmp(a->source, b->source) == 0 &&
		       a->version == b->version && a->created_s == b->created_s &&
		       a->changed_s == b->changed_s && a->expires_s == b->expires_s &&
		       a->keep_s == b->keep_s && a->value_len == b->value_len &&
		       memcmp(a->value, b->value, a->value_len) == 0 && a->n_grants == b->n_grants;

	for (uint32_t i = 0; is_same && i < a->n_grants; i++)
		is_same = strcmp(a->grants[i].host, b->grants[i].host) == 0 &&
			  strcmp(a->grants[i].principal, b->grants[i].principal) == 0 &&
			  strcmp(a->grants[i].fields, b->grants[i].fields) == 0 &&
			  strcmp(a->grants[i].programs, b->grants[i].programs) == 0 &&
			  a->grants[i].places == b->grants[i].places;
	return is_same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct secret scratch;
	auto_buffer file = { 0 }, again = { 0 };
	auto_vault v = { 0 }, other = { 0 };
	struct error e = { 0 };

	if (!scratch.data)
		require(secret_begin() == 0 && secret_new(&scratch, VAULT_SCRATCH_BYTES) == 0);
	if (size < 1 || size > 8192)
		return 0;
	if (data[0] & 1)
		wrap(&file, data + 1, size - 1, &scratch);
	else
		buffer_add(&file, data + 1, size - 1);
	require(!file.failed);
	if (vault_decode(&v, buffer_text(&file), file.len, "vault", key, &e) < 0) {
		require(!v.plain.data && !v.entries && v.n == 0);
		return 0;
	}
	require(vault_encode(&v, key, &scratch, &again) == 0);
	require(vault_decode(&other, again.data, again.len, "vault", key, &e) == 0);
	require(other.n == v.n);
	for (size_t i = 0; i < v.n; i++)
		require(same(&v.entries[i], &other.entries[i]));
	return 0;
}
