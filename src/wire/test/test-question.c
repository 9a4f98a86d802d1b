/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "wire/question.h"

static const struct question asked = { .op = OPERATION_FS_READ,
	.pid = 17,
	.wait_ms = 60000,
	.n_scopes = 2,
	.target = "/srv/a",
	.program = "cat",
	.rule = "ask-srv",
	.reason = "the rule says ask",
	.method = "fs.read",
	.scopes = { "/srv/a", "/srv/**" } };

static void test_question(void **state)
{
	auto_buffer body = { 0 };
	struct question q, bad;

	(void)state;
	assert_int_equal(question_encode(&asked, &body), 0);
	assert_int_equal(question_decode(&q, body.data, body.len), 0);
	assert_int_equal(q.pid, 17);
	assert_string_equal(q.target, "/srv/a");
	assert_string_equal(q.method, "fs.read");
	assert_string_equal(q.scopes[1], "/srv/**");
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(question_decode(&q, body.data, n), -EPROTO);
	buffer_addc(&body, '\0');
	assert_int_equal(question_decode(&q, body.data, body.len), -EPROTO);
	bad = asked;
	bad.op = OPERATION_COUNT;
	assert_int_equal(question_encode(&bad, &body), -EINVAL);
	bad = asked;
	bad.n_scopes = QUESTION_SCOPES_MAX + 1;
	assert_int_equal(question_encode(&bad, &body), -EINVAL);
	/* It is shown, and agreed to as it was shown: a part of it will not do. */
	bad = asked;
	bad.target = "/srv/\xff";
	assert_int_equal(question_encode(&bad, &body), -EINVAL);
}

static void test_over(void **state)
{
	const uint32_t how = QUESTION_EXPIRED, wrong = QUESTION_END_COUNT;
	enum question_end end;

	(void)state;
	assert_int_equal(question_over_decode(&end, &how, sizeof(how)), 0);
	assert_int_equal(end, QUESTION_EXPIRED);
	assert_int_equal(question_over_decode(&end, &wrong, sizeof(wrong)), -EPROTO);
	assert_int_equal(question_over_decode(&end, &how, 3), -EPROTO);
}

static void test_answer(void **state)
{
	const struct answer whole = {
		.question = 7, .kind = ANSWER_ALLOW, .ttl_ms = 5, .pattern = "/srv/**"
	};
	struct answer a = whole, got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(answer_encode(&a, &body), 0);
	assert_int_equal(answer_decode(&got, body.data, body.len), 0);
	assert_int_equal(got.kind, ANSWER_ALLOW);
	assert_string_equal(got.pattern, "/srv/**");
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(answer_decode(&got, body.data, n), -EPROTO);
	a.kind = ANSWER_ONCE;
	assert_int_equal(answer_encode(&a, &body), -EINVAL);
	a.kind = ANSWER_KIND_COUNT;
	assert_int_equal(answer_encode(&a, &body), -EINVAL);
	/* What is nothing denies. */
	assert_int_equal(ANSWER_DENY, 0);
}

static void test_grants(void **state)
{
	static struct live_grant got[QUESTION_GRANTS_MAX];
	const struct live_grant two[] = {
		{ .op = OPERATION_FS_READ, .pattern = "/srv/**", .since_ms = 3 },
		{ .op = OPERATION_NET_CONNECT,
			.pattern = "example.com:443",
			.until_ms = 9,
			.ends_ms = 11,
			.by = GRANT_BY_ANSWER },
	};
	auto_buffer body = { 0 }, many = { 0 };

	(void)state;
	assert_int_equal(live_grants_encode(two, 2, &body), 0);
	assert_int_equal(live_grants_decode(got, body.data, body.len), 2);
	assert_string_equal(got[1].pattern, "example.com:443");
	assert_int_equal(got[1].until_ms, 9);
	assert_int_equal(got[1].ends_ms, 11);
	assert_false(live_grant_is_over(&got[0], UINT64_MAX));
	assert_false(live_grant_is_over(&got[1], 10));
	assert_true(live_grant_is_over(&got[1], 11));
	assert_int_equal(live_grants_next_end(got, 2, 10), 11);
	assert_int_equal(live_grants_next_end(got, 2, 11), UINT64_MAX);
	assert_int_equal(live_grants_decode(got, body.data, 0), 0);
	assert_int_equal(live_grants_decode(got, body.data, body.len - 1), -EPROTO);
	assert_int_equal(live_grant_decode(got, body.data, body.len), -EPROTO);
	assert_int_equal(live_grant_encode(&(struct live_grant){ .pattern = "" }, &many), -EINVAL);
	for (int i = 0; i <= QUESTION_GRANTS_MAX; i++)
		assert_int_equal(live_grant_encode(&two[0], &many), 0);
	assert_int_equal(live_grants_decode(got, many.data, many.len), -EPROTO);
}

static void test_reply(void **state)
{
	const struct join_reply good[] = { { .text = "" }, { .made = 4, .text = "" },
		{ .error = EPERM, .text = "no" } };
	const struct join_reply bad[] = { { .error = -1, .text = "no" }, { .text = "no" },
		{ .made = 4, .error = EPERM, .text = "no" } };
	struct join_reply got;

	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_buffer body = { 0 };

		assert_int_equal(join_reply_encode(&good[i], &body), 0);
		assert_int_equal(join_reply_decode(&got, body.data, body.len), 0);
		assert_int_equal(got.made, good[i].made);
		assert_string_equal(got.text, good[i].text);
		assert_int_equal(join_reply_decode(&got, body.data, body.len - 1), -EPROTO);
	}
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_buffer body = { 0 };

		assert_int_equal(join_reply_encode(&bad[i], &body), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
