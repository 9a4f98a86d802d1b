/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "wasm/options.h"

enum { WORDS_MAX = 8 };

static void test_words(void **state)
{
	static const char *const words[] = { "memory=65536", "fuel=7", "export=run", "input",
		"env=A", "env=B", "grant=http", "ro=/data", "/srv/data", "rw=/", "/tmp", "--",
		"x.wasm", "--", "memory=1" };
	auto_arena a = { 0 };
	struct worker_options o;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(worker_options_read(&o, words, ROWS(words), &a, &e), 0);
	assert_true(o.memory == 65536 && o.fuel == 7 && o.has_input);
	assert_string_equal(o.export, "run");
	assert_int_equal(o.n_variables, 2);
	assert_int_equal(o.n_folders, 2);
	assert_true(!o.folders[0].is_writable && o.folders[1].is_writable);
	assert_string_equal(o.folders[0].host, "/srv/data");
	assert_true(worker_options_grants(&o, "http") && !worker_options_grants(&o, "htt") &&
		    !worker_options_grants(&o, "email"));
	/* All behind the first dashes is the module's. */
	assert_int_equal(o.n_args, 3);
	assert_string_equal(o.args[2], "memory=1");
}

/* With nothing said, nothing is granted. */
static void test_nothing(void **state)
{
	static const char *const words[] = { "--" };
	auto_arena a = { 0 };
	struct worker_options o;

	(void)state;
	assert_int_equal(worker_options_read(&o, words, 1, &a, NULL), 0);
	assert_true(o.n_folders == 0 && o.n_grants == 0 && o.n_variables == 0 && !o.export);
	assert_true(o.memory == WORKER_MEMORY_MAX && o.fuel == WORKER_FUEL_NONE);
}

static void test_refused(void **state)
{
	static const char *const rows[][WORDS_MAX] = {
		{ NULL },
		{ "memory=1", NULL },
		{ "memory=", "--", NULL },
		{ "memory=-1", "--", NULL },
		{ "memory=1x", "--", NULL },
		{ "fuel=99999999999999999999", "--", NULL },
		{ "ro=/data", NULL },
		{ "ro=/data", "--", NULL },
		{ "ro=data", "/x", "--", NULL },
		{ "rw=/data", "x", "--", NULL },
		{ "inputs", "--", NULL },
		{ "socket=1", "--", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct worker_options o;
		struct error e = { 0 };
		size_t n = 0;

		while (rows[i][n])
			n++;
		if (worker_options_read(&o, rows[i], n, &a, &e) != -EINVAL)
			fail_msg("row %zu was taken", i);
		assert_true(e.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("wasm-options", tests, NULL, NULL);
}
