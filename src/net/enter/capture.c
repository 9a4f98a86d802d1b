/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets. They are a table: what each one is, and what it needs to be told. The order of the
 * steps is that of their needs: settings of a module are there once a rule has brought it in.
 */
#include "net/enter/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/enter/internal.h"

enum {
	BACKLOG = 4096,
	RECEIVE_BYTES = 4 << 20,
	ORIGINAL_DST = 80, /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST of netfilter */
};

union name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct endpoint {
	struct address address;
	uint16_t port;
};

static const struct socket_kind {
	const char *what;
	int family, type;
	uint16_t port;    /* 0: raw */
	bool transparent; /* takes what tproxy leads to it */
	bool needs_proxy;
} kinds[CAPTURE_COUNT] = {
	[CAPTURE_TCP_4] = { "TCP", AF_INET, SOCK_STREAM, CAPTURE_PORT, false, false },
	[CAPTURE_TCP_6] = { "TCP", AF_INET6, SOCK_STREAM, CAPTURE_PORT, false, false },
	[CAPTURE_DNS_TCP_4] = { "DNS over TCP", AF_INET, SOCK_STREAM, CAPTURE_DNS_PORT, false,
		false },
	[CAPTURE_DNS_TCP_6] = { "DNS over TCP", AF_INET6, SOCK_STREAM, CAPTURE_DNS_PORT, false,
		false },
	[CAPTURE_DNS_UDP_4] = { "DNS", AF_INET, SOCK_DGRAM, CAPTURE_DNS_PORT, false, false },
	[CAPTURE_DNS_UDP_6] = { "DNS", AF_INET6, SOCK_DGRAM, CAPTURE_DNS_PORT, false, false },
	[CAPTURE_UDP_4] = { "UDP", AF_INET, SOCK_DGRAM, CAPTURE_PORT, true, true },
	[CAPTURE_UDP_6] = { "UDP", AF_INET6, SOCK_DGRAM, CAPTURE_PORT, true, true },
	[CAPTURE_RAW_4] = { "UDP answers", AF_INET, SOCK_RAW, 0, false, true },
	[CAPTURE_RAW_6] = { "UDP answers", AF_INET6, SOCK_RAW, 0, false, true },
};

static int turn_on(int fd, int level, int option)
{
	return setsockopt(fd, level, option, &(int){ 1 }, sizeof(int)) < 0 ? -errno : 0;
}

static int make_transparent(int fd, int family)
{
	const bool is_6 = family == AF_INET6;
	int r = is_6 ? turn_on(fd, SOL_IPV6, IPV6_TRANSPARENT)
		     : turn_on(fd, SOL_IP, IP_TRANSPARENT);

	if (r == 0)
		r = is_6 ? turn_on(fd, SOL_IPV6, IPV6_RECVORIGDSTADDR)
			 : turn_on(fd, SOL_IP, IP_RECVORIGDSTADDR);
	return r;
}

static int bind_here(int fd, const struct socket_kind *k)
{
	union name name = { .v4 = { .sin_family = AF_INET,
				    .sin_port = htons(k->port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(name.v4);

	if (k->family == AF_INET6) {
		name.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
			.sin6_port = htons(k->port),
			.sin6_addr = IN6ADDR_LOOPBACK_INIT };
		len = sizeof(name.v6);
	}
	return bind(fd, &name.any, len) < 0 ? -errno : 0;
}

/* More room for bursts, as far as the kernel gives it. */
static void capture_make_room(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ RECEIVE_BYTES }, sizeof(int));
}

static int capture_mark(int fd)
{
	return setsockopt(fd, SOL_SOCKET, SO_MARK, &(int){ CAPTURE_MARK }, sizeof(int)) < 0 ? -errno
											    : 0;
}

static int capture_set_up(int fd, const struct socket_kind *k)
{
	int r = 0;

	if (k->type == SOCK_RAW)
		return capture_mark(fd);
	if (k->family == AF_INET6)
		r = turn_on(fd, SOL_IPV6, IPV6_V6ONLY);
	if (r == 0 && k->transparent)
		r = make_transparent(fd, k->family);
	if (r == 0)
		r = bind_here(fd, k);
	if (r == 0 && k->type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0 && k->type == SOCK_DGRAM)
		capture_make_room(fd);
	return r;
}

static int capture_open_socket(const struct socket_kind *k)
{
	auto_fd fd = socket(k->family, k->type | SOCK_CLOEXEC | SOCK_NONBLOCK,
		k->type == SOCK_RAW ? IPPROTO_RAW : 0);
	int r = fd < 0 ? -errno : capture_set_up(fd, k);

	return r < 0 ? r : fd_take(&fd);
}

static void close_all(int fds[CAPTURE_COUNT])
{
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fd_close(&fds[i]);
}

static int open_sockets(int ret[CAPTURE_COUNT], bool ipv6, bool proxy, struct error *e)
{
	int fds[CAPTURE_COUNT];

	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fds[i] = -1;
	for (size_t i = 0; i < CAPTURE_COUNT; i++) {
		const struct socket_kind *k = &kinds[i];

		if (!k->what || (k->family == AF_INET6 && !ipv6) || (k->needs_proxy && !proxy))
			continue;
		int r = fds[i] = capture_open_socket(k);
		if (r < 0) {
			close_all(fds);
			return error_set(e, r, NULL,
				"cannot make the relay's socket for %s (%s): %s", k->what,
				k->family == AF_INET6 ? "IPv6" : "IPv4", strerror(-r));
		}
	}
	memcpy(ret, fds, sizeof(fds));
	return 0;
}

/* Without them there is no UDP: nobody listens, so the kernel refuses it. 1: they are there. */
static int lead_udp(bool ipv6, struct error *e)
{
	struct error missing = { 0 };
	int r = capture_rules_udp(ipv6, &missing);

	if (r < 0 && r != -EOPNOTSUPP && e)
		*e = missing;
	return r == 0 ? 1 : r == -EOPNOTSUPP ? 0 : r;
}

int capture_open(const struct capture_options *o, int ret[CAPTURE_COUNT], struct error *e)
{
	bool ipv6 = capture_settings_ipv6();
	int r = capture_routes(e);
	int udp;

	if (r == 0 && ipv6)
		r = capture_routes_6(e);
	if (r == 0)
		r = capture_rules(o, ipv6, e);
	if (r < 0)
		return r;
	udp = lead_udp(ipv6, e);
	r = udp < 0 ? udp : capture_settings(e);
	return r < 0 ? r : open_sockets(ret, ipv6, udp > 0, e);
}

int capture_inner(int family)
{
	auto_fd fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : capture_mark(fd);

	return r < 0 ? r : fd_take(&fd);
}

static bool capture_is_loopback(const struct address *a)
{
	static const struct address v6 = { 128, { [15] = 1 } };

	return a->bits == 32 ? a->bytes[0] == 127 : address_equal(a, &v6);
}

/* false: it is of no such family. */
static bool capture_read_name(const union name *n, struct address *ret, uint16_t *ret_port)
{
	if (n->any.sa_family == AF_INET) {
		*ret = (struct address){ .bits = 32 };
		memcpy(ret->bytes, &n->v4.sin_addr, 4);
		*ret_port = ntohs(n->v4.sin_port);
		return true;
	}
	if (n->any.sa_family != AF_INET6)
		return false;
	*ret = (struct address){ .bits = 128 };
	memcpy(ret->bytes, &n->v6.sin6_addr, 16);
	*ret_port = ntohs(n->v6.sin6_port);
	return true;
}

/* Where it was meant to go before it was led to the listener. */
static int find_led(int fd, const struct endpoint *here, struct endpoint *ret)
{
	const int level = here->address.bits == 32 ? SOL_IP : SOL_IPV6;
	union name meant = { 0 };
	socklen_t len = sizeof(meant);
	struct endpoint e;

	if (getsockopt(fd, level, ORIGINAL_DST, &meant, &len) < 0)
		return -errno;
	if (!capture_read_name(&meant, &e.address, &e.port))
		return -EAFNOSUPPORT;
	if (e.port == here->port && address_equal(&e.address, &here->address))
		return -ENOENT;
	*ret = e;
	return 0;
}

int capture_destination(int fd, struct address *ret, uint16_t *ret_port)
{
	union name name = { 0 };
	socklen_t len = sizeof(name);
	struct endpoint e;
	int r = 0;

	if (getsockname(fd, &name.any, &len) < 0)
		return -errno;
	if (!capture_read_name(&name, &e.address, &e.port))
		return -EAFNOSUPPORT;
	if (name.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&name.v6.sin6_addr))
		e.address = address_plain(&e.address);
	if (capture_is_loopback(&e.address))
		r = find_led(fd, &e, &e);
	if (r == 0) {
		*ret = e.address;
		*ret_port = e.port;
	}
	return r;
}

/* Where the datagram was meant to go, out of what came beside it. */
static bool find_original(struct msghdr *m, union name *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		bool is_4 = c->cmsg_level == SOL_IP && c->cmsg_type == IP_ORIGDSTADDR &&
			    c->cmsg_len >= CMSG_LEN(sizeof(ret->v4));
		bool is_6 = c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR &&
			    c->cmsg_len >= CMSG_LEN(sizeof(ret->v6));

		if (!is_4 && !is_6)
			continue;
		memcpy(ret, CMSG_DATA(c), is_4 ? sizeof(ret->v4) : sizeof(ret->v6));
		return true;
	}
	return false;
}

ssize_t capture_udp_receive(int fd, struct capture_datagram *ret, void *data, size_t size)
{
	_Alignas(8) char control[256];
	union name from = { 0 }, to = { 0 };
	struct iovec part = { data, size };
	struct msghdr m = { .msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct capture_datagram d;
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (m.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if (!find_original(&m, &to) || !capture_read_name(&from, &d.from, &d.from_port) ||
		!capture_read_name(&to, &d.to, &d.to_port))
		return -EPROTO;
	*ret = d;
	return n;
}
