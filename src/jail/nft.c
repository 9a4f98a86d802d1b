/* SPDX-License-Identifier: Apache-2.0 */
/* A rule is a list of expressions that work on registers; ours need no more than two of them. */
#include "jail/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#define TABLE "corral"

/* Messages. */

static void jail_nft_begin(
	struct netlink *n, uint16_t type, uint16_t flags, uint8_t family, uint16_t id)
{
	const struct nfgenmsg header = { .nfgen_family = family, .res_id = htons(id) };

	netlink_begin(n, type, flags);
	netlink_add(n, &header, sizeof(header));
}

static void begin_new(struct netlink *n, uint16_t type, uint16_t flags)
{
	jail_nft_begin(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		NLM_F_CREATE | NLM_F_ACK | flags, NFPROTO_INET, 0);
}

static void nft_add_end(struct netlink *n, uint16_t type)
{
	jail_nft_begin(n, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
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
	begin_new(n, NFT_MSG_NEWTABLE, 0);
	netlink_text(n, NFTA_TABLE_NAME, TABLE);
	netlink_end(n);
}

void nft_chain(struct netlink *n, const struct nft_chain *c)
{
	size_t nest;

	begin_new(n, NFT_MSG_NEWCHAIN, 0);
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
	begin_new(n, NFT_MSG_NEWRULE, NLM_F_APPEND);
	netlink_text(n, NFTA_RULE_TABLE, TABLE);
	netlink_text(n, NFTA_RULE_CHAIN, chain);
	return netlink_nest(n, NFTA_RULE_EXPRESSIONS);
}

void nft_rule_end(struct netlink *n, size_t nest)
{
	netlink_unnest(n, nest);
	netlink_end(n);
}

/* Expressions: elements of the rule's list, with a name and data. */

struct expression {
	size_t element, data;
};

static struct expression begin_expression(struct netlink *n, const char *name)
{
	struct expression x = { .element = netlink_nest(n, NFTA_LIST_ELEM) };

	netlink_text(n, NFTA_EXPR_NAME, name);
	x.data = netlink_nest(n, NFTA_EXPR_DATA);
	return x;
}

static void end_expression(struct netlink *n, struct expression x)
{
	netlink_unnest(n, x.data);
	netlink_unnest(n, x.element);
}

static void nft_add_value(struct netlink *n, uint16_t type, const void *data, size_t len)
{
	size_t nest = netlink_nest(n, type);

	netlink_attribute(n, NFTA_DATA_VALUE, data, len);
	netlink_unnest(n, nest);
}

/* What is in the first register, with these bytes. */
static void nft_compare(struct netlink *n, uint32_t how, const void *data, size_t len)
{
	struct expression x = begin_expression(n, "cmp");

	netlink_be32(n, NFTA_CMP_SREG, NFT_REG_1);
	netlink_be32(n, NFTA_CMP_OP, how);
	nft_add_value(n, NFTA_CMP_DATA, data, len);
	end_expression(n, x);
}

static void match_meta(struct netlink *n, uint32_t key, const void *data, size_t len)
{
	struct expression x = begin_expression(n, "meta");

	netlink_be32(n, NFTA_META_KEY, key);
	netlink_be32(n, NFTA_META_DREG, NFT_REG_1);
	end_expression(n, x);
	nft_compare(n, NFT_CMP_EQ, data, len);
}

static void load_payload(struct netlink *n, uint32_t base, uint32_t offset, size_t len)
{
	struct expression x = begin_expression(n, "payload");

	netlink_be32(n, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_be32(n, NFTA_PAYLOAD_BASE, base);
	netlink_be32(n, NFTA_PAYLOAD_OFFSET, offset);
	netlink_be32(n, NFTA_PAYLOAD_LEN, (uint32_t)len);
	end_expression(n, x);
}

static void match_ports(struct netlink *n, uint32_t offset, uint16_t lo, uint16_t hi)
{
	const uint16_t first = htons(lo), last = htons(hi);

	load_payload(n, NFT_PAYLOAD_TRANSPORT_HEADER, offset, sizeof(first));
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
	match_meta(n, NFT_META_NFPROTO, &family, sizeof(family));
}

void nft_is_protocol(struct netlink *n, uint8_t protocol)
{
	match_meta(n, NFT_META_L4PROTO, &protocol, sizeof(protocol));
}

void nft_is_mark(struct netlink *n, uint32_t mark)
{
	match_meta(n, NFT_META_MARK, &mark, sizeof(mark));
}

void nft_is_to(struct netlink *n, uint8_t family, const void *bytes, size_t len)
{
	/* Where the destination is in the header. */
	load_payload(n, NFT_PAYLOAD_NETWORK_HEADER, family == NFPROTO_IPV4 ? 16 : 24, len);
	nft_compare(n, NFT_CMP_EQ, bytes, len);
}

void nft_is_from_port(struct netlink *n, uint16_t port)
{
	match_ports(n, 0, port, port);
}

void nft_is_to_ports(struct netlink *n, uint16_t lo, uint16_t hi)
{
	match_ports(n, 2, lo, hi);
}

static void nft_load(struct netlink *n, uint32_t to, const void *data, size_t len)
{
	struct expression x = begin_expression(n, "immediate");

	netlink_be32(n, NFTA_IMMEDIATE_DREG, to);
	nft_add_value(n, NFTA_IMMEDIATE_DATA, data, len);
	end_expression(n, x);
}

void nft_accept(struct netlink *n)
{
	struct expression x = begin_expression(n, "immediate");
	size_t data, verdict;

	netlink_be32(n, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = netlink_nest(n, NFTA_IMMEDIATE_DATA);
	verdict = netlink_nest(n, NFTA_DATA_VERDICT);
	netlink_be32(n, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_unnest(n, verdict);
	netlink_unnest(n, data);
	end_expression(n, x);
}

void nft_untrack(struct netlink *n)
{
	end_expression(n, begin_expression(n, "notrack"));
}

void nft_redirect(struct netlink *n, uint16_t port)
{
	const uint16_t swapped = htons(port);
	struct expression x;

	nft_load(n, NFT_REG_1, &swapped, sizeof(swapped));
	x = begin_expression(n, "redir");
	netlink_be32(n, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	end_expression(n, x);
}

void nft_proxy(struct netlink *n, uint8_t family, uint16_t port)
{
	static const uint8_t here_4[4] = { 127, 0, 0, 1 }, here_6[16] = { [15] = 1 };
	const uint16_t swapped = htons(port);
	struct expression x;

	if (family == NFPROTO_IPV4)
		nft_load(n, NFT_REG_1, here_4, sizeof(here_4));
	else
		nft_load(n, NFT_REG_1, here_6, sizeof(here_6));
	nft_load(n, NFT_REG_2, &swapped, sizeof(swapped));
	x = begin_expression(n, "tproxy");
	netlink_be32(n, NFTA_TPROXY_FAMILY, family);
	netlink_be32(n, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
	netlink_be32(n, NFTA_TPROXY_REG_PORT, NFT_REG_2);
	end_expression(n, x);
}
