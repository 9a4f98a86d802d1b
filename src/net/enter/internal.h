/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What capture_open() is made of. */
#include <stdbool.h>

#include "base/error.h"
#include "net/enter/capture.h"

/* Where the relay listens, on 127.0.0.1 and ::1; and what marks its own packets. */
enum { CAPTURE_PORT = 1, CAPTURE_DNS_PORT = 2, CAPTURE_MARK = 1 };

/* False: there is none. */
bool capture_turn_on_ipv6(void);
/* lo goes up, gets the sandbox's addresses, and becomes the way to everywhere. */
int capture_routes(bool ipv6, struct error *e);
/* nf_tables. -EOPNOTSUPP: the kernel has none. */
int capture_rules(const struct capture_options *o, bool ipv6, struct error *e);
/* Those for UDP, after the others. -EOPNOTSUPP: there is no tproxy; then nothing was changed. */
int capture_rules_udp(bool ipv6, struct error *e);
/* Sysctls of the namespace. */
int capture_settings(struct error *e);
