/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "net/enter/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/test/test-netns.h"

/* Both directions. */
static void exchange(int a, int b)
{
	char text[8] = "";

	assert_int_equal(send(a, "ping", 4, MSG_NOSIGNAL), 4);
	netns_wait(b);
	assert_int_equal(recv(b, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "ping", 4);
	assert_int_equal(send(b, "pong!", 5, MSG_NOSIGNAL), 5);
	netns_wait(a);
	assert_int_equal(recv(a, text, sizeof(text), 0), 5);
	assert_memory_equal(text, "pong!", 5);
}

static void nothing_waits(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 0), 0);
}

static void is_meant_for(int fd, const char *address, uint16_t port)
{
	struct address want = netns_address(address), got;
	uint16_t got_port = 0;

	want = address_plain(&want);
	assert_int_equal(capture_destination(fd, &got, &got_port), 0);
	assert_true(address_equal(&got, &want));
	assert_int_equal(got_port, port);
}

static const struct {
	const char *address;
	enum capture_socket tcp, udp;
} places[] = {
	{ "1.2.3.4", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "8.8.8.8", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "10.0.0.1", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "169.254.169.254", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "192.168.0.1", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "198.18.0.1", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "198.19.255.53", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "126.255.255.255", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "128.0.0.0", CAPTURE_TCP_4, CAPTURE_UDP_4 },
	{ "2001:db8::1", CAPTURE_TCP_6, CAPTURE_UDP_6 },
	{ "fd53:0:0:1::1", CAPTURE_TCP_6, CAPTURE_UDP_6 },
	{ "fd00::1", CAPTURE_TCP_6, CAPTURE_UDP_6 },
	{ "64:ff9b::102:304", CAPTURE_TCP_6, CAPTURE_UDP_6 },
	{ "::2", CAPTURE_TCP_6, CAPTURE_UDP_6 },
};
static const uint16_t ports[] = { 1, 2, 22, 52, 54, 80, 443, 8080, 65535 };

static void test_tcp(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(places) * ROWS(ports); i++) {
		const char *address = places[i / ROWS(ports)].address;
		uint16_t port = ports[i % ROWS(ports)];
		auto_fd inside = netns_connect(SOCK_STREAM, address, port);
		auto_fd outside = netns_accept(netns_relay[places[i / ROWS(ports)].tcp]);
		struct address got;
		uint16_t got_port;

		assert_int_equal(capture_destination(outside, &got, &got_port), 0);
		assert_true(address_equal(&got, &(struct address[]){ netns_address(address) }[0]));
		assert_int_equal(got_port, port);
		exchange(inside, outside);
	}
}

/* A program with nothing but IPv6 sockets. */
static void test_mapped(void **state)
{
	auto_fd inside = netns_connect(SOCK_STREAM, "::ffff:1.2.3.4", 443);
	auto_fd outside = netns_accept(netns_relay[CAPTURE_TCP_4]);

	(void)state;
	is_meant_for(outside, "1.2.3.4", 443);
	exchange(inside, outside);
}

/* The client has said where it comes from. */
static void test_bound(void **state)
{
	static const char *const from[] = { "127.0.0.1", "127.9.9.9", "198.19.255.1", "9.9.9.9" };

	(void)state;
	for (size_t i = 0; i < ROWS(from); i++) {
		union netns_name name;
		socklen_t len = netns_name(from[i], 0, &name);
		auto_fd inside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_int_equal(bind(inside, &name.any, len), 0);
		len = netns_name("1.2.3.4", 443, &name);
		assert_int_equal(connect(inside, &name.any, len), 0);
		auto_fd outside = netns_accept(netns_relay[CAPTURE_TCP_4]);
		is_meant_for(outside, "1.2.3.4", 443);
		exchange(inside, outside);
	}
}

/* Two connections that differ only in where they go, which both lose. */
static void test_same_port(void **state)
{
	static const char *const to[] = { "1.2.3.4", "1.2.3.5", "1.2.3.6" };
	int inside[ROWS(to)], outside[ROWS(to)];
	union netns_name name;

	(void)state;
	for (size_t i = 0; i < ROWS(to); i++) {
		socklen_t len = netns_name("198.19.255.1", 5555, &name);

		inside[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(
			setsockopt(inside[i], SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)),
			0);
		assert_int_equal(bind(inside[i], &name.any, len), 0);
		len = netns_name(to[i], 443, &name);
		assert_int_equal(connect(inside[i], &name.any, len), 0);
		outside[i] = netns_accept(netns_relay[CAPTURE_TCP_4]);
	}
	for (size_t i = 0; i < ROWS(to); i++) {
		is_meant_for(outside[i], to[i], 443);
		exchange(inside[i], outside[i]);
	}
	for (size_t i = 0; i < ROWS(to); i++) {
		fd_close(&inside[i]);
		fd_close(&outside[i]);
	}
}

static void test_direct(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		enum capture_socket listener;
	} cases[] = {
		{ "127.0.0.1", 1, CAPTURE_TCP_4 },
		{ "127.0.0.1", 2, CAPTURE_DNS_TCP_4 },
		{ "::ffff:127.0.0.1", 1, CAPTURE_TCP_4 },
		{ "::1", 1, CAPTURE_TCP_6 },
		{ "::1", 2, CAPTURE_DNS_TCP_6 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_fd inside = netns_connect(SOCK_STREAM, cases[i].address, cases[i].port);
		auto_fd outside = netns_accept(netns_relay[cases[i].listener]);
		struct address a;
		uint16_t port;

		assert_int_equal(capture_destination(outside, &a, &port), -ENOENT);
	}
}

/* No socket of ours is in a server's way, and none of its clients comes to us. */
static void test_servers(void **state)
{
	static const struct {
		const char *bound;
		uint16_t port;
		const char *reached[4];
	} cases[] = {
		{ "0.0.0.0", 443, { "127.0.0.1", "127.0.0.2", "198.19.255.1" } },
		{ "0.0.0.0", 0, { "127.0.0.1", "198.19.255.1" } },
		{ "127.0.0.1", 80, { "127.0.0.1", "::ffff:127.0.0.1" } },
		{ "127.0.0.1", 53, { "127.0.0.1" } },
		{ "127.0.0.2", 1, { "127.0.0.2" } },
		{ "198.19.255.1", 8080, { "198.19.255.1" } },
		{ "::", 443, { "::1", "fd53::1", "127.0.0.1", "198.19.255.1" } },
		{ "::", 0, { "::1", "fd53::1" } },
		{ "::1", 80, { "::1" } },
		{ "fd53::1", 53, { "fd53::1" } },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(cases); i++) {
		int type = i < ROWS(cases) ? SOCK_STREAM : SOCK_DGRAM;
		size_t c = i % ROWS(cases);
		uint16_t port;
		auto_fd server = netns_serve(type, cases[c].bound, cases[c].port, &port);

		for (size_t to = 0; to < 4 && cases[c].reached[to]; to++) {
			auto_fd inside = netns_connect(type, cases[c].reached[to], port);

			if (type == SOCK_STREAM) {
				auto_fd peer = netns_accept(server);
				exchange(inside, peer);
				continue;
			}
			assert_int_equal(send(inside, "x", 1, 0), 1);
			netns_wait(server);
			assert_int_equal(recv(server, &(char){ 0 }, 1, 0), 1);
		}
	}
}

/* A server inside that has the port that a client wants to reach outside. */
static void test_port_of_server(void **state)
{
	static const char *const bound[] = { "0.0.0.0", "1.2.3.4", "::" };
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < ROWS(bound); i++) {
		auto_fd server = netns_serve(SOCK_STREAM, bound[i], 443, &port);
		auto_fd udp = netns_serve(SOCK_DGRAM, bound[i], 443, &port);
		auto_fd inside = netns_connect(SOCK_STREAM, "1.2.3.4", 443);
		auto_fd outside = netns_accept(netns_relay[CAPTURE_TCP_4]);
		auto_fd sender = netns_connect(SOCK_DGRAM, "1.2.3.4", 443);
		struct capture_datagram d;
		char data[4];

		is_meant_for(outside, "1.2.3.4", 443);
		exchange(inside, outside);
		assert_int_equal(send(sender, "abc", 3, 0), 3);
		netns_wait(netns_relay[CAPTURE_UDP_4]);
		assert_int_equal(
			capture_udp_receive(netns_relay[CAPTURE_UDP_4], &d, data, sizeof(data)), 3);
		nothing_waits(server);
		nothing_waits(udp);
	}
}

static const struct {
	const char *address;
	enum capture_socket udp, tcp;
} servers[] = {
	{ "8.8.8.8", CAPTURE_DNS_UDP_4, CAPTURE_DNS_TCP_4 },
	{ "127.0.0.53", CAPTURE_DNS_UDP_4, CAPTURE_DNS_TCP_4 },
	{ "127.0.0.11", CAPTURE_DNS_UDP_4, CAPTURE_DNS_TCP_4 },
	{ "198.19.255.53", CAPTURE_DNS_UDP_4, CAPTURE_DNS_TCP_4 },
	{ "198.18.0.1", CAPTURE_DNS_UDP_4, CAPTURE_DNS_TCP_4 },
	{ "2001:4860:4860::8888", CAPTURE_DNS_UDP_6, CAPTURE_DNS_TCP_6 },
	{ "fd53::53", CAPTURE_DNS_UDP_6, CAPTURE_DNS_TCP_6 },
};

/* The client is connected, so it only takes an answer that comes from whom it asked. */
static void test_dns_udp(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(servers); i++) {
		auto_fd inside = netns_connect(SOCK_DGRAM, servers[i].address, 53);
		int outside = netns_relay[servers[i].udp];
		union netns_name from;
		socklen_t len = sizeof(from);
		char text[8];

		assert_int_equal(send(inside, "query", 5, 0), 5);
		netns_wait(outside);
		assert_int_equal(recvfrom(outside, text, sizeof(text), 0, &from.any, &len), 5);
		assert_int_equal(sendto(outside, "answer", 6, 0, &from.any, len), 6);
		netns_wait(inside);
		assert_int_equal(recv(inside, text, sizeof(text), 0), 6);
	}
}

static void test_dns_tcp(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(servers); i++) {
		auto_fd inside = netns_connect(SOCK_STREAM, servers[i].address, 53);
		auto_fd outside = netns_accept(netns_relay[servers[i].tcp]);

		is_meant_for(outside, servers[i].address, 53);
		exchange(inside, outside);
	}
}

static void take(enum capture_socket from, const char *address, uint16_t port, ssize_t want)
{
	static char data[65536];
	struct address to = netns_address(address);
	struct capture_datagram d;

	netns_wait(netns_relay[from]);
	assert_int_equal(capture_udp_receive(netns_relay[from], &d, data, sizeof(data)), want);
	assert_true(address_equal(&d.to, &to));
	assert_int_equal(d.to_port, port);
	to = netns_address(d.to.bits == 32 ? "198.19.255.1" : "fd53::1");
	assert_true(address_equal(&d.from, &to));
	assert_true(d.from_port > 0);
}

static void test_udp(void **state)
{
	static const char data[65000];

	(void)state;
	for (size_t i = 0; i < ROWS(places) * ROWS(ports); i++) {
		const char *address = places[i / ROWS(ports)].address;
		uint16_t port = ports[i % ROWS(ports)];
		enum capture_socket outside = places[i / ROWS(ports)].udp;
		auto_fd inside = netns_connect(SOCK_DGRAM, address, port);
		auto_fd unconnected = socket(outside == CAPTURE_UDP_4 ? AF_INET : AF_INET6,
			SOCK_DGRAM | SOCK_CLOEXEC, 0);
		union netns_name name;
		socklen_t len = netns_name(address, port, &name);

		assert_int_equal(send(inside, data, 100, 0), 100);
		take(outside, address, port, 100);
		assert_int_equal(sendto(unconnected, data, 0, 0, &name.any, len), 0);
		take(outside, address, port, 0);
		assert_int_equal(sendto(unconnected, data, 65000, 0, &name.any, len), 65000);
		take(outside, address, port, 65000);
	}
}

/* One call, many datagrams: what QUIC does. */
static void test_udp_segments(void **state)
{
	auto_fd inside = netns_connect(SOCK_DGRAM, "1.2.3.4", 443);
	static const char data[2500];

	(void)state;
	assert_int_equal(setsockopt(inside, SOL_UDP, UDP_SEGMENT, &(int){ 1200 }, sizeof(int)), 0);
	assert_int_equal(send(inside, data, sizeof(data), 0), sizeof(data));
	take(CAPTURE_UDP_4, "1.2.3.4", 443, 1200);
	take(CAPTURE_UDP_4, "1.2.3.4", 443, 1200);
	take(CAPTURE_UDP_4, "1.2.3.4", 443, 100);
}

static void test_udp_errors(void **state)
{
	auto_fd inside = netns_connect(SOCK_DGRAM, "1.2.3.4", 443);
	int outside = netns_relay[CAPTURE_UDP_4];
	struct capture_datagram d;
	char data[4];

	(void)state;
	assert_int_equal(capture_udp_receive(outside, &d, data, sizeof(data)), -EAGAIN);
	assert_int_equal(send(inside, "12345", 5, 0), 5);
	netns_wait(outside);
	assert_int_equal(capture_udp_receive(outside, &d, data, sizeof(data)), -EMSGSIZE);
	assert_int_equal(capture_udp_receive(outside, &d, data, sizeof(data)), -EAGAIN);
}

/* A group without members inside: the kernel itself would drop it. */
static void test_groups(void **state)
{
	static const struct {
		const char *address, *moved;
		enum capture_socket from;
	} cases[] = {
		{ "224.0.0.251", "240.0.0.251", CAPTURE_GROUP_4 },
		{ "224.0.0.1", "240.0.0.1", CAPTURE_GROUP_4 },
		{ "239.255.255.250", "255.255.255.250", CAPTURE_GROUP_4 },
		{ "232.1.2.3", "248.1.2.3", CAPTURE_GROUP_4 },
		{ "ff02::fb", "5302::fb", CAPTURE_GROUP_6 },
		{ "ff05::c", "5305::c", CAPTURE_GROUP_6 },
		{ "ff1e::1:2:3", "531e::1:2:3", CAPTURE_GROUP_6 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases) * ROWS(ports); i++) {
		const size_t c = i / ROWS(ports);
		const bool is_6 = cases[c].from == CAPTURE_GROUP_6;
		auto_fd inside = socket(is_6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct address moved = netns_address(cases[c].moved),
			       group = netns_address(cases[c].address);
		uint16_t port = ports[i % ROWS(ports)];
		union netns_name name;
		socklen_t len = netns_name(cases[c].address, port, &name);

		if (is_6)
			name.v6.sin6_scope_id = 1;
		assert_int_equal(sendto(inside, "hello", 5, 0, &name.any, len), 5);
		take(cases[c].from, cases[c].moved, port, 5);
		moved = capture_group(&moved);
		assert_true(address_equal(&moved, &group));
	}
	nothing_waits(netns_relay[CAPTURE_UDP_4]);
	nothing_waits(netns_relay[CAPTURE_UDP_6]);
}

/* What a program sets for multicast makes no difference, nor that it is a member. */
static void test_group_options(void **state)
{
	static const struct {
		int option;
		struct ip_mreqn value;
		socklen_t len;
	} cases[] = {
		{ IP_MULTICAST_IF, { .imr_ifindex = 1 }, sizeof(struct ip_mreqn) },
		{ IP_MULTICAST_LOOP, { .imr_multiaddr.s_addr = 0 }, sizeof(int) },
		{ IP_MULTICAST_TTL, { .imr_multiaddr.s_addr = 0 }, sizeof(int) },
	};
	const struct ip_mreqn member = { .imr_multiaddr.s_addr = htonl(0xe00000fb),
		.imr_ifindex = 1 };

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(cases); i++) {
		auto_fd inside = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		union netns_name name;
		socklen_t len = netns_name("224.0.0.251", 5353, &name);

		assert_int_equal(setsockopt(inside, SOL_IP, cases[i / 2].option,
					 &cases[i / 2].value, cases[i / 2].len),
			0);
		if (i % 2)
			assert_int_equal(setsockopt(inside, SOL_IP, IP_ADD_MEMBERSHIP, &member,
						 sizeof(member)),
				0);
		assert_int_equal(sendto(inside, "x", 1, 0, &name.any, len), 1);
		take(CAPTURE_GROUP_4, "240.0.0.251", 5353, 1);
	}
}

/* Addresses of no group are what they are, also those that groups become on their way. */
static void test_no_group(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		enum capture_socket from;
	} cases[] = {
		{ "240.0.0.251", 5353, CAPTURE_UDP_4 },
		{ "5302::fb", 5353, CAPTURE_UDP_6 },
		{ "127.0.0.1", 3, CAPTURE_GROUP_4 },
		{ "::1", 3, CAPTURE_GROUP_6 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_fd inside = netns_connect(SOCK_DGRAM, cases[i].address, cases[i].port);
		struct address want = netns_address(cases[i].address), to;
		struct capture_datagram d;
		char data[4];

		assert_int_equal(send(inside, "x", 1, 0), 1);
		netns_wait(netns_relay[cases[i].from]);
		assert_int_equal(
			capture_udp_receive(netns_relay[cases[i].from], &d, data, sizeof(data)), 1);
		to = i < 2 ? d.to : capture_group(&d.to);
		assert_true(address_equal(&to, &want));
		assert_int_equal(d.to_port, cases[i].port);
	}
}

/* Many that connect before anybody accepts. */
static void test_backlog(void **state)
{
	enum { MANY = 400 };
	int inside[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		inside[i] = netns_connect(SOCK_STREAM, "1.2.3.4", (uint16_t)(1000 + i));
	for (size_t i = 0; i < MANY; i++) {
		auto_fd outside = netns_accept(netns_relay[CAPTURE_TCP_4]);
		struct address a;
		uint16_t port = 0;

		assert_int_equal(capture_destination(outside, &a, &port), 0);
		assert_int_equal(port, 1000 + i);
	}
	for (size_t i = 0; i < MANY; i++)
		fd_close(&inside[i]);
}

static void test_flags(void **state)
{
	(void)state;
	for (size_t i = 0; i < CAPTURE_SYSTEMD_TCP; i++) {
		assert_true(fcntl(netns_relay[i], F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(netns_relay[i], F_GETFL) & O_NONBLOCK);
	}
}

/* A command, which has no capabilities, cannot change any of it. */
static void test_powerless(void **state)
{
	struct error e = { 0 };
	int fds[CAPTURE_COUNT] = { 77 };
	auto_fd plain = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(capture_open(&netns_options, fds, &e), -EPERM);
	assert_string_not_equal(e.text, "");
	assert_int_equal(fds[0], 77);
	assert_int_equal(setsockopt(plain, SOL_SOCKET, SO_MARK, &(int){ 1 }, sizeof(int)), -1);
	assert_int_equal(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_same_port),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_port_of_server),
		cmocka_unit_test(test_dns_udp),
		cmocka_unit_test(test_dns_tcp),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_udp_segments),
		cmocka_unit_test(test_udp_errors),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_group_options),
		cmocka_unit_test(test_no_group),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_powerless),
	};

	if (!netns_enter())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
