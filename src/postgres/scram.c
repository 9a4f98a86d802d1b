/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/scram.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "codec/encoding.h"
#include "vault/secret.h"

static const char *const scram_headers[] = {
	[SCRAM_PLAIN] = "n,,",
	[SCRAM_UNBOUND] = "y,,",
	[SCRAM_BOUND] = "p=tls-server-end-point,,",
};

/* Of the server's first message. */
struct scram_challenge {
	const char *nonce, *salt;
	size_t nonce_len, salt_len;
	int iterations;
};

struct scram_keys {
	uint8_t salted[SCRAM_HASH], client[SCRAM_HASH], stored[SCRAM_HASH], server[SCRAM_HASH],
		proof[SCRAM_HASH];
};

int scram_check(const void *password, size_t len)
{
	const uint8_t *bytes = password;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == 0)
			return -EINVAL;
		if (bytes[i] >= 0x80)
			return -EILSEQ;
	}
	return 0;
}

int scram_begin(struct scram *s, enum scram_channel channel, const void *binding, size_t len,
	const char *user, const char *nonce, struct buffer *out)
{
	if (s->stage != SCRAM_NOTHING || strlen(nonce) != SCRAM_NONCE || strchr(nonce, ',') ||
		len > SCRAM_BINDING_MAX || (channel == SCRAM_BOUND) != (len > 0))
		return -EINVAL;
	memcpy(s->nonce, nonce, SCRAM_NONCE + 1);
	buffer_adds(&s->channel, scram_headers[channel]);
	buffer_add(&s->channel, binding, len);
	buffer_printf(&s->first, "n=%s,r=%s", user, nonce);
	buffer_adds(out, scram_headers[channel]);
	buffer_adds(out, buffer_text(&s->first));
	s->stage = SCRAM_FIRST;
	return s->channel.failed || s->first.failed || out->failed ? -ENOMEM : 0;
}

/* The next "x=value" with this name; a comma, or the end, is behind it. */
static bool scram_take(const char **at, const char *end, char name, const char **ret, size_t *len)
{
	const char *p = *at, *stop;

	if (end - p < 2 || p[0] != name || p[1] != '=')
		return false;
	stop = memchr(p, ',', (size_t)(end - p));
	*ret = p + 2;
	*len = (size_t)((stop ? stop : end) - *ret);
	*at = stop ? stop + 1 : end;
	return true;
}

static bool scram_is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < '!' || text[i] > '~')
			return false;
	return len > 0;
}

/* Bytes and no more than the numbers that are allowed have. */
static int scram_read_iterations(const char *text, size_t len, int *ret)
{
	int n = 0;

	if (len == 0 || text[0] == '0')
		return -EPROTO;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EPROTO;
		n = n <= SCRAM_ITERATIONS_MOST ? n * 10 + (text[i] - '0') : n;
	}
	if (n < SCRAM_ITERATIONS_LEAST || n > SCRAM_ITERATIONS_MOST)
		return -ERANGE;
	*ret = n;
	return 0;
}

/* "r=…,s=…,i=…", and no extension: what must be understood comes first, others nobody sends. */
static int scram_read(
	const struct scram *s, const char *message, size_t len, struct scram_challenge *ret)
{
	const char *at = message, *end = message + len, *iterations;
	size_t n;

	if (!scram_take(&at, end, 'r', &ret->nonce, &ret->nonce_len) ||
		!scram_take(&at, end, 's', &ret->salt, &ret->salt_len) ||
		!scram_take(&at, end, 'i', &iterations, &n) || at != end || end[-1] == ',')
		return -EPROTO;
	if (ret->nonce_len <= SCRAM_NONCE || memcmp(ret->nonce, s->nonce, SCRAM_NONCE) != 0 ||
		!scram_is_printable(ret->nonce, ret->nonce_len))
		return -EPROTO;
	return scram_read_iterations(iterations, n, &ret->iterations);
}

static bool scram_hmac(
	const uint8_t key[SCRAM_HASH], const void *data, size_t len, uint8_t ret[SCRAM_HASH])
{
	unsigned int n = 0;

	return HMAC(EVP_sha256(), key, SCRAM_HASH, data, len, ret, &n) && n == SCRAM_HASH;
}

/* RFC 5802, 3. What it makes of the password is wiped by the caller. */
static bool scram_prove(struct scram *s, struct scram_keys *k, const void *password,
	size_t password_len, const char *salt, size_t salt_len, int iterations,
	const struct buffer *said)
{
	if (PKCS5_PBKDF2_HMAC(password, (int)password_len, (const uint8_t *)salt, (int)salt_len,
		    iterations, EVP_sha256(), SCRAM_HASH, k->salted) != 1 ||
		!scram_hmac(k->salted, "Client Key", 10, k->client) ||
		!SHA256(k->client, SCRAM_HASH, k->stored) ||
		!scram_hmac(k->stored, said->data, said->len, k->proof) ||
		!scram_hmac(k->salted, "Server Key", 10, k->server) ||
		!scram_hmac(k->server, said->data, said->len, s->signature))
		return false;
	for (size_t i = 0; i < SCRAM_HASH; i++)
		k->proof[i] ^= k->client[i];
	return true;
}

int scram_continue(struct scram *s, const char *message, size_t len, const void *password,
	size_t password_len, struct buffer *out)
{
	struct scram_challenge c = { 0 };
	struct scram_keys keys = { 0 };
	auto_buffer said = { 0 }, last = { 0 };
	auto_arena scratch = { 0 };
	const char *salt = NULL;
	size_t salt_len = 0;
	int r = s->stage != SCRAM_FIRST || len > SCRAM_MESSAGE_MAX ? -EPROTO : 0;

	s->stage = SCRAM_NOTHING;
	if (r == 0)
		r = scram_read(s, message, len, &c);
	if (r == 0 && encoding_decode(
			      ENCODING_BASE64, c.salt, c.salt_len, &scratch, &salt, &salt_len) < 0)
		r = -EPROTO;
	if (r == 0 && (salt_len == 0 || salt_len > SCRAM_SALT_MAX))
		r = -EPROTO;
	if (r < 0)
		return r;
	buffer_adds(&last, "c=");
	encoding_print(ENCODING_BASE64, s->channel.data, s->channel.len, &last);
	buffer_printf(&last, ",r=%.*s", (int)c.nonce_len, c.nonce);
	buffer_printf(
		&said, "%s,%.*s,%s", buffer_text(&s->first), (int)len, message, buffer_text(&last));
	if (said.failed || last.failed)
		return -ENOMEM;
	if (!scram_prove(s, &keys, password, password_len, salt, salt_len, c.iterations, &said)) {
		secret_wipe(&keys, sizeof(keys));
		return -EIO;
	}
	buffer_printf(out, "%s,p=", last.data);
	encoding_print(ENCODING_BASE64, keys.proof, SCRAM_HASH, out);
	secret_wipe(&keys, sizeof(keys));
	s->stage = SCRAM_FINAL;
	return out->failed ? -ENOMEM : 0;
}

int scram_finish(struct scram *s, const char *message, size_t len)
{
	const char *at = message, *text, *bytes;
	auto_arena scratch = { 0 };
	size_t n;
	const enum scram_stage stage = s->stage;

	s->stage = SCRAM_NOTHING;
	if (stage != SCRAM_FINAL || len > SCRAM_MESSAGE_MAX ||
		!scram_take(&at, message + len, 'v', &text, &n) || at != message + len)
		return -EPROTO;
	if (encoding_decode(ENCODING_BASE64, text, n, &scratch, &bytes, &n) < 0)
		return -EPROTO;
	if (n != SCRAM_HASH || CRYPTO_memcmp(bytes, s->signature, SCRAM_HASH) != 0)
		return -EKEYREJECTED;
	s->stage = SCRAM_DONE;
	return 0;
}

void scram_deinit(struct scram *s)
{
	buffer_deinit(&s->channel);
	buffer_deinit(&s->first);
	secret_wipe(s, sizeof(*s));
}
