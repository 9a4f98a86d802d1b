/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The basic URL parser of https://url.spec.whatwg.org, cut down to what decides host and port.
 *
 * For a special scheme without a base the state machine there comes to this: spaces and control
 * characters around the text are dropped, tabs and newlines are dropped everywhere; behind the
 * scheme any number of slashes of either kind may stand; the authority goes up to the next slash,
 * "?" or
 * "#"; the host starts behind its last "@". So the text is cleaned into a buffer first, and the
 * rest is cutting it at those places.
 */
#include "policy/network/url.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "policy/network/idna-library.h"
#include "policy/network/idna.h"
#include "policy/network/url-path.h"

enum {
	TEXT_MAX = 8192, /* what is looked at: up to the query */
	HOST_MAX = 1024, /* before decoding */
};

/* A stretch of text. */
struct span {
	const char *text;
	size_t len;
};

/* As much of it as a message has room for beside what it says. */
static int url_shown(struct span s)
{
	return s.len < 100 ? (int)s.len : 100;
}

static const struct {
	const char *name;
	uint16_t port;
} schemes[] = {
	{ "http", 80 },
	{ "https", 443 },
	{ "ws", 80 },
	{ "wss", 443 },
	{ "ftp", 21 },
};

uint16_t url_scheme_port(const char *scheme, size_t len)
{
	for (size_t i = 0; i < ROWS(schemes); i++)
		if (strlen(schemes[i].name) == len &&
			strncasecmp(scheme, schemes[i].name, len) == 0)
			return schemes[i].port;
	return 0;
}

static bool is_space_or_control(char c)
{
	return (unsigned char)c <= 0x20;
}

/* Copies what counts, up to the query or the fragment. The length, or -EINVAL if it is too long. */
static int clean(const char *text, size_t len, char out[TEXT_MAX])
{
	size_t n = 0;

	while (len > 0 && is_space_or_control(text[0])) {
		text++;
		len--;
	}
	while (len > 0 && is_space_or_control(text[len - 1]))
		len--;
	for (size_t i = 0; i < len && text[i] != '?' && text[i] != '#'; i++) {
		if (text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
			continue;
		if (n == TEXT_MAX)
			return -EINVAL;
		out[n++] = text[i];
	}
	return (int)n;
}

/* Cuts s before the first byte that is in `set`, or at its end, and returns the first half. */
static struct span url_cut(struct span *s, const char *set)
{
	struct span head = { s->text, 0 };

	while (head.len < s->len && !(s->text[head.len] && strchr(set, s->text[head.len])))
		head.len++;
	s->text += head.len;
	s->len -= head.len;
	return head;
}

static int take_scheme(struct url *u, struct span *s, struct error *e)
{
	struct span name = url_cut(s, ":/\\");

	if (s->len == 0 || s->text[0] != ':' || name.len == 0)
		return error_set(e, -EINVAL, NULL, "a URL starts with a scheme, as https://");
	u->port = url_scheme_port(name.text, name.len);
	if (u->port == 0) {
		error_set(e, -EINVAL, NULL, "the scheme '%.*s' is not supported", url_shown(name),
			name.text);
		error_hint(e, "use http, https, ws, wss or ftp");
		return -EINVAL;
	}
	for (size_t i = 0; i < name.len; i++)
		u->scheme[i] = (char)(name.text[i] | 0x20);
	s->text++;
	s->len--;
	return 0;
}

/* Host and port of the authority; the user name and password, if any, are dropped. */
static void split_authority(
	struct url *u, struct span authority, struct span *host, struct span *port)
{
	const char *at = authority.len ? memrchr(authority.text, '@', authority.len) : NULL;
	bool in_brackets = false;

	*host = authority;
	if (at) {
		u->has_userinfo = true;
		host->text = at + 1;
		host->len = authority.len - (size_t)(host->text - authority.text);
	}
	*port = (struct span){ host->text + host->len, 0 };
	for (size_t i = 0; i < host->len; i++) {
		if (host->text[i] == '[' || host->text[i] == ']')
			in_brackets = host->text[i] == '[';
		if (host->text[i] == ':' && !in_brackets) {
			*port = (struct span){ host->text + i + 1, host->len - i - 1 };
			host->len = i;
			return;
		}
	}
}

/* An empty port is the scheme's own. The standard lets port 0 pass; nobody can connect to it. */
static int parse_port(struct url *u, struct span port, struct error *e)
{
	unsigned value = 0;

	for (size_t i = 0; i < port.len; i++) {
		if (port.text[i] < '0' || port.text[i] > '9')
			return error_set(e, -EINVAL, NULL, "'%.*s' is not a port", url_shown(port),
				port.text);
		value = value * 10 + (unsigned)(port.text[i] - '0');
		if (value > 65535)
			return error_set(e, -EINVAL, NULL, "port %.*s is above 65535",
				url_shown(port), port.text);
	}
	if (port.len > 0 && value == 0)
		return error_set(e, -EINVAL, NULL, "port 0 cannot be connected to");
	if (port.len > 0)
		u->port = (uint16_t)value;
	return 0;
}

static int url_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* One pass, as the standard has it: %2541 becomes %41 and is then refused. */
static size_t percent_decode(struct span s, char out[HOST_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		bool escaped = s.text[i] == '%' && s.len - i > 2 &&
			       url_hex_value(s.text[i + 1]) >= 0 &&
			       url_hex_value(s.text[i + 2]) >= 0;

		out[n++] = s.text[i];
		if (!escaped)
			continue;
		out[n - 1] =
			(char)(url_hex_value(s.text[i + 1]) << 4 | url_hex_value(s.text[i + 2]));
		i += 2;
	}
	return n;
}

static int parse_bracketed(struct url *u, struct span host, struct error *e)
{
	if (host.text[host.len - 1] != ']' ||
		address_parse(host.text + 1, host.len - 2, &u->address) < 0 ||
		u->address.bits != 128)
		return error_set(e, -EINVAL, NULL, "'%.*s' is not an IPv6 address", url_shown(host),
			host.text);
	u->is_address = true;
	return 0;
}

static int url_parse_host(struct url *u, struct span host, struct error *e)
{
	char decoded[HOST_MAX];
	int r;

	if (host.len == 0)
		return error_set(e, -EINVAL, NULL, "the URL has no host");
	if (host.len > sizeof(decoded))
		return error_set(e, -EINVAL, NULL, "the host of the URL is too long");
	if (host.text[0] == '[')
		return parse_bracketed(u, host, e);
	r = idna_to_ascii(decoded, percent_decode(host, decoded), u->host, sizeof(u->host));
	if (r == -ELIBACC) {
		error_set(e, r, NULL, "'%.*s': " IDNA_LIBRARY_MISSING, url_shown(host), host.text);
		error_hint(e, IDNA_LIBRARY_HINT);
		return r;
	}
	if (r < 0)
		return error_set(
			e, r, NULL, "'%.*s' is not a host name", url_shown(host), host.text);
	r = address_parse_loose(u->host, strlen(u->host), &u->address);
	if (r == -ERANGE)
		return error_set(
			e, -EINVAL, NULL, "'%s' ends in a number but is not an address", u->host);
	u->is_address = r == 0;
	if (u->is_address)
		u->host[0] = '\0';
	return 0;
}

static int url_parse_path(struct url *u, struct span path, struct error *e)
{
	int r = url_path_normal(path.text, path.len, u->path, sizeof(u->path));

	if (r == -ENAMETOOLONG)
		return error_set(e, -EINVAL, NULL, "the path of the URL is longer than %d bytes",
			URL_PATH_BYTES - 1);
	if (r < 0)
		return error_set(
			e, -EINVAL, NULL, "the path of the URL hides '..' from whoever reads it");
	return 0;
}

int url_parse(struct url *ret, const char *text, size_t len, struct error *e)
{
	struct url u = { 0 };
	struct span rest, authority, host, port;
	char buffer[TEXT_MAX];
	int r = clean(text, len, buffer);

	if (r < 0)
		return error_set(e, r, NULL, "the URL is longer than %d bytes", TEXT_MAX);
	rest = (struct span){ buffer, (size_t)r };
	r = take_scheme(&u, &rest, e);
	if (r < 0)
		return r;
	while (rest.len > 0 && (rest.text[0] == '/' || rest.text[0] == '\\')) {
		rest.text++;
		rest.len--;
	}
	authority = url_cut(&rest, "/\\");
	/* The standard ends the host at a backslash; many clients go on to an "@" behind it. */
	if (rest.len > 0 && rest.text[0] == '\\')
		return error_set(e, -EINVAL, NULL,
			"a backslash behind the host means different hosts to different programs");
	split_authority(&u, authority, &host, &port);
	r = url_parse_host(&u, host, e);
	if (r == 0)
		r = parse_port(&u, port, e);
	if (r == 0)
		r = url_parse_path(&u, rest, e);
	if (r == 0)
		*ret = u;
	return r;
}
