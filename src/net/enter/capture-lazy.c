/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same namespace without rules. All addresses are local, so a socket may stand at any of them;
 * where none does, the kernel refuses at once. Nothing is bound to a wildcard: that would take the
 * port from every server inside.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/enter/internal.h"
#include "net/endpoint.h"
#include "net/dns/synthetic.h"

enum { DNS_PORT = 53, BACKLOG = 4096 };

static int bind_to(int fd, const struct address *a, uint16_t port)
{
	union endpoint name;
	socklen_t len = endpoint_fill(&name, a, port);

	return bind(fd, &name.any, len) < 0 ? -errno : 0;
}

/* For IPv6 an address that is only routed to us counts as foreign. */
static int make_free(int fd, int family)
{
	const int on = 1;

	if (family == AF_INET6 &&
		(setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0 ||
			setsockopt(fd, SOL_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0))
		return -errno;
	return 0;
}

static int open_unbound(int family, int type)
{
	auto_fd fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : make_free(fd, family);

	return r < 0 ? r : fd_take(&fd);
}

int capture_listener(int family)
{
	return open_unbound(family, SOCK_STREAM);
}

int capture_listen(int fd, const struct address *a, uint16_t port)
{
	int r = bind_to(fd, a, port);

	return r == 0 && listen(fd, BACKLOG) < 0 ? -errno : r;
}

/* The name server. */

static int open_server(int type, const struct address *a)
{
	auto_fd fd = open_unbound(a->bits == 32 ? AF_INET : AF_INET6, type);
	int r = fd;

	if (r >= 0)
		r = type == SOCK_STREAM ? capture_listen(fd, a, DNS_PORT)
					: bind_to(fd, a, DNS_PORT);
	return r < 0 ? r : fd_take(&fd);
}

static int open_servers(const struct address *a, int *ret_tcp, int *ret_udp)
{
	auto_fd tcp = open_server(SOCK_STREAM, a);
	auto_fd udp = tcp < 0 ? tcp : open_server(SOCK_DGRAM, a);

	if (udp < 0)
		return udp;
	*ret_tcp = fd_take(&tcp);
	*ret_udp = fd_take(&udp);
	return 0;
}

static const struct {
	const char *address;
	int tcp, udp;
} servers[] = {
	{ SYNTHETIC_SERVER_4, CAPTURE_DNS_TCP_4, CAPTURE_DNS_UDP_4 },
	{ SYNTHETIC_SERVER_6, CAPTURE_DNS_TCP_6, CAPTURE_DNS_UDP_6 },
	{ "127.0.0.53", CAPTURE_SYSTEMD_TCP, CAPTURE_SYSTEMD_UDP },
	{ "127.0.0.11", CAPTURE_DOCKER_TCP, CAPTURE_DOCKER_UDP },
};

static int open_all(int fds[CAPTURE_COUNT], bool ipv6, struct error *e)
{
	for (size_t i = 0; i < ROWS(servers); i++) {
		const char *text = servers[i].address;
		struct address a;
		int r = address_parse(text, strlen(text), &a);

		if (r == 0 && (a.bits == 32 || ipv6))
			r = open_servers(&a, &fds[servers[i].tcp], &fds[servers[i].udp]);
		if (r < 0)
			return error_set(e, r, NULL,
				"cannot make the socket of the name server at %s: %s", text,
				strerror(-r));
	}
	return 0;
}

int capture_open_lazy(int ret[CAPTURE_COUNT], struct error *e)
{
	int fds[CAPTURE_COUNT];
	int r = capture_settings(e);

	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fds[i] = -1;
	if (r == 0)
		r = open_all(fds, capture_settings_ipv6(), e);
	if (r == 0) {
		memcpy(ret, fds, sizeof(fds));
		return 0;
	}
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fd_close(&fds[i]);
	return r;
}
