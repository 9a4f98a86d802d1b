/* SPDX-License-Identifier: Apache-2.0 */
#include "net/endpoint.h"

#include <string.h>

socklen_t endpoint_fill(union endpoint *ret, const struct address *a, uint16_t port)
{
	*ret = (union endpoint){ 0 };
	if (a->bits == 32) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons(port);
		memcpy(&ret->v4.sin_addr, a->bytes, 4);
		return sizeof(ret->v4);
	}
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons(port);
	memcpy(&ret->v6.sin6_addr, a->bytes, 16);
	return sizeof(ret->v6);
}

socklen_t endpoint_loopback(union endpoint *ret, int family, uint16_t port)
{
	static const struct address v4 = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	static const struct address v6 = { .bits = 128, .bytes = { [15] = 1 } };

	return endpoint_fill(ret, family == AF_INET ? &v4 : &v6, port);
}
