/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as a front that was taken over could send them. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/call.h"

struct head {
	uint32_t method, flags, pid, uid;
	uint64_t connection;
};

static int decode(struct head head, const void *rest, size_t len)
{
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct broker_call c;

	buffer_add(&body, &head, sizeof(head));
	buffer_add(&body, rest, len);
	return call_decode(&c, body.data, body.len, &a);
}

static void test_a_call_arrives_as_it_was_sent(void **state)
{
	const struct broker_call sent = { .method = &method_rows[METHOD_FS_STAT],
		.pid = 7,
		.uid = 1000,
		.connection = UINT64_MAX,
		.params.v[0] = { .type = SCHEMA_PATH, .text = "/a", .len = 2 } };
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct broker_call got;

	(void)state;
	assert_int_equal(call_encode(&sent, &body), 0);
	assert_int_equal(call_decode(&got, body.data, body.len, &a), 0);
	assert_ptr_equal(got.method, sent.method);
	assert_int_equal(got.pid, 7);
	assert_int_equal(got.uid, 1000);
	assert_true(got.connection == UINT64_MAX);
	assert_string_equal(got.params.v[0].text, "/a");
}

static void test_what_a_front_may_not_send(void **state)
{
	static const char path[] = "\x02\x02\0\0\0/a";
	static const struct {
		struct head head;
		int code;
	} cases[] = {
		{ { METHOD_FS_STAT, 0, 1, 1, 1 }, 0 },
		{ { METHOD_COUNT, 0, 1, 1, 1 }, -EPROTO },
		{ { UINT32_MAX, 0, 1, 1, 1 }, -EPROTO },
		{ { METHOD_FS_STAT, 4, 1, 1, 1 }, -EPROTO },
		/* By a name that it does not have, or where it cannot be called. */
		{ { METHOD_FS_STAT, CALL_BY_SHIELD, 1, 1, 1 }, -EPROTO },
		{ { METHOD_FS_STAT, CALL_BY_HTTP, 1, 1, 1 }, -EPROTO },
		{ { METHOD_FS_DELETE, CALL_BY_HTTP, 1, 1, 1 }, -EPROTO },
		{ { METHOD_SKILL_INSTALL, CALL_BY_SHIELD, 1, 1, 1 }, -EPROTO },
		/* With values of another method. */
		{ { METHOD_FS_WRITE, 0, 1, 1, 1 }, -EPROTO },
		{ { METHOD_PING, 0, 1, 1, 1 }, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++)
		assert_int_equal(decode(cases[i].head, path, sizeof(path)), cases[i].code);
	assert_int_equal(decode(cases[0].head, path, sizeof(path) - 1), -EPROTO);
	assert_int_equal(call_decode(&(struct broker_call){ 0 }, "", 0, NULL), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_arrives_as_it_was_sent),
		cmocka_unit_test(test_what_a_front_may_not_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
