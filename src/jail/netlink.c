/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

/* All parts are padded to 4 bytes, and the padding is zero. */
void netlink_add(struct netlink *n, const void *data, size_t len)
{
	size_t left = sizeof(n->bytes) - n->len;

	if (n->failed || len > left || NLMSG_ALIGN(len) > left) {
		n->failed = true;
		return;
	}
	memset(n->bytes + n->len, 0, NLMSG_ALIGN(len));
	if (len > 0)
		memcpy(n->bytes + n->len, data, len);
	n->len += NLMSG_ALIGN(len);
}

void netlink_begin(struct netlink *n, uint16_t type, uint16_t flags)
{
	const struct nlmsghdr header = {
		.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = n->n + 1
	};

	n->message = n->len;
	n->n++;
	n->to_answer += (flags & NLM_F_ACK) != 0;
	netlink_add(n, &header, sizeof(header));
}

void netlink_end(struct netlink *n)
{
	uint32_t len = (uint32_t)(n->len - n->message);

	if (!n->failed)
		memcpy(n->bytes + n->message + offsetof(struct nlmsghdr, nlmsg_len), &len,
			sizeof(len));
}

void netlink_attribute(struct netlink *n, uint16_t type, const void *data, size_t len)
{
	const struct nlattr header = { .nla_len = (uint16_t)(sizeof(header) + len),
		.nla_type = type };

	if (len > UINT16_MAX - sizeof(header))
		n->failed = true;
	netlink_add(n, &header, sizeof(header));
	netlink_add(n, data, len);
}

void netlink_text(struct netlink *n, uint16_t type, const char *text)
{
	netlink_attribute(n, type, text, strlen(text) + 1);
}

void netlink_be32(struct netlink *n, uint16_t type, uint32_t value)
{
	uint32_t swapped = htonl(value);

	netlink_attribute(n, type, &swapped, sizeof(swapped));
}

size_t netlink_nest(struct netlink *n, uint16_t type)
{
	size_t at = n->len;

	netlink_attribute(n, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void netlink_unnest(struct netlink *n, size_t nest)
{
	uint16_t len = (uint16_t)(n->len - nest);

	if (!n->failed)
		memcpy(n->bytes + nest + offsetof(struct nlattr, nla_len), &len, sizeof(len));
}

/* How many acknowledgements are in a packet; the first error ends it. */
static int count_answers(const unsigned char *bytes, size_t left, uint32_t *ret_failed)
{
	int heard = 0;

	for (const struct nlmsghdr *h = (const void *)bytes; NLMSG_OK(h, left);
		h = NLMSG_NEXT(h, left)) {
		const struct nlmsgerr *e = NLMSG_DATA(h);

		if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
			continue;
		*ret_failed = h->nlmsg_seq;
		if (e->error != 0)
			return e->error;
		heard++;
	}
	return heard;
}

/* Each answer is a packet, or several are in one; the kernel answers before send() returns. */
static int netlink_hear(int s, uint32_t expected, uint32_t *ret_failed)
{
	_Alignas(8) unsigned char bytes[4096];
	uint32_t heard = 0;

	for (uint32_t reads = 0; reads < 2 * expected && heard < expected; reads++) {
		ssize_t n = recv(s, bytes, sizeof(bytes), MSG_DONTWAIT);
		int r = n < 0 ? -errno : count_answers(bytes, (size_t)n, ret_failed);

		if (r < 0)
			return r;
		heard += (uint32_t)r;
	}
	*ret_failed = 0;
	return heard == expected ? 0 : -EPROTO;
}

int netlink_talk(const struct netlink *n, int protocol, uint32_t *ret_failed)
{
	uint32_t failed = 0;
	auto_fd s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int r;

	if (s < 0)
		return -errno;
	/* An error would repeat the message that it is about. */
	(void)setsockopt(s, SOL_NETLINK, NETLINK_CAP_ACK, &(int){ 1 }, sizeof(int));
	if (n->failed)
		return -E2BIG;
	r = send(s, n->bytes, n->len, 0) < 0 ? -errno : netlink_hear(s, n->to_answer, &failed);
	if (r < 0 && ret_failed)
		*ret_failed = failed;
	return r;
}
