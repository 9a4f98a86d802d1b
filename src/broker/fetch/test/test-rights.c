/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as people write them, and what corral-fetch may do under each. */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "broker/fetch/rights.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"

static struct permissions *rights(const char *text, const char *origin)
{
	const struct rights_own own = {
		.program = "corral-fetch", .authorities = "roots.pem", .origin = origin
	};
	auto_manifest m = { 0 };
	struct permissions *p = NULL;
	struct error e = { 0 };

	if (manifest_read(&m, MANIFEST_UNKNOWN, "policy.yaml", text, strlen(text), &e) < 0 ||
		rights_new(&p, m.permissions, &own, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return p;
}

static bool allows(const struct permissions *p, enum operation op, const char *target)
{
	const struct variables variables = { .values = { [VARIABLE_SKILL_DIR] = "/opt/corral",
						     [VARIABLE_SHARED_DIR] = "/etc/own" } };
	const struct policy_options options = { .variables = &variables };
	const struct request r = { .op = op, .target = target };
	auto_policy *policy = NULL;
	struct error e = { 0 };

	if (policy_new(&policy, &p, 1, &options, &e) < 0)
		fail_msg("%s", e.text);
	return policy_allows(policy, &r);
}

#define ALL_FILES "fs: {read: [/**], write: [/**]}\nenv: ['*']\nexec: ['*']\n"

static void test_hosts_and_nothing_else(void **state)
{
	static const char *const policies[] = {
		ALL_FILES "network: {allow: ['a.example:443', 'unix:/run/docker.sock', "
			  "'udp://a.example:53']}\n",
		"default: allow\nnetwork: {deny: ['b.example']}\n",
		"mode: audit\nnetwork: {deny: ['b.example']}\n",
		"rules: [{id: a, action: allow, operations: [net.connect], patterns: "
		"['a.example:443']}, {id: b, action: allow, operations: [fs.read, fs.write], "
		"patterns: ['/**']}]\n",
		"all_of: [{network: {allow: ['*']}, fs: {read: [/**]}}, {network: {allow: "
		"['a.example:443']}, fs: {read: [/**]}}]\n",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(policies); i++) {
		auto_permissions *p = rights(policies[i], NULL);

		if (!allows(p, OPERATION_NET_CONNECT, "a.example:443"))
			fail_msg("%s", policies[i]);
		assert_false(allows(p, OPERATION_NET_CONNECT, "b.example:443"));
		assert_false(allows(p, OPERATION_NET_CONNECT, "169.254.169.254:80"));
		assert_false(allows(p, OPERATION_NET_CONNECT, "unix:/run/docker.sock"));
		assert_false(allows(p, OPERATION_NET_CONNECT, "udp://a.example:53"));
		assert_false(allows(p, OPERATION_FS_READ, "/srv/secret"));
		assert_false(allows(p, OPERATION_FS_WRITE, "/opt/corral/corral-fetch"));
		assert_false(allows(p, OPERATION_EXEC, "/bin/sh"));
		assert_false(allows(p, OPERATION_ENV, "HOME"));
		assert_true(allows(p, OPERATION_FS_READ, "/opt/corral/corral-fetch"));
		assert_true(allows(p, OPERATION_EXEC, "/opt/corral/corral-fetch"));
		assert_true(allows(p, OPERATION_FS_READ, "/etc/own/roots.pem"));
	}
}

static void test_nothing(void **state)
{
	auto_permissions *p = rights("fs: {read: [/**]}\n", NULL);

	(void)state;
	assert_false(allows(p, OPERATION_NET_CONNECT, "a.example:443"));
}

/* A request that was judged by its URL, or that was approved. */
static void test_origin(void **state)
{
	static const struct {
		const char *policy;
		bool with, without;
	} rows[] = {
		{ "network: {allow: ['https://a.example/v1/**']}\n", true, false },
		{ "rules: [{id: x, action: ask, operations: [net.connect], patterns: "
		  "['a.example:443']}]\n",
			true, false },
		{ "network: {allow: ['a.example:443']}\n", true, true },
		{ "network: {allow: ['*'], deny: ['a.example']}\n", false, false },
		{ "all_of: [{network: {allow: ['https://a.example/v1/**']}}, {network: {allow: "
		  "['*']}}]\n",
			true, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *with = rights(rows[i].policy, "a.example:443");
		auto_permissions *without = rights(rows[i].policy, NULL);

		if (allows(with, OPERATION_NET_CONNECT, "a.example:443") != rows[i].with ||
			allows(without, OPERATION_NET_CONNECT, "a.example:443") != rows[i].without)
			fail_msg("%s", rows[i].policy);
		assert_false(allows(with, OPERATION_NET_CONNECT, "a.example:80") &&
			     !strstr(rows[i].policy, "'*'"));
		assert_false(allows(with, OPERATION_FS_READ, "/srv/secret"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_and_nothing_else),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
