/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns and targets from text.
 *
 * Whoever writes a pattern means something by it, so what could be meant in two ways, or could only
 * be meant by mistake, is refused with the line to write instead: addresses in disguise, host bits
 * in a prefix, a path without a scheme, a star in the middle of a name.
 *
 * The text of a target is hostile: it comes from the program that is to be held. So it is read as
 * what would really be reached (an address in disguise is that address), and what two readers could
 * read differently is refused.
 */
#include "policy/network/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/path.h"
#include "policy/match/glob.h"
#include "policy/network/idna.h"
#include "policy/network/url.h"

enum { PATTERN_MAX = PATH_BYTES + 64, TARGET_MAX = 16384 };

/* What both are made of */

/* "host:port" taken apart, without judging the pieces. */
struct host_endpoint {
	const char *host; /* without brackets */
	size_t host_len;
	bool bracketed;
	const char *length; /* after a bracket: "/32"; else empty */
	size_t length_len;
	const char *port; /* NULL: none */
	size_t port_len;
};

/*
 * Brackets hold colons together; without them, text with more than one colon is all host. -EINVAL
 * if a bracket is not closed or something else than a length and a port stands behind it.
 */
static int host_endpoint_split(struct host_endpoint *ret, const char *text, size_t len)
{
	struct host_endpoint e = { .host = text, .host_len = len, .length = "" };
	const char *end = text + len, *colon = memchr(text, ':', len), *close;

	if (len > 0 && text[0] == '[') {
		close = memchr(text, ']', len);
		if (!close)
			return -EINVAL;
		e.bracketed = true;
		e.host = text + 1;
		e.host_len = (size_t)(close - e.host);
		e.length = close + 1;
		colon = memchr(e.length, ':', (size_t)(end - e.length));
		e.length_len = (size_t)((colon ? colon : end) - e.length);
		if (e.length_len > 0 && e.length[0] != '/')
			return -EINVAL;
	} else if (colon && colon == memrchr(text, ':', len)) {
		e.host_len = (size_t)(colon - text);
	} else {
		colon = NULL;
	}
	if (colon) {
		e.port = colon + 1;
		e.port_len = (size_t)(end - e.port);
	}
	*ret = e;
	return 0;
}

int host_port_parse(const char *text, size_t len, uint16_t *ret)
{
	unsigned value = 0;

	if (len == 0 || len > 5 || text[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_digit(text[i]))
			return -EINVAL;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > HOST_PORT_MAX)
		return -EINVAL;
	*ret = (uint16_t)value;
	return 0;
}

/*
 * A host name in normal form, without a dot at the end: 0. Positive: it is (a look-alike of) the
 * IPv4 address in *ret_address. -EINVAL: it is neither; -ERANGE: it ends in a number, but is no
 * address; -ENOMEM; -ELIBACC.
 */
static int host_name_parse(
	const char *text, size_t len, char out[HOST_NAME_BYTES], struct address *ret_address)
{
	int r = idna_to_ascii(text, len, out, HOST_NAME_BYTES);
	size_t n;

	if (r < 0)
		return r == -ENOMEM || r == -ELIBACC ? r : -EINVAL;
	n = strlen(out);
	r = address_parse_loose(out, n, ret_address);
	if (r != -EINVAL)
		return r == 0 ? 1 : r;
	if (out[n - 1] == '.')
		out[n - 1] = '\0';
	return 0;
}

/* Patterns */

/* Where we are, for messages. */
struct host_text {
	const char *text; /* the whole pattern */
	struct arena *arena;
	const struct location *loc;
	struct error *e;
};

/* Says what is wrong, and what to write; a long pattern is cut so that there is room for both. */
__attribute__((format(printf, 3, 4))) static int refuse(
	const struct host_text *c, const char *what, const char *hint, ...)
{
	char text[256];
	va_list args;

	va_start(args, hint);
	(void)vsnprintf(text, sizeof(text), hint, args);
	va_end(args);
	error_set(c->e, -EINVAL, c->loc, "'%.100s': %s", c->text, what);
	error_hint(c->e, "%s", text);
	return -EINVAL;
}

static bool pattern_parse_ports(const char *text, size_t len, uint16_t *ret_lo, uint16_t *ret_hi)
{
	const char *dash = memchr(text, '-', len);
	size_t n = dash ? (size_t)(dash - text) : len;

	*ret_lo = 1;
	*ret_hi = HOST_PORT_MAX;
	if (len == 1 && text[0] == '*')
		return true;
	if (host_port_parse(text, n, ret_lo) < 0 ||
		(dash && host_port_parse(dash + 1, len - n - 1, ret_hi) < 0))
		return false;
	if (!dash)
		*ret_hi = *ret_lo;
	return *ret_lo <= *ret_hi;
}

/* Why text is no prefix, and what was meant. */
static int refuse_prefix(const struct host_text *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	auto_buffer meant = { 0 };
	struct address a;
	struct prefix p;
	int length;

	if (strchr(text, '%'))
		return refuse(
			c, "a zone has no meaning in a policy", "remove the %% and what follows");
	if (address_parse(text, n, &a) < 0 && slash && !strchr(text, ':'))
		return refuse(c, "only a URL has a path", "write https://%s", text);
	if (address_parse(text, n, &a) < 0)
		return refuse(c, "neither an IPv6 address nor a host with a port",
			"write example.com:443 or [2001:db8::1]:443");
	length = slash ? prefix_length_parse(slash + 1, strlen(slash + 1), a.bits) : -EINVAL;
	if (length < 0)
		return refuse(c, "the length of a prefix is a number up to 32 (IPv6: 128)",
			"write 10.0.0.0/8 or 2001:db8::/32");
	p = prefix_of(&a, (uint8_t)length);
	prefix_print(&p, &meant);
	return refuse(
		c, "the address has bits set beyond the prefix", "write %s", buffer_text(&meant));
}

static int pattern_parse_name(
	const struct host_text *c, const char *text, size_t len, struct host_pattern *p)
{
	auto_buffer meant = { 0 };
	char name[HOST_NAME_BYTES];
	struct address a;
	int r;

	if (memchr(text, '*', len))
		return refuse(c, "a star stands for whole labels, in front of a name",
			"write *.example.com");
	if (len > 0 && text[0] == '.')
		return refuse(c, "a name does not start with a dot",
			"for the subdomains write *%.*s", (int)len, text);
	r = host_name_parse(text, len, name, &a);
	if (r > 0) {
		address_print(&a, &meant);
		return refuse(c, "this name is interpreted as an address by some programs",
			"write %s", buffer_text(&meant));
	}
	if (r == -ERANGE)
		return refuse(c, "this ends in a number but is not an address",
			"write an address as 192.0.2.1");
	if (r == -EINVAL)
		return refuse(c, "this is not a host name", "write example.com:443");
	if (r == -ELIBACC)
		return refuse(c, IDNA_LIBRARY_MISSING, IDNA_LIBRARY_HINT);
	if (r == 0 && p->kind == HOST_NAME && strcmp(name, "unix") == 0)
		return refuse(c, "`unix:` introduces a socket path, such as unix:/path",
			"use the full name of a host with that name");
	if (r == 0 && p->kind == HOST_NAME && strcmp(name, "glob") == 0)
		return refuse(c,
			"`glob:` introduces a pattern over host names and addresses, such as "
			"glob:10.*",
			"use the full name of a host with that name");
	p->name = r < 0 ? NULL : arena_strdup(c->arena, name);
	return p->name ? 0 : error_no_memory(c->e);
}

static int pattern_parse_host(
	const struct host_text *c, const struct host_endpoint *e, struct host_pattern *p)
{
	auto_buffer meant = { 0 };
	char text[HOST_NAME_BYTES];
	struct prefix plain;
	struct address a;

	p->kind = HOST_ANY;
	if (e->host_len == 1 && e->host[0] == '*')
		return 0;
	p->kind = HOST_SUBDOMAINS;
	if (e->host_len > 1 && e->host[0] == '*' && e->host[1] == '.')
		return pattern_parse_name(c, e->host + 2, e->host_len - 2, p);
	p->kind = HOST_NAME;
	if (!e->bracketed && !memchr(e->host, '/', e->host_len) &&
		!memchr(e->host, ':', e->host_len) && address_parse(e->host, e->host_len, &a) < 0)
		return pattern_parse_name(c, e->host, e->host_len, p);
	if (e->host_len + e->length_len >= sizeof(text) || memchr(e->host, '\0', e->host_len))
		return refuse(c, "this is not an address", "write 192.0.2.1 or [2001:db8::1]:443");
	memcpy(text, e->host, e->host_len);
	memcpy(text + e->host_len, e->length, e->length_len);
	text[e->host_len + e->length_len] = '\0';
	if (prefix_parse(text, strlen(text), &p->prefix) < 0)
		return refuse_prefix(c, text);
	p->kind = HOST_PREFIX;
	if (!prefix_plain(&p->prefix, &plain))
		return 0;
	prefix_print(&plain, &meant);
	return refuse(c, "this is IPv4 in the form of IPv6", "write %s", buffer_text(&meant));
}

/* "host", "host:port", "[v6]/length:port"; without a port those from lo to hi. */
static int pattern_parse_endpoint(const struct host_text *c, const char *text, size_t len,
	uint16_t lo, uint16_t hi, struct host_pattern *p)
{
	struct host_endpoint e;
	int r;

	if (len == 0)
		return refuse(c, "a host was expected", "write example.com:443");
	if (host_endpoint_split(&e, text, len) < 0)
		return refuse(c,
			"brackets hold an IPv6 address, with a length or a port after them",
			"write [2001:db8::1]:443 or [2001:db8::]/32:443");
	p->port_lo = lo;
	p->port_hi = hi;
	if (e.port && !pattern_parse_ports(e.port, e.port_len, &p->port_lo, &p->port_hi))
		return refuse(c, "a port is a number from 1 to 65535, a range as 1000-2000, or *",
			"write %.*s:443", (int)(e.port - text) - 1, text);
	r = pattern_parse_host(c, &e, p);
	if (r == 0 && e.bracketed && p->prefix.address.bits != 128)
		return refuse(c, "brackets are for IPv6", "remove them");
	return r;
}

/* What stands behind a slash and a number: ':' of "/8:443", NUL of "/8"; '/' if that is no number.
 */
static char behind_number(const char *text)
{
	size_t digits = text[0] == '/' ? strspn(text + 1, "0123456789") : 0;

	return digits > 0 ? text[1 + digits] : '/';
}

static int pattern_parse_path(const struct host_text *c, const char *text, struct host_pattern *p)
{
	auto_arena scratch = { 0 };
	char path[URL_PATH_BYTES];
	const bool is_unseen = strcmp(text, HOST_UNSEEN) == 0;
	struct glob glob;
	size_t n;
	int r = url_path_pattern(
		is_unseen ? "/" : text, is_unseen ? 1 : strlen(text), path, sizeof(path) - 2);

	if (r == -ENAMETOOLONG)
		return refuse(c, "the path is too long", "end it with a shorter /**");
	if (r < 0)
		return refuse(c,
			"a path cannot contain '.', '..' or empty parts, nor a %-escape next to "
			"a [set]",
			"write the path without . and ..");
	if (is_unseen)
		memcpy(path, HOST_UNSEEN, sizeof(HOST_UNSEEN));
	n = strlen(path);
	if (n > 1 && path[n - 1] == '/')
		memcpy(path + n, "**", 3);
	if (strcmp(path, "") == 0 || strcmp(path, "/") == 0 || strcmp(path, "/*") == 0 ||
		strcmp(path, "/**") == 0)
		return 0;
	r = glob_parse(&glob, &scratch, path, c->loc, c->e);
	if (r < 0)
		return r == -ENOMEM ? error_no_memory(c->e) : r;
	p->url_paths = arena_calloc(c->arena, 1, sizeof(*p->url_paths));
	if (p->url_paths)
		p->url_paths[0] = arena_strdup(c->arena, path);
	if (!p->url_paths || !p->url_paths[0])
		return error_no_memory(c->e);
	p->n_url_paths = 1;
	return 0;
}

static int pattern_parse_url(
	const struct host_text *c, const char *rest, uint16_t port, struct host_pattern *p)
{
	size_t len = strcspn(rest, "/");
	struct prefix address;
	const char *path;
	bool is_address;
	int r;

	if (strpbrk(rest, "?#") && strcmp(rest + len, HOST_UNSEEN) != 0)
		return refuse(c, "a query or a fragment cannot be used in a policy",
			"remove the ? or # and what follows");
	if (strchr(rest, '\\'))
		return refuse(c, "a URL has no backslash", "write a slash");
	if (memchr(rest, '@', len))
		return refuse(c, "a URL in a policy cannot contain a user name or password",
			"remove everything up to the @");
	is_address =
		(rest[0] == '[' && rest[len - 1] == ']') || prefix_parse(rest, len, &address) == 0;
	if (is_address && behind_number(rest + len) == '\0')
		return refuse(c, "this could be a path or the length of a prefix",
			"for a prefix write %s:%u", rest, port);
	if (is_address && behind_number(rest + len) == ':')
		len += 1 + strcspn(rest + len + 1, "/");
	path = rest + len;
	r = pattern_parse_endpoint(c, rest, len, port, port, p);
	if (r == 0 && p->kind == HOST_PREFIX && p->prefix.address.bits == 128 && rest[0] != '[')
		return refuse(c, "an IPv6 address in a URL must be in brackets",
			"write https://[2001:db8::1]/");
	return r < 0 ? r : pattern_parse_path(c, path, p);
}

static int pattern_parse_socket(const struct host_text *c, const char *path, struct host_pattern *p)
{
	char normal[PATH_BYTES];
	size_t len = strlen(path), n;

	p->kind = HOST_SOCKET;
	p->transport = TRANSPORT_UNIX;
	if (strchr(path, '*'))
		return refuse(
			c, "a socket is granted by its exact path", "name each socket, without *");
	if (path[0] != '/' || path_normalize(path, len, normal, &n) < 0)
		return refuse(
			c, "a socket is named by an absolute path", "write unix:/run/name.sock");
	if (strcmp(path, normal) != 0)
		return refuse(c, "the path is not in its simplest form", "write unix:%s", normal);
	p->name = arena_strdup(c->arena, path);
	return p->name ? 0 : error_no_memory(c->e);
}

/* Names and addresses by their text. Letters, digits, and what stands between them. */
static int pattern_parse_glob(const struct host_text *c, const char *glob, struct host_pattern *p)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_:*?";
	char *lower;

	p->kind = HOST_GLOB;
	p->port_lo = 1;
	p->port_hi = HOST_PORT_MAX;
	if (!glob[0] || glob[strspn(glob, bytes)])
		return refuse(c, "not a valid pattern for names or addresses", "write glob:10.*");
	lower = arena_strdup(c->arena, glob);
	if (!lower)
		return error_no_memory(c->e);
	for (char *at = lower; *at; at++)
		*at = ascii_lower(*at);
	p->name = lower;
	return 0;
}

int host_pattern_parse(struct host_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e)
{
	const struct host_text c = { text, a, loc, e };
	struct host_pattern p = { 0 };
	const char *slashes = strstr(text, "://"), *rest = slashes ? slashes + 3 : text;
	size_t len = strlen(text), scheme = slashes ? (size_t)(slashes - text) : 0;
	uint16_t port = url_scheme_port(text, scheme);
	int r;

	if (len > PATTERN_MAX)
		return error_set(
			e, -EINVAL, loc, "the pattern is longer than %d bytes", PATTERN_MAX);
	if (scheme == 3 && strncasecmp(text, "udp", 3) == 0)
		p.transport = TRANSPORT_UDP;
	if (strncasecmp(text, "unix:", 5) == 0)
		r = pattern_parse_socket(&c, text + 5, &p);
	else if (strncmp(text, "glob:", 5) == 0)
		r = pattern_parse_glob(&c, text + 5, &p);
	else if (port != 0)
		r = pattern_parse_url(&c, rest, port, &p);
	else if (slashes && p.transport != TRANSPORT_UDP)
		r = refuse(&c, "the scheme is not supported",
			"use http, https, ws, wss, ftp or udp; any other TCP connection is written "
			"host:port");
	else
		r = pattern_parse_endpoint(&c, rest, strlen(rest), 1, HOST_PORT_MAX, &p);
	if (r == 0)
		*ret = p;
	return r;
}

/* Targets */

/* As much of a text as a message has room for beside what it says. */
static int request_shown(size_t len)
{
	return len < 100 ? (int)len : 100;
}

static int request_refuse(struct error *e, const char *what, const char *hint)
{
	error_set(e, -EINVAL, NULL, "%s", what);
	error_hint(e, "%s", hint);
	return -EINVAL;
}

static void request_set_address(struct host_request *r, const struct address *a)
{
	r->is_address = true;
	r->name[0] = '\0';
	r->address = address_plain(a);
}

static int request_parse_name(struct host_request *r, const char *text, size_t len, struct error *e)
{
	struct address a;
	int err = host_name_parse(text, len, r->name, &a);

	if (err > 0) {
		request_set_address(r, &a);
		return 0;
	}
	if (err == -ERANGE)
		return error_set(e, -EINVAL, NULL, "'%.*s' ends in a number but is not an address",
			request_shown(len), text);
	if (err == -ELIBACC) {
		error_set(e, err, NULL, "'%.*s': " IDNA_LIBRARY_MISSING, request_shown(len), text);
		error_hint(e, IDNA_LIBRARY_HINT);
		return err;
	}
	if (err < 0)
		return error_set(
			e, err, NULL, "'%.*s' is not a host name", request_shown(len), text);
	return 0;
}

static int request_parse_endpoint(struct host_request *r, const char *text, struct error *e)
{
	struct host_endpoint h;
	struct address a;

	if (text[0] == '\0')
		return request_refuse(e, "a host was expected", "write example.com:443");
	if (host_endpoint_split(&h, text, strlen(text)) < 0 || h.length_len > 0)
		return request_refuse(e, "brackets hold an IPv6 address, with a port after them",
			"write [2001:db8::1]:443");
	if (h.port && host_port_parse(h.port, h.port_len, &r->port) < 0) {
		error_set(e, -EINVAL, NULL, "'%.*s' is not a port from 1 to 65535",
			request_shown(h.port_len), h.port);
		error_hint(e, "write %.*s:443", request_shown((size_t)(h.port - text) - 1), text);
		return -EINVAL;
	}
	if (!h.bracketed && !memchr(h.host, ':', h.host_len))
		return request_parse_name(r, h.host, h.host_len, e);
	if (address_parse(h.host, h.host_len, &a) < 0 || a.bits != 128)
		return error_set(e, -EINVAL, NULL, "'%.*s' is not an IPv6 address",
			request_shown(h.host_len), h.host);
	request_set_address(r, &a);
	return 0;
}

static int request_parse_url(struct host_request *r, const char *text, struct error *e)
{
	struct url u;
	size_t n;
	int err = url_parse(&u, text, strlen(text), e);

	if (err < 0)
		return err;
	n = strlen(u.host);
	if (n > 0 && u.host[n - 1] == '.')
		u.host[n - 1] = '\0';
	if (u.is_address)
		request_set_address(r, &u.address);
	else
		memcpy(r->name, u.host, sizeof(r->name));
	r->port = u.port;
	r->has_url_path = true;
	memcpy(r->url_path, u.path, sizeof(r->url_path));
	return 0;
}

/*
 * "http:80" is port 80 of a host called http to one reader, and a URL whose host is 0.0.0.80 to
 * another; so a URL has to have its slashes.
 */
static int request_parse_inet(struct host_request *r, const char *target, struct error *e)
{
	size_t scheme = strcspn(target, ":");
	const char *behind = target + scheme + (target[scheme] == ':');
	bool slash = behind[0] == '/' || behind[0] == '\\';

	if (url_scheme_port(target, scheme) != 0 && target[scheme] == ':') {
		if (slash)
			return request_parse_url(r, target, e);
		return request_refuse(e, "this could be a URL or a host with a port",
			"start a URL with https://");
	}
	if (strncasecmp(target, "udp://", 6) == 0) {
		r->transport = TRANSPORT_UDP;
		return request_parse_endpoint(r, target + 6, e);
	}
	if (target[scheme] == ':' && slash)
		return request_refuse(e, "the scheme is not supported",
			"use http, https, ws, wss, ftp, udp, or host:port");
	return request_parse_endpoint(r, target, e);
}

int host_request_parse(struct host_request *ret, const char *target, struct error *e)
{
	struct host_request r = { .transport = TRANSPORT_TCP };
	char normal[PATH_BYTES];
	size_t clean = 0, n;
	int err;

	if (strnlen(target, TARGET_MAX) == TARGET_MAX)
		return error_set(
			e, -EINVAL, NULL, "the target is longer than %d bytes", TARGET_MAX);
	while (target[clean] && !ascii_is_control(target[clean]))
		clean++;
	if (strncasecmp(target, "unix:", 5) == 0) {
		r.transport = TRANSPORT_UNIX;
		r.socket = target + 5;
		err = 0;
		if (path_normalize(r.socket, strlen(r.socket), normal, &n) < 0)
			return request_refuse(e, "a socket is named by an absolute path",
				"write unix:/run/name.sock");
		if (strcmp(r.socket, normal) != 0) {
			error_set(e, -EINVAL, NULL, "the path '%.100s' is not in its simplest form",
				r.socket);
			error_hint(e, "write unix:%s", normal);
			return -EINVAL;
		}
	} else if (target[clean]) {
		err = request_refuse(e, "the target contains control characters", "remove them");
	} else {
		err = request_parse_inet(&r, target, e);
	}
	if (err == 0)
		*ret = r;
	return err;
}
