/* SPDX-License-Identifier: Apache-2.0 */
/* A rule is a list of expressions that work on registers; ours need no more than two of them. */
#include "jail/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <sys/socket.h>

#define TABLE "corral"

/* Messages. */

static void nft_message(
	struct netlink *n, uint16_t type, uint16_t flags, uint8_t family, uint16_t id)
{
	const struct nfgenmsg header = { .nfgen_family = family, .res_id = htons(id) };

	netlink_begin(n, type, flags);
	netlink_add(n, &header, sizeof(header));
}

static void nft_begin_new(struct netlink *n, uint16_t type, uint16_t flags)
{
	nft_message(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		NLM_F_CREATE | NLM_F_ACK | flags, NFPROTO_INET, 0);
}

static void nft_add_end(struct netlink *n, uint16_t type)
{
	nft_message(n, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	netlink_end(n);
}

void nft_begin(struct netlink *n)
{
	nft_add_end(n, NFNL_MSG_BATCH_BEGIN);
}

int nft_commit(struct netlink *n)
{
	int r;

	nft_add_end(n, NFNL_MSG_BATCH_END);
	r = netlink_talk(n, NETLINK_NETFILTER, NULL);
	/* What the kernel says of protocols, families, chain types and expressions it lacks. */
	return r == -EPROTONOSUPPORT || r == -EAFNOSUPPORT || r == -ENOENT ? -EOPNOTSUPP : r;
}

void nft_table(struct netlink *n)
{
	nft_begin_new(n, NFT_MSG_NEWTABLE, 0);
	netlink_text(n, NFTA_TABLE_NAME, TABLE);
	netlink_end(n);
}

void nft_chain(struct netlink *n, const struct nft_chain *c)
{
	size_t nest;

	nft_begin_new(n, NFT_MSG_NEWCHAIN, 0);
	netlink_text(n, NFTA_CHAIN_TABLE, TABLE);
	netlink_text(n, NFTA_CHAIN_NAME, c->name);
	nest = netlink_nest(n, NFTA_CHAIN_HOOK);
	netlink_be32(n, NFTA_HOOK_HOOKNUM, c->hook);
	netlink_be32(n, NFTA_HOOK_PRIORITY, (uint32_t)c->priority);
	netlink_unnest(n, nest);
	netlink_text(n, NFTA_CHAIN_TYPE, c->type);
	netlink_end(n);
}

size_t nft_rule(struct netlink *n, const char *chain)
{
	nft_begin_new(n, NFT_MSG_NEWRULE, NLM_F_APPEND);
	netlink_text(n, NFTA_RULE_TABLE, TABLE);
	netlink_text(n, NFTA_RULE_CHAIN, chain);
	return netlink_nest(n, NFTA_RULE_EXPRESSIONS);
}

void nft_rule_end(struct netlink *n, size_t nest)
{
	netlink_unnest(n, nest);
	netlink_end(n);
}

/* Expressions: elements of the rule's list, with a name and data, which are numbers and a value. */

struct nft_field {
	uint16_t type; /* 0: the last */
	uint32_t number;
};
#define FIELDS(...) ((const struct nft_field[]){ __VA_ARGS__, { 0, 0 } })

struct nft_nests {
	size_t element, data;
};

static struct nft_nests nft_begin_expression(
	struct netlink *n, const char *name, const struct nft_field *fields)
{
	struct nft_nests x = { .element = netlink_nest(n, NFTA_LIST_ELEM) };

	netlink_text(n, NFTA_EXPR_NAME, name);
	x.data = netlink_nest(n, NFTA_EXPR_DATA);
	for (; fields->type; fields++)
		netlink_be32(n, fields->type, fields->number);
	return x;
}

static void nft_end_expression(struct netlink *n, struct nft_nests x)
{
	netlink_unnest(n, x.data);
	netlink_unnest(n, x.element);
}

static void nft_add(struct netlink *n, const char *name, const struct nft_field *fields)
{
	nft_end_expression(n, nft_begin_expression(n, name, fields));
}

static void nft_add_with(struct netlink *n, const char *name, const struct nft_field *fields,
	uint16_t type, const void *value, size_t len)
{
	struct nft_nests x = nft_begin_expression(n, name, fields);
	size_t nest = netlink_nest(n, type);

	netlink_attribute(n, NFTA_DATA_VALUE, value, len);
	netlink_unnest(n, nest);
	nft_end_expression(n, x);
}

/* What is in the first register, with these bytes. */
static void nft_compare(struct netlink *n, uint32_t how, const void *data, size_t len)
{
	nft_add_with(n, "cmp", FIELDS({ NFTA_CMP_SREG, NFT_REG_1 }, { NFTA_CMP_OP, how }),
		NFTA_CMP_DATA, data, len);
}

static void nft_match_meta(struct netlink *n, uint32_t key, const void *data, size_t len)
{
	nft_add(n, "meta", FIELDS({ NFTA_META_KEY, key }, { NFTA_META_DREG, NFT_REG_1 }));
	nft_compare(n, NFT_CMP_EQ, data, len);
}

static void nft_load_payload(struct netlink *n, uint32_t base, uint32_t offset, size_t len)
{
	nft_add(n, "payload",
		FIELDS({ NFTA_PAYLOAD_DREG, NFT_REG_1 }, { NFTA_PAYLOAD_BASE, base },
			{ NFTA_PAYLOAD_OFFSET, offset }, { NFTA_PAYLOAD_LEN, (uint32_t)len }));
}

static void nft_match_ports(struct netlink *n, uint32_t offset, uint16_t lo, uint16_t hi)
{
	const uint16_t first = htons(lo), last = htons(hi);

	nft_load_payload(n, NFT_PAYLOAD_TRANSPORT_HEADER, offset, sizeof(first));
	if (lo == hi) {
		nft_compare(n, NFT_CMP_EQ, &first, sizeof(first));
		return;
	}
	/* Bytes are compared from the left, so numbers in network order are, too. */
	nft_compare(n, NFT_CMP_GTE, &first, sizeof(first));
	nft_compare(n, NFT_CMP_LTE, &last, sizeof(last));
}

void nft_is_family(struct netlink *n, uint8_t family)
{
	nft_match_meta(n, NFT_META_NFPROTO, &family, sizeof(family));
}

void nft_is_protocol(struct netlink *n, uint8_t protocol)
{
	nft_match_meta(n, NFT_META_L4PROTO, &protocol, sizeof(protocol));
}

void nft_is_mark(struct netlink *n, uint32_t mark)
{
	nft_match_meta(n, NFT_META_MARK, &mark, sizeof(mark));
}

/* Where the destination is in the header. */
static uint32_t nft_destination(uint8_t family)
{
	return family == NFPROTO_IPV4 ? 16 : 24;
}

void nft_is_to(struct netlink *n, uint8_t family, const void *bytes, size_t len)
{
	nft_load_payload(n, NFT_PAYLOAD_NETWORK_HEADER, nft_destination(family), len);
	nft_compare(n, NFT_CMP_EQ, bytes, len);
}

void nft_is_group(struct netlink *n, uint8_t family)
{
	/* 224.0.0.0/4, ff00::/8 */
	const uint8_t first = family == NFPROTO_IPV4 ? 0xe0 : 0xff;
	const uint8_t last = family == NFPROTO_IPV4 ? 0xef : 0xff;

	nft_load_payload(n, NFT_PAYLOAD_NETWORK_HEADER, nft_destination(family), sizeof(first));
	nft_compare(n, NFT_CMP_GTE, &first, sizeof(first));
	nft_compare(n, NFT_CMP_LTE, &last, sizeof(last));
}

void nft_is_from_port(struct netlink *n, uint16_t port)
{
	nft_match_ports(n, 0, port, port);
}

void nft_is_to_ports(struct netlink *n, uint16_t lo, uint16_t hi)
{
	nft_match_ports(n, 2, lo, hi);
}

static void nft_load(struct netlink *n, uint32_t to, const void *data, size_t len)
{
	nft_add_with(n, "immediate", FIELDS({ NFTA_IMMEDIATE_DREG, to }), NFTA_IMMEDIATE_DATA, data,
		len);
}

void nft_accept(struct netlink *n)
{
	struct nft_nests x = nft_begin_expression(
		n, "immediate", FIELDS({ NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT }));
	size_t data = netlink_nest(n, NFTA_IMMEDIATE_DATA);
	size_t verdict = netlink_nest(n, NFTA_DATA_VERDICT);

	netlink_be32(n, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_unnest(n, verdict);
	netlink_unnest(n, data);
	nft_end_expression(n, x);
}

void nft_set_mark(struct netlink *n, uint32_t mark)
{
	nft_load(n, NFT_REG_1, &mark, sizeof(mark));
	nft_add(n, "meta", FIELDS({ NFTA_META_KEY, NFT_META_MARK }, { NFTA_META_SREG, NFT_REG_1 }));
}

void nft_flip_to(struct netlink *n, uint8_t family, uint8_t bits)
{
	/* Two bytes, as checksums are made of. */
	const uint8_t all[2] = { 0xff, 0xff }, flipped[2] = { bits, 0 };
	const bool is_4 = family == NFPROTO_IPV4;
	struct nft_nests x;
	size_t nest;

	nft_load_payload(n, NFT_PAYLOAD_NETWORK_HEADER, nft_destination(family), sizeof(all));
	x = nft_begin_expression(n, "bitwise",
		FIELDS({ NFTA_BITWISE_SREG, NFT_REG_1 }, { NFTA_BITWISE_DREG, NFT_REG_1 },
			{ NFTA_BITWISE_LEN, sizeof(all) }));
	nest = netlink_nest(n, NFTA_BITWISE_MASK);
	netlink_attribute(n, NFTA_DATA_VALUE, all, sizeof(all));
	netlink_unnest(n, nest);
	nest = netlink_nest(n, NFTA_BITWISE_XOR);
	netlink_attribute(n, NFTA_DATA_VALUE, flipped, sizeof(flipped));
	netlink_unnest(n, nest);
	nft_end_expression(n, x);
	/* IPv4 has a sum of its header, at byte 10; IPv6 has none. */
	nft_add(n, "payload",
		FIELDS({ NFTA_PAYLOAD_SREG, NFT_REG_1 },
			{ NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER },
			{ NFTA_PAYLOAD_OFFSET, nft_destination(family) },
			{ NFTA_PAYLOAD_LEN, sizeof(all) },
			{ NFTA_PAYLOAD_CSUM_TYPE,
				is_4 ? NFT_PAYLOAD_CSUM_INET : NFT_PAYLOAD_CSUM_NONE },
			{ NFTA_PAYLOAD_CSUM_OFFSET, is_4 ? 10 : 0 },
			{ NFTA_PAYLOAD_CSUM_FLAGS, NFT_PAYLOAD_L4CSUM_PSEUDOHDR }));
}

void nft_untrack(struct netlink *n)
{
	nft_add(n, "notrack", FIELDS({ 0, 0 }));
}

void nft_redirect(struct netlink *n, uint16_t port)
{
	const uint16_t swapped = htons(port);

	nft_load(n, NFT_REG_1, &swapped, sizeof(swapped));
	nft_add(n, "redir", FIELDS({ NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1 }));
}

void nft_proxy(struct netlink *n, uint8_t family, uint16_t port)
{
	static const uint8_t here_4[4] = { 127, 0, 0, 1 }, here_6[16] = { [15] = 1 };
	const uint16_t swapped = htons(port);

	if (family == NFPROTO_IPV4)
		nft_load(n, NFT_REG_1, here_4, sizeof(here_4));
	else
		nft_load(n, NFT_REG_1, here_6, sizeof(here_6));
	nft_load(n, NFT_REG_2, &swapped, sizeof(swapped));
	nft_add(n, "tproxy",
		FIELDS({ NFTA_TPROXY_FAMILY, family }, { NFTA_TPROXY_REG_ADDR, NFT_REG_1 },
			{ NFTA_TPROXY_REG_PORT, NFT_REG_2 }));
}
