/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/strict.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

enum { STRICT_LEVEL = 2, STRICT_HOST_BYTES = 256 };

/* Of the one request of this process. */
static char strict_host[STRICT_HOST_BYTES];

/* The library checks the name, too; what it takes beyond this is refused here. */
static int strict_name(SSL_CTX *ctx)
{
	X509_VERIFY_PARAM *p = SSL_CTX_get0_param(ctx);
	unsigned char bytes[16];

	X509_VERIFY_PARAM_set_hostflags(
		p, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (inet_pton(AF_INET, strict_host, bytes) == 1 ||
		inet_pton(AF_INET6, strict_host, bytes) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(p, strict_host);
	return X509_VERIFY_PARAM_set1_host(p, strict_host, 0);
}

static CURLcode strict_on_context(CURL *curl, void *context, void *data)
{
	SSL_CTX *ctx = context;

	(void)curl;
	(void)data;
	SSL_CTX_set_security_level(ctx, STRICT_LEVEL);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 || strict_name(ctx) != 1)
		return CURLE_SSL_CONNECT_ERROR;
	return CURLE_OK;
}

/* An IPv6 address without its brackets. */
static CURLcode strict_find_host(CURL *curl)
{
	char *text = NULL, *url = NULL;
	CURLU *u = curl_url();
	CURLcode r = curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url);
	size_t len = 0;

	if (r == CURLE_OK && (!u || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
				     curl_url_get(u, CURLUPART_HOST, &text, 0) != CURLUE_OK))
		r = CURLE_URL_MALFORMAT;
	if (r == CURLE_OK) {
		const char *host = text + (text[0] == '[');

		len = strcspn(host, "]");
		if (len == 0 || len >= sizeof(strict_host))
			r = CURLE_URL_MALFORMAT;
		else
			(void)snprintf(strict_host, sizeof(strict_host), "%.*s", (int)len, host);
	}
	curl_free(text);
	curl_url_cleanup(u);
	return r;
}

CURLcode strict_set_up(CURL *curl, const char *authorities, size_t len)
{
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)authorities, .len = len, .flags = CURL_BLOB_NOCOPY
	};
	CURLcode r = strict_find_host(curl);

	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &blob);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_SSL_OPTIONS, (long)CURLSSLOPT_NO_PARTIALCHAIN);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, strict_on_context);
	return r;
}
