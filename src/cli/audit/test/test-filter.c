/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "audit/event.h"
#include "cli/audit/source.h"

static struct error error;

/* Gives one option of AUDIT_FILTER_ROWS or AUDIT_FILTER_AMOUNT a value. */
static int give(struct audit_filter *f, const char *option, const char *value)
{
	const struct options_row rows[] = { AUDIT_FILTER_ROWS(f), AUDIT_FILTER_AMOUNT(f) };
	auto_arena a = { 0 };
	struct call c = { .name = "corral audit list", .arena = &a, .error = &error };

	error = (struct error){ 0 };
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (strcmp(rows[i].is.name, option) == 0)
			return (rows[i].take ? rows[i].take : options_store)(&c, &rows[i], value);
	}
	return -ENOENT;
}

#define BIT(n) (UINT32_C(1) << (n))
#define NET (BIT(AUDIT_NET_CONNECT) | BIT(AUDIT_NET_CLOSE) | BIT(AUDIT_NET_NAME))

static void test_actions_are_words_and_groups(void **state)
{
	static const struct {
		const char *value;
		uint32_t want;
	} rows[] = {
		{ "exec", BIT(AUDIT_EXEC) },
		{ "net.connect", BIT(AUDIT_NET_CONNECT) },
		{ "net", NET },
		{ "net,exec", NET | BIT(AUDIT_EXEC) },
		{ "exec,exec", BIT(AUDIT_EXEC) },
		{ "fs.read,fs.write", BIT(AUDIT_FS_READ) | BIT(AUDIT_FS_WRITE) },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_filter f = { 0 };

		assert_int_equal(give(&f, "action", rows[i].value), 0);
		assert_int_equal(f.actions, rows[i].want);
	}
}

static void test_repeated_options_add_up(void **state)
{
	struct audit_filter f = { 0 };

	(void)state;
	assert_int_equal(give(&f, "action", "exec"), 0);
	assert_int_equal(give(&f, "action", "net"), 0);
	assert_int_equal(f.actions, NET | BIT(AUDIT_EXEC));
	assert_int_equal(give(&f, "decision", "denied"), 0);
	assert_int_equal(give(&f, "decision", "asked,failed"), 0);
	assert_int_equal(f.decisions, BIT(AUDIT_DENIED) | BIT(AUDIT_ASKED) | BIT(AUDIT_FAILED));
}

static void test_unknown_words_are_refused(void **state)
{
	static const struct {
		const char *option, *value, *says, *hint;
	} rows[] = {
		{ "action", "net.conect", "invalid value for --action: `net.conect`",
			"did you mean net.connect?" },
		{ "action", "exec,", "invalid value for --action: ``", "" },
		{ "action", "", "invalid value for --action: ``", "" },
		{ "action", "ne", "invalid value for --action: `ne`", "" },
		{ "action", "net.", "invalid value for --action: `net.`", "" },
		{ "decision", "allowed,denyed", "invalid value for --decision: `denyed`",
			"did you mean denied?" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_filter f = { 0 };

		assert_int_equal(give(&f, rows[i].option, rows[i].value), -EINVAL);
		assert_string_equal(error.text, rows[i].says);
		assert_non_null(strstr(error.hint, rows[i].hint));
	}
}

static void test_times_bound_the_records(void **state)
{
	struct audit_filter f = { 0 };

	(void)state;
	assert_int_equal(give(&f, "since", "2026-01-02T03:04:05Z"), 0);
	assert_true(f.since_ns == UINT64_C(1767323045000000000));
	assert_int_equal(give(&f, "until", "2026-01-02T03:04:05Z"), 0);
	assert_true(f.until_ns == f.since_ns);
	assert_int_equal(give(&f, "until", "2026-01-02T03:04:04Z"), -EINVAL);
	assert_string_equal(error.text, "--until is earlier than --since");
	assert_int_equal(give(&f, "since", "yesterday"), -EINVAL);
	assert_string_equal(error.text, "invalid value for --since: `yesterday` is not a time");
	assert_non_null(strstr(error.hint, "expected 10m, 2h or 3d (ago), 14:30, 2026-01-31"));
}

static void test_limits_are_numbers_from_one(void **state)
{
	static const char *const bad[] = { "", "0", "-1", "+1", " 1", "1 ", "1k", "x",
		"9223372036854775808", "99999999999999999999" };
	struct audit_filter f = { 0 };

	(void)state;
	assert_int_equal(give(&f, "limit", "20"), 0);
	assert_int_equal(f.limit, 20);
	assert_int_equal(give(&f, "limit", "9223372036854775807"), 0);
	for (size_t i = 0; i < ROWS(bad); i++) {
		f.limit = 7;
		assert_int_equal(give(&f, "limit", bad[i]), -EINVAL);
		assert_non_null(strstr(error.text, "invalid value for --limit: `"));
		assert_non_null(strstr(error.text, "(expected a whole number of at least 1)"));
		assert_int_equal(f.limit, 7);
	}
}

static void test_requests_are_one_of_three_words(void **state)
{
	struct audit_filter f = { 0 };

	(void)state;
	assert_int_equal(give(&f, "requests", "no"), 0);
	assert_int_equal(f.requests, AUDIT_REQUESTS_NO);
	assert_int_equal(give(&f, "requests", "only"), 0);
	assert_int_equal(f.requests, AUDIT_REQUESTS_ONLY);
	assert_int_equal(give(&f, "requests", "maybe"), -EINVAL);
	assert_non_null(strstr(error.text, "maybe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_actions_are_words_and_groups),
		cmocka_unit_test(test_repeated_options_add_up),
		cmocka_unit_test(test_unknown_words_are_refused),
		cmocka_unit_test(test_times_bound_the_records),
		cmocka_unit_test(test_limits_are_numbers_from_one),
		cmocka_unit_test(test_requests_are_one_of_three_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
