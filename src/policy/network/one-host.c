/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/one-host.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"

int one_host_spell(const char *text, const char *hint, struct buffer *out,
	const struct location *where, struct error *e)
{
	auto_arena scratch = { 0 };
	struct host_pattern p = { 0 };
	int r = host_pattern_parse(&p, &scratch, text, where, e);

	if (r < 0)
		return r;
	if ((p.kind != HOST_NAME &&
		    (p.kind != HOST_PREFIX || p.prefix.length != p.prefix.address.bits)) ||
		p.transport != TRANSPORT_TCP || p.port_lo != p.port_hi || p.n_url_paths > 0) {
		(void)error_set(e, -EINVAL, where, "`%s` is not one host with one port", text);
		error_hint(e, "%s", hint);
		return -EINVAL;
	}
	host_pattern_print(&p, out);
	return out->failed ? -ENOMEM : 0;
}

int one_host_parse(const char *text, size_t len, struct host_request *ret)
{
	char copy[PATH_BYTES];
	int r;

	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, text, len);
	copy[len] = '\0';
	r = host_request_parse(ret, copy, NULL);
	if (r < 0)
		return r;
	/* A socket's path would point into the copy. */
	return ret->transport != TRANSPORT_TCP || ret->port == 0 || ret->has_url_path ? -EINVAL : 0;
}

bool one_host_is(const struct host_request *a, const struct host_request *b)
{
	return a->port == b->port && a->is_address == b->is_address &&
	       (a->is_address ? address_equal(&a->address, &b->address)
			      : strcmp(a->name, b->name) == 0);
}
