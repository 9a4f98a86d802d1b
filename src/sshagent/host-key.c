/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/host-key.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/encoding.h"

enum {
	ED25519_KEY = 32,
	ED25519_SIGNATURE = 64,
	RSA_BYTES_MAX = 2048, /* 16384 bits */
	RSA_BYTES_MIN = 128,
	RSA_EXPONENT_MAX = 8,
	EC_POINT_MAX = 1 + 2 * 66,
	EC_NUMBER_MAX = 67,
	DIGEST_MAX = 64,
};

/* How signatures of a type are named, and what they are made with. */
static const struct host_key_scheme {
	const char *type, *signature, *curve, *group, *digest;
} host_key_schemes[] = {
	{ "ssh-ed25519", "ssh-ed25519", NULL, NULL, NULL },
	{ "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "nistp256", "P-256", "SHA256" },
	{ "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", "nistp384", "P-384", "SHA384" },
	{ "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", "nistp521", "P-521", "SHA512" },
	{ "ssh-rsa", "rsa-sha2-256", NULL, NULL, "SHA256" },
	{ "ssh-rsa", "rsa-sha2-512", NULL, NULL, "SHA512" },
};

static void host_key_free_pkey(EVP_PKEY **p)
{
	EVP_PKEY_free(*p);
}
#define auto_pkey __attribute__((cleanup(host_key_free_pkey))) EVP_PKEY

int host_key_begin(void)
{
	static const char *const digests[] = { "SHA1", "SHA256", "SHA384", "SHA512" };

	/* No configuration: it is a file, and could name modules. */
	if (OPENSSL_init_crypto(
		    OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, NULL) != 1)
		return -ENOSYS;
	for (size_t i = 0; i < ROWS(digests); i++) {
		uint8_t out[DIGEST_MAX];
		size_t len = 0;

		if (EVP_Q_digest(NULL, digests[i], NULL, "", 0, out, &len) != 1)
			return -ENOSYS;
	}
	return 0;
}

static const struct host_key_scheme *host_key_find(struct blob type, const struct blob *signature)
{
	for (size_t i = 0; i < ROWS(host_key_schemes); i++)
		if (blob_is(type, host_key_schemes[i].type) &&
			(!signature || blob_is(*signature, host_key_schemes[i].signature)))
			return &host_key_schemes[i];
	return NULL;
}

bool host_key_is_known(struct blob key)
{
	struct blob type;

	return key.len <= 2 * RSA_BYTES_MAX && blob_take_string(&key, &type) &&
	       host_key_find(type, NULL) && key.len > 0;
}

/* Reading keys */

static EVP_PKEY *host_key_from_params(const char *algorithm, OSSL_PARAM_BLD *builder)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
	EVP_PKEY_CTX *c = params ? EVP_PKEY_CTX_new_from_name(NULL, algorithm, NULL) : NULL;
	EVP_PKEY *ret = NULL;

	if (c && (EVP_PKEY_fromdata_init(c) != 1 ||
			 EVP_PKEY_fromdata(c, &ret, EVP_PKEY_PUBLIC_KEY, params) != 1))
		ret = NULL;
	EVP_PKEY_CTX_free(c);
	OSSL_PARAM_free(params);
	return ret;
}

static EVP_PKEY *host_key_read_ec(const struct host_key_scheme *scheme, struct blob key)
{
	struct blob curve, point;
	OSSL_PARAM_BLD *b;
	EVP_PKEY *ret = NULL;

	if (!blob_take_string(&key, &curve) || !blob_is(curve, scheme->curve) ||
		!blob_take_string(&key, &point) || point.len > EC_POINT_MAX || key.len > 0)
		return NULL;
	b = OSSL_PARAM_BLD_new();
	if (b &&
		OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, scheme->group, 0) ==
			1 &&
		OSSL_PARAM_BLD_push_octet_string(
			b, OSSL_PKEY_PARAM_PUB_KEY, point.data, point.len) == 1)
		ret = host_key_from_params("EC", b);
	OSSL_PARAM_BLD_free(b);
	return ret;
}

/* A number that is positive, of at most so many bytes beside a leading zero; NULL: it is none. */
static BIGNUM *host_key_take_number(struct blob *b, size_t most)
{
	struct blob n;

	if (!blob_take_string(b, &n) || n.len == 0 || n.data[0] & 0x80 ||
		n.len - (n.data[0] == 0) > most)
		return NULL;
	return BN_bin2bn(n.data, (int)n.len, NULL);
}

static EVP_PKEY *host_key_read_rsa(struct blob key)
{
	BIGNUM *e = host_key_take_number(&key, RSA_EXPONENT_MAX);
	BIGNUM *n = e ? host_key_take_number(&key, RSA_BYTES_MAX) : NULL;
	OSSL_PARAM_BLD *b = n && key.len == 0 ? OSSL_PARAM_BLD_new() : NULL;
	EVP_PKEY *ret = NULL;

	if (b && BN_num_bytes(n) >= RSA_BYTES_MIN &&
		OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
		OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e) == 1)
		ret = host_key_from_params("RSA", b);
	OSSL_PARAM_BLD_free(b);
	BN_free(n);
	BN_free(e);
	return ret;
}

static EVP_PKEY *host_key_read(const struct host_key_scheme *scheme, struct blob key)
{
	struct blob raw;

	if (scheme->curve)
		return host_key_read_ec(scheme, key);
	if (scheme->digest)
		return host_key_read_rsa(key);
	if (!blob_take_string(&key, &raw) || raw.len != ED25519_KEY || key.len > 0)
		return NULL;
	return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw.data, raw.len);
}

/* Signatures */

static bool host_key_check(
	EVP_PKEY *key, const char *digest, struct blob signature, struct blob data)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool is_good = c && EVP_DigestVerifyInit_ex(c, NULL, digest, NULL, NULL, key, NULL) == 1 &&
		       EVP_DigestVerify(c, signature.data, signature.len, data.data, data.len) == 1;

	EVP_MD_CTX_free(c);
	return is_good;
}

/* SSH has two numbers, and OpenSSL wants them in DER. */
static bool host_key_check_ec(
	EVP_PKEY *key, const char *digest, struct blob inner, struct blob data)
{
	BIGNUM *r = host_key_take_number(&inner, EC_NUMBER_MAX);
	BIGNUM *s = r ? host_key_take_number(&inner, EC_NUMBER_MAX) : NULL;
	ECDSA_SIG *pair = s && inner.len == 0 ? ECDSA_SIG_new() : NULL;
	unsigned char *der = NULL;
	bool is_good = false;
	int len;

	if (!pair || ECDSA_SIG_set0(pair, r, s) != 1) {
		BN_free(r);
		BN_free(s);
		ECDSA_SIG_free(pair);
		return false;
	}
	len = i2d_ECDSA_SIG(pair, &der);
	if (len > 0)
		is_good = host_key_check(key, digest, (struct blob){ der, (size_t)len }, data);
	OPENSSL_free(der);
	ECDSA_SIG_free(pair);
	return is_good;
}

/* Leading zeros may have been left out. */
static bool host_key_check_rsa(
	EVP_PKEY *key, const char *digest, struct blob inner, struct blob data)
{
	const size_t size = (size_t)EVP_PKEY_get_size(key);
	uint8_t padded[RSA_BYTES_MAX] = { 0 };

	if (size > sizeof(padded) || inner.len > size || inner.len == 0)
		return false;
	memcpy(padded + size - inner.len, inner.data, inner.len);
	return host_key_check(key, digest, (struct blob){ padded, size }, data);
}

bool host_key_verify(struct blob key, struct blob signature, struct blob data)
{
	const struct host_key_scheme *scheme;
	struct blob type, algorithm, inner;

	if (!blob_take_string(&key, &type) || !blob_take_string(&signature, &algorithm) ||
		!blob_take_string(&signature, &inner) || signature.len > 0)
		return false;
	scheme = host_key_find(type, &algorithm);
	auto_pkey *read = scheme ? host_key_read(scheme, key) : NULL;
	if (!read)
		return false;
	if (scheme->curve)
		return host_key_check_ec(read, scheme->digest, inner, data);
	if (scheme->digest)
		return host_key_check_rsa(read, scheme->digest, inner, data);
	return inner.len == ED25519_SIGNATURE && host_key_check(read, NULL, inner, data);
}

/* Digests */

void host_key_fingerprint(struct blob key, char *out)
{
	static const char prefix[] = "SHA256:";
	uint8_t digest[DIGEST_MAX];
	auto_buffer text = { 0 };
	size_t len = 0;

	memset(out, 0, HOST_KEY_FINGERPRINT);
	if (EVP_Q_digest(NULL, "SHA256", NULL, key.data, key.len, digest, &len) != 1)
		len = 0;
	encoding_print(ENCODING_BASE64, digest, len, &text);
	memcpy(out, prefix, sizeof(prefix) - 1);
	/* As ssh does, without what pads it. */
	for (size_t i = 0; i < text.len && text.data[i] != '=' &&
			   sizeof(prefix) - 1 + i < HOST_KEY_FINGERPRINT - 1;
		i++)
		out[sizeof(prefix) - 1 + i] = text.data[i];
}

bool host_key_mac(struct blob salt, const char *name, uint8_t ret[HOST_KEY_MAC])
{
	unsigned len = 0;

	return HMAC(EVP_sha1(), salt.data, (int)salt.len, (const unsigned char *)name, strlen(name),
		       ret, &len) &&
	       len == HOST_KEY_MAC;
}
