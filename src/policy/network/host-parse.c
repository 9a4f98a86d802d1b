/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns from text. Whoever writes a pattern means something by it, so what could be meant in two
 * ways, or could only be meant by mistake, is refused with the line to write instead: addresses in
 * disguise, host bits in a prefix, a path without a scheme, a star in the middle of a name.
 */
#include "policy/network/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/path.h"
#include "policy/match/glob.h"
#include "policy/network/host-syntax.h"
#include "policy/network/idna-library.h"
#include "policy/network/url-path.h"
#include "policy/network/url.h"

enum { PATTERN_MAX = PATH_BYTES + 64 };

/* Where we are, for messages. */
struct context {
	const char *text; /* the whole pattern */
	struct arena *arena;
	const struct location *loc;
	struct error *e;
};

/* Says what is wrong, and what to write; a long pattern is cut so that there is room for both. */
__attribute__((format(printf, 3, 4))) static int refuse(
	const struct context *c, const char *what, const char *hint, ...)
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

static int host_parse_out_of_memory(const struct context *c)
{
	return error_set(c->e, -ENOMEM, c->loc, "out of memory");
}

/* Ports */

static bool parse_range(const char *text, size_t len, uint16_t *ret_lo, uint16_t *ret_hi)
{
	const char *dash = memchr(text, '-', len);
	size_t n = dash ? (size_t)(dash - text) : len;

	if (len == 1 && text[0] == '*') {
		*ret_lo = 1;
		*ret_hi = HOST_PORT_MAX;
		return true;
	}
	if (host_port_parse(text, n, ret_lo) < 0)
		return false;
	*ret_hi = *ret_lo;
	if (dash && host_port_parse(dash + 1, len - n - 1, ret_hi) < 0)
		return false;
	return *ret_lo <= *ret_hi;
}

/* Prefixes */

/* Why text is no prefix, and what was meant. */
static int refuse_prefix(const struct context *c, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	auto_buffer meant = { 0 };
	struct address a;
	struct prefix p;
	int length;

	if (strchr(text, '%'))
		return refuse(c, "a zone has no meaning in a policy",
			"leave out the %% and what follows");
	if (address_parse(text, n, &a) < 0 && slash && !strchr(text, ':'))
		return refuse(c, "only a URL has a path", "write https://%s", text);
	if (address_parse(text, n, &a) < 0)
		return refuse(c, "this is neither an IPv6 address nor a host with a port",
			"write example.com:443 or [2001:db8::1]:443");
	length = slash ? prefix_length_parse(slash + 1, strlen(slash + 1), a.bits) : -EINVAL;
	if (length < 0)
		return refuse(c, "the length of a prefix is a number up to 32 (IPv6: 128)",
			"write 10.0.0.0/8 or 2001:db8::/32");
	p = prefix_of(&a, (uint8_t)length);
	prefix_print(&p, &meant);
	return refuse(c, "the address has bits beyond the prefix", "write %s", buffer_text(&meant));
}

static int parse_prefix(const struct context *c, const char *text, struct host_pattern *p)
{
	auto_buffer meant = { 0 };
	struct prefix plain;

	if (prefix_parse(text, strlen(text), &p->prefix) < 0)
		return refuse_prefix(c, text);
	p->kind = HOST_PREFIX;
	if (!prefix_plain(&p->prefix, &plain))
		return 0;
	prefix_print(&plain, &meant);
	return refuse(c, "this is IPv4 in the form of IPv6", "write %s", buffer_text(&meant));
}

/* Names */

static int refuse_number(const struct context *c, const struct address *a)
{
	auto_buffer meant = { 0 };

	address_print(a, &meant);
	return refuse(c, "programs read this as an address", "write %s", buffer_text(&meant));
}

static int host_parse_name(
	const struct context *c, const char *text, size_t len, struct host_pattern *p)
{
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
	if (r > 0)
		return refuse_number(c, &a);
	if (r == -ERANGE)
		return refuse(c, "this ends in a number but is not an address",
			"write an address as 192.0.2.1");
	if (r == -EINVAL)
		return refuse(c, "this is not a host name", "write example.com:443");
	if (r == -ELIBACC)
		return refuse(c, IDNA_LIBRARY_MISSING, IDNA_LIBRARY_HINT);
	if (r == 0 && p->kind == HOST_NAME && strcmp(name, "unix") == 0)
		return refuse(c, "this starts like a socket: unix:/path",
			"call a host of that name by its full name");
	p->name = r < 0 ? NULL : arena_strdup(c->arena, name);
	return p->name ? 0 : host_parse_out_of_memory(c);
}

/* Hosts with ports */

static int host_parse_host(
	const struct context *c, const struct host_endpoint *e, struct host_pattern *p)
{
	char text[HOST_NAME_BYTES];
	struct address a;

	if (e->host_len == 1 && e->host[0] == '*') {
		p->kind = HOST_ANY;
		return 0;
	}
	if (e->host_len > 1 && e->host[0] == '*' && e->host[1] == '.') {
		p->kind = HOST_SUBDOMAINS;
		return host_parse_name(c, e->host + 2, e->host_len - 2, p);
	}
	if (!e->bracketed && !memchr(e->host, '/', e->host_len) &&
		!memchr(e->host, ':', e->host_len) && address_parse(e->host, e->host_len, &a) < 0) {
		p->kind = HOST_NAME;
		return host_parse_name(c, e->host, e->host_len, p);
	}
	if (e->host_len + e->length_len >= sizeof(text) || memchr(e->host, '\0', e->host_len))
		return refuse(c, "this is not an address", "write 192.0.2.1 or [2001:db8::1]:443");
	memcpy(text, e->host, e->host_len);
	memcpy(text + e->host_len, e->length, e->length_len);
	text[e->host_len + e->length_len] = '\0';
	return parse_prefix(c, text, p);
}

/* "host", "host:port", "[v6]/length:port"; without a port those from lo to hi. */
static int host_parse_endpoint(const struct context *c, const char *text, size_t len, uint16_t lo,
	uint16_t hi, struct host_pattern *p)
{
	struct host_endpoint e;
	int r;

	if (len == 0)
		return refuse(c, "a host was expected", "write example.com:443");
	if (host_endpoint_split(&e, text, len) < 0)
		return refuse(c,
			"brackets hold an IPv6 address, with a length or a port behind them",
			"write [2001:db8::1]:443 or [2001:db8::]/32:443");
	p->port_lo = lo;
	p->port_hi = hi;
	if (e.port && !parse_range(e.port, e.port_len, &p->port_lo, &p->port_hi))
		return refuse(c, "a port is a number from 1 to 65535, a range as 1000-2000, or *",
			"write %.*s:443", (int)(e.port - text) - 1, text);
	r = host_parse_host(c, &e, p);
	if (r == 0 && e.bracketed && p->prefix.address.bits != 128)
		return refuse(c, "brackets are for IPv6", "leave them out");
	return r;
}

/* URLs */

/* What stands behind a slash and a number: ':' of "/8:443", NUL of "/8"; '/' if that is no number.
 */
static char behind_number(const char *text)
{
	size_t digits = text[0] == '/' ? strspn(text + 1, "0123456789") : 0;

	return digits > 0 ? text[1 + digits] : '/';
}

static int host_parse_path(const struct context *c, const char *text, struct host_pattern *p)
{
	auto_arena scratch = { 0 };
	char path[URL_PATH_BYTES];
	struct glob glob;
	size_t n;
	int r = url_path_pattern(text, strlen(text), path, sizeof(path) - 2);

	if (r == -ENAMETOOLONG)
		return refuse(c, "the path is too long", "end it with a shorter /**");
	if (r < 0)
		return refuse(c,
			"a path has no '.', '..' or empty parts, and no %-escape beside a [set]",
			"write the path that it leads to");
	n = strlen(path);
	if (n > 1 && path[n - 1] == '/')
		memcpy(path + n, "**", 3);
	if (strcmp(path, "") == 0 || strcmp(path, "/") == 0 || strcmp(path, "/*") == 0 ||
		strcmp(path, "/**") == 0)
		return 0;
	r = glob_parse(&glob, &scratch, path, c->loc, c->e);
	if (r < 0)
		return r == -ENOMEM ? host_parse_out_of_memory(c) : r;
	p->url_paths = arena_calloc(c->arena, 1, sizeof(*p->url_paths));
	if (p->url_paths)
		p->url_paths[0] = arena_strdup(c->arena, path);
	if (!p->url_paths || !p->url_paths[0])
		return host_parse_out_of_memory(c);
	p->n_url_paths = 1;
	return 0;
}

static int parse_url(
	const struct context *c, const char *rest, uint16_t port, struct host_pattern *p)
{
	size_t len = strcspn(rest, "/");
	struct prefix address;
	const char *path;
	bool is_address;
	int r;

	if (strpbrk(rest, "?#"))
		return refuse(c, "a query or a fragment is not judged",
			"leave out the ? or # and what follows");
	if (strchr(rest, '\\'))
		return refuse(c, "a URL has no backslash", "write a slash");
	if (memchr(rest, '@', len))
		return refuse(c, "a policy holds no user names or passwords",
			"leave out what stands before the @");
	is_address =
		(rest[0] == '[' && rest[len - 1] == ']') || prefix_parse(rest, len, &address) == 0;
	if (is_address && behind_number(rest + len) == '\0')
		return refuse(c, "this could be a path or the length of a prefix",
			"for a prefix write %s:%u", rest, port);
	if (is_address && behind_number(rest + len) == ':')
		len += 1 + strcspn(rest + len + 1, "/");
	path = rest + len;
	r = host_parse_endpoint(c, rest, len, port, port, p);
	if (r == 0 && p->kind == HOST_PREFIX && p->prefix.address.bits == 128 && rest[0] != '[')
		return refuse(
			c, "IPv6 stands in brackets in a URL", "write https://[2001:db8::1]/");
	return r < 0 ? r : host_parse_path(c, path, p);
}

/* Everything else */

static int parse_socket(const struct context *c, const char *path, struct host_pattern *p)
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
	return p->name ? 0 : host_parse_out_of_memory(c);
}

static int parse_with_scheme(const struct context *c, size_t scheme, struct host_pattern *p)
{
	uint16_t port = url_scheme_port(c->text, scheme);
	const char *rest = c->text + scheme + 3;

	if (port != 0)
		return parse_url(c, rest, port, p);
	if (scheme == 3 && strncasecmp(c->text, "udp", 3) == 0) {
		p->transport = TRANSPORT_UDP;
		return host_parse_endpoint(c, rest, strlen(rest), 1, HOST_PORT_MAX, p);
	}
	return refuse(c, "the scheme is not supported",
		"use http, https, ws, wss, ftp or udp; any other TCP connection is written "
		"host:port");
}

int host_pattern_parse(struct host_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e)
{
	const struct context c = { text, a, loc, e };
	struct host_pattern p = { 0 };
	const char *scheme = strstr(text, "://");
	size_t len = strlen(text);
	int r;

	if (len > PATTERN_MAX)
		return error_set(
			e, -EINVAL, loc, "the pattern is longer than %d bytes", PATTERN_MAX);
	if (strncasecmp(text, "unix:", 5) == 0)
		r = parse_socket(&c, text + 5, &p);
	else if (scheme)
		r = parse_with_scheme(&c, (size_t)(scheme - text), &p);
	else
		r = host_parse_endpoint(&c, text, len, 1, HOST_PORT_MAX, &p);
	if (r == 0)
		*ret = p;
	return r;
}
