/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "broker/client/answer.h"

static void test_lines(void **state)
{
	static const struct {
		const char *line;
		int result;
		enum client_answer_kind kind;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, ANSWER_RESULT },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", 0,
			ANSWER_ERROR },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"m\"}}", 0,
			ANSWER_ERROR },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"id\":1}}", 0, ANSWER_NOTE },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", -EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}", -EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}", -EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"m\"}}",
			-EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"id\":2}}", -EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", -EPROTO, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"method\":1,\"params\":{\"id\":1}}", -EPROTO, 0 },
		{ "[]", -EPROTO, 0 },
		{ "7", -EPROTO, 0 },
		{ "", -EPROTO, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_answer a = { 0 };
		struct error e = { 0 };

		assert_int_equal(answer_read(&a, rows[i].line, strlen(rows[i].line), "1", &e),
			rows[i].result);
		if (rows[i].result == 0)
			assert_int_equal(a.kind, rows[i].kind);
	}
}

/* Each class is found again, by either name, and has a status of its own meaning. */
static void test_classes(void **state)
{
	(void)state;
	for (int i = 0; i < RPC_CLASS_COUNT; i++) {
		const struct rpc_refusal why = { .class = (enum rpc_class)i, .message = "m" };

		for (int by_shield = 0; by_shield < 2; by_shield++) {
			auto_answer a = { 0 };

			assert_int_equal(answer_make(&a, &why, by_shield), 0);
			assert_int_equal(answer_class(&a), i);
			assert_true(answer_status((enum rpc_class)i) >= 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
