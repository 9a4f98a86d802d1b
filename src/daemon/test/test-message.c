/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "daemon/message.h"

#define START "fedcba9876543210fedcba9876543210"
#define LABEL "00112233445566778899aabbccddeeff"
#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_setup(void **state)
{
	const struct message_setup s = {
		.heartbeat_ms = 5, .port = 3847, .token = TOKEN, .start = START, .label = LABEL
	};
	struct message_setup bad = s, got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(message_setup_encode(&s, &body), 0);
	assert_int_equal(message_setup_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.token, TOKEN);
	assert_string_equal(got.start, START);
	assert_string_equal(got.label, LABEL);
	assert_int_equal(got.port, 3847);
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(message_setup_decode(&got, body.data, n), -EPROTO);
	/* Never without a token. */
	bad.token[0] = '\0';
	assert_int_equal(message_setup_encode(&bad, &body), -EINVAL);
	body.data[body.len - 1] = '\0';
	assert_int_equal(message_setup_decode(&got, body.data, body.len), -EPROTO);
}

static void test_event(void **state)
{
	/* Lines of a stream: what could make others of them. */
	static const struct message_event bad[] = { { "", "{}" }, { "a\nb", "{}" }, { "a:b", "{}" },
		{ "A", "{}" }, { "a", "" }, { "a", "{\n}" }, { "a", "{\r}" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "{}" } };
	auto_buffer body = { 0 };
	struct message_event got;

	(void)state;
	assert_int_equal(
		message_event_encode(&(struct message_event){ "finding", "{}" }, &body), 0);
	assert_int_equal(message_event_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.type, "finding");
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_buffer forged = { 0 };

		assert_int_equal(message_event_encode(&bad[i], &body), -EINVAL);
		buffer_add(&forged, bad[i].type, strlen(bad[i].type) + 1);
		buffer_add(&forged, bad[i].json, strlen(bad[i].json) + 1);
		assert_int_equal(message_event_decode(&got, forged.data, forged.len), -EPROTO);
	}
}

static void test_answer(void **state)
{
	const struct message_answer a = { 200, "{}", 2 };
	struct message_answer got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(message_answer_encode(&a, &body), 0);
	assert_int_equal(message_answer_decode(&got, body.data, body.len), 0);
	assert_int_equal(got.status, 200);
	assert_int_equal(got.len, 2);
	assert_int_equal(message_answer_decode(&got, body.data, 3), -EPROTO);
	assert_int_equal(
		message_answer_encode(&(struct message_answer){ 100, "", 0 }, &body), -EINVAL);
}

static void test_note(void **state)
{
	const struct message_note n = {
		.status = 401, .more = 3, .target = "GET /x", .reason = "no"
	};
	struct message_note got, bad = n;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(message_note_encode(&n, &body), 0);
	assert_int_equal(message_note_decode(&got, body.data, body.len), 0);
	assert_string_equal(got.target, "GET /x");
	assert_int_equal(got.more, 3);
	for (size_t i = 0; i < body.len; i++)
		assert_int_equal(message_note_decode(&got, body.data, i), -EPROTO);
	bad.status = 302;
	assert_int_equal(message_note_encode(&bad, &body), -EINVAL);
	bad.status = 400;
	bad.target = "\xff";
	assert_int_equal(message_note_encode(&bad, &body), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
