/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May the host make a request? It is asked before each one: where a redirect leads is another
 * request. Nothing is sent from here, so which address a name has is not looked at either.
 */
#include <errno.h>
#include <stdbool.h>
#include <strings.h>

#include "base/buffer.h"
#include "lib/enclave/internal.h"
#include "policy/network/host.h"

/* What the engine also knows (host:port, udp://, unix:) is no request. */
static bool is_url(const char *url)
{
	return url && (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0);
}

int corral_enclave_http_request(struct corral_enclave *enclave, const struct corral_by *by,
	const char *method, const char *url, struct corral_error **e)
{
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = url, .method = method };
	auto_buffer object = { 0 };
	struct enclave_call c;
	int code;

	enclave_begin(&c, enclave, by, AUDIT_NET_CONNECT, url);
	if (!is_url(url) || !method || !host_method(method))
		return enclave_refuse(&c, -EINVAL, e,
			"a request has a method, such as GET, and a URL of "
			"http or https");
	/* A method has no spaces, so this is one request and no other. */
	buffer_printf(&object, "%s %s", method, url);
	if (object.failed)
		return enclave_done(&c, -ENOMEM, e);
	c.object = buffer_text(&object);
	code = enclave_permit(&c, &r, 1, e);
	return code < 0 ? code : enclave_done(&c, 0, e);
}
