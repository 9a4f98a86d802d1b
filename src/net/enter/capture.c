/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets. Those that rules lead to are a table: what each one is, and what it needs to be
 * told. The order of the steps is that of their needs: settings of a module are there once a rule
 * has brought it in.
 */
#include "net/enter/capture.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/dns/synthetic.h"
#include "net/endpoint.h"
#include "net/enter/internal.h"

enum {
	BACKLOG = 4096,
	RECEIVE_BYTES = 4 << 20,
	ORIGINAL_DST = 80, /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST of netfilter */
	DNS_PORT = 53,
};

static const struct capture_kind {
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
	[CAPTURE_GROUP_4] = { "multicast", AF_INET, SOCK_DGRAM, CAPTURE_GROUP_PORT, true, true },
	[CAPTURE_GROUP_6] = { "multicast", AF_INET6, SOCK_DGRAM, CAPTURE_GROUP_PORT, true, true },
	[CAPTURE_RAW_4] = { "UDP answers", AF_INET, SOCK_RAW, 0, false, true },
	[CAPTURE_RAW_6] = { "UDP answers", AF_INET6, SOCK_RAW, 0, false, true },
};

static int capture_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int capture_set_up(int fd, const struct capture_kind *k)
{
	const bool is_6 = k->family == AF_INET6;
	const int level = is_6 ? SOL_IPV6 : SOL_IP;
	union endpoint here;
	int r = 0;

	if (k->type == SOCK_RAW)
		return capture_set(fd, SOL_SOCKET, SO_MARK, CAPTURE_MARK);
	if (is_6)
		r = capture_set(fd, SOL_IPV6, IPV6_V6ONLY, 1);
	if (r == 0 && k->transparent)
		r = capture_set(fd, level, is_6 ? IPV6_TRANSPARENT : IP_TRANSPARENT, 1);
	if (r == 0 && k->transparent)
		r = capture_set(fd, level, is_6 ? IPV6_RECVORIGDSTADDR : IP_RECVORIGDSTADDR, 1);
	if (r == 0 && bind(fd, &here.any, endpoint_loopback(&here, k->family, k->port)) < 0)
		r = -errno;
	if (r == 0 && k->type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		r = -errno;
	/* More room for bursts, as far as the kernel gives it. */
	if (r == 0 && k->type == SOCK_DGRAM)
		(void)capture_set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES);
	return r;
}

static int capture_open_sockets(int fds[CAPTURE_COUNT], bool ipv6, bool proxy, struct error *e)
{
	for (size_t i = 0; i < CAPTURE_COUNT; i++) {
		const struct capture_kind *k = &kinds[i];
		int r;

		if (!k->what || (k->family == AF_INET6 && !ipv6) || (k->needs_proxy && !proxy))
			continue;
		fds[i] = socket(k->family, k->type | SOCK_CLOEXEC | SOCK_NONBLOCK,
			k->type == SOCK_RAW ? IPPROTO_RAW : 0);
		r = fds[i] < 0 ? -errno : capture_set_up(fds[i], k);
		if (r < 0)
			return error_set(e, r, NULL,
				"cannot make the relay's socket for %s (%s): %s", k->what,
				k->family == AF_INET6 ? "IPv6" : "IPv4", strerror(-r));
	}
	return 0;
}

/* Gives the sockets away, or closes them if something went wrong. */
static int capture_finish(int fds[CAPTURE_COUNT], int ret[CAPTURE_COUNT], int r)
{
	if (r == 0)
		memcpy(ret, fds, CAPTURE_COUNT * sizeof(*ret));
	for (size_t i = 0; r < 0 && i < CAPTURE_COUNT; i++)
		fd_close(&fds[i]);
	return r;
}

int capture_open(const struct capture_options *o, int ret[CAPTURE_COUNT], struct error *e)
{
	bool ipv6 = capture_turn_on_ipv6(), udp;
	int r = capture_routes(ipv6, e);
	struct error missing = { 0 };
	int fds[CAPTURE_COUNT];

	memset(fds, -1, sizeof(fds));
	if (r == 0)
		r = capture_rules(o, ipv6, e);
	if (r < 0)
		return r;
	/* Without them there is no UDP: no socket listens, so the kernel refuses it. */
	r = capture_rules_udp(ipv6, &missing);
	udp = r == 0;
	if (r < 0 && r != -EOPNOTSUPP) {
		if (e)
			*e = missing;
		return r;
	}
	r = udp ? 0 : capture_refuse_groups(ipv6, e);
	if (r == 0)
		r = capture_settings(e);
	return r < 0 ? r : capture_finish(fds, ret, capture_open_sockets(fds, ipv6, udp, e));
}

int capture_inner(int family)
{
	auto_fd fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : capture_set(fd, SOL_SOCKET, SO_MARK, CAPTURE_MARK);

	return r < 0 ? r : fd_take(&fd);
}

/*
 * The same namespace without rules. All addresses are local, so a socket may stand at any of them;
 * where none does, the kernel refuses at once. Nothing is bound to a wildcard: that would take the
 * port from every server inside.
 */

static int capture_open_unbound(int family, int type)
{
	auto_fd fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && family == AF_INET6)
		r = capture_set(fd, SOL_IPV6, IPV6_V6ONLY, 1);
	/* For IPv6 an address that is only routed to us counts as foreign. */
	if (r == 0 && family == AF_INET6)
		r = capture_set(fd, SOL_IPV6, IPV6_FREEBIND, 1);
	return r < 0 ? r : fd_take(&fd);
}

int capture_listener(int family)
{
	return capture_open_unbound(family, SOCK_STREAM);
}

static int capture_bind(int fd, const struct address *a, uint16_t port)
{
	union endpoint name;
	socklen_t len = endpoint_fill(&name, a, port);

	return bind(fd, &name.any, len) < 0 ? -errno : 0;
}

int capture_listen(int fd, const struct address *a, uint16_t port)
{
	int r = capture_bind(fd, a, port);

	return r == 0 && listen(fd, BACKLOG) < 0 ? -errno : r;
}

/* What is opened is in *ret, also on failure. */
static int capture_open_server(int type, const struct address *a, int *ret)
{
	int fd = capture_open_unbound(a->bits == 32 ? AF_INET : AF_INET6, type);

	if (fd < 0)
		return fd;
	*ret = fd;
	return type == SOCK_STREAM ? capture_listen(fd, a, DNS_PORT)
				   : capture_bind(fd, a, DNS_PORT);
}

static int capture_open_servers(int fds[CAPTURE_COUNT], bool ipv6, struct error *e)
{
	static const struct {
		const char *address;
		int tcp, udp;
	} servers[] = {
		{ SYNTHETIC_SERVER_4, CAPTURE_DNS_TCP_4, CAPTURE_DNS_UDP_4 },
		{ SYNTHETIC_SERVER_6, CAPTURE_DNS_TCP_6, CAPTURE_DNS_UDP_6 },
		{ "127.0.0.53", CAPTURE_SYSTEMD_TCP, CAPTURE_SYSTEMD_UDP },
		{ "127.0.0.11", CAPTURE_DOCKER_TCP, CAPTURE_DOCKER_UDP },
	};

	for (size_t i = 0; i < ROWS(servers); i++) {
		const char *text = servers[i].address;
		struct address a;
		int r = address_parse(text, strlen(text), &a);

		if (r == 0 && a.bits == 128 && !ipv6)
			continue;
		if (r == 0)
			r = capture_open_server(SOCK_STREAM, &a, &fds[servers[i].tcp]);
		if (r == 0)
			r = capture_open_server(SOCK_DGRAM, &a, &fds[servers[i].udp]);
		if (r < 0)
			return error_set(e, r, NULL,
				"cannot make the socket of the name server at %s: %s", text,
				strerror(-r));
	}
	return 0;
}

int capture_open_lazy(int ret[CAPTURE_COUNT], struct error *e)
{
	const bool ipv6 = capture_turn_on_ipv6();
	int fds[CAPTURE_COUNT];
	int r = capture_settings(e);

	memset(fds, -1, sizeof(fds));
	if (r == 0)
		r = capture_refuse_groups(ipv6, e);
	if (r == 0)
		r = capture_open_servers(fds, ipv6, e);
	return capture_finish(fds, ret, r);
}

/* Where things were meant to go. */

bool capture_is_loopback(const struct address *a)
{
	static const struct address v6 = { 128, { [15] = 1 } };

	return a->bits == 32 ? a->bytes[0] == 127 : address_equal(a, &v6);
}

bool capture_is_group(const struct address *a)
{
	return a->bits == 32 ? (a->bytes[0] & 0xf0) == 0xe0 : a->bytes[0] == 0xff;
}

struct address capture_group(const struct address *moved)
{
	struct address a = *moved;

	a.bytes[0] ^= a.bits == 32 ? CAPTURE_GROUP_BITS_4 : CAPTURE_GROUP_BITS_6;
	return capture_is_group(&a) ? a : *moved;
}

bool capture_is_own_port(uint16_t port)
{
	return port == CAPTURE_PORT || port == CAPTURE_DNS_PORT;
}

/* false: it is of no such family. */
static bool capture_read_name(const union endpoint *n, struct address *ret, uint16_t *ret_port)
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

int capture_destination(int fd, struct address *ret, uint16_t *ret_port)
{
	union endpoint name = { 0 }, meant = { 0 };
	socklen_t len = sizeof(name), meant_len = sizeof(meant);
	struct address here, there;
	uint16_t here_port, port;

	if (getsockname(fd, &name.any, &len) < 0)
		return -errno;
	if (!capture_read_name(&name, &here, &here_port))
		return -EAFNOSUPPORT;
	if (name.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&name.v6.sin6_addr))
		here = address_plain(&here);
	if (!capture_is_loopback(&here)) {
		*ret = here;
		*ret_port = here_port;
		return 0;
	}
	/* Before it was led to the listener. */
	if (getsockopt(fd, here.bits == 32 ? SOL_IP : SOL_IPV6, ORIGINAL_DST, &meant, &meant_len) <
		0)
		return -errno;
	if (!capture_read_name(&meant, &there, &port))
		return -EAFNOSUPPORT;
	*ret = there;
	*ret_port = port;
	return 0;
}

/* Where the datagram was meant to go, out of what came beside it. */
static bool capture_find_original(struct msghdr *m, union endpoint *ret)
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
	union endpoint from = { 0 }, to = { 0 };
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
	if (!capture_find_original(&m, &to) || !capture_read_name(&from, &d.from, &d.from_port) ||
		!capture_read_name(&to, &d.to, &d.to_port))
		return -EPROTO;
	*ret = d;
	return n;
}
