/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "postgres/startup.h"

static void add_u32(struct buffer *out, uint32_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buffer_addc(out, (char)(n >> shift));
}

static void test_read(void **state)
{
	enum { LOGIN = 3 << 16, TLS = 80877103, GSS = 80877104, CANCEL = 80877102 };
	static const struct {
		uint32_t code;
		const char *body;
		size_t len;
		int result; /* 0: its whole length */
		enum startup_kind kind;
	} rows[] = {
		{ LOGIN, "user\0app\0\0", 10, 0, STARTUP_LOGIN },
		{ LOGIN + 2, "user\0app\0database\0x\0_pq_.a\0b\0\0", 30, 0, STARTUP_LOGIN },
		{ LOGIN, "user\0app\0replication\0off\0\0", 26, 0, STARTUP_LOGIN },
		{ LOGIN, "user\0app\0replication\0true\0\0", 27, -EACCES, STARTUP_BROKEN },
		{ LOGIN, "user\0app\0replication\0database\0\0", 31, -EACCES, STARTUP_BROKEN },
		{ LOGIN, "user\0app\0user\0root\0\0", 20, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "user\0\0\0", 7, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "database\0x\0\0", 12, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "user\0app\0", 9, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "user\0app", 8, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "user\0app\0\0x", 11, -EPROTO, STARTUP_BROKEN },
		{ LOGIN, "", 0, -EPROTO, STARTUP_BROKEN },
		{ 2 << 16, "user\0app\0\0", 10, -EPROTO, STARTUP_BROKEN },
		{ 4 << 16, "user\0app\0\0", 10, -EPROTO, STARTUP_BROKEN },
		{ TLS, "", 0, 0, STARTUP_TLS },
		{ TLS, "x", 1, -EPROTO, STARTUP_BROKEN },
		{ GSS, "", 0, 0, STARTUP_GSS },
		{ CANCEL, "\0\0\0\1abcd", 8, 0, STARTUP_CANCEL },
		{ CANCEL, "\0\0\0\1abc", 7, -EPROTO, STARTUP_BROKEN },
		{ CANCEL, "\0\0\0", 3, -EPROTO, STARTUP_BROKEN },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer in = { 0 };
		struct startup s;
		int r;

		add_u32(&in, (uint32_t)rows[i].len + 8);
		add_u32(&in, rows[i].code);
		buffer_add(&in, rows[i].body, rows[i].len);
		r = startup_read(&s, in.data, in.len);
		if (r != (rows[i].result ? rows[i].result : (int)in.len) || s.kind != rows[i].kind)
			fail_msg("row %zu: %d", i, r);
		for (size_t n = 0; n < in.len; n++)
			assert_int_equal(startup_read(&s, in.data, n), 0);
	}
}

/* A length is refused before what it announces comes. */
static void test_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, 4, 7, STARTUP_MAX + 1, 1 << 20, 1U << 31, ~0U };
	struct startup s;

	(void)state;
	for (size_t i = 0; i < ROWS(lengths); i++) {
		auto_buffer in = { 0 };

		add_u32(&in, lengths[i]);
		assert_int_equal(startup_read(&s, in.data, in.len), -EPROTO);
	}
}

/* What is written is 3.0, without what is not known; and is read as it was meant. */
static void test_print(void **state)
{
	static const char body[] = "user\0app\0_pq_.new\0on\0options\0-c x=y\0";
	auto_buffer in = { 0 }, out = { 0 }, told = { 0 };
	struct startup s, again;

	(void)state;
	add_u32(&in, sizeof(body) + 8);
	add_u32(&in, (3 << 16) + 2);
	buffer_add(&in, body, sizeof(body));
	assert_int_equal(startup_read(&s, in.data, in.len), in.len);
	assert_string_equal(s.user, "app");
	assert_int_equal(s.minor, 2);
	startup_print(&s, &out);
	assert_int_equal(startup_read(&again, out.data, out.len), out.len);
	assert_int_equal(again.minor, 0);
	assert_int_equal(again.n, 2);
	assert_int_equal(again.n_unknown, 0);
	assert_string_equal(again.parameters[1].value, "-c x=y");
	startup_print_negotiation(&s, &told);
	assert_int_equal(told.len, 22);
	assert_memory_equal(told.data, "v\0\0\0\x15\0\3\0\0\0\0\0\1_pq_.new", 22);
	buffer_clear(&told);
	startup_print_negotiation(&again, &told);
	assert_int_equal(told.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
