/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of nf_tables, as a table of rows. A chain is passed from the top; the first row whose
 * conditions all hold decides.
 *
 * Connections are tracked only where that is needed, which is where their destination is changed:
 * what stays inside and what goes by tproxy costs no entry in the kernel's table.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <string.h>

#include "base/array.h"
#include "jail/nft.h"
#include "net/enter/internal.h"

enum chain { FREE, OUT, IN, CHAIN_COUNT };

static const struct nft_chain chains[CHAIN_COUNT] = {
	/* Before connections are tracked, which is at -200. */
	[FREE] = { "free", "filter", NF_INET_LOCAL_OUT, -300 },
	[OUT] = { "out", "nat", NF_INET_LOCAL_OUT, -100 },
	[IN] = { "in", "filter", NF_INET_PRE_ROUTING, -150 },
};

enum action { ACCEPT, UNTRACKED, REDIRECT, PROXY };

struct rule {
	enum chain chain;
	/* Conditions; zero: any. */
	uint8_t family; /* NFPROTO_IPV4 … */
	const char *to; /* the destination's first to_len bytes; family is set */
	uint8_t to_len;
	uint8_t protocol; /* IPPROTO_TCP … */
	uint16_t from_port, to_port;
	uint16_t to_last; /* of a range that begins at to_port */
	uint32_t mark;
	enum action action;
	uint16_t port; /* REDIRECT, PROXY: to 127.0.0.1 or ::1 */
};

#define V4 .family = NFPROTO_IPV4
#define V6 .family = NFPROTO_IPV6
#define TCP .protocol = IPPROTO_TCP
#define UDP .protocol = IPPROTO_UDP
#define LOOPBACK_4 V4, .to = "\x7f", .to_len = 1
#define LOOPBACK_6 V6, .to = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", .to_len = 16
/* synthetic.h */
#define SELF_4 V4, .to = "\xc6\x13\xff\x01", .to_len = 4
#define SELF_6 V6, .to = "\xfd\x53\0\0\0\0\0\0\0\0\0\0\0\0\0\1", .to_len = 16
/* The resolvers of Docker and systemd. */
#define DOCKER V4, .to = "\x7f\0\0\x0b", .to_len = 4
#define SYSTEMD V4, .to = "\x7f\0\0\x35", .to_len = 4
#define TO_DNS .action = REDIRECT, .port = CAPTURE_DNS_PORT
#define TO_RELAY .action = REDIRECT, .port = CAPTURE_PORT

static const struct rule rules[] = {
	/* Names, and the answers of the relay: their addresses are changed back. */
	{ FREE, TCP, .from_port = CAPTURE_PORT },
	{ FREE, TCP, .from_port = CAPTURE_DNS_PORT },
	{ FREE, UDP, .from_port = CAPTURE_DNS_PORT },
	{ FREE, TCP, .to_port = 53 },
	{ FREE, UDP, .to_port = 53 },
	{ FREE, UDP, .action = UNTRACKED },
	{ FREE, LOOPBACK_4, .action = UNTRACKED },
	{ FREE, LOOPBACK_6, .action = UNTRACKED },
	{ FREE, SELF_4, TCP, .action = UNTRACKED },
	{ FREE, SELF_6, TCP, .action = UNTRACKED },

	{ OUT, DOCKER, UDP, .to_port = 53, TO_DNS },
	{ OUT, DOCKER, TCP, .to_port = 53, TO_DNS },
	{ OUT, SYSTEMD, UDP, .to_port = 53, TO_DNS },
	{ OUT, SYSTEMD, TCP, .to_port = 53, TO_DNS },
	{ OUT, LOOPBACK_4 },
	{ OUT, LOOPBACK_6 },
	{ OUT, SELF_4 },
	{ OUT, SELF_6 },
	{ OUT, UDP, .to_port = 53, TO_DNS },
	{ OUT, TCP, .to_port = 53, TO_DNS },
	{ OUT, TCP, TO_RELAY },
};

static const struct rule udp_rules[] = {
	{ IN, .mark = CAPTURE_MARK },
	{ IN, LOOPBACK_4 },
	{ IN, LOOPBACK_6 },
	{ IN, SELF_4 },
	{ IN, SELF_6 },
	{ IN, V4, UDP, .action = PROXY, .port = CAPTURE_PORT },
	{ IN, V6, UDP, .action = PROXY, .port = CAPTURE_PORT },
};

static void add_conditions(struct netlink *n, const struct rule *r)
{
	if (r->mark)
		nft_is_mark(n, r->mark);
	if (r->family)
		nft_is_family(n, r->family);
	if (r->to)
		nft_is_to(n, r->family, r->to, r->to_len);
	if (r->protocol)
		nft_is_protocol(n, r->protocol);
	if (r->from_port)
		nft_is_from_port(n, r->from_port);
	if (r->to_port)
		nft_is_to_ports(n, r->to_port, r->to_last ? r->to_last : r->to_port);
}

static void add_action(struct netlink *n, const struct rule *r)
{
	if (r->action == REDIRECT) {
		nft_redirect(n, r->port);
		return;
	}
	if (r->action == PROXY)
		nft_proxy(n, r->family, r->port);
	if (r->action == UNTRACKED)
		nft_untrack(n);
	nft_accept(n);
}

static void capture_rules_add_rule(struct netlink *n, const struct rule *r, bool ipv6)
{
	size_t nest;

	if (!ipv6 && r->family == NFPROTO_IPV6)
		return;
	nest = nft_rule(n, chains[r->chain].name);
	add_conditions(n, r);
	add_action(n, r);
	nft_rule_end(n, nest);
}

static void capture_rules_add_rules(
	struct netlink *n, const struct rule *from, size_t count, bool ipv6)
{
	for (size_t i = 0; i < count; i++)
		capture_rules_add_rule(n, &from[i], ipv6);
}

/* In front of all others, so that they count although they are about loopback. */
static void capture_rules_add_ports(struct netlink *n, const struct capture_ports *p, bool ipv6)
{
	const struct rule v4[] = {
		{ FREE, LOOPBACK_4, TCP, .to_port = p->lo, .to_last = p->hi },
		{ OUT, LOOPBACK_4, TCP, .to_port = p->lo, .to_last = p->hi, TO_RELAY },
	};
	const struct rule v6[] = {
		{ FREE, LOOPBACK_6, TCP, .to_port = p->lo, .to_last = p->hi },
		{ OUT, LOOPBACK_6, TCP, .to_port = p->lo, .to_last = p->hi, TO_RELAY },
	};

	if (p->v4)
		capture_rules_add_rules(n, v4, 2, ipv6);
	if (p->v6)
		capture_rules_add_rules(n, v6, 2, ipv6);
}

/* The sockets by which the relay looks whether somebody inside listens. */
static const struct rule own = { FREE, .mark = CAPTURE_MARK, .action = UNTRACKED };

int capture_rules(const struct capture_options *o, bool ipv6, struct error *e)
{
	struct netlink n = { .len = 0 };
	int r;

	nft_begin(&n);
	nft_table(&n);
	nft_chain(&n, &chains[FREE]);
	nft_chain(&n, &chains[OUT]);
	capture_rules_add_rule(&n, &own, ipv6);
	for (size_t i = 0; i < o->n_loopback; i++)
		capture_rules_add_ports(&n, &o->loopback[i], ipv6);
	capture_rules_add_rules(&n, rules, ROWS(rules), ipv6);
	r = nft_commit(&n);
	if (r == 0)
		return 0;
	(void)error_set(
		e, r, NULL, "cannot lead connections to the relay by nf_tables: %s", strerror(-r));
	error_hint(e, "corral doctor tells what the kernel lacks");
	return r;
}

int capture_rules_udp(bool ipv6, struct error *e)
{
	struct netlink n = { .len = 0 };
	int r;

	nft_begin(&n);
	nft_chain(&n, &chains[IN]);
	capture_rules_add_rules(&n, udp_rules, ROWS(udp_rules), ipv6);
	r = nft_commit(&n);
	if (r == 0)
		return 0;
	return error_set(
		e, r, NULL, "cannot lead datagrams to the relay by nf_tables: %s", strerror(-r));
}
