/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A batch for nf_tables, which the kernel carries out as a whole or not at all, in the table
 * `inet corral` of the network namespace that we are in.
 *
 *     nft_begin(n); nft_table(n); nft_chain(n, &chain);
 *     nest = nft_rule(n, "out");    conditions that all must hold, then what to do:
 *     nft_is_protocol(n, IPPROTO_TCP); nft_redirect(n, 1);
 *     nft_rule_end(n, nest);
 *     r = nft_commit(n);
 */
#include "jail/netlink.h"

struct nft_chain {
	const char *name, *type; /* "filter", "nat", "route" */
	uint32_t hook;           /* NF_INET_LOCAL_OUT … */
	int32_t priority;
};

void nft_begin(struct netlink *n);
void nft_table(struct netlink *n);
void nft_chain(struct netlink *n, const struct nft_chain *c);
size_t nft_rule(struct netlink *n, const char *chain);
void nft_rule_end(struct netlink *n, size_t nest);
/*
 * Negative: nothing was changed. -EOPNOTSUPP: the kernel lacks something that it takes, built in or
 * as a module.
 */
int nft_commit(struct netlink *n);

/* family: NFPROTO_IPV4 or NFPROTO_IPV6 */
void nft_is_family(struct netlink *n, uint8_t family);
void nft_is_protocol(struct netlink *n, uint8_t protocol);
void nft_is_mark(struct netlink *n, uint32_t mark);
/* The destination starts with these bytes. Only after nft_is_family(). */
void nft_is_to(struct netlink *n, uint8_t family, const void *bytes, size_t len);
/* The destination is a multicast group. Only after nft_is_family(). */
void nft_is_group(struct netlink *n, uint8_t family);
void nft_is_from_port(struct netlink *n, uint16_t port);
void nft_is_to_ports(struct netlink *n, uint16_t lo, uint16_t hi);

void nft_accept(struct netlink *n);
void nft_set_mark(struct netlink *n, uint32_t mark);
/*
 * The first byte of the destination, XOR these bits; checksums follow. A chain of type "route"
 * looks up the route again. Only after nft_is_family().
 */
void nft_flip_to(struct netlink *n, uint8_t family, uint8_t bits);
/* Connection tracking leaves it alone, and so does everything in a nat chain. */
void nft_untrack(struct netlink *n);
/* To that port of 127.0.0.1 or ::1. The answers come from where it was meant to go. */
void nft_redirect(struct netlink *n, uint16_t port);
/* To the socket that listens there, unchanged. Only after nft_is_family(). */
void nft_proxy(struct netlink *n, uint8_t family, uint16_t port);
