/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An address and a port as the socket calls want them. */
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy/network/address.h"

union endpoint {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Returns the length. */
socklen_t endpoint_fill(union endpoint *ret, const struct address *a, uint16_t port);
/* 127.0.0.1, or ::1 for AF_INET6. */
socklen_t endpoint_loopback(union endpoint *ret, int family, uint16_t port);
