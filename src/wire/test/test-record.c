/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "wire/record.h"

static const struct record full = { .kind = RECORD_CLOSED,
	.dns = true,
	.target = "api.example.com:443",
	.name = "api.example.com",
	.address = "192.0.2.1",
	.port = 443,
	.rule = "policy.yaml:3: *.example.com:443",
	.reason = "why",
	.remedy = "add it",
	.sent = UINT64_MAX,
	.received = 5,
	.count = 7,
	.pid = UINT32_MAX,
	.program = "/usr/bin/curl" };

static void check_same(const struct record *a, const struct record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->dns, b->dns);
	assert_string_equal(a->target, b->target);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->address, b->address);
	assert_int_equal(a->port, b->port);
	assert_string_equal(a->rule, b->rule);
	assert_string_equal(a->reason, b->reason);
	assert_string_equal(a->remedy, b->remedy);
	assert_true(a->sent == b->sent && a->received == b->received && a->count == b->count);
	assert_int_equal(a->pid, b->pid);
	assert_string_equal(a->program, b->program);
}

static void test_both_ways(void **state)
{
	auto_buffer body = { 0 };
	struct record r;

	(void)state;
	assert_int_equal(record_encode(&full, &body), 0);
	assert_int_equal(record_decode(&r, body.data, body.len), 0);
	check_same(&r, &full);
}

/* No texts at all, and how often was not said. */
static void test_empty(void **state)
{
	const struct record sent = { 0 };
	auto_buffer body = { 0 };
	struct record r;

	(void)state;
	assert_int_equal(record_encode(&sent, &body), 0);
	assert_int_equal(record_decode(&r, body.data, body.len), 0);
	assert_int_equal(r.kind, RECORD_DENIED);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.target, "");
	assert_string_equal(r.program, "");
}

static void test_cut(void **state)
{
	auto_buffer body = { 0 };
	struct record r;

	(void)state;
	assert_int_equal(record_encode(&full, &body), 0);
	for (size_t len = 0; len < body.len; len++) {
		r.pid = 1;
		assert_int_equal(record_decode(&r, body.data, len), -EPROTO);
		assert_int_equal(r.pid, 1);
	}
	buffer_addc(&body, '\0');
	assert_int_equal(record_decode(&r, body.data, body.len), -EPROTO);
}

/* Bytes of the head that make no sense: each by its place. */
static const struct {
	const char *name;
	size_t at;
	uint8_t value;
	int want;
} heads[] = {
	{ "kind", 0, RECORD_CLOSED + 1, -EPROTO },
	{ "kind, high", 3, 1, -EPROTO },
	{ "flag", 4, 2, -EPROTO },
	{ "flag, high", 7, 0x80, -EPROTO },
	{ "port 65536", 10, 1, -EPROTO },
	{ "count 0", 32, 0, -EPROTO },
	{ "count 8", 32, 8, 0 },
	{ "no dns", 4, 0, 0 },
};

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(heads); i++) {
		auto_buffer body = { 0 };
		struct record r;
		int got;

		assert_int_equal(record_encode(&full, &body), 0);
		body.data[heads[i].at] = (char)heads[i].value;
		got = record_decode(&r, body.data, body.len);
		if (got != heads[i].want)
			fail_msg("%s: %d", heads[i].name, got);
	}
}

static void test_size(void **state)
{
	static char text[RECORD_TEXT_MAX + 1];
	struct record sent = { .reason = text }, r;
	auto_buffer body = { 0 };

	(void)state;
	/* Six others are empty, and each has its NUL. */
	memset(text, 'x', RECORD_TEXT_MAX - 6);
	assert_int_equal(record_encode(&sent, &body), -EMSGSIZE);
	assert_int_equal(body.len, 0);
	text[RECORD_TEXT_MAX - 7] = '\0';
	assert_int_equal(record_encode(&sent, &body), 0);
	assert_int_equal(record_decode(&r, body.data, body.len), 0);
	assert_string_equal(r.reason, text);
	/* One more byte, in the last text, is one too many. */
	body.data[body.len - 1] = 'x';
	buffer_addc(&body, '\0');
	assert_int_equal(record_decode(&r, body.data, body.len), -EPROTO);

	body.failed = true;
	assert_int_equal(record_encode(&sent, &body), -ENOMEM);
	sent.kind = (enum record_kind)(RECORD_CLOSED + 1);
	assert_int_equal(record_encode(&sent, &body), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
