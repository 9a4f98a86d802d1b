/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC 768) and ICMP (RFC 792, 4443), byte by byte
 * in network order.
 */
#include "net/enter/packet.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>

#include "net/endpoint.h"

enum { IPV4_BYTES = 20, IPV6_BYTES = 40, UDP_BYTES = 8, ICMP_BYTES = 8, HOPS = 64 };

static void packet_put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/*
 * The sum of RFC 1071 so far, with these bytes. It may be taken in words of any size and order, if
 * all but the last piece have an even length.
 */
static uint64_t packet_sum(uint64_t so_far, const void *data, size_t len)
{
	const uint8_t *at = data;
	uint32_t word;

	for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		so_far += word;
	}
	word = 0;
	if (len > 0)
		memcpy(&word, at, len);
	return so_far + word;
}

static void packet_put_sum(uint8_t *at, uint64_t total)
{
	uint16_t folded;

	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	folded = (uint16_t)~total;
	memcpy(at, &folded, sizeof(folded));
}

/* What is summed beside the packet: both addresses, the protocol, the length. */
static uint64_t packet_sum_pseudo(
	const struct address *from, const struct address *to, uint8_t protocol, size_t len)
{
	uint8_t rest[8] = { [7] = protocol };
	uint64_t total = packet_sum(0, from->bytes, from->bits / 8);

	packet_put16(rest + 2, len);
	total = packet_sum(total, to->bytes, to->bits / 8);
	return packet_sum(total, rest, sizeof(rest));
}

/* Before `len` bytes of that protocol. */
static size_t packet_put_ip(const struct address *from, const struct address *to, uint8_t protocol,
	size_t len, uint8_t *out)
{
	if (from->bits == 32) {
		memset(out, 0, IPV4_BYTES);
		out[0] = 0x45;
		packet_put16(out + 2, IPV4_BYTES + len);
		out[8] = HOPS;
		out[9] = protocol;
		memcpy(out + 12, from->bytes, 4);
		memcpy(out + 16, to->bytes, 4);
		packet_put_sum(out + 10, packet_sum(0, out, IPV4_BYTES));
		return IPV4_BYTES;
	}
	memset(out, 0, 8);
	out[0] = 0x60;
	packet_put16(out + 4, len);
	out[6] = protocol;
	out[7] = HOPS;
	memcpy(out + 8, from->bytes, 16);
	memcpy(out + 24, to->bytes, 16);
	return IPV6_BYTES;
}

static void packet_put_udp(uint16_t from, uint16_t to, size_t len, uint8_t *out)
{
	packet_put16(out, from);
	packet_put16(out + 2, to);
	packet_put16(out + 4, UDP_BYTES + len);
	packet_put16(out + 6, 0);
}

static bool packet_is_one_family(const struct capture_datagram *d)
{
	return d->from.bits == d->to.bits && (d->from.bits == 32 || d->from.bits == 128);
}

size_t packet_udp(const struct capture_datagram *d, const void *data, size_t len,
	uint8_t out[PACKET_HEADERS_MAX])
{
	const size_t all = UDP_BYTES + len;
	uint64_t total;
	uint8_t *udp;

	if (!packet_is_one_family(d) || len > PACKET_DATA_MAX)
		return 0;
	udp = out + packet_put_ip(&d->to, &d->from, IPPROTO_UDP, all, out);
	packet_put_udp(d->to_port, d->from_port, len, udp);
	total = packet_sum_pseudo(&d->to, &d->from, IPPROTO_UDP, all);
	packet_put_sum(udp + 6, packet_sum(packet_sum(total, udp, UDP_BYTES), data, len));
	/* Zero would say that there is none. */
	if (udp[6] == 0 && udp[7] == 0)
		packet_put16(udp + 6, 0xffff);
	return (size_t)(udp + UDP_BYTES - out);
}

size_t packet_unreachable(
	const struct capture_datagram *d, size_t len, uint8_t out[PACKET_UNREACHABLE_MAX])
{
	const bool is_4 = d->from.bits == 32;
	/* No packet comes from a group: then it is the sender's own machine that says so. */
	const struct address *answers = capture_is_group(&d->to) ? &d->from : &d->to;
	const size_t all = ICMP_BYTES + (is_4 ? IPV4_BYTES : IPV6_BYTES) + UDP_BYTES;
	uint64_t total = 0;
	uint8_t *icmp, *quoted;

	if (!packet_is_one_family(d) || len > UINT16_MAX - UDP_BYTES)
		return 0;
	icmp = out +
	       packet_put_ip(answers, &d->from, is_4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, all, out);
	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = is_4 ? 3 : 1; /* destination unreachable */
	icmp[1] = is_4 ? 3 : 4; /* its port */
	quoted = icmp + ICMP_BYTES;
	quoted += packet_put_ip(&d->from, &d->to, IPPROTO_UDP, UDP_BYTES + len, quoted);
	packet_put_udp(d->from_port, d->to_port, len, quoted);
	if (!is_4)
		total = packet_sum_pseudo(answers, &d->from, IPPROTO_ICMPV6, all);
	packet_put_sum(icmp + 2, packet_sum(total, icmp, all));
	return (size_t)(icmp + all - out);
}

static int packet_send(
	const int raw[2], const struct capture_datagram *d, struct iovec *parts, size_t n_parts)
{
	union endpoint to;
	struct msghdr m = { .msg_name = &to,
		.msg_namelen = endpoint_fill(&to, &d->from, 0),
		.msg_iov = parts,
		.msg_iovlen = n_parts };

	return sendmsg(raw[d->from.bits == 32 ? 0 : 1], &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

int packet_send_udp(
	const int raw[2], const struct capture_datagram *d, const void *data, size_t len)
{
	uint8_t headers[PACKET_HEADERS_MAX];
	size_t n = packet_udp(d, data, len, headers);
	struct iovec parts[] = { { headers, n }, { (void *)(uintptr_t)data, len } };

	return n == 0 ? -EMSGSIZE : packet_send(raw, d, parts, 2);
}

int packet_send_unreachable(const int raw[2], const struct capture_datagram *d, size_t len)
{
	uint8_t packet[PACKET_UNREACHABLE_MAX];
	size_t n = packet_unreachable(d, len, packet);
	struct iovec part = { packet, n };

	return n == 0 ? -EMSGSIZE : packet_send(raw, d, &part, 1);
}
