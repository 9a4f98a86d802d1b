/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own network namespace: settings, addresses and routes, and rules.
 *
 * The kernel's defaults are for links on which packets get lost and arrive late. Here none does,
 * but many connections come and go between two addresses: of each only the port of one side tells
 * it from the others, so a connection that has ended must be forgotten soon.
 *
 * The sandbox has an address of either family that is not a loopback one: without it, C libraries
 * would not even ask for addresses of that family (AI_ADDRCONFIG). One route of type local for each
 * family makes every other address one of this machine.
 *
 * The rules of nf_tables are a table of rows. A chain is passed from the top; the first row whose
 * conditions all hold decides. Connections are tracked only where that is needed, which is where
 * their destination is changed: what stays inside and what goes by tproxy costs no entry in the
 * kernel's table.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/netlink.h"
#include "jail/nft.h"
#include "jail/userns.h"
#include "net/dns/synthetic.h"
#include "net/enter/internal.h"

/* Settings: /proc/sys/net shows those of whoever looks. */

#define NET "/proc/sys/net/"

static const struct {
	const char *path, *value;
} settings[] = {
	/* Servers inside may have any port. */
	{ NET "ipv4/ip_unprivileged_port_start", "0" },
	{ NET "core/somaxconn", "4096" },
	/* A port is free again a second after its connection has ended. */
	{ NET "ipv4/tcp_tw_reuse", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_time_wait", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_close", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_last_ack", "5" },
	{ NET "netfilter/nf_conntrack_udp_timeout", "5" },
	{ NET "netfilter/nf_conntrack_udp_timeout_stream", "5" },
	/* What comes in the middle of a connection that was not tracked from its start, as those of
	 * the relay to servers inside, is no new one, to be led elsewhere. */
	{ NET "netfilter/nf_conntrack_tcp_loose", "0" },
	/* A half-closed one has not: it may be silent for as long as an open one. */
	{ NET "netfilter/nf_conntrack_tcp_timeout_fin_wait", "432000" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_close_wait", "432000" },
};

static int capture_put_setting(const char *path, const char *value)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return -errno;
	return 0;
}

bool capture_turn_on_ipv6(void)
{
	/* Of all, which only concerns interfaces to come, and of the one that is there. */
	return capture_put_setting(NET "ipv6/conf/all/disable_ipv6", "0") == 0 &&
	       capture_put_setting(NET "ipv6/conf/lo/disable_ipv6", "0") == 0;
}

int capture_settings(struct error *e)
{
	for (size_t i = 0; i < ROWS(settings); i++) {
		int r = capture_put_setting(settings[i].path, settings[i].value);

		/* Older kernels do not have all of them for each namespace. */
		if (r < 0 && r != -ENOENT)
			return error_set(e, r, NULL, "cannot write %s to %s: %s", settings[i].value,
				settings[i].path, strerror(-r));
	}
	return 0;
}

/* Addresses and routes. */

static int capture_lead_here(int family, const char *address, struct error *e)
{
	const uint8_t bits = family == AF_INET ? 32 : 128;
	const uint32_t lo = if_nametoindex("lo");
	const struct ifaddrmsg header = {
		.ifa_family = (uint8_t)family,
		.ifa_prefixlen = bits,
		.ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = lo,
	};
	const struct rtmsg route = {
		.rtm_family = (uint8_t)family,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	struct netlink n = { .len = 0 };
	unsigned char self[16];
	uint32_t failed = 0;
	int r;

	if (lo == 0)
		return error_set(e, -errno, NULL, "there is no loopback interface");
	if (inet_pton(family, address, self) != 1)
		return -EINVAL;
	netlink_begin(&n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK);
	netlink_add(&n, &header, sizeof(header));
	netlink_attribute(&n, IFA_LOCAL, self, bits / 8);
	netlink_attribute(&n, IFA_ADDRESS, self, bits / 8);
	netlink_end(&n);
	netlink_begin(&n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK);
	netlink_add(&n, &route, sizeof(route));
	netlink_attribute(&n, RTA_PREFSRC, self, bits / 8);
	netlink_attribute(&n, RTA_OIF, &lo, sizeof(lo));
	netlink_end(&n);
	r = netlink_talk(&n, NETLINK_ROUTE, &failed);
	if (r < 0)
		return error_set(e, r, NULL, "cannot %s in the sandbox's network: %s",
			failed == 2 ? "make all addresses local" : "give lo an address",
			strerror(-r));
	return 0;
}

int capture_routes(bool ipv6, struct error *e)
{
	int r = loopback_up();

	if (r < 0)
		return error_set(
			e, r, NULL, "cannot bring up the loopback interface: %s", strerror(-r));
	r = capture_lead_here(AF_INET, SYNTHETIC_SELF_4, e);
	return r == 0 && ipv6 ? capture_lead_here(AF_INET6, SYNTHETIC_SELF_6, e) : r;
}

int capture_refuse_groups(bool ipv6, struct error *e)
{
	static const struct {
		uint8_t family, bits;
		unsigned char bytes[16];
	} groups[] = {
		{ AF_INET, 4, { 0xe0 } },
		{ AF_INET, 32, { 255, 255, 255, 255 } },
		{ AF_INET6, 8, { 0xff } },
	};
	struct netlink n = { .len = 0 };
	int r;

	for (size_t i = 0; i < ROWS(groups); i++) {
		const struct rtmsg route = {
			.rtm_family = groups[i].family,
			.rtm_dst_len = groups[i].bits,
			.rtm_table = RT_TABLE_LOCAL,
			.rtm_protocol = RTPROT_BOOT,
			.rtm_scope = RT_SCOPE_UNIVERSE,
			.rtm_type = RTN_UNREACHABLE,
		};

		if (groups[i].family == AF_INET6 && !ipv6)
			continue;
		netlink_begin(&n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK);
		netlink_add(&n, &route, sizeof(route));
		netlink_attribute(
			&n, RTA_DST, groups[i].bytes, groups[i].family == AF_INET ? 4 : 16);
		netlink_end(&n);
	}
	r = netlink_talk(&n, NETLINK_ROUTE, NULL);
	return r < 0 ? error_set(e, r, NULL,
			       "cannot make multicast unreachable in the sandbox's network: %s",
			       strerror(-r))
		     : 0;
}

/* Rules. */

enum capture_chain { FREE, OUT, GROUP, IN, CHAIN_COUNT };

static const struct nft_chain chains[CHAIN_COUNT] = {
	/* Before connections are tracked, which is at -200. */
	[FREE] = { "free", "filter", NF_INET_LOCAL_OUT, -300 },
	[OUT] = { "out", "nat", NF_INET_LOCAL_OUT, -100 },
	/* After names were led to their server. */
	[GROUP] = { "group", "route", NF_INET_LOCAL_OUT, -50 },
	[IN] = { "in", "filter", NF_INET_PRE_ROUTING, -150 },
};

enum action { ACCEPT, UNTRACKED, REDIRECT, PROXY, MOVE_GROUP };

struct capture_rule {
	enum capture_chain chain;
	/* Conditions; zero: any. */
	uint8_t family; /* NFPROTO_IPV4 … */
	const char *to; /* the destination's first to_len bytes; family is set */
	uint8_t to_len;
	uint8_t protocol; /* IPPROTO_TCP … */
	uint16_t from_port, to_port;
	uint16_t to_last; /* of a range that begins at to_port */
	uint32_t mark;
	bool group; /* the destination is a multicast group; family is set */
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

static const struct capture_rule rules[] = {
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

#define TO_GROUPS .mark = CAPTURE_GROUP_MARK, .action = PROXY, .port = CAPTURE_GROUP_PORT

static const struct capture_rule udp_rules[] = {
	{ GROUP, V4, UDP, .group = true, .action = MOVE_GROUP },
	{ GROUP, V6, UDP, .group = true, .action = MOVE_GROUP },

	{ IN, .mark = CAPTURE_MARK },
	{ IN, V4, UDP, TO_GROUPS },
	{ IN, V6, UDP, TO_GROUPS },
	{ IN, LOOPBACK_4 },
	{ IN, LOOPBACK_6 },
	{ IN, SELF_4 },
	{ IN, SELF_6 },
	{ IN, V4, UDP, .action = PROXY, .port = CAPTURE_PORT },
	{ IN, V6, UDP, .action = PROXY, .port = CAPTURE_PORT },
};

static void capture_add_rule(struct netlink *n, const struct capture_rule *r, bool ipv6)
{
	size_t nest;

	if (!ipv6 && r->family == NFPROTO_IPV6)
		return;
	nest = nft_rule(n, chains[r->chain].name);
	if (r->mark)
		nft_is_mark(n, r->mark);
	if (r->family)
		nft_is_family(n, r->family);
	if (r->to)
		nft_is_to(n, r->family, r->to, r->to_len);
	if (r->group)
		nft_is_group(n, r->family);
	if (r->protocol)
		nft_is_protocol(n, r->protocol);
	if (r->from_port)
		nft_is_from_port(n, r->from_port);
	if (r->to_port)
		nft_is_to_ports(n, r->to_port, r->to_last ? r->to_last : r->to_port);
	if (r->action == REDIRECT)
		nft_redirect(n, r->port);
	if (r->action == PROXY)
		nft_proxy(n, r->family, r->port);
	if (r->action == MOVE_GROUP) {
		nft_flip_to(n, r->family,
			r->family == NFPROTO_IPV4 ? CAPTURE_GROUP_BITS_4 : CAPTURE_GROUP_BITS_6);
		nft_set_mark(n, CAPTURE_GROUP_MARK);
	}
	if (r->action == UNTRACKED)
		nft_untrack(n);
	if (r->action != REDIRECT)
		nft_accept(n);
	nft_rule_end(n, nest);
}

static void capture_add_rules(
	struct netlink *n, const struct capture_rule *from, size_t count, bool ipv6)
{
	for (size_t i = 0; i < count; i++)
		capture_add_rule(n, &from[i], ipv6);
}

/* The sockets by which the relay finds out whether a server inside listens. */
static const struct capture_rule own = { FREE, .mark = CAPTURE_MARK, .action = UNTRACKED };

int capture_rules(const struct capture_options *o, bool ipv6, struct error *e)
{
	struct netlink n = { .len = 0 };
	int r;

	nft_begin(&n);
	nft_table(&n);
	nft_chain(&n, &chains[FREE]);
	nft_chain(&n, &chains[OUT]);
	capture_add_rule(&n, &own, ipv6);
	/* In front of all others, so that they count although they are about loopback. */
	for (size_t i = 0; i < o->n_loopback; i++) {
		const struct capture_ports *p = &o->loopback[i];
		const struct capture_rule both[] = {
			{ FREE, LOOPBACK_4, TCP, .to_port = p->lo, .to_last = p->hi },
			{ OUT, LOOPBACK_4, TCP, .to_port = p->lo, .to_last = p->hi, TO_RELAY },
			{ FREE, LOOPBACK_6, TCP, .to_port = p->lo, .to_last = p->hi },
			{ OUT, LOOPBACK_6, TCP, .to_port = p->lo, .to_last = p->hi, TO_RELAY },
		};

		if (p->v4)
			capture_add_rules(&n, both, 2, ipv6);
		if (p->v6)
			capture_add_rules(&n, both + 2, 2, ipv6);
	}
	capture_add_rules(&n, rules, ROWS(rules), ipv6);
	r = nft_commit(&n);
	if (r == 0)
		return 0;
	(void)error_set(e, r, NULL, "cannot redirect connections to the relay with nf_tables: %s",
		strerror(-r));
	error_hint(e, "run `corral doctor` to see what the kernel lacks");
	return r;
}

int capture_rules_udp(bool ipv6, struct error *e)
{
	struct netlink n = { .len = 0 };
	int r;

	nft_begin(&n);
	nft_chain(&n, &chains[GROUP]);
	nft_chain(&n, &chains[IN]);
	capture_add_rules(&n, udp_rules, ROWS(udp_rules), ipv6);
	r = nft_commit(&n);
	if (r == 0)
		return 0;
	return error_set(e, r, NULL, "cannot redirect datagrams to the relay with nf_tables: %s",
		strerror(-r));
}
