/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What capture_open() is made of. */
#include <stdbool.h>

#include "base/error.h"
#include "net/enter/capture.h"

/* Where the relay listens, on 127.0.0.1 and ::1; what marks its own packets, and those to groups.
 */
enum {
	CAPTURE_PORT = 1,
	CAPTURE_DNS_PORT = 2,
	CAPTURE_GROUP_PORT = 3, /* UDP only */
	CAPTURE_MARK = 1,
	CAPTURE_GROUP_MARK = 2,
};
/*
 * The bits of its first byte in which a multicast group differs from the address that it gets on
 * its way to the relay: the kernel delivers nothing to a group without members. 224.0.0.0/4 becomes
 * 240.0.0.0/4, ff00::/8 becomes 5300::/8, which nothing uses; the relay takes the bits back.
 */
enum { CAPTURE_GROUP_BITS_4 = 0x10, CAPTURE_GROUP_BITS_6 = 0xac };

/* False: there is none. */
bool capture_turn_on_ipv6(void);
/* lo goes up, gets the sandbox's addresses, and becomes the way to everywhere. */
int capture_routes(bool ipv6, struct error *e);
/* nf_tables. -EOPNOTSUPP: the kernel has none. */
int capture_rules(const struct capture_options *o, bool ipv6, struct error *e);
/* Those for UDP, after the others. -EOPNOTSUPP: there is no tproxy; then nothing was changed. */
int capture_rules_udp(bool ipv6, struct error *e);
/* Without those rules: sending to a multicast group, or to all, fails with EHOSTUNREACH. */
int capture_refuse_groups(bool ipv6, struct error *e);
/* Sysctls of the namespace. */
int capture_settings(struct error *e);
