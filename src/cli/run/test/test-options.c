/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/run.h"

enum { WORDS_MAX = 8 };

struct fixture {
	struct arena arena;
	struct error error;
	struct call call;
	struct run run;
};

static void fixture_deinit(struct fixture *f)
{
	arena_deinit(&f->arena);
}
#define auto_fixture __attribute__((cleanup(fixture_deinit))) struct fixture

/* `corral run` with these words; "shell" as the first is `corral shell`. */
static int parse(struct fixture *f, const char *const *words)
{
	static char *copy[WORDS_MAX + 1];

	*f = (struct fixture){ .call = { .verb = &verb_run, .name = "corral run", .words = copy } };
	f->call.arena = &f->arena;
	f->call.error = &f->error;
	f->run.call = &f->call;
	f->run.is_shell = strcmp(words[0], "shell") == 0;
	for (; words[f->call.n]; f->call.n++) {
		copy[f->call.n] = arena_strdup(&f->arena, words[f->call.n]);
		assert_non_null(copy[f->call.n]);
	}
	copy[f->call.n] = NULL;
	return run_options(&f->run);
}

static void test_limits_are_parsed(void **state)
{
	static const char *const words[] = { "run", "--timeout=500ms", "--memory=64M", "--pids=8",
		"--max-output=1K", "--", "true", NULL };
	auto_fixture f = { 0 };
	const uint64_t *limits = f.run.options.limits.values;

	(void)state;
	assert_int_equal(parse(&f, words), 0);
	assert_int_equal(limits[LIMIT_TIMEOUT_MS], 500);
	assert_int_equal(limits[LIMIT_MEMORY], 64 << 20);
	assert_int_equal(limits[LIMIT_PIDS], 8);
	assert_int_equal(limits[LIMIT_OUTPUT], 1024);
	assert_int_equal(f.call.n, 1);
	assert_string_equal(f.call.words[0], "true");
}

static void test_without_options_there_are_no_limits(void **state)
{
	static const char *const words[] = { "run", "ls", "--json", NULL };
	auto_fixture f = { 0 };

	(void)state;
	assert_int_equal(parse(&f, words), 0);
	for (int i = 0; i < LIMIT_COUNT; i++)
		assert_true(f.run.options.limits.values[i] == LIMIT_NONE);
	assert_false(f.run.options.json);
	assert_int_equal(f.call.n, 2);
}

static void test_bad_values_are_refused_with_what_was_expected(void **state)
{
	static const struct {
		const char *words[WORDS_MAX], *says;
	} rows[] = {
		{ { "run" }, "no command was given" },
		{ { "run", "--" }, "no command was given" },
		{ { "run", "" }, "the program name is empty" },
		{ { "run", "--timeout", "soon", "ls" },
			"invalid value for --timeout: `soon` (expected a duration such as 500ms, "
			"30s or 5m)" },
		{ { "run", "--timeout", "0", "ls" },
			"invalid value for --timeout: 0 (no command could run)" },
		{ { "run", "--memory", "lots", "ls" },
			"invalid value for --memory: `lots` (expected a size such as 64K, 512M or "
			"2G)" },
		{ { "run", "--memory", "64", "ls" },
			"invalid value for --memory: 64 is too small to run any program (expected "
			"a size such as 64M)" },
		{ { "run", "--memory", "99999999999999999999", "ls" },
			"invalid value for --memory: 99999999999999999999 is too large" },
		{ { "run", "--pids", "x", "ls" },
			"invalid value for --pids: `x` (expected a whole number)" },
		{ { "run", "--pids", "-1", "ls" },
			"invalid value for --pids: `-1` (expected a whole number)" },
		{ { "run", "--pids", "0", "ls" },
			"invalid value for --pids: 0 (no command could run)" },
		{ { "run", "--pids", "18446744073709551615", "ls" },
			"invalid value for --pids: 18446744073709551615 is too large" },
		{ { "run", "--limits", "some", "ls" }, "invalid value for --limits: `some`" },
		{ { "run", "--audit", "", "ls" }, "--audit: the file name is empty" },
		{ { "run", "--yes", "ls" }, "--yes requires --skill" },
		{ { "run", "--extra", "/tmp", "ls" }, "--extra requires --data-dir or --mode" },
		{ { "run", "--mode", "rx", "ls" },
			"--mode requires --data-dir DIR, the agent's own folder" },
		{ { "run", "--mode", "rw", "ls" }, "invalid value for --mode: `rw`" },
		{ { "run", "--tier", "9", "ls" },
			"invalid value for --tier: `9` (expected 1 to 4)" },
		{ { "shell", "--skill", "/x" },
			"--skill cannot be used with `corral shell`; use `corral run --skill`" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fixture f = { 0 };

		assert_int_equal(parse(&f, rows[i].words), -EINVAL);
		assert_string_equal(f.error.text, rows[i].says);
		assert_true(f.error.hint[0]);
	}
}

/* `default` and `none` are words, other values files. */
static void test_audit_takes_a_file_or_a_word(void **state)
{
	static const struct {
		const char *value, *want;
	} rows[] = {
		{ "default", "default" },
		{ "none", "none" },
		{ "/srv/../log", "/log" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fixture f = { 0 };

		assert_int_equal(parse(&f, (const char *const[]){ "run", "--audit", rows[i].value,
						   "ls", NULL }),
			0);
		assert_string_equal(f.run.options.audit, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_are_parsed),
		cmocka_unit_test(test_without_options_there_are_no_limits),
		cmocka_unit_test(test_bad_values_are_refused_with_what_was_expected),
		cmocka_unit_test(test_audit_takes_a_file_or_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
