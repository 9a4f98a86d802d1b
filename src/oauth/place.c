/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "policy/network/url.h"

/* From the first slash behind the host on. */
static const char *place_path(const char *url)
{
	const char *host = strstr(url, "://");

	return host ? host + 3 + strcspn(host + 3, "/?") : "";
}

static bool place_is_visible(const char *url)
{
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || (unsigned char)*c >= 0x7f || *c == '\\' || *c == '"')
			return false;
	return *url;
}

static bool place_is_here(const struct url *u)
{
	const struct address a = address_plain(&u->address);

	if (!u->is_address)
		return strcmp(u->host, "localhost") == 0;
	if (a.bits == 32)
		return a.bytes[0] == 127;
	for (size_t i = 0; i < 15; i++)
		if (a.bytes[i])
			return false;
	return a.bytes[15] == 1;
}

static int place_refuse(const char *what, const char *url, const char *why, struct error *e)
{
	(void)error_set(e, -EINVAL, NULL, "%s `%.200s`: %s", what, url, why);
	return -EINVAL;
}

int oauth_place_read(struct oauth_place *ret, const char *url, const char *what, struct error *e)
{
	char address[ADDRESS_TEXT_BYTES];
	struct error why = { 0 };
	struct url u;

	if (strnlen(url, OAUTH_URL_MAX + 1) > OAUTH_URL_MAX) {
		(void)error_set(
			e, -EINVAL, NULL, "%s is longer than %d bytes", what, OAUTH_URL_MAX);
		return -EINVAL;
	}
	if (!place_is_visible(url))
		return place_refuse(what, url, "has characters that a URL does not have", e);
	if (url_parse(&u, url, strlen(url), &why) < 0)
		return place_refuse(what, url, why.text, e);
	if (u.has_userinfo || strchr(url, '#'))
		return place_refuse(what, url, "has a name or password, or a fragment", e);
	if (strcmp(u.scheme, "https") != 0 && strcmp(u.scheme, "http") != 0)
		return place_refuse(what, url, "is neither https nor http", e);
	if (strcmp(u.scheme, "http") == 0 && !place_is_here(&u))
		return place_refuse(what, url, "must be https: all but this machine is", e);
	if (u.is_address)
		(void)address_text(&u.address, address);
	*ret = (struct oauth_place){ .is_literal = u.is_address || place_is_here(&u),
		.path = place_path(url) };
	(void)snprintf(ret->scheme, sizeof(ret->scheme), "%s", u.scheme);
	(void)snprintf(ret->host, sizeof(ret->host),
		u.is_address && u.address.bits == 128 ? "[%s]:%u" : "%s:%u",
		u.is_address ? address : u.host, u.port);
	return 0;
}

bool oauth_place_is_same(const struct oauth_place *a, const struct oauth_place *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcmp(a->host, b->host) == 0;
}

/* Without its port. */
static bool place_is_same_host(const struct oauth_place *a, const struct oauth_place *b)
{
	const size_t len = (size_t)(strrchr(a->host, ':') - a->host);

	return len == (size_t)(strrchr(b->host, ':') - b->host) &&
	       strncmp(a->host, b->host, len) == 0;
}

bool oauth_place_may_lead(const struct oauth_place *from, const struct oauth_place *to)
{
	if (strcmp(from->scheme, "https") == 0 && strcmp(to->scheme, "https") != 0)
		return false;
	return !to->is_literal || place_is_same_host(from, to);
}

void oauth_place_print(const struct oauth_place *p, struct buffer *out)
{
	const char *port = strrchr(p->host, ':');
	const bool is_usual = strcmp(port, strcmp(p->scheme, "https") == 0 ? ":443" : ":80") == 0;

	buffer_printf(out, "%s://%.*s", p->scheme,
		(int)(is_usual ? (size_t)(port - p->host) : strlen(p->host)), p->host);
}

/* Metadata */

static const char *place_trim(const char *path, size_t *ret_len)
{
	*ret_len = strlen(path);
	while (*ret_len > 0 && path[*ret_len - 1] == '/')
		--*ret_len;
	return path;
}

int oauth_place_of_resource(const char *url, unsigned n, struct buffer *out)
{
	static const char name[] = "/.well-known/oauth-protected-resource";
	struct oauth_place p;
	size_t len;

	if (oauth_place_read(&p, url, "the server", NULL) < 0)
		return 1;
	(void)place_trim(p.path, &len);
	if (n > 1 || (n == 1 && len == 0))
		return 1;
	oauth_place_print(&p, out);
	buffer_adds(out, name);
	if (n == 0)
		buffer_add(out, p.path, len);
	return 0;
}

int oauth_place_of_server(const char *issuer, unsigned n, struct buffer *out)
{
	static const char oauth[] = "/.well-known/oauth-authorization-server";
	static const char openid[] = "/.well-known/openid-configuration";
	struct oauth_place p;
	size_t len;

	if (oauth_place_read(&p, issuer, "the issuer", NULL) < 0)
		return 1;
	(void)place_trim(p.path, &len);
	if (n > 2 || (n == 2 && len == 0))
		return 1;
	oauth_place_print(&p, out);
	if (n < 2)
		buffer_adds(out, n == 0 ? oauth : openid);
	buffer_add(out, p.path, len);
	if (n == 2)
		buffer_adds(out, openid);
	return 0;
}
