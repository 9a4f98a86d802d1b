/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/tcp-peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

enum { TCP_PEER_ANSWER = 1024 };

struct tcp_peer_request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

/* One end: its address and port, both in network order. */
static void tcp_peer_end(const struct sockaddr_storage *a, void *address, __be16 *port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;

	if (a->ss_family == AF_INET) {
		memcpy(address, &v4->sin_addr, sizeof(v4->sin_addr));
		*port = v4->sin_port;
		return;
	}
	memcpy(address, &v6->sin6_addr, sizeof(v6->sin6_addr));
	*port = v6->sin6_port;
}

static int tcp_peer_ask(int socket, struct tcp_peer_request *q)
{
	struct sockaddr_storage ours = { 0 }, theirs = { 0 };
	struct inet_diag_sockid *id = &q->body.id;

	if (getsockname(socket, (struct sockaddr *)&ours, &(socklen_t){ sizeof(ours) }) < 0 ||
		getpeername(socket, (struct sockaddr *)&theirs, &(socklen_t){ sizeof(theirs) }) < 0)
		return errno == ENOTCONN ? -ENOENT : -errno;
	if (ours.ss_family != AF_INET && ours.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	*q = (struct tcp_peer_request){
		.header = { .nlmsg_len = sizeof(*q),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (__u8)ours.ss_family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0U },
	};
	/* As the other end has it. */
	tcp_peer_end(&theirs, id->idiag_src, &id->idiag_sport);
	tcp_peer_end(&ours, id->idiag_dst, &id->idiag_dport);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return 0;
}

static int tcp_peer_hear(const struct nlmsghdr *h, size_t len, uid_t *ret)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct nlmsgerr *failed = NLMSG_DATA(h);

	if (!NLMSG_OK(h, len))
		return -EPROTO;
	if (h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(*failed)))
		return failed->error < 0 ? failed->error : -EPROTO;
	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return -EPROTO;
	/* A socket that no process has any more is said to be root's. */
	if (m->idiag_inode == 0)
		return -ENOENT;
	*ret = m->idiag_uid;
	return 0;
}

int tcp_peer_uid(int socket_, uid_t *ret)
{
	struct tcp_peer_request q;
	_Alignas(8) char bytes[TCP_PEER_ANSWER];
	struct sockaddr_nl from = { 0 };
	auto_fd s = -1;
	ssize_t len;
	int r = tcp_peer_ask(socket_, &q);

	if (r < 0)
		return r;
	s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (s < 0 || send(s, &q, sizeof(q), 0) < 0)
		return -errno;
	/* It is there when send() returns. */
	len = recvfrom(s, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
		&(socklen_t){ sizeof(from) });
	if (len < 0)
		return -errno;
	return from.nl_pid == 0 ? tcp_peer_hear((const void *)bytes, (size_t)len, ret) : -EPROTO;
}
