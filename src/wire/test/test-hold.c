/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "wire/hold.h"

static void test_declare(void **state)
{
	struct hold_declare d = { .flags = HOLD_ENFORCES | HOLD_BROKER, .text = "image" }, back;
	auto_buffer out = { 0 };

	(void)state;
	d.limits.values[0] = 7;
	d.variables.values[0] = "/home/a";
	assert_int_equal(hold_declare_encode(&d, &out), 0);
	assert_int_equal(hold_declare_decode(&back, out.data, out.len), 0);
	assert_int_equal(back.flags, d.flags);
	assert_int_equal(back.limits.values[0], 7);
	assert_string_equal(back.variables.values[0], "/home/a");
	assert_null(back.variables.values[1]);
	assert_string_equal(back.text, "image");
	/* No part of it, and nothing behind it, is such a body. */
	for (size_t n = 0; n < out.len; n++)
		assert_int_equal(hold_declare_decode(&back, out.data, n), -EPROTO);
	buffer_add(&out, "", 1);
	assert_int_equal(hold_declare_decode(&back, out.data, out.len), -EPROTO);
}

static void test_declare_is_checked(void **state)
{
	struct hold_declare d = { .flags = HOLD_FLAGS + 1, .text = "" };
	auto_buffer out = { 0 };
	struct hold_declare back;

	(void)state;
	assert_int_equal(hold_declare_encode(&d, &out), -EINVAL);
	d.flags = 0;
	d.variables.values[0] = "relative";
	assert_int_equal(hold_declare_encode(&d, &out), -EINVAL);
	d.variables.values[0] = NULL;
	assert_int_equal(hold_declare_encode(&d, &out), 0);
	out.data[0] = HOLD_FLAGS + 1;
	assert_int_equal(hold_declare_decode(&back, out.data, out.len), -EPROTO);
}

static void test_over(void **state)
{
	struct hold_over o = { .how = QUESTION_GIVEN_UP, .mask = UINT64_MAX }, back;

	(void)state;
	assert_int_equal(hold_over_decode(&back, &o, sizeof(o)), 0);
	assert_int_equal(back.how, QUESTION_GIVEN_UP);
	assert_int_equal(hold_over_decode(&back, &o, sizeof(o) - 1), -EPROTO);
	o.how = QUESTION_END_COUNT;
	assert_int_equal(hold_over_decode(&back, &o, sizeof(o)), -EPROTO);
	o = (struct hold_over){ .reserved = 1 };
	assert_int_equal(hold_over_decode(&back, &o, sizeof(o)), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declare),
		cmocka_unit_test(test_declare_is_checked),
		cmocka_unit_test(test_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
