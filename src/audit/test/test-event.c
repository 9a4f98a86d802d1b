/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "audit/event.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"

static const struct audit_event full = { .time_ns = 1700000000123456789,
	.sequence = 0x0102030405060708,
	.session = "s-1",
	.user = "1000",
	.sandbox = "b-2",
	.pid = 0x01020304,
	.program = "/usr/bin/curl",
	.action = AUDIT_STORE,
	.target = "api.example.com:443",
	.decision = AUDIT_FAILED,
	.rule = "policy.yaml:3: *.example.com",
	.reason = "why",
	.exact = true,
	.cost_ns = UINT64_MAX,
	.sent = 5,
	.received = 6,
	.status = -9,
	.count = 7 };

static void check_same(const struct audit_event *a, const struct audit_event *b)
{
	assert_true(a->time_ns == b->time_ns && a->sequence == b->sequence && a->pid == b->pid);
	assert_true(a->action == b->action && a->decision == b->decision && a->exact == b->exact);
	assert_true(a->cost_ns == b->cost_ns && a->sent == b->sent && a->received == b->received);
	assert_true(a->status == b->status && a->count == b->count);
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++)
		assert_string_equal(audit_event_text(a, i), audit_event_text(b, i));
}

static void test_both_ways(void **state)
{
	auto_buffer bytes = { 0 };
	struct audit_event e;

	(void)state;
	audit_event_encode(&full, &bytes);
	assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), 0);
	check_same(&e, &full);
}

/* The bytes are promised (docs/audit.md): they are in every hash. */
static void test_bytes(void **state)
{
	static const uint8_t want[] = { 1, AUDIT_NET_CONNECT, AUDIT_DENIED, 1, 4, 3, 2, 1,
		/* time, sequence, cost, sent, received, status, count */
		8, 7, 6, 5, 4, 3, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0,
		0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		1, 0, 0, 0, 0, 0, 0, 0,
		/* session, user, sandbox, program, target, rule, reason */
		1, 0, 's', 0, 1, 0, 'u', 0, 0, 0, 0, 2, 0, 's', 'h', 0, 1, 0, 'h', 0, 0, 0, 0, 1, 0,
		'w', 0 };
	const struct audit_event e = { .time_ns = 0x0102030405060708,
		.sequence = 2,
		.session = "s",
		.user = "u",
		.pid = 0x01020304,
		.program = "sh",
		.action = AUDIT_NET_CONNECT,
		.target = "h",
		.decision = AUDIT_DENIED,
		.reason = "w",
		.exact = true,
		.cost_ns = 3,
		.sent = 4,
		.received = 5,
		.status = -1 };
	auto_buffer bytes = { 0 };

	(void)state;
	audit_event_encode(&e, &bytes);
	assert_int_equal(bytes.len, sizeof(want));
	assert_memory_equal(bytes.data, want, sizeof(want));
}

static void test_names(void **state)
{
	(void)state;
	for (int a = 0; a < AUDIT_ACTION_COUNT; a++)
		assert_int_equal(audit_action_parse(audit_action_name((enum audit_action)a)), a);
	for (int d = 0; d < AUDIT_DECISION_COUNT; d++)
		assert_int_equal(
			audit_decision_parse(audit_decision_name((enum audit_decision)d)), d);
	assert_string_equal(audit_action_name(AUDIT_NET_CONNECT), "net.connect");
	assert_string_equal(audit_action_name(AUDIT_ACTION_COUNT), "unknown");
	assert_string_equal(audit_decision_name(AUDIT_DECISION_COUNT), "unknown");
	assert_int_equal(audit_action_parse("net"), -EINVAL);
	assert_int_equal(audit_action_parse("unknown"), -EINVAL);
	assert_int_equal(audit_decision_parse(""), -EINVAL);
}

static void test_empty(void **state)
{
	const struct audit_event nothing = { 0 };
	auto_buffer bytes = { 0 };
	struct audit_event e;

	(void)state;
	audit_event_encode(&nothing, &bytes);
	assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), 0);
	assert_int_equal(e.count, 1);
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++)
		assert_string_equal(audit_event_text(&e, i), "");
}

/* Every shorter length, and one more byte, is refused, and nothing is written. */
static void test_cut_short(void **state)
{
	auto_buffer bytes = { 0 };
	struct audit_event e = { .pid = 1 };

	(void)state;
	audit_event_encode(&full, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		assert_int_equal(audit_event_decode(&e, bytes.data, len), -EBADMSG);
		assert_int_equal(e.pid, 1);
	}
	buffer_addc(&bytes, '\0');
	assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), -EBADMSG);
}

/* One byte of a good encoding that is another: where, and what comes of it. */
static const struct {
	const char *name;
	size_t at;
	uint8_t value;
	int want;
} changes[] = {
	{ "version 0", 0, 0, -EBADMSG },
	{ "version 2", 0, 2, -EBADMSG },
	{ "action", 1, AUDIT_ACTION_COUNT, -EBADMSG },
	{ "another action", 1, AUDIT_ACTION_COUNT - 1, 0 },
	{ "decision", 2, AUDIT_DECISION_COUNT, -EBADMSG },
	{ "flags", 3, 2, -EBADMSG },
	{ "no flags", 3, 0, 0 },
	{ "count 0", 56, 0, -EBADMSG },
	{ "count 8", 56, 8, 0 },
	{ "a length that is too long", 65, 0xff, -EBADMSG },
	{ "a length beyond its text", 64, 4, -EBADMSG },
	{ "a length below its text", 64, 2, -EBADMSG },
	{ "a NUL in a text", 67, 0, -EBADMSG },
	{ "no NUL after a text", 69, 'x', -EBADMSG },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(changes); i++) {
		auto_buffer bytes = { 0 };
		struct audit_event e;
		int got;

		audit_event_encode(&full, &bytes);
		bytes.data[changes[i].at] = (char)changes[i].value;
		got = audit_event_decode(&e, bytes.data, bytes.len);
		if (got != changes[i].want)
			fail_msg("%s: %d", changes[i].name, got);
	}
}

/* A text of n bytes that is "é" again and again, with an odd byte in front if n is odd. */
static const char *accents(char *out, size_t n)
{
	size_t at = n % 2;

	memset(out, 'x', at);
	for (; at < n; at += 2)
		memcpy(out + at, "é", 2);
	out[n] = '\0';
	return out;
}

static void test_long_text(void **state)
{
	static char text[AUDIT_TEXT_MAX + 3];
	struct audit_event in = full, e;

	(void)state;
	for (size_t len = AUDIT_TEXT_MAX - 2; len < sizeof(text); len++) {
		auto_buffer bytes = { 0 };
		size_t got;

		in.target = accents(text, len);
		audit_event_encode(&in, &bytes);
		assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), 0);
		got = strlen(e.target);
		assert_true(utf8_valid(e.target, got, NULL));
		if (len <= AUDIT_TEXT_MAX) {
			assert_string_equal(e.target, text);
		} else {
			assert_true(got <= AUDIT_TEXT_MAX && got > AUDIT_TEXT_MAX - 3);
			assert_string_equal(e.target + got - strlen("…"), "…");
		}
		assert_string_equal(e.reason, full.reason);
	}
}

/* Bytes that are no UTF-8 are kept as they are, and cut where the room ends. */
static void test_long_bytes(void **state)
{
	static char text[AUDIT_TEXT_MAX + 2];
	struct audit_event in = full, e;
	auto_buffer bytes = { 0 };

	(void)state;
	memset(text, 0x80, sizeof(text) - 1);
	in.target = text;
	audit_event_encode(&in, &bytes);
	assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), 0);
	assert_int_equal(strlen(e.target), AUDIT_TEXT_MAX);
}

static struct audit_event with_all_texts(const char *text)
{
	struct audit_event e = full;

	e.session = e.user = e.sandbox = e.program = e.target = e.rule = e.reason = text;
	return e;
}

static void test_all_long(void **state)
{
	static char text[AUDIT_TEXT_MAX + 1];
	struct audit_event in, e;
	auto_buffer bytes = { 0 }, again = { 0 };

	(void)state;
	memset(text, 'x', AUDIT_TEXT_MAX);
	in = with_all_texts(text);
	in.rule = "short";
	audit_event_encode(&in, &bytes);
	assert_true(bytes.len <= AUDIT_EVENT_MAX && bytes.len > AUDIT_EVENT_MAX - 16);
	assert_int_equal(audit_event_decode(&e, bytes.data, bytes.len), 0);
	assert_string_equal(e.rule, "short");
	assert_int_equal(strlen(e.session), strlen(e.reason));
	audit_event_encode(&e, &again);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
}

static void test_pack(void **state)
{
	static char text[AUDIT_TEXT_MAX + 1];
	uint8_t out[AUDIT_EVENT_MAX];
	struct audit_event e, in;

	(void)state;
	memset(text, 'x', AUDIT_TEXT_MAX);
	in = with_all_texts(text);
	for (size_t room = AUDIT_EVENT_LEAST; room < 1024; room++) {
		size_t len = audit_event_pack(&in, out, room);

		assert_true(len > 0 && len <= room);
		assert_int_equal(audit_event_decode(&e, out, len), 0);
		assert_true(strlen(e.target) > 3);
	}
	assert_int_equal(audit_event_pack(&in, out, AUDIT_EVENT_LEAST - 1), 0);
}

static void test_no_such_thing(void **state)
{
	struct audit_event e = full;
	auto_buffer bytes = { 0 };

	(void)state;
	e.action = AUDIT_ACTION_COUNT;
	audit_event_encode(&e, &bytes);
	assert_true(bytes.failed && bytes.len == 0);
	bytes.failed = false;
	e.action = AUDIT_EXEC;
	e.decision = (enum audit_decision) - 1;
	audit_event_encode(&e, &bytes);
	assert_true(bytes.failed && bytes.len == 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_long_bytes),
		cmocka_unit_test(test_all_long),
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_no_such_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
