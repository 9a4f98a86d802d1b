/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The basic URL parser of https://url.spec.whatwg.org, cut down to what decides host and port.
 *
 * For a special scheme without a base the state machine there comes to this: spaces and control
 * characters around the text are dropped, tabs and newlines are dropped everywhere; after the
 * scheme any number of slashes of either kind may stand; the authority goes up to the next slash,
 * '?' or '#'; the host starts after its last '@'. So the text is cleaned into a buffer first, and
 * the rest is cutting it at those places.
 *
 * Older readers cut elsewhere: at the first '@', at a ';' or a space, after what they decode
 * first, or they look for an '@' after a '?' or '#'. So a user name is taken only if no reader
 * could find another host in it, and what comes after a host without a path may have no '@'.
 */
#include "policy/network/url.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "codec/encoding.h"
#include "policy/network/idna.h"

enum {
	TEXT_MAX = 8192, /* what is looked at: up to the query */
	HOST_MAX = 1024, /* before decoding */
};

/* A stretch of text. */
struct url_span {
	const char *text;
	size_t len;
};

/* As much of it as a message has room for beside what it says. */
static int url_shown(struct url_span s)
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

/* Copies what counts, up to the query or the fragment. The length, or -EINVAL if it is too long. */
static int clean(const char *text, size_t len, char out[TEXT_MAX])
{
	size_t n = 0;

	for (; len > 0 && (unsigned char)text[0] <= ' '; len--)
		text++;
	while (len > 0 && (unsigned char)text[len - 1] <= ' ')
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
static struct url_span url_cut(struct url_span *s, const char *set)
{
	struct url_span head = { s->text, 0 };

	while (head.len < s->len && !(s->text[head.len] && strchr(set, s->text[head.len])))
		head.len++;
	s->text += head.len;
	s->len -= head.len;
	return head;
}

static int url_take_scheme(struct url *u, struct url_span *s, struct error *e)
{
	struct url_span name = url_cut(s, ":/\\");

	if (s->len == 0 || s->text[0] != ':' || name.len == 0)
		return error_set(
			e, -EINVAL, NULL, "a URL must start with a scheme, such as https://");
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

/* What RFC 3986 lets stand anywhere. */
static bool is_unreserved(unsigned char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || ascii_is_digit((char)c) ||
	       (c && strchr("-._~", c));
}

/* NAME or NAME:PASSWORD, of characters that end a host in no program, escaped or not. */
static bool url_userinfo_is_plain(struct url_span s)
{
	bool colon = false, empty = true;

	for (size_t i = 0; i < s.len; i++) {
		int escaped = encoding_percent_byte(s.text + i, s.len - i);
		unsigned char c = (unsigned char)(escaped < 0 ? s.text[i] : escaped);

		if (c == ':' && escaped < 0 && !colon) {
			colon = true;
			continue;
		}
		if (!is_unreserved(c) && !(c && strchr("!$&'()*+,=", c)))
			return false;
		empty = false;
		i += escaped < 0 ? 0 : 2;
	}
	return !empty;
}

static int url_refuse_user(struct error *e)
{
	error_set(e, -EINVAL, NULL,
		"what stands around the '@' means different hosts to different programs");
	error_hint(e, "write https://host/path and send the name and password in a header; an "
		      "'@' in a query must come after https://host/");
	return -EINVAL;
}

/* An '@' in the query or the fragment of a URL that has no path. */
static bool url_has_late_at(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] != '?' && text[i] != '#')
		i++;
	return i < len && memchr(text + i, '@', len - i);
}

/* Host and port of the authority; the user name and password, if any, are dropped. */
static int url_split_authority(struct url *u, struct url_span authority, struct url_span *host,
	struct url_span *port, struct error *e)
{
	const char *at = authority.len ? memrchr(authority.text, '@', authority.len) : NULL;
	bool in_brackets = false;

	*host = authority;
	if (at) {
		if (!url_userinfo_is_plain(
			    (struct url_span){ authority.text, (size_t)(at - authority.text) }))
			return url_refuse_user(e);
		u->has_userinfo = true;
		host->text = at + 1;
		host->len = authority.len - (size_t)(host->text - authority.text);
	}
	*port = (struct url_span){ host->text + host->len, 0 };
	for (size_t i = 0; i < host->len; i++) {
		if (host->text[i] == '[' || host->text[i] == ']')
			in_brackets = host->text[i] == '[';
		if (host->text[i] == ':' && !in_brackets) {
			*port = (struct url_span){ host->text + i + 1, host->len - i - 1 };
			host->len = i;
			return 0;
		}
	}
	return 0;
}

/* An empty port is the scheme's own. The standard allows port 0; no program can connect to it. */
static int url_take_port(struct url *u, struct url_span port, struct error *e)
{
	unsigned value = 0;

	for (size_t i = 0; i < port.len; i++) {
		if (!ascii_is_digit(port.text[i]))
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

static int url_take_host(struct url *u, struct url_span host, struct error *e)
{
	char decoded[HOST_MAX];
	size_t n = 0;
	int r;

	if (host.len == 0)
		return error_set(e, -EINVAL, NULL, "the URL has no host");
	if (host.len > sizeof(decoded))
		return error_set(e, -EINVAL, NULL, "the host of the URL is too long");
	if (host.text[0] == '[') {
		if (host.text[host.len - 1] != ']' ||
			address_parse(host.text + 1, host.len - 2, &u->address) < 0 ||
			u->address.bits != 128)
			return error_set(e, -EINVAL, NULL, "'%.*s' is not an IPv6 address",
				url_shown(host), host.text);
		u->is_address = true;
		return 0;
	}
	/* One pass, as the standard has it: %2541 becomes %41 and is then refused. */
	for (size_t i = 0; i < host.len; i++) {
		int escaped = encoding_percent_byte(host.text + i, host.len - i);

		decoded[n++] = escaped < 0 ? host.text[i] : (char)escaped;
		i += escaped < 0 ? 0 : 2;
	}
	r = idna_to_ascii(decoded, n, u->host, sizeof(u->host));
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

/* Paths */

struct url_out {
	char *text;
	size_t n, size;
};

static int url_put(struct url_out *o, char c)
{
	if (o->n + 1 >= o->size)
		return -ENAMETOOLONG;
	o->text[o->n++] = c;
	return 0;
}

/* Writes one character or escape in normal form; as_is are taken besides those of a segment. */
static int put_normal(
	struct url_out *o, const char *text, size_t len, const char *as_is, size_t *ret_used)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char c = (unsigned char)text[0];
	int escaped = encoding_percent_byte(text, len);
	bool plain;

	*ret_used = escaped < 0 ? 1 : 3;
	if (escaped >= 0) {
		c = (unsigned char)escaped;
		plain = is_unreserved(c);
	} else {
		/* Besides the unreserved, what may stand in a segment. */
		plain = is_unreserved(c) || (c && (strchr("!$&'()*+,;=:@", c) || strchr(as_is, c)));
	}
	if (plain)
		return url_put(o, (char)c);
	if (url_put(o, '%') < 0 || url_put(o, digits[c >> 4]) < 0)
		return -ENAMETOOLONG;
	return url_put(o, digits[c & 15]);
}

static bool is_dots(const char *s, size_t n)
{
	return (n == 1 || n == 2) && s[0] == '.' && s[n - 1] == '.';
}

/* True if a part of the segment between escaped slashes is dots, perhaps with a parameter. */
static bool hides_dots(const char *s, size_t n)
{
	for (;;) {
		size_t part = 0, bare;

		while (part < n && strncmp(s + part, "%2F", 3) != 0 &&
			strncmp(s + part, "%5C", 3) != 0)
			part++;
		for (bare = 0; bare < part && s[bare] != ';';)
			bare++;
		if (is_dots(s, bare))
			return true;
		if (part == n)
			return false;
		s += part + 3;
		n -= part + 3;
	}
}

/* Ends the segment that starts with the slash at `start`. */
static int end_segment(struct url_out *o, size_t start, bool last)
{
	const char *segment = o->text + start + 1;
	size_t n = o->n - start - 1;

	if (!is_dots(segment, n))
		return hides_dots(segment, n) ? -EINVAL : 0;
	o->n = start;
	if (n == 2 && start > 0) {
		const char *slash = memrchr(o->text, '/', start);

		if (slash == o->text + start - 1)
			return -EINVAL;
		o->n = (size_t)(slash - o->text);
	}
	return last ? url_put(o, '/') : 0;
}

static bool url_is_slash(char c)
{
	return c == '/' || c == '\\';
}

int url_path_normal(const char *text, size_t len, char *out, size_t size)
{
	struct url_out o = { out, 0, size };
	size_t i = 0;

	do {
		size_t start = o.n, used;
		int r = url_put(&o, '/');

		if (i < len && url_is_slash(text[i]))
			i++;
		for (; r == 0 && i < len && !url_is_slash(text[i]); i += used)
			r = put_normal(&o, text + i, len - i, "", &used);
		/* hides_dots() compares up to the NUL. */
		o.text[o.n] = '\0';
		if (r == 0)
			r = end_segment(&o, start, i == len);
		if (r < 0)
			return r;
	} while (i < len);
	o.text[o.n] = '\0';
	return 0;
}

int url_path_pattern(const char *text, size_t len, char *out, size_t size)
{
	struct url_out o = { out, 0, size };
	size_t used;

	for (size_t i = 0; i < len; i += used) {
		int r = put_normal(&o, text + i, len - i, "/[]{}", &used);

		if (r < 0)
			return r;
	}
	o.text[o.n] = '\0';
	/* The first byte is a slash. */
	for (const char *s = out; *s; s += used + 1) {
		used = strcspn(s + 1, "/");
		if (is_dots(s + 1, used) || (used == 0 && s[1] == '/'))
			return -EINVAL;
	}
	return strchr(out, '[') && strchr(out, '%') ? -EINVAL : 0;
}

int url_parse(struct url *ret, const char *text, size_t len, struct error *e)
{
	struct url u = { 0 };
	struct url_span rest, authority, host, port;
	char buffer[TEXT_MAX];
	int r = clean(text, len, buffer);

	if (r < 0)
		return error_set(e, r, NULL, "the URL is longer than %d bytes", TEXT_MAX);
	rest = (struct url_span){ buffer, (size_t)r };
	r = url_take_scheme(&u, &rest, e);
	if (r < 0)
		return r;
	for (; rest.len > 0 && url_is_slash(rest.text[0]); rest.len--)
		rest.text++;
	authority = url_cut(&rest, "/\\");
	/* The standard ends the host at a backslash; many clients go on to an "@" after it. */
	if (rest.len > 0 && rest.text[0] == '\\')
		return error_set(e, -EINVAL, NULL,
			"a backslash after the host means different hosts to different programs");
	if (rest.len == 0 && url_has_late_at(text, len))
		return url_refuse_user(e);
	r = url_split_authority(&u, authority, &host, &port, e);
	if (r == 0)
		r = url_take_host(&u, host, e);
	if (r == 0)
		r = url_take_port(&u, port, e);
	if (r < 0)
		return r;
	r = url_path_normal(rest.text, rest.len, u.path, sizeof(u.path));
	if (r == -ENAMETOOLONG)
		return error_set(e, -EINVAL, NULL, "the path of the URL is longer than %d bytes",
			URL_PATH_BYTES - 1);
	if (r < 0)
		return error_set(e, -EINVAL, NULL,
			"the path of the URL contains a '..' that is hidden by encoding or empty "
			"parts");
	*ret = u;
	return 0;
}
