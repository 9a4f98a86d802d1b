/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as people write them, and what Chromium may do under each. */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "broker/service/chromium-rights.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"

static struct permissions *rights(const char *text)
{
	auto_manifest m = { 0 };
	struct permissions *p = NULL;
	struct error e = { 0 };

	if (manifest_read(&m, MANIFEST_UNKNOWN, "policy.yaml", text, strlen(text), &e) < 0 ||
		chromium_rights_new(&p, m.permissions, "chromium", &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return p;
}

static bool allows(const struct permissions *p, enum operation op, const char *target)
{
	const struct variables variables = { .values = {
						     [VARIABLE_SKILL_DIR] = "/usr/lib/chromium" } };
	const struct policy_options options = { .variables = &variables };
	const struct request r = { .op = op, .target = target };
	auto_policy *policy = NULL;
	struct error e = { 0 };

	if (policy_new(&policy, &p, 1, &options, &e) < 0)
		fail_msg("%s", e.text);
	return policy_allows(policy, &r);
}

#define BROWSER(domains) "services: {browser: {access: [navigate], domains: [" domains "]}}\n"

static void test_hosts(void **state)
{
	static const struct {
		const char *policy;
		/* Of a.example:443, sub.a.example:8080, b.example:443, 1.1.1.1:80, 10.1.2.3:80. */
		const char *allowed;
	} rows[] = {
		{ "network: {allow: ['*']}\nfs: {read: ['/**']}\n", "-----" },
		{ BROWSER("a.example"), "a----" },
		{ BROWSER("'*.a.example'"), "-s---" },
		{ BROWSER("'*'"), "asb1-" },
		{ BROWSER("1.1.1.1, 10.1.2.3"), "---1p" },
		{ "services: {browser: {access: [navigate]}}\n", "asb1-" },
		{ "services: {browser: {access: [open, screenshot, eval], domains: [a.example]}}\n",
			"-----" },
		{ BROWSER("'*'") "network: {deny: [b.example]}\n", "as-1-" },
		{ "all_of: [{services: {browser: {access: [navigate], domains: ['*']}}}, "
		  "{services: {browser: {access: [navigate], domains: [b.example]}}}]\n",
			"--b--" },
		{ "all_of: [{services: {browser: {access: [navigate]}}}, {network: {allow: "
		  "['*']}}]\n",
			"-----" },
		{ "rules: [{id: r, action: allow, operations: [service], patterns: "
		  "['browser.navigate:a.example']}]\n",
			"a----" },
		{ "rules: [{id: r, action: allow, operations: [service], patterns: "
		  "['browser.eval:a.example', 'email']}]\n",
			"-----" },
		{ "rules: [{id: r, action: ask, operations: [service], patterns: "
		  "['browser']}]\n" BROWSER("a.example"),
			"-----" },
		{ "rules: [{id: r, action: deny, operations: [service], patterns: "
		  "['browser.navigate:b.example']}]\n" BROWSER("'*'"),
			"as-1-" },
		{ "rules: [{id: r, action: deny, operations: [service], patterns: "
		  "['*']}]\n" BROWSER("'*'"),
			"-----" },
		{ "rules: [{id: r, action: allow, operations: [net.connect], patterns: ['*']}]\n",
			"-----" },
		{ "default: allow\nrules: [{id: r, action: deny, operations: [service], patterns: "
		  "['browser:b.example']}]\n",
			"as-1-" },
		{ "mode: monitor\n", "asb1-" },
	};
	static const struct {
		char letter;
		const char *target;
	} hosts[] = { { 'a', "a.example:443" }, { 's', "sub.a.example:8080" },
		{ 'b', "b.example:443" }, { '1', "1.1.1.1:80" }, { 'p', "10.1.2.3:80" } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = rights(rows[i].policy);
		char found[ROWS(hosts) + 1] = "";

		for (size_t k = 0; k < ROWS(hosts); k++)
			found[k] = allows(p, OPERATION_NET_CONNECT, hosts[k].target)
					   ? hosts[k].letter
					   : '-';
		if (strcmp(found, rows[i].allowed) != 0)
			fail_msg("%s: %s, not %s", rows[i].policy, found, rows[i].allowed);
		assert_false(allows(p, OPERATION_NET_CONNECT, "udp://a.example:443"));
		assert_false(allows(p, OPERATION_NET_CONNECT, "169.254.169.254:80"));
	}
}

/* Nothing of what the policy grants of files, programs and variables. */
static void test_nothing_else(void **state)
{
	static const char *const policies[] = {
		"fs: {read: ['/**'], write: ['/**']}\nenv: ['*']\nexec: ['*']\n" BROWSER("'*'"),
		"default: allow\n",
		"mode: monitor\n",
		"rules: [{id: a, action: allow, operations: [fs.read, fs.write], patterns: "
		"['/**']}, {id: b, action: allow, operations: [service], patterns: ['*']}]\n",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(policies); i++) {
		auto_permissions *p = rights(policies[i]);

		assert_false(allows(p, OPERATION_FS_READ, "/etc/passwd"));
		assert_false(allows(p, OPERATION_FS_READ, "/home/a/file"));
		assert_false(allows(p, OPERATION_FS_WRITE, "/usr/lib/chromium/chromium"));
		assert_false(allows(p, OPERATION_EXEC, "/usr/bin/python3"));
		assert_false(allows(p, OPERATION_ENV, "SECRET"));
		assert_true(allows(p, OPERATION_EXEC, "/usr/lib/chromium/chromium"));
		assert_true(allows(p, OPERATION_FS_READ, "/usr/lib/chromium/icudtl.dat"));
		assert_true(allows(p, OPERATION_FS_READ, "/etc/fonts/fonts.conf"));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_nothing_else),
	};

	return cmocka_run_group_tests_name("chromium rights", tests, NULL, NULL);
}
