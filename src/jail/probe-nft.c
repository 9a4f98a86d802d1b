/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nf_tables in a network namespace of our own: a table with a nat chain for what goes out, made by
 * one batch over netlink. That is what a list of allowed hosts will stand on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "jail/probe-part.h"

struct batch {
	_Alignas(8) unsigned char bytes[1024];
	size_t len;
};

static void *put(struct batch *b, const void *data, size_t len)
{
	unsigned char *at = b->bytes + b->len;

	memcpy(at, data, len);
	b->len += NLMSG_ALIGN(len);
	return at;
}

/* Where the message starts; end_message() writes its length. */
static size_t message(struct batch *b, uint16_t type, uint16_t flags, uint8_t family, uint16_t res)
{
	const struct nlmsghdr header = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags };
	const struct nfgenmsg gen = { .nfgen_family = family, .res_id = res };
	size_t start = b->len;

	(void)put(b, &header, sizeof(header));
	(void)put(b, &gen, sizeof(gen));
	return start;
}

static void end_message(struct batch *b, size_t start)
{
	((struct nlmsghdr *)(void *)(b->bytes + start))->nlmsg_len = (uint32_t)(b->len - start);
}

static void attribute(struct batch *b, uint16_t type, const void *data, size_t len)
{
	const struct nlattr header = { .nla_len = (uint16_t)(sizeof(header) + len),
		.nla_type = type };

	(void)put(b, &header, sizeof(header));
	(void)put(b, data, len);
}

static void add_chain(struct batch *b)
{
	static const uint8_t hook[] = { 0, 0, 0, NF_INET_LOCAL_OUT },
			     priority[] = { 0xff, 0xff, 0xff, 0x9c /* -100 */ };
	struct batch nested = { .len = 0 };
	size_t start = message(b, (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWCHAIN,
		NLM_F_CREATE | NLM_F_ACK, NFPROTO_INET, 0);

	attribute(&nested, NFTA_HOOK_HOOKNUM, hook, sizeof(hook));
	attribute(&nested, NFTA_HOOK_PRIORITY, priority, sizeof(priority));
	attribute(b, NFTA_CHAIN_TABLE, "corral", 7);
	attribute(b, NFTA_CHAIN_NAME, "out", 4);
	attribute(b, NFTA_CHAIN_HOOK | NLA_F_NESTED, nested.bytes, nested.len);
	attribute(b, NFTA_CHAIN_TYPE, "nat", 4);
	end_message(b, start);
}

static void make_batch(struct batch *b)
{
	end_message(b, message(b, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, htons(NFNL_SUBSYS_NFTABLES)));
	size_t start = message(b, (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWTABLE,
		NLM_F_CREATE | NLM_F_ACK, NFPROTO_INET, 0);
	attribute(b, NFTA_TABLE_NAME, "corral", 7);
	end_message(b, start);
	add_chain(b);
	end_message(b, message(b, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, htons(NFNL_SUBSYS_NFTABLES)));
}

/* Two acknowledgements, each a packet or both in one; the kernel answers before send() returns. */
static int hear(int s)
{
	_Alignas(8) char bytes[4096];
	unsigned heard = 0;

	for (unsigned reads = 0; reads < 8 && heard < 2; reads++) {
		ssize_t n = recv(s, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0)
			return -errno;
		size_t left = (size_t)n;
		for (struct nlmsghdr *h = (void *)bytes; NLMSG_OK(h, left);
			h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_ERROR && e->error != 0)
				return e->error;
			heard += h->nlmsg_type == NLMSG_ERROR;
		}
	}
	return heard == 2 ? 0 : -EPROTO;
}

int probe_nft(struct probe_answer *a)
{
	struct batch b = { .len = 0 };
	int r = probe_enter(CLONE_NEWNET, a);

	if (r < 0)
		return r;
	auto_fd s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	if (s < 0)
		return probe_fail(a, errno, "opening netfilter's netlink");
	make_batch(&b);
	if (send(s, b.bytes, b.len, 0) < 0)
		return probe_fail(a, errno, "sending a batch to nf_tables");
	r = hear(s);
	return r < 0 ? probe_fail(a, -r, "making a nat chain in nf_tables") : 0;
}
