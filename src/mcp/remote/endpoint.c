/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/remote/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "broker/fetch/request.h"
#include "codec/encoding.h"

enum { ENDPOINT_NAME_BYTES = 64 };

#define ENDPOINT_REFUSE(e, where, ...) error_set(e, -EINVAL, where, __VA_ARGS__)

/* Of a query or a header: in small letters, without what stands between words. */
static void endpoint_plain_name(const char *text, size_t len, char ret[ENDPOINT_NAME_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < ENDPOINT_NAME_BYTES; i++) {
		const int byte =
			text[i] == '%' ? encoding_percent_byte(text + i, len - i) : text[i];

		if (text[i] == '%' && byte >= 0)
			i += 2;
		if (byte > 0 && ascii_is_alnum((char)byte))
			ret[n++] = ascii_lower((char)byte);
	}
	ret[n] = '\0';
}

static bool endpoint_ends(const char *name, const char *end)
{
	const size_t len = strlen(name), n = strlen(end);

	return len >= n && strcmp(name + len - n, end) == 0;
}

/* Whether what is called so is a secret. */
static bool endpoint_is_secret(const char *name)
{
	static const char *const names[] = { "key", "auth", "authorization", "code", "pwd", "pw",
		"passwd", "pass", "sig", "signature", "jwt", "bearer", "cookie", "session",
		"sessionid", "credential", "credentials" };
	static const char *const ends[] = { "token", "apikey", "accesskey", "secretkey", "authkey",
		"secret", "password", "passphrase" };

	for (size_t i = 0; i < ROWS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < ROWS(ends); i++)
		if (endpoint_ends(name, ends[i]))
			return true;
	return false;
}

static int endpoint_check_query(const char *url, const struct location *where, struct error *e)
{
	const char *at = strchr(url, '?');

	while (at) {
		const char *name = at + 1;
		const size_t len = strcspn(name, "=&;");
		char plain[ENDPOINT_NAME_BYTES];

		endpoint_plain_name(name, len, plain);
		if (endpoint_is_secret(plain)) {
			(void)ENDPOINT_REFUSE(e, where,
				"the URL has a secret in its query: `%.*s` (URLs stand in files, "
				"in logs and in the list of processes)",
				(int)(len < 64 ? len : 64), name);
			error_hint(e,
				"leave it out; put its value into the vault (`corral vault set "
				"NAME`), and lend that: --secret NAME, or `secret: NAME`");
			return -EINVAL;
		}
		at = strpbrk(name, "&;");
	}
	return 0;
}

static bool endpoint_is_here(const struct url *u)
{
	static const unsigned char v6[16] = { [15] = 1 };

	if (!u->is_address)
		return strcmp(u->host, "localhost") == 0;
	return u->address.bits == 32 ? u->address.bytes[0] == 127
				     : memcmp(u->address.bytes, v6, sizeof(v6)) == 0;
}

static int endpoint_check(
	const struct url *u, const char *url, const struct location *where, struct error *e)
{
	const char *fault = fetch_url_fault(url);

	if (u->has_userinfo || (fault && strchr(url, '@'))) {
		(void)ENDPOINT_REFUSE(e, where, "the URL has a name or a password in it");
		error_hint(e, "put a password into the vault (`corral vault set NAME`), and lend "
			      "it: --secret NAME, or `secret: NAME`");
		return -EINVAL;
	}
	if (fault)
		return ENDPOINT_REFUSE(e, where, "the URL of a server: %s", fault);
	if (strchr(url, '#'))
		return ENDPOINT_REFUSE(e, where, "the URL of a server has no part behind `#`");
	if (strcmp(u->scheme, "http") == 0 && !endpoint_is_here(u)) {
		(void)ENDPOINT_REFUSE(e, where,
			"http:// is for servers on this machine alone (localhost, 127.0.0.1, "
			"[::1]): on the way to `%.128s` others can read and change what is said",
			u->is_address ? "this address" : u->host);
		error_hint(e, "use the https:// URL of the server");
		return -EINVAL;
	}
	return endpoint_check_query(url, where, e);
}

int endpoint_read(
	struct remote_endpoint *ret, const char *url, const struct location *where, struct error *e)
{
	char address[ADDRESS_TEXT_BYTES];
	struct error why = { 0 };
	struct url u;
	int r;

	if (strlen(url) > ENDPOINT_URL_MAX)
		return ENDPOINT_REFUSE(
			e, where, "the URL has more than %d bytes", (int)ENDPOINT_URL_MAX);
	if (url_parse(&u, url, strlen(url), &why) < 0)
		return ENDPOINT_REFUSE(
			e, where, "`%.128s` is no URL of a server: %s", url, why.text);
	r = endpoint_check(&u, url, where, e);
	if (r < 0)
		return r;
	if (u.is_address)
		(void)address_text(&u.address, address);
	(void)snprintf(ret->place, sizeof(ret->place),
		u.is_address && u.address.bits == 128 ? "[%s]:%u" : "%s:%u",
		u.is_address ? address : u.host, u.port);
	ret->is_https = strcmp(u.scheme, "https") == 0;
	return 0;
}

int endpoint_check_header(
	const char *name, const char *value, const struct location *where, struct error *e)
{
	/* With a '-' at its end: all that begin so. */
	static const char *const own[] = { "accept", "accept-encoding", "content-type",
		"last-event-id", "mcp-" };
	const char *fault = fetch_header_fault(name, value);
	char plain[ENDPOINT_NAME_BYTES];

	endpoint_plain_name(name, strlen(name), plain);
	if (!fault && endpoint_is_secret(plain)) {
		(void)ENDPOINT_REFUSE(e, where, "the header %.64s carries a secret", name);
		error_hint(e, "put its value into the vault (`corral vault set NAME`), and lend "
			      "it: --secret NAME, or `secret: NAME`");
		return -EINVAL;
	}
	for (size_t i = 0; !fault && i < ROWS(own); i++) {
		const size_t len = strlen(own[i]);

		if (strncasecmp(name, own[i], len) == 0 &&
			(own[i][len - 1] == '-' || name[len] == '\0'))
			fault = "Corral sets it itself";
	}
	return fault ? ENDPOINT_REFUSE(e, where, "the header `%.64s`: %s", name, fault) : 0;
}
