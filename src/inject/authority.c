/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "inject/side.h"

/* Clocks differ: what is made now is valid from yesterday on. */
enum { BEFORE_S = 24 * 3600, AFTER_S = 30 * 24 * 3600, SERIAL_BYTES = 16 };

struct authority_host {
	char *name;
	SSL_CTX *server; /* NULL: not yet */
};

struct authority {
	EVP_PKEY *key, *host_key; /* one key serves all hosts: they end together */
	X509 *certificate;
	size_t n;
	struct authority_host hosts[];
};

static void authority_x509_free(X509 **p)
{
	X509_free(*p);
}

static void authority_ssl_free(SSL_CTX **p)
{
	SSL_CTX_free(*p);
}

#define auto_x509 __attribute__((cleanup(authority_x509_free))) X509
#define auto_ssl __attribute__((cleanup(authority_ssl_free))) SSL_CTX

static int authority_failed(struct error *e, const char *what)
{
	char text[256];

	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return error_set(e, -EIO, NULL, "cannot make %s: %s", what, text);
}

static bool authority_is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static int authority_add_extension(X509 *c, X509V3_CTX *context, int kind, const char *value)
{
	X509_EXTENSION *x = X509V3_EXT_conf_nid(NULL, context, kind, value);
	int ok = x && X509_add_ext(c, x, -1) == 1;

	X509_EXTENSION_free(x);
	return ok ? 0 : -EIO;
}

/* Number, times, subject and key. */
static X509 *authority_begin_certificate(EVP_PKEY *key, const char *subject)
{
	unsigned char serial[SERIAL_BYTES] = { 0 };
	X509 *c = X509_new();
	BIGNUM *number = NULL;
	bool ok = c && RAND_bytes(serial, sizeof(serial)) == 1;

	serial[0] &= 0x7f; /* not negative */
	number = ok ? BN_bin2bn(serial, sizeof(serial), NULL) : NULL;
	ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(c)) &&
	     X509_set_version(c, X509_VERSION_3) == 1 &&
	     X509_gmtime_adj(X509_getm_notBefore(c), -BEFORE_S) &&
	     X509_gmtime_adj(X509_getm_notAfter(c), AFTER_S) && X509_set_pubkey(c, key) == 1 &&
	     X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
		     (const unsigned char *)subject, -1, -1, 0) == 1;
	BN_free(number);
	if (ok)
		return c;
	X509_free(c);
	return NULL;
}

/* "permitted;DNS:a.com,permitted;IP:10.0.0.1/255.255.255.255" */
static void authority_print_constraints(const struct authority *a, struct buffer *out)
{
	for (size_t i = 0; i < a->n; i++) {
		const char *host = a->hosts[i].name;

		buffer_adds(out, i > 0 ? "," : "critical,");
		if (!authority_is_address(host))
			buffer_printf(out, "permitted;DNS:%s", host);
		else
			buffer_printf(out, "permitted;IP:%s/%s", host,
				strchr(host, ':') ? "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
						  : "255.255.255.255");
	}
}

static int authority_make_certificate(struct authority *a)
{
	auto_buffer hosts = { 0 };
	auto_x509 *c = authority_begin_certificate(a->key, "Corral: hosts with secrets");
	X509V3_CTX context;

	authority_print_constraints(a, &hosts);
	if (!c || hosts.failed || X509_set_issuer_name(c, X509_get_subject_name(c)) != 1)
		return -EIO;
	X509V3_set_ctx(&context, c, c, NULL, NULL, 0);
	if (authority_add_extension(
		    c, &context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
		authority_add_extension(c, &context, NID_key_usage, "critical,keyCertSign") < 0 ||
		authority_add_extension(c, &context, NID_subject_key_identifier, "hash") < 0 ||
		authority_add_extension(c, &context, NID_name_constraints, hosts.data) < 0 ||
		X509_sign(c, a->key, EVP_sha256()) == 0)
		return -EIO;
	a->certificate = c;
	c = NULL;
	return 0;
}

int authority_new(struct authority **ret, const char *const *hosts, size_t n, struct error *e)
{
	struct authority *a = calloc(1, sizeof(*a) + n * sizeof(a->hosts[0]));
	int r = 0;

	if (!a)
		return error_no_memory(e);
	for (; r == 0 && a->n < n; a->n++) {
		a->hosts[a->n].name = strdup(hosts[a->n]);
		r = a->hosts[a->n].name ? 0 : -ENOMEM;
	}
	if (r < 0)
		(void)error_no_memory(e);
	if (r == 0) {
		a->key = EVP_EC_gen("P-256");
		a->host_key = EVP_EC_gen("P-256");
		if (!a->key || !a->host_key || authority_make_certificate(a) < 0)
			r = authority_failed(e, "an authority for hosts with secrets");
	}
	if (r < 0) {
		authority_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++) {
		free(a->hosts[i].name);
		SSL_CTX_free(a->hosts[i].server);
	}
	EVP_PKEY_free(a->key);
	EVP_PKEY_free(a->host_key);
	X509_free(a->certificate);
	free(a);
}

int authority_print(const struct authority *a, struct buffer *out, struct error *e)
{
	BIO *text = BIO_new(BIO_s_mem());
	char *data;
	long len = text && PEM_write_bio_X509(text, a->certificate) == 1
			   ? BIO_get_mem_data(text, &data)
			   : 0;

	if (len > 0)
		buffer_add(out, data, (size_t)len);
	BIO_free(text);
	return len <= 0      ? authority_failed(e, "a text of a certificate")
	       : out->failed ? error_no_memory(e)
			     : 0;
}

static X509 *authority_make_host(const struct authority *a, const char *host)
{
	auto_buffer name = { 0 };
	auto_x509 *c = authority_begin_certificate(a->host_key, "Corral");
	X509V3_CTX context;
	X509 *ret;

	buffer_printf(&name, "%s:%s", authority_is_address(host) ? "IP" : "DNS", host);
	if (!c || name.failed ||
		X509_set_issuer_name(c, X509_get_subject_name(a->certificate)) != 1)
		return NULL;
	X509V3_set_ctx(&context, a->certificate, c, NULL, NULL, 0);
	if (authority_add_extension(c, &context, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
		authority_add_extension(c, &context, NID_key_usage, "critical,digitalSignature") <
			0 ||
		authority_add_extension(c, &context, NID_ext_key_usage, "serverAuth") < 0 ||
		authority_add_extension(c, &context, NID_subject_alt_name, name.data) < 0 ||
		authority_add_extension(c, &context, NID_authority_key_identifier, "keyid") < 0 ||
		X509_sign(c, a->key, EVP_sha256()) == 0)
		return NULL;
	ret = c;
	c = NULL;
	return ret;
}

static SSL_CTX *authority_make_server(const struct authority *a, const char *host)
{
	auto_x509 *c = authority_make_host(a, host);
	auto_ssl *server = c ? SSL_CTX_new(TLS_server_method()) : NULL;
	SSL_CTX *ret;

	if (!server || SSL_CTX_set_min_proto_version(server, TLS1_2_VERSION) != 1 ||
		SSL_CTX_use_certificate(server, c) != 1 ||
		SSL_CTX_use_PrivateKey(server, a->host_key) != 1)
		return NULL;
	/* No session is taken up again: what TLS asks for is said, and looked at, each time. */
	(void)SSL_CTX_set_options(server, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_num_tickets(server, 0);
	side_prepare(server);
	ret = server;
	server = NULL;
	return ret;
}

int authority_server(
	struct authority *a, const char *host, struct ssl_ctx_st **ret, struct error *e)
{
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->hosts[i].name, host) != 0)
			continue;
		if (!a->hosts[i].server)
			a->hosts[i].server = authority_make_server(a, host);
		*ret = a->hosts[i].server;
		return *ret ? 0 : authority_failed(e, "a certificate");
	}
	return error_set(e, -ENOENT, NULL, "%s has no secrets", host);
}
