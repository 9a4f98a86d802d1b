/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Packets with headers of our own, for the raw sockets of capture.h: the answer to a captured
 * datagram has to come from the address that the datagram was for, and where there is none, the
 * sender is told by ICMP, so that it gets ECONNREFUSED at once. Writing is pure.
 */
#include "net/enter/capture.h"

enum { PACKET_HEADERS_MAX = 48, PACKET_DATA_MAX = 65535 - 8 - 40 };

/*
 * Headers for `len` bytes from d->to back to d->from; the checksum needs the data. The length; 0:
 * it is more than PACKET_DATA_MAX, or the addresses are of two families.
 */
size_t packet_udp(const struct capture_datagram *d, const void *data, size_t len,
	uint8_t out[PACKET_HEADERS_MAX]);
enum { PACKET_UNREACHABLE_MAX = 128 };
/* The whole packet that says "port unreachable" about a datagram of that length; 0 as above. */
size_t packet_unreachable(
	const struct capture_datagram *d, size_t len, uint8_t out[PACKET_UNREACHABLE_MAX]);

/* Both, sent by CAPTURE_RAW_4 and CAPTURE_RAW_6. -EMSGSIZE, -EAGAIN … */
int packet_send_udp(
	const int raw[2], const struct capture_datagram *d, const void *data, size_t len);
int packet_send_unreachable(const int raw[2], const struct capture_datagram *d, size_t len);
