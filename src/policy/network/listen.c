/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/listen.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/network/host.h"

_Static_assert(sizeof(struct listen_entry) == 22, "no padding goes over the wire");

static int listen_refuse(
	const char *text, const char *why, const struct location *where, struct error *e)
{
	(void)error_set(e, -EINVAL, where, "`%s` %s", text, why);
	error_hint(e, "write [HOST:]PORT[:INNER], such as 8080, 8080:80 or 0.0.0.0:8080");
	return -EINVAL;
}

/* The length of the host with its colon; 0: there is none. Negative: it is no address. */
static int listen_parse_host(const char *text, struct address *ret)
{
	const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
	size_t len;

	if (strncmp(text, "localhost:", 10) == 0)
		return 10;
	if (text[0] == '[') {
		if (!end || end[1] != ':' ||
			address_parse(text + 1, (size_t)(end - text) - 1, ret) < 0 ||
			ret->bits != 128)
			return -EINVAL;
		return (int)(end - text) + 2;
	}
	len = strcspn(text, ":");
	if (!text[len] || !memchr(text, '.', len))
		return 0;
	return address_parse(text, len, ret) < 0 ? -EINVAL : (int)len + 1;
}

int listen_parse(
	const char *text, struct listen_entry *ret, const struct location *where, struct error *e)
{
	struct listen_entry l = { 0 };
	int host = listen_parse_host(text, &l.host);
	const char *port, *colon;

	if (host < 0)
		return listen_refuse(text, "has a host that is not an address", where, e);
	port = text + host;
	colon = strchr(port, ':');
	if (host_port_parse(port, strcspn(port, ":"), &l.port) < 0 ||
		(colon && host_port_parse(colon + 1, strlen(colon + 1), &l.inner) < 0))
		return listen_refuse(text, "is not a port number", where, e);
	if (!colon)
		l.inner = l.port;
	l.host = l.host.bits ? address_plain(&l.host) : l.host;
	*ret = l;
	return 0;
}

void listen_print(const struct listen_entry *l, struct buffer *out)
{
	if (l->host.bits == 128)
		buffer_addc(out, '[');
	if (l->host.bits)
		address_print(&l->host, out);
	buffer_adds(out, l->host.bits == 128 ? "]:" : l->host.bits ? ":" : "");
	buffer_printf(out, "%u", l->port);
	if (l->inner != l->port)
		buffer_printf(out, ":%u", l->inner);
}

int listen_compare(const struct listen_entry *a, const struct listen_entry *b)
{
	int r = (a->port > b->port) - (a->port < b->port);

	if (r == 0)
		r = memcmp(&a->host, &b->host, sizeof(a->host));
	return r ? r : (a->inner > b->inner) - (a->inner < b->inner);
}

bool listen_is_public(const struct listen_entry *l)
{
	static const struct address loopback = { .bits = 128, .bytes = { [15] = 1 } };

	if (l->host.bits == 32)
		return l->host.bytes[0] != 127;
	return l->host.bits == 128 && !address_equal(&l->host, &loopback);
}
