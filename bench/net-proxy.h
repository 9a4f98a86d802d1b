/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Connections by a proxy of HTTP, for sandboxes that let programs out by one. */
#include <netinet/in.h>
#include <stdint.h>

/* By the proxy in the environment's HTTP_PROXY, http://USER:WORD@HOST:PORT. -1: failed. */
int net_proxy_dial(struct in_addr address, uint16_t port);
