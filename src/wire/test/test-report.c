/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "wire/frame.h"
#include "wire/report.h"

static const struct {
	const char *name;
	struct report r;
	int want;
} reports[] = {
	{ "zero", { 0 }, 0 },
	{ "exit 255", { .exit_code = 255 }, 0 },
	{ "exit 256", { .exit_code = 256 }, -EPROTO },
	{ "exit -1", { .exit_code = -1 }, -EPROTO },
	{ "exit least", { .exit_code = INT32_MIN }, -EPROTO },
	{ "killed", { .signal = 9, .flags = REPORT_KILLED }, 0 },
	{ "killed, and no exit code", { .signal = 9, .exit_code = -1 }, 0 },
	{ "last signal", { .signal = 64 }, 0 },
	{ "signal 65", { .signal = 65 }, -EPROTO },
	{ "signal -1", { .signal = -1 }, -EPROTO },
	{ "all flags", { .flags = REPORT_FLAGS }, 0 },
	{ "unknown flag", { .flags = REPORT_FLAGS + 1 }, -EPROTO },
	{ "unknown last flag", { .flags = 1U << 31 }, -EPROTO },
	{ "polled", { .memory_by = REPORT_BY_POLLING, .pids_by = REPORT_BY_POLLING }, 0 },
	{ "memory by something else", { .memory_by = REPORT_BY_POLLING + 1 }, -EPROTO },
	{ "pids by something else", { .pids_by = REPORT_BY_POLLING + 1 }, -EPROTO },
	{ "pids by -1", { .pids_by = UINT32_MAX }, -EPROTO },
	{ "output lost", { .output_error = ENOSPC }, 0 },
	{ "output error", { .output_error = 4096 }, -EPROTO },
	{ "long", { .wall_us = UINT64_MAX, .user_us = UINT64_MAX, .peak_bytes = UINT64_MAX }, 0 },
};

static void test_report(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(reports); i++) {
		struct report r, before;
		int got;

		memset(&r, 0x5a, sizeof(r));
		before = r;
		got = report_decode(&r, &reports[i].r, sizeof(r));
		if (got != reports[i].want)
			fail_msg("%s: %d", reports[i].name, got);
		assert_memory_equal(&r, got ? &before : &reports[i].r, sizeof(r));
	}
}

static void test_size(void **state)
{
	static const unsigned char zeros[2 * sizeof(struct report)];
	struct report r;
	struct ready ready;

	(void)state;
	assert_int_equal(sizeof(struct report), 56);
	assert_int_equal(sizeof(struct ready), 8);
	for (size_t len = 0; len <= sizeof(zeros); len++) {
		assert_int_equal(report_decode(&r, zeros, len), len == sizeof(r) ? 0 : -EPROTO);
		/* Tier 0 is none, so zeros never mean that a session stands. */
		assert_int_equal(ready_decode(&ready, zeros, len), -EPROTO);
	}
}

static void test_ready(void **state)
{
	struct ready r = { 0 };

	(void)state;
	for (uint32_t tier = 0; tier < 10; tier++) {
		struct ready sent[2] = { { .tier = tier }, { 0 } };
		bool is_tier = tier >= READY_TIER_MIN && tier <= READY_TIER_MAX;

		assert_int_equal(ready_decode(&r, sent, sizeof(r)), is_tier ? 0 : -EPROTO);
		if (is_tier)
			assert_int_equal(r.tier, tier);
		assert_int_equal(ready_decode(&r, sent, sizeof(r) - 1), -EPROTO);
		assert_int_equal(ready_decode(&r, sent, sizeof(r) + 1), -EPROTO);
		sent[0].reserved = 1;
		assert_int_equal(ready_decode(&r, sent, sizeof(r)), -EPROTO);
	}
	assert_int_equal(r.tier, READY_TIER_MAX);
}

static void test_refusal(void **state)
{
	struct refusal sent = { ENOENT, "command not found", "install it" }, r;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(refusal_encode(&sent, &body), 0);
	assert_int_equal(refusal_decode(&r, body.data, body.len), 0);
	assert_int_equal(r.error, ENOENT);
	assert_string_equal(r.text, sent.text);
	assert_string_equal(r.hint, sent.hint);
	for (size_t len = 0; len < body.len; len++) {
		r.error = -7;
		assert_int_equal(refusal_decode(&r, body.data, len), -EPROTO);
		assert_int_equal(r.error, -7);
	}
	buffer_addc(&body, '\0');
	assert_int_equal(refusal_decode(&r, body.data, body.len), -EPROTO);

	buffer_clear(&body);
	sent = (struct refusal){ .error = 1 };
	assert_int_equal(refusal_encode(&sent, &body), 0);
	assert_int_equal(refusal_decode(&r, body.data, body.len), 0);
	assert_string_equal(r.text, "");
	assert_string_equal(r.hint, "");
}

static void test_refusal_error(void **state)
{
	static const int32_t errors[] = { 0, -1, -ENOENT, 4096, INT32_MAX, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < ROWS(errors); i++) {
		struct refusal sent = { errors[i], "text", "hint" }, r;
		auto_buffer body = { 0 };

		assert_int_equal(refusal_encode(&sent, &body), -EINVAL);
		assert_int_equal(body.len, 0);
		buffer_add(&body, &errors[i], sizeof(errors[i]));
		buffer_add(&body, "text\0hint", 10);
		assert_int_equal(refusal_decode(&r, body.data, body.len), -EPROTO);
	}
}

static void test_refusal_size(void **state)
{
	char *text = malloc(FRAME_MEMFD_MAX);
	auto_buffer body = { 0 };
	struct refusal sent = { EPERM, text, text };

	(void)state;
	assert_non_null(text);
	memset(text, 'x', FRAME_MEMFD_MAX);
	text[FRAME_MEMFD_MAX / 2 - 2] = '\0';
	assert_int_equal(refusal_encode(&sent, &body), -E2BIG);
	assert_int_equal(body.len, 0);
	text[FRAME_MEMFD_MAX / 2 - 3] = '\0';
	assert_int_equal(refusal_encode(&sent, &body), 0);
	assert_int_equal(body.len, FRAME_MEMFD_MAX);
	body.failed = true;
	assert_int_equal(refusal_encode(&sent, &body), -ENOMEM);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_refusal_error),
		cmocka_unit_test(test_refusal_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
