/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "net/enter/packet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/test/test-netns.h"

static struct capture_datagram datagram(const char *from, const char *to)
{
	return (struct capture_datagram){ netns_address(from), netns_address(to), 40000, 443 };
}

static void is_hex(const uint8_t *data, size_t len, const char *hex)
{
	char text[2 * PACKET_UNREACHABLE_MAX + 1] = "";

	assert_true(len <= PACKET_UNREACHABLE_MAX);
	for (size_t i = 0; i < len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", data[i]);
	assert_string_equal(text, hex);
}

static void test_udp_bytes(void **state)
{
	struct capture_datagram d = datagram("198.19.255.1", "192.0.2.7");
	uint8_t out[PACKET_HEADERS_MAX] = { 0 };

	(void)state;
	is_hex(out, packet_udp(&d, "hello", 5, out),
		"45000021000000004011f3afc0000207c613ff0101bb9c40000d96e9");
	d = datagram("fd53::1", "2001:db8::7");
	is_hex(out, packet_udp(&d, "hello", 5, out),
		"60000000000d114020010db8000000000000000000000007fd530000000000000000000000000001"
		"01bb9c40000df2f1");
}

/* A sum of zero is sent as 0xffff. */
static void test_sum_zero(void **state)
{
	struct capture_datagram d = datagram("198.19.255.1", "192.0.2.7");
	uint8_t out[PACKET_HEADERS_MAX] = { 0 };

	(void)state;
	assert_int_equal(packet_udp(&d, "\xda\xc1", 2, out), 28);
	is_hex(out + 26, 2, "ffff");
}

static void test_unreachable_bytes(void **state)
{
	struct capture_datagram d = datagram("198.19.255.1", "192.0.2.7");
	uint8_t out[PACKET_UNREACHABLE_MAX] = { 0 };

	(void)state;
	is_hex(out, packet_unreachable(&d, 5, out),
		"45000038000000004001f3a8c0000207c613ff0103035ef400000000"
		"45000021000000004011f3afc613ff01c00002079c4001bb000d0000");
	d = datagram("fd53::1", "2001:db8::7");
	is_hex(out, packet_unreachable(&d, 5, out),
		"6000000000383a4020010db8000000000000000000000007fd530000000000000000000000000001"
		"0104990900000000"
		"60000000000d1140fd53000000000000000000000000000120010db8000000000000000000000007"
		"9c4001bb000d0000");
}

/* No packet may come from a group. */
static void test_unreachable_group(void **state)
{
	struct capture_datagram d = datagram("198.19.255.1", "224.0.0.251");
	uint8_t out[PACKET_UNREACHABLE_MAX] = { 0 };

	(void)state;
	assert_int_equal(packet_unreachable(&d, 5, out), 56);
	is_hex(out + 12, 8, "c613ff01c613ff01");
	is_hex(out + 28 + 12, 8, "c613ff01e00000fb");
	d = datagram("fd53::1", "ff02::fb");
	assert_int_equal(packet_unreachable(&d, 5, out), 96);
	is_hex(out + 8, 16, "fd530000000000000000000000000001");
	is_hex(out + 48 + 24, 16, "ff0200000000000000000000000000fb");
}

static void test_refused(void **state)
{
	struct capture_datagram d = datagram("198.19.255.1", "2001:db8::7");
	uint8_t out[PACKET_UNREACHABLE_MAX] = { 0 };
	static const uint8_t data[PACKET_DATA_MAX + 1];

	(void)state;
	assert_int_equal(packet_udp(&d, "hello", 5, out), 0);
	assert_int_equal(packet_unreachable(&d, 5, out), 0);
	assert_int_equal(packet_send_udp((int[]){ -1, -1 }, &d, "hello", 5), -EMSGSIZE);
	assert_int_equal(packet_send_unreachable((int[]){ -1, -1 }, &d, 5), -EMSGSIZE);
	d = datagram("198.19.255.1", "192.0.2.7");
	assert_int_equal(packet_udp(&d, data, sizeof(data), out), 0);
	assert_int_equal(packet_unreachable(&d, 65528, out), 0);
	d.from.bits = d.to.bits = 0;
	assert_int_equal(packet_udp(&d, data, 1, out), 0);
}

static const struct {
	const char *to, *from; /* from NULL: not bound */
	enum capture_socket socket;
} cases[] = {
	{ "192.0.2.7", NULL, CAPTURE_UDP_4 },
	{ "198.18.0.1", "127.0.0.1", CAPTURE_UDP_4 },
	{ "8.8.8.8", "9.9.9.9", CAPTURE_UDP_4 },
	{ "2001:db8::7", NULL, CAPTURE_UDP_6 },
	{ "fd53:0:0:1::1", "::1", CAPTURE_UDP_6 },
	{ "2001:db8::8", "fd53::1", CAPTURE_UDP_6 },
};

static int open_client(size_t i)
{
	union netns_name name;
	int fd = socket(cases[i].socket == CAPTURE_UDP_4 ? AF_INET : AF_INET6,
		SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (cases[i].from) {
		socklen_t len = netns_name(cases[i].from, 0, &name);
		assert_int_equal(bind(fd, &name.any, len), 0);
	}
	return fd;
}

/* The client asks; who it was and whom it asked comes out as the relay sees it. */
static void ask(int client, size_t i, bool connected, struct capture_datagram *d)
{
	union netns_name name;
	socklen_t len = netns_name(cases[i].to, 443, &name);
	char text[8];

	if (connected)
		assert_int_equal(connect(client, &name.any, len), 0);
	assert_int_equal(
		sendto(client, "ask", 3, 0, connected ? NULL : &name.any, connected ? 0 : len), 3);
	netns_wait(netns_relay[cases[i].socket]);
	assert_int_equal(
		capture_udp_receive(netns_relay[cases[i].socket], d, text, sizeof(text)), 3);
}

static void hear(int client, size_t i, const char *data, size_t n)
{
	static char text[65536];
	union netns_name from, want;
	socklen_t len = sizeof(from), want_len = netns_name(cases[i].to, 443, &want);

	netns_wait(client);
	assert_int_equal(recvfrom(client, text, sizeof(text), 0, &from.any, &len), n);
	assert_memory_equal(text, data, n);
	assert_int_equal(len, want_len);
	assert_memory_equal(&from, &want, len);
}

static void test_answer(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 5, 1200, 9000, 60000, PACKET_DATA_MAX };
	static char data[PACKET_DATA_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 251);
	for (size_t i = 0; i < 2 * ROWS(cases); i++) {
		auto_fd client = open_client(i / 2);
		struct capture_datagram d;

		ask(client, i / 2, i % 2, &d);
		for (size_t s = 0; s < ROWS(sizes); s++) {
			assert_int_equal(
				packet_send_udp(netns_relay + CAPTURE_RAW_4, &d, data, sizes[s]),
				0);
			hear(client, i / 2, data, sizes[s]);
		}
	}
}

static void test_unreachable(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_fd client = open_client(i);
		struct capture_datagram d;
		char text[8];

		ask(client, i, true, &d);
		assert_int_equal(packet_send_unreachable(netns_relay + CAPTURE_RAW_4, &d, 3), 0);
		netns_wait(client);
		assert_int_equal(recv(client, text, sizeof(text), 0), -1);
		assert_int_equal(errno, ECONNREFUSED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp_bytes),
		cmocka_unit_test(test_sum_zero),
		cmocka_unit_test(test_unreachable_bytes),
		cmocka_unit_test(test_unreachable_group),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_unreachable),
	};

	if (!netns_enter())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
