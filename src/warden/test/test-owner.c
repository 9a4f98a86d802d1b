/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/owner.h"

static uint16_t bind_any(int fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

static void test_a_socket_of_our_own(void **state)
{
	char name[OWNER_NAME_BYTES];
	auto_fd udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	auto_fd tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint16_t port;

	(void)state;
	owner_find(true, bind_any(udp), name);
	assert_string_equal(name, "test-warden-owner");
	port = bind_any(tcp);
	assert_int_equal(listen(tcp, 1), 0);
	owner_find(false, port, name);
	assert_string_equal(name, "test-warden-owner");
}

static void test_a_port_that_no_socket_has(void **state)
{
	char name[OWNER_NAME_BYTES] = "before";
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint16_t port = bind_any(fd);

	(void)state;
	fd_close(&fd);
	owner_find(true, port, name);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_socket_of_our_own),
		cmocka_unit_test(test_a_port_that_no_socket_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
