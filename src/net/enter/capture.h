/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A network namespace in which every address is here: routes that make all of IPv4 and IPv6 local,
 * and rules of nf_tables that lead each connection to the relay's listeners, whatever address and
 * port it was for. The accepted socket tells where it was meant to go (capture_destination), so
 * there is nothing that a program could say wrong.
 *
 *     tcp  port 53, any address            -> 127.0.0.1:2, [::1]:2   the name server
 *     udp  port 53, any address            -> the same
 *     tcp  anything else                   -> 127.0.0.1:1, [::1]:1   the relay
 *     udp  a multicast group               -> 127.0.0.1:3, [::1]:3   the relay, by tproxy
 *     udp  anything else                   -> 127.0.0.1:1, [::1]:1   the same
 *     127.0.0.0/8, ::1, the sandbox's own address: left alone, but for port 53 of 127.0.0.53 and
 *     127.0.0.11, where the resolvers of systemd and Docker are
 *
 * capture_open() is called by the zygote inside, while it has the capabilities for that; the
 * sockets go to the relay outside.
 *
 * Without nf_tables nothing is led anywhere. The relay then has to listen at each address and port
 * itself, the name server too, and everything else is refused by the kernel, since no server is
 * there: capture_open_lazy(), and listeners.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"
#include "policy/network/address.h"

enum capture_socket {
	CAPTURE_TCP_4, /* listening */
	CAPTURE_TCP_6,
	CAPTURE_DNS_TCP_4, /* listening */
	CAPTURE_DNS_TCP_6,
	CAPTURE_DNS_UDP_4,
	CAPTURE_DNS_UDP_6,
	CAPTURE_UDP_4, /* transparent: capture_udp_receive() */
	CAPTURE_UDP_6,
	CAPTURE_RAW_4, /* for packets with headers of our own (packet.h), marked to be left alone */
	CAPTURE_RAW_6,
	CAPTURE_GROUP_4, /* transparent, for multicast groups: capture_group() */
	CAPTURE_GROUP_6,
	/* Only without rules: the name server where systemd's and Docker's resolvers are. */
	CAPTURE_SYSTEMD_TCP,
	CAPTURE_DOCKER_TCP,
	CAPTURE_SYSTEMD_UDP,
	CAPTURE_DOCKER_UDP,
	CAPTURE_COUNT,
};

/* Ports of the host's loopback that are granted: what goes there is led to the relay, too. */
struct capture_ports {
	uint16_t lo, hi;
	bool v4, v6; /* of 127.0.0.0/8, of ::1 */
};

struct capture_options {
	const struct capture_ports *loopback;
	size_t n_loopback;
};

/*
 * All sockets are non-blocking and close-on-exec; -1 where the kernel has no IPv6, or (UDP, RAW,
 * GROUP) no tproxy. -EOPNOTSUPP: no nf_tables.
 */
int capture_open(const struct capture_options *o, int ret[CAPTURE_COUNT], struct error *e);

/*
 * After capture_open() gave -EOPNOTSUPP: all but the rules. There is a name server at the address
 * in the sandbox's resolv.conf, and at those of systemd's and Docker's resolvers. No other socket
 * is there.
 */
int capture_open_lazy(int ret[CAPTURE_COUNT], struct error *e);
/* A TCP socket that capture_listen() takes, once, anywhere. family: AF_INET or AF_INET6. */
int capture_listener(int family);
/* Listens there. -EADDRINUSE: a server inside has that port. */
int capture_listen(int fd, const struct address *a, uint16_t port);

/* A TCP socket to reach servers inside, marked so that it is not led to the relay itself. */
int capture_inner(int family);

/*
 * Where an accepted connection was meant to go. -ENOENT: no rule led it here, it was made to the
 * listener itself. A listener that stands elsewhere than on loopback stands where connections are
 * meant to go.
 */
int capture_destination(int fd, struct address *ret, uint16_t *ret_port);

/* 127.0.0.0/8 or ::1. */
bool capture_is_loopback(const struct address *a);
/* Of 127.0.0.1 and ::1 inside: the relay's listeners have it, so no server inside can. */
bool capture_is_own_port(uint16_t port);

/* A datagram, who sent it, and where it was meant to go. Addresses as they are, not plain. */
struct capture_datagram {
	struct address from, to;
	uint16_t from_port, to_port;
};
/* The length; -EAGAIN. A longer one than size is -EMSGSIZE. */
ssize_t capture_udp_receive(int fd, struct capture_datagram *ret, void *data, size_t size);
/*
 * What comes by CAPTURE_GROUP_* was sent to a multicast group, and has another destination by now:
 * the group. Any other address was sent to the socket itself, and is unchanged.
 */
struct address capture_group(const struct address *moved);
bool capture_is_group(const struct address *a);
