/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/network/listen.h"

static void test_entries(void **state)
{
	static const struct {
		const char *text, *canonical; /* NULL: the same */
		uint16_t port, inner;
		uint8_t bits;
		bool is_public;
	} rows[] = {
		{ "8080", NULL, 8080, 8080, 0, false },
		{ "8080:80", NULL, 8080, 80, 0, false },
		{ "80:80", "80", 80, 80, 0, false },
		{ "localhost:8080", "8080", 8080, 8080, 0, false },
		{ "localhost:8080:80", "8080:80", 8080, 80, 0, false },
		{ "127.0.0.1:8080", NULL, 8080, 8080, 32, false },
		{ "127.0.0.2:8080:1", NULL, 8080, 1, 32, false },
		{ "0.0.0.0:8080", NULL, 8080, 8080, 32, true },
		{ "192.168.1.5:8080:80", NULL, 8080, 80, 32, true },
		{ "[::1]:8080", NULL, 8080, 8080, 128, false },
		{ "[::]:8080:80", NULL, 8080, 80, 128, true },
		{ "[2001:DB8:0::1]:65535", "[2001:db8::1]:65535", 65535, 65535, 128, true },
		{ "[::ffff:10.0.0.1]:1", "10.0.0.1:1", 1, 1, 32, true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *want = rows[i].canonical ? rows[i].canonical : rows[i].text;
		auto_buffer text = { 0 };
		struct listen_entry l, again;
		struct error e = { 0 };

		if (listen_parse(rows[i].text, &l, NULL, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.text);
		assert_true(listen_is_valid(&l));
		assert_int_equal(l.port, rows[i].port);
		assert_int_equal(l.inner, rows[i].inner);
		assert_int_equal(l.host.bits, rows[i].bits);
		assert_int_equal(listen_is_public(&l), rows[i].is_public);
		listen_print(&l, &text);
		assert_string_equal(buffer_text(&text), want);
		assert_int_equal(listen_parse(want, &again, NULL, &e), 0);
		assert_int_equal(listen_compare(&l, &again), 0);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "is not a port number" },
		{ "0", "is not a port number" },
		{ "65536", "is not a port number" },
		{ "080", "is not a port number" },
		{ "x", "is not a port number" },
		{ "80x", "is not a port number" },
		{ " 80", "is not a port number" },
		{ "80:", "is not a port number" },
		{ "80:0", "is not a port number" },
		{ "80:81:82", "is not a port number" },
		{ ":80", "is not a port number" },
		{ "1.2.3.4", "is not a port number" },
		{ "1.2.3.4:", "is not a port number" },
		{ "host:80", "is not a port number" },
		{ "*:80", "is not a port number" },
		{ "localhost:", "is not a port number" },
		{ "host.example.com:80", "has a host that is not an address" },
		{ "1.2.3:80", "has a host that is not an address" },
		{ "[::1:80", "has a host that is not an address" },
		{ "[::1]80", "has a host that is not an address" },
		{ "[1.2.3.4]:80", "has a host that is not an address" },
		{ "[::1%lo]:80", "has a host that is not an address" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct listen_entry l = { .port = 7 };
		struct error e = { 0 };

		assert_int_equal(listen_parse(rows[i].text, &l, NULL, &e), -EINVAL);
		if (!strstr(e.text, rows[i].why))
			fail_msg("%s: %s", rows[i].text, e.text);
		assert_non_null(strstr(e.hint, "[HOST:]PORT[:INNER]"));
		assert_int_equal(l.port, 7);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
