/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which names a sandbox may ask for. Made once from the policy; asking costs a few hash lookups,
 * however many grants there are, and allocates nothing.
 *
 * A name is granted if the policy allows to connect to it on some port, by TCP or UDP: the ports to
 * try are those of the patterns that cover it. Ancestors of granted names exist, but have no
 * addresses: a resolver that goes down from the root must not be told that `com` does not exist.
 */
#include "policy/policy.h"

struct dns_names;

enum { NAMES_PORTS_MAX = 64, NAMES_RANGE_MAX = 16 };

enum names_answer {
	NAMES_NONE,     /* as if it did not exist */
	NAMES_ANCESTOR, /* there is something below it */
	NAMES_GRANTED,
};

/*
 * The policy must outlive it. asks: what it asks about by TCP counts as allowed, since whoever
 * connects there waits for an answer.
 */
int names_new(struct dns_names **ret, const struct policy *p, bool asks, struct error *e);
void names_free(struct dns_names *n);
/*
 * name: normal form. What is not granted fills *ret_decision with the decision for one of the ports
 * tried by TCP (443 if there was none), for the record. ret_port: that port.
 */
enum names_answer names_ask(const struct dns_names *n, const char *name,
	struct decision *ret_decision, uint16_t *ret_port);
/*
 * The TCP ports of a name that are allowed, as far as they stand in patterns that are about at most
 * NAMES_RANGE_MAX ports. How many; -E2BIG: more than NAMES_PORTS_MAX, or too many to try.
 */
int names_ports(const struct dns_names *n, const char *name, uint16_t ret[NAMES_PORTS_MAX]);
