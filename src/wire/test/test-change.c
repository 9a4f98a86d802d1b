/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "wire/configure.h"

static const struct change full = { .flags = CHANGE_WHOLE | CHANGE_KEEPS_BROKER,
	.ports = { { .port = 80, .inner = 80 },
		{ .host = { .bits = 32, .bytes = { 10, 0, 0, 1 } }, .port = 65535, .inner = 1 } },
	.n_ports = 2,
	.doors = { "/run/a.sock", "/b" },
	.n_doors = 2,
	.text = "{\"network\": {}}",
	.grants = { { .op = OPERATION_NET_CONNECT, .ends_ms = 7, .pattern = "example.com:443" },
		{ .op = OPERATION_NET_CONNECT, .pattern = "GET https://example.com/x" } },
	.n_grants = 2 };

static void test_round_trip(void **state)
{
	auto_buffer body = { 0 };
	struct change c;

	(void)state;
	assert_int_equal(change_encode(&full, &body), 0);
	assert_int_equal(change_decode(&c, body.data, body.len), 0);
	assert_int_equal(c.flags, CHANGE_WHOLE | CHANGE_KEEPS_BROKER);
	assert_int_equal(c.n_ports, 2);
	assert_memory_equal(c.ports, full.ports, sizeof(c.ports));
	assert_int_equal(c.n_doors, 2);
	assert_string_equal(c.doors[0], "/run/a.sock");
	assert_string_equal(c.doors[1], "/b");
	assert_string_equal(c.text, full.text);
	assert_int_equal(c.n_grants, 2);
	assert_int_equal(c.grants[0].ends_ms, 7);
	assert_string_equal(c.grants[0].pattern, "example.com:443");
	assert_int_equal(c.grants[1].ends_ms, 0);
	assert_string_equal(c.grants[1].pattern, "GET https://example.com/x");
}

/* A relay takes grants of hosts, and no others. */
static void test_grants_are_of_hosts(void **state)
{
	const struct live_grant file = { .op = OPERATION_FS_READ, .pattern = "/srv" };
	struct change c = { .text = "{}", .grants = { file }, .n_grants = 1 };
	auto_buffer body = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(change_encode(&c, &body), -EINVAL);
	c.n_grants = 0;
	change_add_grants(&c, &file, 1);
	assert_int_equal(c.n_grants, 0);
	assert_int_equal(change_encode(&c, &none), 0);
	assert_int_equal(live_grant_encode(&file, &none), 0);
	assert_int_equal(change_decode(&c, none.data, none.len), -EPROTO);
	c.n_grants = QUESTION_GRANTS_MAX + 1;
	assert_int_equal(change_encode(&c, &body), -EINVAL);
}

/* Nothing shorter is one, and nothing longer. */
static void test_every_length(void **state)
{
	auto_buffer body = { 0 };
	struct change c = full;

	(void)state;
	/* With grants, one that ends after the text is another one. */
	c.n_grants = 0;
	assert_int_equal(change_encode(&c, &body), 0);
	c.n_ports = 12345;
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(change_decode(&c, body.data, len), -EPROTO);
	buffer_addc(&body, '\0');
	assert_int_equal(change_decode(&c, body.data, body.len), -EPROTO);
	assert_int_equal(c.n_ports, 12345);
}

static void test_as_many_as_there_may_be(void **state)
{
	auto_buffer body = { 0 };
	struct change c,
		most = { .text = "{}", .n_ports = CHANGE_PORTS_MAX, .n_doors = CHANGE_DOORS_MAX };

	(void)state;
	for (uint32_t i = 0; i < CHANGE_PORTS_MAX; i++)
		most.ports[i] = (struct listen_entry){ .port = (uint16_t)(i + 1), .inner = 1 };
	for (uint32_t i = 0; i < CHANGE_DOORS_MAX; i++)
		most.doors[i] = "/x";
	assert_int_equal(change_encode(&most, &body), 0);
	assert_int_equal(change_decode(&c, body.data, body.len), 0);
	assert_string_equal(c.doors[CHANGE_DOORS_MAX - 1], "/x");
	most.n_doors++;
	assert_int_equal(change_encode(&most, &body), -EINVAL);
	most.n_doors--;
	most.n_ports++;
	assert_int_equal(change_encode(&most, &body), -EINVAL);
}

static void test_what_is_not_written(void **state)
{
	static char path[PATH_BYTES + 1];
	const struct change rows[] = {
		{ .text = NULL },
		{ .text = "" },
		{ .text = "{}", .flags = CHANGE_FLAGS + 1 },
		{ .text = "{}", .n_ports = 1 },
		{ .text = "{}", .n_ports = 1, .ports = { { .port = 1 } } },
		{ .text = "{}", .n_ports = 1, .ports = { { .inner = 1 } } },
		{ .text = "{}",
			.n_ports = 1,
			.ports = { { .port = 1, .inner = 1, .reserved = 1 } } },
		{ .text = "{}",
			.n_ports = 1,
			.ports = { { .host.bits = 64, .port = 1, .inner = 1 } } },
		{ .text = "{}",
			.n_ports = 1,
			.ports = { { .host = { .bits = 32, .bytes = { [4] = 1 } },
				.port = 1,
				.inner = 1 } } },
		{ .text = "{}", .n_doors = 1, .doors = { "relative" } },
		{ .text = "{}", .n_doors = 1, .doors = { "" } },
		{ .text = "{}", .n_doors = 1, .doors = { path } },
		{ .text = "{}", .n_doors = 1 },
	};

	(void)state;
	memset(path, '/', sizeof(path) - 1);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };

		assert_int_equal(change_encode(&rows[i], &body), -EINVAL);
		assert_int_equal(body.len, 0);
	}
}

/* One byte at a time becomes something else: what is still read is what was written. */
static void test_every_byte(void **state)
{
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(change_encode(&full, &body), 0);
	for (size_t i = 0; i < body.len; i++) {
		auto_buffer again = { 0 };
		struct change c;

		body.data[i] ^= 0x20;
		if (change_decode(&c, body.data, body.len) == 0) {
			assert_int_equal(change_encode(&c, &again), 0);
			assert_int_equal(again.len, body.len);
			assert_memory_equal(again.data, body.data, body.len);
		}
		body.data[i] ^= 0x20;
	}
}

/* A port after the last, or none where there should be one. */
static void test_ports_that_do_not_fit_their_number(void **state)
{
	enum { N_PORTS = 4, PORTS = 16 };
	auto_buffer body = { 0 };
	struct change c;

	(void)state;
	assert_int_equal(change_encode(&full, &body), 0);
	body.data[N_PORTS] = 1;
	assert_int_equal(change_decode(&c, body.data, body.len), -EPROTO);
	body.data[N_PORTS] = 3;
	assert_int_equal(change_decode(&c, body.data, body.len), -EPROTO);
	body.data[N_PORTS] = 2;
	memset(body.data + PORTS, 0, sizeof(struct listen_entry));
	assert_int_equal(change_decode(&c, body.data, body.len), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_grants_are_of_hosts),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_as_many_as_there_may_be),
		cmocka_unit_test(test_what_is_not_written),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_ports_that_do_not_fit_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
