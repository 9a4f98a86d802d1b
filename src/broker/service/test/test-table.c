/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of back ends, and those of the methods that they serve. */
#include "test/unit.h"

#include <string.h>

#include "broker/method.h"
#include "broker/service/table.h"
#include "policy/match/service.h"
#include "policy/service-table.h"

static void test_back_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < service_backend_count; i++) {
		const struct service_backend *b = &service_backends[i];

		assert_ptr_equal(service_backend_find(b->name), b);
		assert_non_null(service_row_find(b->section, strlen(b->section)));
		assert_true(strncmp(b->program, "corral-", 7) == 0 && !strchr(b->program, '/'));
		assert_true(b->help && b->help[0] && b->build && b->build[0]);
		/* What must be configured has an example. */
		assert_true(!b->needs_section || b->example);
		for (const struct schema_field *k = b->keys; k->name; k++) {
			assert_true(k < b->keys + SERVICE_KEYS_MAX - 1);
			assert_true(k->help && k->help[0]);
			assert_int_equal(k->type == SCHEMA_CHOICE, k->words != NULL);
			assert_non_null(service_key_find(b->section, k->name));
		}
	}
	assert_null(service_backend_find(""));
	assert_null(service_key_find("notifications", "no such key"));
}

static void test_methods(void **state)
{
	(void)state;
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];
		const struct service_backend *b =
			m->service ? service_backend_find(m->service) : NULL;
		struct service_request r;

		assert_int_equal(m->service != NULL, b != NULL);
		if (!b)
			continue;
		if (m->op != OPERATION_SERVICE || service_request_parse(&r, m->grant) < 0 ||
			strlen(b->section) != r.name_len ||
			strncmp(b->section, r.name, r.name_len) != 0 || r.access == 0 || r.value)
			fail_msg("%s: %s", m->name, m->grant);
		assert_true(!m->record || strcmp(m->record, "") != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back_ends),
		cmocka_unit_test(test_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
