/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/inside.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"
#include "policy/policy.h"

#define RULE(id, action, patterns)                   \
	"{\"id\": \"" id "\", \"action\": \"" action \
	"\", \"operations\": [\"exec\"], \"patterns\": [" patterns "]}"

static const char shield[] = "{\"version\": 1, \"rules\": [" RULE("a", "deny",
	"\"rm -rf /*\", \"nc *\"") ",\n" RULE("b", "deny", "\"nc *\"") ",\n" RULE("c", "allow",
	"\"git:*\", \"rm:*\", \"npm run build\"") ",\n"
						  "{\"id\": \"d\", \"action\": \"deny\", "
						  "\"operations\": [\"http_request\"],"
						  "\"patterns\": [\"https://*/admin\", "
						  "\"evil.com/x\"]},\n"
						  "{\"id\": \"e\", \"action\": \"deny\", "
						  "\"operations\": [\"exec\"], \"enabled\": false,"
						  "\"patterns\": [\"git push:*\"]}]}";
static const char own[] =
	"exec: [git, \"npm run build:\"]\n"
	"rules:\n"
	"  - {id: f, action: deny, operations: [exec], patterns: [\"git push:*\"]}\n";

static struct permissions *read_text(const char *file, const char *text)
{
	struct manifest m;

	assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, file, text, strlen(text), NULL), 0);
	return m.permissions;
}

static bool allows(const struct permissions *p, const char *program, const char *arg)
{
	struct request r = {
		.op = OPERATION_EXEC, .target = program, .args = &arg, .n_args = arg ? 1 : 0
	};
	auto_policy *policy = NULL;

	assert_int_equal(policy_new(&policy, &p, 1, NULL, NULL), 0);
	return policy_allows(policy, &r);
}

/* Rules of AgenShield's about arguments are left out, in both directions. */
static void test_shield(void **state)
{
	auto_permissions *p = read_text("x.json", shield);
	auto_permissions *copy = permissions_copy(p);
	auto_permissions *inside = launch_inside(copy, NULL);
	auto_permissions *with = launch_inside(copy, "/opt/npm");

	(void)state;
	assert_true(launch_inside_matters(copy));
	assert_true(allows(inside, "rm", "-rf"));
	assert_true(allows(inside, "git", "push"));
	assert_false(allows(inside, "nc", "x"));
	assert_false(allows(inside, "npm", "run"));
	assert_false(allows(inside, "/opt/npm", "run"));
	assert_true(allows(with, "/opt/npm", "run"));
	assert_false(allows(with, "/opt/nc", NULL));
	assert_false(launch_inside_matters(inside));
}

/* In Corral's own formats a denial by arguments denies the program. */
static void test_own(void **state)
{
	auto_permissions *p = read_text("x.yaml", own);
	auto_permissions *inside = launch_inside(p, NULL);
	auto_buffer names = { 0 };

	(void)state;
	assert_false(launch_inside_matters(p));
	assert_false(launch_inside_unheld(p, &names));
	assert_false(allows(inside, "git", "status"));
	assert_false(allows(inside, "npm", "run"));
}

static void test_unheld(void **state)
{
	auto_permissions *p = read_text("x.json", shield);
	auto_permissions *both = permissions_new();
	auto_buffer names = { 0 };

	(void)state;
	assert_int_equal(permissions_add_layer(both, p), 0);
	assert_true(launch_inside_matters(both));
	assert_true(launch_inside_unheld(both, &names));
	assert_string_equal(buffer_text(&names), "a (x.json:1), d (x.json:4)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shield),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_unheld),
	};

	return cmocka_run_group_tests_name("launch-inside", tests, NULL, NULL);
}
