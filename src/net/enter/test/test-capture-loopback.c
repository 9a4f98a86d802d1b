/* SPDX-License-Identifier: Apache-2.0 */
/* Where all ports of the host's loopback are granted, and yet servers inside are to be reached. */
#include "test/unit.h"

#include "net/enter/capture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/test/test-netns.h"

static void test_led(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		enum capture_socket listener;
	} cases[] = {
		{ "127.0.0.1", 5432, CAPTURE_TCP_4 },
		{ "127.0.0.1", 65535, CAPTURE_TCP_4 },
		{ "127.1.2.3", 80, CAPTURE_TCP_4 },
		{ "::1", 5432, CAPTURE_TCP_6 },
		{ "1.2.3.4", 443, CAPTURE_TCP_4 },
		/* The relay's own ports, of its own addresses and of others. */
		{ "127.0.0.1", 1, CAPTURE_TCP_4 },
		{ "127.0.0.1", 2, CAPTURE_TCP_4 },
		{ "127.1.2.3", 1, CAPTURE_TCP_4 },
		{ "::1", 1, CAPTURE_TCP_6 },
		{ "::1", 2, CAPTURE_TCP_6 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_fd inside = netns_connect(SOCK_STREAM, cases[i].address, cases[i].port);
		auto_fd outside = netns_accept(netns_relay[cases[i].listener]);
		struct address want = netns_address(cases[i].address), got;
		uint16_t port = 0;

		assert_int_equal(capture_destination(outside, &got, &port), 0);
		assert_true(address_equal(&got, &want));
		assert_int_equal(port, cases[i].port);
		assert_int_equal(send(inside, "ping", 4, MSG_NOSIGNAL), 4);
		netns_wait(outside);
	}
}

static void exchange(int a, int b)
{
	char text[8];

	assert_int_equal(send(a, "ping", 4, MSG_NOSIGNAL), 4);
	netns_wait(b);
	assert_int_equal(recv(b, text, sizeof(text), 0), 4);
}

/* The relay itself reaches a server inside, and what that sends comes to the relay. */
static void reach(int relay, const char *address, enum capture_socket listener)
{
	struct pollfd p = { .fd = netns_relay[listener], .events = POLLIN };
	union netns_name name;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_STREAM, address, 0, &port);
	socklen_t len = netns_name(address, port, &name);

	assert_true(connect(relay, &name.any, len) == 0 || errno == EINPROGRESS);
	auto_fd peer = netns_accept(server);
	for (int i = 0; i < 100; i++) {
		exchange(peer, relay);
		exchange(relay, peer);
	}
	assert_int_equal(poll(&p, 1, 0), 0);
}

static void test_inner(void **state)
{
	(void)state;
	reach(netns_inner[0], "127.0.0.1", CAPTURE_TCP_4);
	reach(netns_inner[1], "::1", CAPTURE_TCP_6);
}

int main(void)
{
	static const struct capture_ports all = { 1, 65535, true, true };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_led),
		cmocka_unit_test(test_inner),
	};

	netns_options = (struct capture_options){ .loopback = &all, .n_loopback = 1 };
	if (!netns_enter())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
