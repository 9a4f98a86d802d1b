/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nf_tables in a network namespace of our own: what grants of single hosts stand on. Connections
 * are led to the relay by a nat chain, datagrams by tproxy.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <sched.h>

#include "jail/nft.h"
#include "jail/probe/internal.h"

/* A rule for what goes out, in a chain of its own. */
static void add_redirect(struct netlink *n)
{
	static const struct nft_chain chain = { "out", "nat", NF_INET_LOCAL_OUT, -100 };
	size_t nest;

	nft_chain(n, &chain);
	nest = nft_rule(n, chain.name);
	nft_is_protocol(n, IPPROTO_TCP);
	nft_redirect(n, 1);
	nft_rule_end(n, nest);
}

static void add_untracked(struct netlink *n)
{
	static const struct nft_chain chain = { "free", "filter", NF_INET_LOCAL_OUT, -300 };
	size_t nest;

	nft_chain(n, &chain);
	nest = nft_rule(n, chain.name);
	nft_untrack(n);
	nft_rule_end(n, nest);
}

static void add_proxy(struct netlink *n)
{
	static const struct nft_chain chain = { "in", "filter", NF_INET_PRE_ROUTING, -150 };
	size_t nest;

	nft_chain(n, &chain);
	nest = nft_rule(n, chain.name);
	nft_is_family(n, NFPROTO_IPV4);
	nft_is_protocol(n, IPPROTO_UDP);
	nft_proxy(n, NFPROTO_IPV4, 1);
	nft_rule_end(n, nest);
}

int probe_nft(struct probe_answer *a)
{
	struct netlink n = { .len = 0 };
	int r = probe_enter(CLONE_NEWNET, a);

	if (r < 0)
		return r;
	nft_begin(&n);
	nft_table(&n);
	add_untracked(&n);
	add_redirect(&n);
	r = nft_commit(&n);
	return r < 0 ? probe_fail(a, -r, "redirecting connections by nf_tables") : 0;
}

int probe_tproxy(struct probe_answer *a)
{
	struct netlink n = { .len = 0 };
	int r = probe_enter(CLONE_NEWNET, a);

	if (r < 0)
		return r;
	nft_begin(&n);
	nft_table(&n);
	add_proxy(&n);
	r = nft_commit(&n);
	return r < 0 ? probe_fail(a, -r, "taking datagrams by tproxy of nf_tables") : 0;
}
