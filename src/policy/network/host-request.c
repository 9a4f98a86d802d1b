/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets from text. The text is hostile: it comes from the program that is to be held. So it is
 * read as what would really be reached (an address in disguise is that address), and what two
 * readers could read differently is refused.
 */
#include "policy/network/host.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/path.h"
#include "policy/network/host-syntax.h"
#include "policy/network/idna-library.h"
#include "policy/network/url.h"

enum { TARGET_MAX = 16384 };

/* As much of a text as a message has room for beside what it says. */
static int host_request_shown(size_t len)
{
	return len < 100 ? (int)len : 100;
}

static int host_request_refuse(struct error *e, const char *what, const char *hint)
{
	error_set(e, -EINVAL, NULL, "%s", what);
	error_hint(e, "%s", hint);
	return -EINVAL;
}

static void set_address(struct host_request *r, const struct address *a)
{
	r->is_address = true;
	r->name[0] = '\0';
	r->address = address_plain(a);
}

static int host_request_parse_name(
	struct host_request *r, const char *text, size_t len, struct error *e)
{
	struct address a;
	int err = host_name_parse(text, len, r->name, &a);

	if (err > 0) {
		set_address(r, &a);
		return 0;
	}
	if (err == -ERANGE)
		return error_set(e, -EINVAL, NULL, "'%.*s' ends in a number but is not an address",
			host_request_shown(len), text);
	if (err == -ELIBACC) {
		error_set(e, err, NULL, "'%.*s': " IDNA_LIBRARY_MISSING, host_request_shown(len),
			text);
		error_hint(e, IDNA_LIBRARY_HINT);
		return err;
	}
	if (err < 0)
		return error_set(
			e, err, NULL, "'%.*s' is not a host name", host_request_shown(len), text);
	return 0;
}

static int host_request_parse_host(
	struct host_request *r, const struct host_endpoint *h, struct error *e)
{
	struct address a;

	if (!h->bracketed && !memchr(h->host, ':', h->host_len))
		return host_request_parse_name(r, h->host, h->host_len, e);
	if (address_parse(h->host, h->host_len, &a) < 0 || a.bits != 128)
		return error_set(e, -EINVAL, NULL, "'%.*s' is not an IPv6 address",
			host_request_shown(h->host_len), h->host);
	set_address(r, &a);
	return 0;
}

static int host_request_parse_endpoint(struct host_request *r, const char *text, struct error *e)
{
	struct host_endpoint h;

	if (text[0] == '\0')
		return host_request_refuse(e, "a host was expected", "write example.com:443");
	if (host_endpoint_split(&h, text, strlen(text)) < 0 || h.length_len > 0)
		return host_request_refuse(e,
			"brackets hold an IPv6 address, with a port behind them",
			"write [2001:db8::1]:443");
	if (h.port && host_port_parse(h.port, h.port_len, &r->port) < 0) {
		error_set(e, -EINVAL, NULL, "'%.*s' is not a port from 1 to 65535",
			host_request_shown(h.port_len), h.port);
		error_hint(
			e, "write %.*s:443", host_request_shown((size_t)(h.port - text) - 1), text);
		return -EINVAL;
	}
	return host_request_parse_host(r, &h, e);
}

static int parse_url(struct host_request *r, const char *text, struct error *e)
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
		set_address(r, &u.address);
	else
		memcpy(r->name, u.host, sizeof(r->name));
	r->port = u.port;
	r->has_url_path = true;
	memcpy(r->url_path, u.path, sizeof(r->url_path));
	return 0;
}

static int parse_socket(struct host_request *r, const char *path, struct error *e)
{
	char normal[PATH_BYTES];
	size_t n;

	if (path_normalize(path, strlen(path), normal, &n) < 0)
		return host_request_refuse(
			e, "a socket is named by an absolute path", "write unix:/run/name.sock");
	if (strcmp(path, normal) != 0) {
		error_set(e, -EINVAL, NULL, "the path '%.100s' is not in its simplest form", path);
		error_hint(e, "write unix:%s", normal);
		return -EINVAL;
	}
	r->transport = TRANSPORT_UNIX;
	r->socket = path;
	return 0;
}

static bool host_request_has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

/*
 * "http:80" is port 80 of a host called http to one reader, and a URL whose host is 0.0.0.80 to
 * another; so a URL has to have its slashes.
 */
static int parse_inet(struct host_request *r, const char *target, struct error *e)
{
	size_t scheme = strcspn(target, ":");
	const char *behind = target + scheme + (target[scheme] == ':');
	bool slash = behind[0] == '/' || behind[0] == '\\';

	if (url_scheme_port(target, scheme) != 0 && target[scheme] == ':') {
		if (slash)
			return parse_url(r, target, e);
		return host_request_refuse(
			e, "this could be a URL or a host with a port", "a URL starts as https://");
	}
	if (strncasecmp(target, "udp://", 6) == 0) {
		r->transport = TRANSPORT_UDP;
		return host_request_parse_endpoint(r, target + 6, e);
	}
	if (target[scheme] == ':' && slash)
		return host_request_refuse(e, "the scheme is not supported",
			"use http, https, ws, wss, ftp, udp, or host:port");
	return host_request_parse_endpoint(r, target, e);
}

int host_request_parse(struct host_request *ret, const char *target, struct error *e)
{
	struct host_request r = { .transport = TRANSPORT_TCP };
	int err;

	if (strnlen(target, TARGET_MAX) == TARGET_MAX)
		return error_set(
			e, -EINVAL, NULL, "the target is longer than %d bytes", TARGET_MAX);
	if (strncasecmp(target, "unix:", 5) == 0)
		err = parse_socket(&r, target + 5, e);
	else if (host_request_has_control(target))
		err = host_request_refuse(
			e, "the target holds control characters", "leave them out");
	else
		err = parse_inet(&r, target, e);
	if (err == 0)
		*ret = r;
	return err;
}

void host_request_print(const struct host_request *r, struct buffer *out)
{
	if (r->transport == TRANSPORT_UNIX) {
		buffer_printf(out, "unix:%s", r->socket);
		return;
	}
	if (r->transport == TRANSPORT_UDP)
		buffer_adds(out, "udp://");
	if (r->is_address && r->address.bits == 128)
		buffer_addc(out, '[');
	if (r->is_address)
		address_print(&r->address, out);
	else
		buffer_adds(out, r->name);
	if (r->is_address && r->address.bits == 128)
		buffer_addc(out, ']');
	if (r->port)
		buffer_printf(out, ":%u", r->port);
}
