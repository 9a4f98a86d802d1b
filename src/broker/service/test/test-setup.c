/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/service/setup.h"

static void test_there_and_back(void **state)
{
	static const struct value_item config[] = { { "server", "a.example" },
		{ "password", "s" } };
	static const struct value_item layers[] = { { NULL, "{}" } };
	const struct service_setup s = { .backend = "email",
		.sandbox = "shopping",
		.config = config,
		.n_config = 2,
		.layers = layers,
		.n_layers = 1 };
	struct service_setup back = { 0 };
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	(void)state;
	assert_int_equal(service_setup_encode(&s, &body), 0);
	assert_int_equal(service_setup_decode(&back, body.data, body.len, &a), 0);
	assert_string_equal(back.backend, "email");
	assert_string_equal(back.sandbox, "shopping");
	assert_int_equal(back.n_config, 2);
	assert_string_equal(back.config[1].key, "password");
	assert_string_equal(back.config[1].text, "s");
	assert_int_equal(back.n_layers, 1);
	assert_string_equal(back.layers[0].text, "{}");
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(service_setup_decode(&back, body.data, n, &a), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_and_back) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
