/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launch/broker.h"

static void test_find(void **state)
{
	static const struct {
		const char *broker, *caller;
		int code;
		bool has_caller;
	} cases[] = {
		{ "/bin/sh", "/bin/true", 0, true },
		{ "/bin/sh", "/no/such/program", 0, false },
		{ "/bin/sh", "/etc/passwd", 0, false },
		{ "/bin/sh", "bin/true", 0, false },
		{ "bin/sh", "/bin/true", -EINVAL, false },
		{ "/no/such/program", "/bin/true", -ENOENT, false },
		{ "/etc/passwd", "/bin/true", -EACCES, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct launch_broker found = { 0 };
		struct error e = { 0 };

		assert_int_equal(setenv("CORRAL_BROKER", cases[i].broker, 1), 0);
		assert_int_equal(setenv("CORRAL_SANDBOX_CALL", cases[i].caller, 1), 0);
		assert_int_equal(launch_broker_find(&found, &e), cases[i].code);
		if (cases[i].code < 0) {
			assert_non_null(strstr(e.text, cases[i].broker));
			assert_null(found.program);
			continue;
		}
		assert_string_equal(found.program, cases[i].broker);
		assert_int_equal(found.caller != NULL, cases[i].has_caller);
	}
}

static bool rule_grants(enum verdict action, enum operation op, bool disabled)
{
	auto_permissions *p = permissions_new();
	struct rule rule = {
		.id = "r", .action = action, .operations = 1U << op, .disabled = disabled
	};

	assert_int_equal(permissions_add(p, &rule.patterns, "*", NULL), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
	return launch_broker_is_granted(p);
}

static void test_granted_by_rules(void **state)
{
	(void)state;
	assert_true(rule_grants(VERDICT_ALLOW, OPERATION_SERVICE, false));
	assert_true(rule_grants(VERDICT_ASK, OPERATION_SERVICE, false));
	assert_false(rule_grants(VERDICT_DENY, OPERATION_SERVICE, false));
	assert_false(rule_grants(VERDICT_ALLOW, OPERATION_SERVICE, true));
	assert_false(rule_grants(VERDICT_ALLOW, OPERATION_FS_READ, false));
}

/* Of any layer; a service without access is no grant. */
static void test_granted(void **state)
{
	auto_permissions *p = permissions_new(), *layer = permissions_new();
	struct service *service;

	(void)state;
	assert_false(launch_broker_is_granted(p));
	service = permissions_service(layer, "browser");
	assert_non_null(service);
	assert_false(launch_broker_is_granted(layer));
	service->access = SERVICE_OPEN;
	assert_true(launch_broker_is_granted(layer));
	assert_int_equal(permissions_add_layer(p, layer), 0);
	assert_true(launch_broker_is_granted(p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_granted),
		cmocka_unit_test(test_granted_by_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
