/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and routes. The sandbox has an address of either family that is not a loopback one:
 * without it, C libraries would not even ask for addresses of that family (AI_ADDRCONFIG). One
 * route of type local for each family makes every other address one of this machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/userns.h"
#include "jail/netlink.h"
#include "net/enter/internal.h"
#include "net/dns/synthetic.h"

struct family {
	int number;
	uint8_t bits;
	const char *self;
};

static const struct family v4 = { AF_INET, 32, SYNTHETIC_SELF_4 },
			   v6 = { AF_INET6, 128, SYNTHETIC_SELF_6 };

static void capture_routes_add_address(
	struct netlink *n, const struct family *f, unsigned lo, const unsigned char *self)
{
	const struct ifaddrmsg header = {
		.ifa_family = (uint8_t)f->number,
		.ifa_prefixlen = f->bits,
		.ifa_flags = f->number == AF_INET6 ? IFA_F_NODAD : 0,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = lo,
	};

	netlink_begin(n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK);
	netlink_add(n, &header, sizeof(header));
	netlink_attribute(n, IFA_LOCAL, self, f->bits / 8);
	netlink_attribute(n, IFA_ADDRESS, self, f->bits / 8);
	netlink_end(n);
}

static void add_route(
	struct netlink *n, const struct family *f, unsigned lo, const unsigned char *self)
{
	const struct rtmsg header = {
		.rtm_family = (uint8_t)f->number,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	const uint32_t index = lo;

	netlink_begin(n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK);
	netlink_add(n, &header, sizeof(header));
	netlink_attribute(n, RTA_PREFSRC, self, f->bits / 8);
	netlink_attribute(n, RTA_OIF, &index, sizeof(index));
	netlink_end(n);
}

static int lead_here(const struct family *f, struct error *e)
{
	struct netlink n = { .len = 0 };
	unsigned char self[16];
	unsigned lo = if_nametoindex("lo");
	uint32_t failed = 0;
	int r;

	if (lo == 0)
		return error_set(e, -errno, NULL, "there is no loopback interface");
	if (inet_pton(f->number, f->self, self) != 1)
		return -EINVAL;
	capture_routes_add_address(&n, f, lo, self);
	add_route(&n, f, lo, self);
	r = netlink_talk(&n, NETLINK_ROUTE, &failed);
	if (r < 0)
		return error_set(e, r, NULL, "cannot %s in the sandbox's network: %s",
			failed == 2 ? "make all addresses local" : "give lo an address",
			strerror(-r));
	return 0;
}

int capture_routes(struct error *e)
{
	int r = loopback_up();

	if (r < 0)
		return error_set(
			e, r, NULL, "cannot bring up the loopback interface: %s", strerror(-r));
	return lead_here(&v4, e);
}

int capture_routes_6(struct error *e)
{
	return lead_here(&v6, e);
}
