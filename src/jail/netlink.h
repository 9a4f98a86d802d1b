/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Messages to the kernel over netlink, several at once, and what it says to them. They are written
 * into a buffer of fixed size; what does not fit is remembered (`failed`) and turns later calls
 * into no-ops, so that one check at the end will do: netlink_talk() makes it. Nothing is allocated.
 *
 *     netlink_begin(n, type, flags);           a message, with a number of its own, from 1
 *     netlink_add(n, &header, sizeof(header)); its fixed part
 *     netlink_attribute(n, TYPE, data, len);
 *     size_t nest = netlink_nest(n, TYPE);     attributes inside an attribute
 *     netlink_unnest(n, nest);
 *     netlink_end(n);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink {
	_Alignas(8) unsigned char bytes[32 << 10];
	size_t len;
	size_t message;     /* where the last one starts */
	uint32_t n;         /* messages */
	uint32_t to_answer; /* how many of them the kernel acknowledges */
	bool failed;
};

/* flags: beside NLM_F_REQUEST. With NLM_F_ACK, netlink_talk() waits for the answer. */
void netlink_begin(struct netlink *n, uint16_t type, uint16_t flags);
void netlink_add(struct netlink *n, const void *data, size_t len);
void netlink_attribute(struct netlink *n, uint16_t type, const void *data, size_t len);
/* A text with its NUL. */
void netlink_text(struct netlink *n, uint16_t type, const char *text);
/* A number in network order, as netfilter has them. */
void netlink_be32(struct netlink *n, uint16_t type, uint32_t value);
size_t netlink_nest(struct netlink *n, uint16_t type);
void netlink_unnest(struct netlink *n, size_t nest);
void netlink_end(struct netlink *n);

/*
 * Sends all of it to that protocol (NETLINK_ROUTE …) by a socket of its own and hears the answers.
 * Negative: -E2BIG (it did not fit), -EPROTO, or the first error that the kernel told; *ret_failed
 * (may be NULL) is then the number of that message, 0 if none of them is to blame.
 */
int netlink_talk(const struct netlink *n, int protocol, uint32_t *ret_failed);
