/* SPDX-License-Identifier: Apache-2.0 */
/* The table itself: what every row must be for those that follow it. */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "broker/method.h"

static void test_every_method_is_found_by_its_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];
		bool by_shield;

		assert_true(m->name || m->shield);
		if (m->name) {
			assert_ptr_equal(method_find(m->name, strlen(m->name), &by_shield), m);
			assert_false(by_shield);
			assert_string_equal(method_called(m, false), m->name);
		}
		if (m->shield) {
			assert_ptr_equal(method_find(m->shield, strlen(m->shield), &by_shield), m);
			assert_true(by_shield);
			assert_string_equal(method_called(m, true), m->shield);
		}
		assert_true(method_called(m, true) && method_called(m, false));
		assert_int_equal(m->id, i);
	}
}

static void test_names_that_look_alike_are_not_found(void **state)
{
	static const char *const names[] = { "", "fs", "fs.", "fs.rea", "fs.readx", "FS.READ",
		"fs_read", "file.read", "file_read ", " file_read", "file_rеad", "exec.", "Exec",
		"rpc.discover", "__proto__" };
	bool by_shield;

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		assert_null(method_find(names[i], strlen(names[i]), &by_shield));
	/* A NUL and what stands behind it is part of the name. */
	assert_null(method_find("ping\0x", 6, &by_shield));
}

/* No more than AgenShield lets its HTTP side do. */
static void test_http_has_five_methods(void **state)
{
	static const enum method_id allowed[] = { METHOD_PING, METHOD_FS_READ, METHOD_FS_LIST,
		METHOD_NETWORK_HTTP, METHOD_OPEN_URL };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		assert_true(method_rows[i].channels & CHANNEL_SOCKET);
		n += (method_rows[i].channels & CHANNEL_HTTP) != 0;
	}
	assert_int_equal(n, ROWS(allowed));
	for (size_t i = 0; i < ROWS(allowed); i++)
		assert_true(method_rows[allowed[i]].channels & CHANNEL_HTTP);
}

static void check_fields(const struct schema_field *f, size_t max)
{
	assert_true(schema_count(f) < max);
	for (size_t i = 0; f[i].name; i++) {
		assert_true(f[i].type > SCHEMA_NONE && f[i].type < SCHEMA_TYPE_COUNT);
		assert_int_equal(f[i].type == SCHEMA_CHOICE, f[i].words != NULL);
		assert_non_null(f[i].help);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(f[i].name, f[k].name);
	}
}

static void test_rows_are_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];

		assert_true(m->help && m->help[0]);
		check_fields(m->params, METHOD_PARAMS_MAX);
		check_fields(m->results, METHOD_RESULTS_MAX);
		check_fields(m->notes, METHOD_NOTES_MAX);
		assert_int_equal(m->note != NULL, m->notes[0].name != NULL);
		/* What the policy is asked about is always there. */
		if (m->target) {
			int at = method_param(m, m->target, false);

			assert_true(at >= 0 && (m->params[at].required || m->grant));
		}
		for (size_t k = 0; k < METHOD_TARGETS_MAX && m->more_targets[k]; k++)
			assert_true(method_param(m, m->more_targets[k], false) >= 0);
		assert_null(m->more_targets[METHOD_TARGETS_MAX - 1]);
		assert_true(m->refused || m->results[0].name);
	}
}

static void test_fields_by_both_names(void **state)
{
	const struct method *m = &method_rows[METHOD_FS_LIST];

	(void)state;
	assert_int_equal(method_param(m, "glob", false), 1);
	assert_int_equal(method_param(m, "glob", true), -1);
	assert_int_equal(method_param(m, "pattern", true), 1);
	assert_int_equal(method_param(m, "pattern", false), -1);
	assert_int_equal(method_param(&method_rows[METHOD_EXEC_RUN], "stdin", true), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_method_is_found_by_its_names),
		cmocka_unit_test(test_names_that_look_alike_are_not_found),
		cmocka_unit_test(test_http_has_five_methods),
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_fields_by_both_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
