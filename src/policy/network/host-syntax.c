/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/host-syntax.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/network/idna.h"

static int split_bracketed(struct host_endpoint *e, const char *text, size_t len)
{
	const char *end = text + len, *close = memchr(text, ']', len), *colon;

	if (!close)
		return -EINVAL;
	e->bracketed = true;
	e->host = text + 1;
	e->host_len = (size_t)(close - e->host);
	e->length = close + 1;
	colon = memchr(e->length, ':', (size_t)(end - e->length));
	e->length_len = (size_t)((colon ? colon : end) - e->length);
	if (e->length_len > 0 && e->length[0] != '/')
		return -EINVAL;
	if (colon) {
		e->port = colon + 1;
		e->port_len = (size_t)(end - e->port);
	}
	return 0;
}

int host_endpoint_split(struct host_endpoint *ret, const char *text, size_t len)
{
	struct host_endpoint e = { .host = text, .host_len = len, .length = "" };
	const char *colon = memchr(text, ':', len);

	if (len > 0 && text[0] == '[') {
		int r = split_bracketed(&e, text, len);

		if (r < 0)
			return r;
	} else if (colon && colon == memrchr(text, ':', len)) {
		e.host_len = (size_t)(colon - text);
		e.port = colon + 1;
		e.port_len = len - e.host_len - 1;
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
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > HOST_PORT_MAX)
		return -EINVAL;
	*ret = (uint16_t)value;
	return 0;
}

int host_name_parse(
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

bool host_name_below(const char *name, const char *ancestor)
{
	size_t n = strlen(name), m = strlen(ancestor);

	return n > m && name[n - m - 1] == '.' && memcmp(name + n - m, ancestor, m) == 0;
}

size_t host_pattern_split(const struct host_pattern *p, struct host_pattern ret[HOST_PARTS_MAX])
{
	static const struct prefix loopback4 = { { 32, { 127, 0, 0, 1 } }, 32 };
	static const struct prefix loopback6 = { { 128, { [15] = 1 } }, 128 };

	ret[0] = *p;
	if (p->kind != HOST_NAME || strcmp(p->name, "localhost") != 0)
		return 1;
	ret[1] = ret[2] = *p;
	ret[1].kind = ret[2].kind = HOST_PREFIX;
	ret[1].name = ret[2].name = NULL;
	ret[1].prefix = loopback4;
	ret[2].prefix = loopback6;
	return 3;
}

const struct baseline_net *host_pattern_guard(const struct host_pattern *part)
{
	switch (part->kind) {
	case HOST_NAME:
	case HOST_SUBDOMAINS:
		return baseline_guard_of_name(part->name);
	case HOST_PREFIX:
		return baseline_guard_of_prefix(&part->prefix);
	case HOST_ANY:
	case HOST_SOCKET:
		break;
	}
	return NULL;
}

bool host_pattern_has_port(const struct host_pattern *p, uint16_t port)
{
	if (port == 0)
		return p->port_lo == 0 || (p->port_lo == 1 && p->port_hi == HOST_PORT_MAX);
	return p->port_lo <= port && port <= p->port_hi;
}

void host_ports_print(uint16_t lo, uint16_t hi, struct buffer *out)
{
	if (lo == 1 && hi == HOST_PORT_MAX)
		buffer_adds(out, ":*");
	else if (lo == hi)
		buffer_printf(out, ":%u", lo);
	else
		buffer_printf(out, ":%u-%u", lo, hi);
}
