/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions by UDP. The answer goes back to the sender from the socket that it came by: the kernel
 * turns it into one of the server that was asked, as it turned the question (capture.h). An answer
 * that cannot be sent at once is lost, as datagrams may be; resolvers ask again.
 */
#include <errno.h>
#include <sys/socket.h>

#include "net/dns/internal.h"

static bool dns_server_udp_receive(struct dns_server *s, int fd)
{
	uint8_t query[DNS_SERVER_QUERY_MAX], reply[DNS_SERVER_REPLY_MAX];
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT | MSG_TRUNC,
		(struct sockaddr *)&from, &from_len);
	size_t len;

	/* Other errors are about what was sent before. */
	if (n < 0)
		return errno != EAGAIN;
	len = (size_t)n <= sizeof(query)
		      ? dns_server_answer(s, query, (size_t)n, reply, sizeof(reply))
		      : 0;
	if (len > 0)
		(void)sendto(fd, reply, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
			from_len);
	return true;
}

static void ready(struct watcher *w, uint32_t events)
{
	struct dns_server_socket *u = container_of(w, struct dns_server_socket, watcher);

	(void)events;
	for (int i = 0; i < DNS_SERVER_BATCH && dns_server_udp_receive(u->server, w->fd); i++)
		;
}

int dns_server_udp_start(struct dns_server *s)
{
	for (size_t i = 0; i < 2; i++)
		s->udp[i] = (struct dns_server_socket){ s, { .ready = ready, .fd = -1 } };
	for (size_t i = 0; i < 2; i++) {
		int fd = s->options.udp[i];
		int r = fd < 0 ? 0 : loop_add(s->options.loop, &s->udp[i].watcher, fd, EPOLLIN);

		if (r < 0)
			return r;
	}
	return 0;
}

void dns_server_udp_stop(struct dns_server *s)
{
	for (size_t i = 0; i < 2; i++)
		loop_remove(s->options.loop, &s->udp[i].watcher);
}
