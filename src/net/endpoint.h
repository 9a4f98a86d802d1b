/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An address and a port as the socket calls want them. */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "policy/network/address.h"

union endpoint {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Returns the length. */
static inline socklen_t endpoint_fill(union endpoint *ret, const struct address *a, uint16_t port)
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

/* A socket that is connected to there, or will be; non-blocking. zone: of a link-local address. */
static inline int endpoint_connect(const struct address *a, uint16_t port, uint32_t zone, int type)
{
	union endpoint e;
	socklen_t len = endpoint_fill(&e, a, port);
	auto_fd fd = socket(e.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && e.any.sa_family == AF_INET6)
		e.v6.sin6_scope_id = zone;
	if (fd < 0 || (connect(fd, &e.any, len) < 0 && errno != EINPROGRESS))
		return -errno;
	return fd_take(&fd);
}

/* 127.0.0.1, or ::1 for AF_INET6. */
static inline socklen_t endpoint_loopback(union endpoint *ret, int family, uint16_t port)
{
	static const struct address v4 = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	static const struct address v6 = { .bits = 128, .bytes = { [15] = 1 } };

	return endpoint_fill(ret, family == AF_INET ? &v4 : &v6, port);
}
