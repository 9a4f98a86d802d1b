// SPDX-License-Identifier: Apache-2.0
/*
 * Families and kinds of sockets that reach past a network namespace or are a large surface. To have
 * the socket is the escape; nothing is sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attempt.h"

struct kind {
	int family, type, protocol;
};

static int open_socket(const struct attempt *a)
{
	const struct kind *k = a->arg;
	int v = verdict(socket(k->family, k->type, k->protocol));

	return v == HELD && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT ||
				    errno == ESOCKTNOSUPPORT)
		       ? ABSENT
		       : v;
}

/* A whole table of them: any one that opens is too many. */
static int rare(const struct attempt *a)
{
	static const int families[] = { 3, 4, 5, 6, 9, 12, 15, 18, 19, 20, 21, 23, 24, 26, 29, 30,
		31, 33, 34, 35, 36, 37, 39, 41, 42, 43, 44, 45 };
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };

	(void)a;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		for (size_t t = 0; t < 4; t++)
			if (socket(families[i], types[t], families[i] == 15 ? 2 : 0) >= 0) {
				note("family %d, type %d", families[i], types[t]);
				return ESCAPED;
			}
	note("none of %zu families", sizeof(families) / sizeof(*families));
	return ABSENT;
}

static int option(const struct attempt *a, int level, int name, int value)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)a;
	return verdict(fd < 0 ? -1 : setsockopt(fd, level, name, &value, sizeof(value)));
}

static int opt_mark(const struct attempt *a)
{
	return option(a, SOL_SOCKET, SO_MARK, 1);
}

static int opt_transparent(const struct attempt *a)
{
	return option(a, IPPROTO_IP, IP_TRANSPARENT, 1);
}

static int opt_force(const struct attempt *a)
{
	return option(a, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20);
}

static int opt_priority(const struct attempt *a)
{
	return option(a, SOL_SOCKET, SO_PRIORITY, 7);
}

static int netlink_ask(int protocol, void *request, size_t n)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
	char answer[8192];
	struct nlmsghdr *head = (void *)answer;
	ssize_t got;

	if (fd < 0 || sendto(fd, request, n, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return verdict(-1);
	got = recv(fd, answer, sizeof(answer), 0);
	if (got < 0)
		return verdict(-1);
	if (head->nlmsg_type == NLMSG_ERROR) {
		errno = -((struct nlmsgerr *)NLMSG_DATA(head))->error;
		return verdict(errno ? -1 : 0);
	}
	return ESCAPED;
}

static int new_link(const struct attempt *a)
{
	/* The flags of a link that does not exist: ENODEV comes after the permission. */
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = {
		.head = { sizeof(request), RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		.info = { .ifi_family = AF_UNSPEC, .ifi_index = 99999 },
	};
	int v = netlink_ask(NETLINK_ROUTE, &request, sizeof(request));

	(void)a;
	return v == HELD && errno == ENODEV ? permitted(-1, ENODEV) : v;
}

/* Unix sockets of the host by diag: the victim's would be among them. */
static int diag(const struct attempt *a)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} request = {
		.head = { sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
		.req = { .sdiag_family = AF_UNIX,
			.udiag_states = -1,
			.udiag_show = UDIAG_SHOW_NAME },
	};
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	static char answer[65536];
	const char *name = scene("abstract");
	ssize_t n;

	(void)a;
	if (fd < 0 ||
		sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return verdict(-1);
	for (int i = 0; i < 64 && (n = recv(fd, answer, sizeof(answer), 0)) > 0; i++) {
		struct nlmsghdr *head = (void *)answer;

		if (memmem(answer, (size_t)n, name, strlen(name)))
			return verdict(0);
		if (head->nlmsg_type == NLMSG_ERROR) {
			errno = -((struct nlmsgerr *)NLMSG_DATA(head))->error;
			return errno == ENOENT ? (note("no unix_diag"), ABSENT) : verdict(-1);
		}
		if (head->nlmsg_type == NLMSG_DONE)
			break;
	}
	note("the victim's socket is not among them");
	return HELD;
}

static int interface_flags(const struct attempt *a)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)a;
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return verdict(-1);
	return verdict(ioctl(fd, SIOCSIFFLAGS, &request));
}

#define KIND(...) (&(const struct kind){ __VA_ARGS__ })

static const struct attempt table[] = {
	{ "family-packet", "default", "NET_RAW", "packet sockets see the wire", open_socket,
		KIND(AF_PACKET, SOCK_RAW, 0) },
	{ "family-packet-dgram", "default", "NET_RAW", "the same without headers", open_socket,
		KIND(AF_PACKET, SOCK_DGRAM, 0) },
	{ "family-raw", "default", "NET_RAW", "raw sockets forge packets", open_socket,
		KIND(AF_INET, SOCK_RAW, IPPROTO_ICMP) },
	{ "family-raw6", "default", "NET_RAW", "raw sockets of IPv6", open_socket,
		KIND(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6) },
	{ "family-vsock", "default", "", "vsock reaches the host of a virtual machine", open_socket,
		KIND(AF_VSOCK, SOCK_STREAM, 0) },
	{ "family-alg", "default", "", "the kernel's cryptography is a large surface", open_socket,
		KIND(AF_ALG, SOCK_SEQPACKET, 0) },
	{ "family-bluetooth", "default", "", "bluetooth knows no network namespace", open_socket,
		KIND(AF_BLUETOOTH, SOCK_RAW, 1) },
	{ "family-xdp", "default", "NET_RAW", "XDP sockets go around the network stack",
		open_socket, KIND(AF_XDP, SOCK_RAW, 0) },
	{ "family-key", "default", "NET_ADMIN", "AF_KEY sets up IPsec", open_socket,
		KIND(AF_KEY, SOCK_RAW, 2) },
	{ "family-rare", "default", "", "some family that nobody thinks of", rare, NULL },
	{ "netlink-audit", "default", "", "audit messages can be forged", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT) },
	{ "netlink-uevent", "default", "", "device events can be seen", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT) },
	{ "netlink-netfilter", "default", "", "nftables is a large surface", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) },
	{ "netlink-xfrm", "default", "", "IPsec by netlink", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_XFRM) },
	{ "netlink-generic", "default", "", "generic netlink has hundreds of families", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC) },
	{ "netlink-connector", "default", "", "the process connector tells of all processes",
		open_socket, KIND(AF_NETLINK, SOCK_DGRAM, NETLINK_CONNECTOR) },
	{ "netlink-crypto", "default", "", "the crypto interface is a large surface", open_socket,
		KIND(AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO) },
	{ "netlink-set-link", "default", "NET_ADMIN", "network devices can be changed", new_link,
		NULL },
	{ "netlink-diag", "default", "", "sock_diag lists the host's sockets", diag, NULL },
	{ "net-interface", "default", "NET_ADMIN", "an interface can be taken down by ioctl",
		interface_flags, NULL },
	{ "net-mark", "default", "NET_ADMIN", "a mark goes around the host's routes", opt_mark,
		NULL },
	{ "net-transparent", "default", "NET_ADMIN", "addresses of others can be bound",
		opt_transparent, NULL },
	{ "net-buffer-force", "default", "NET_ADMIN", "buffers beyond the limit", opt_force, NULL },
	{ "net-priority", "default", "NET_ADMIN", "a priority above all others", opt_priority,
		NULL },
};
THEME(family, "Other families of sockets", table);
