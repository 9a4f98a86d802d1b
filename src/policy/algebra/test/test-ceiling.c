/* SPDX-License-Identifier: Apache-2.0 */
/* Grants while a sandbox runs: what a layer says of one, what it becomes with it, and the ceiling.
 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/algebra/ceiling.h"

#define ASK(op, pattern) "{id: q, action: ask, operations: [" op "], patterns: ['" pattern "']}"

static void test_look(void **state)
{
	static const struct {
		const char *layer;
		struct ceiling_grant grant;
		enum ceiling_says want;
	} rows[] = {
		{ "{}", { OPERATION_FS_READ, "/a", NULL }, CEILING_NOTHING },
		{ "fs: {read: [/a/**]}", { OPERATION_FS_READ, "/a/b", NULL }, CEILING_ALLOWS },
		{ "fs: {read: [/a/**]}", { OPERATION_FS_READ, "/a/b/**", NULL }, CEILING_ALLOWS },
		{ "fs: {write: [$HOME/a/**]}", { OPERATION_FS_READ, "/home/me/a/**", NULL },
			CEILING_ALLOWS },
		{ "fs: {read: [/a/b/**]}", { OPERATION_FS_READ, "/a/**", NULL }, CEILING_NOTHING },
		{ "fs: {deny: [/a/**]}", { OPERATION_FS_READ, "/a/b/**", NULL }, CEILING_DENIES },
		{ "fs: {deny: [/a/b]}", { OPERATION_FS_READ, "/a/b", NULL }, CEILING_DENIES },
		{ "rules: [" ASK("fs.read", "/a/**") "]", { OPERATION_FS_READ, "/a/b", NULL },
			CEILING_ASKS },
		{ "rules: [" ASK("fs.read", "/a/**") "]", { OPERATION_FS_READ, "/a/b/*", NULL },
			CEILING_ASKS },
		{ "rules: [" ASK("fs.read", "/a/**") "]", { OPERATION_FS_WRITE, "/a/b", NULL },
			CEILING_NOTHING },
		{ "rules: [" ASK("net.connect", "*.example.com:443") "]",
			{ OPERATION_NET_CONNECT, "api.example.com:443", NULL }, CEILING_ASKS },
		{ "network: {allow: ['*.example.com']}",
			{ OPERATION_NET_CONNECT, "*.example.com:443", NULL }, CEILING_ALLOWS },
		{ "network: {allow: ['*.example.com']}", { OPERATION_NET_CONNECT, "*.org", NULL },
			CEILING_NOTHING },
		{ "rules: [" ASK("exec", "git push:*") "]",
			{ OPERATION_EXEC, "git push origin", NULL }, CEILING_ASKS },
		/* Any arguments are more than some. */
		{ "rules: [" ASK("exec", "git push:*") "]", { OPERATION_EXEC, "git", NULL },
			CEILING_NOTHING },
		{ "services: {reminders: {access: read}}",
			{ OPERATION_SERVICE, "reminders.read:a", NULL }, CEILING_ALLOWS },
		{ "rules: [" ASK("service", "reminders.read") "]",
			{ OPERATION_SERVICE, "reminders.read:a", NULL }, CEILING_ASKS },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = test_read(rows[i].layer);
		struct error e = { 0 };
		int r = ceiling_look(p, &rows[i].grant, &test_options, NULL, &e);

		if (r != (int)rows[i].want)
			fail_msg("%s: %s: %d, not %d %s", rows[i].layer, rows[i].grant.pattern, r,
				rows[i].want, e.text);
	}
}

static enum verdict verdict_of(const struct permissions *p, enum operation op, const char *target)
{
	const struct request r = { .op = op, .target = target };
	auto_policy *policy = NULL;
	struct decision d;
	struct error e = { 0 };

	assert_int_equal(policy_new(&policy, &p, 1, &test_options, &e), 0);
	assert_int_equal(policy_decide(policy, &r, &d), 0);
	return d.verdict;
}

/* It answers what is asked, and no denial falls by it, whatever its rank. */
static void test_add(void **state)
{
	auto_permissions *p = test_read(
		"{fs: {deny: [/a/never]}, rules: ["
		"{id: strong, action: deny, operations: [fs.read], patterns: [/a/strong], "
		"priority: 9},"
		"{id: equal, action: deny, operations: [fs.read], patterns: [/a/equal], priority: "
		"5},"
		"{id: q, action: ask, operations: [fs.read], patterns: ['/a/**'], priority: 5},"
		"{id: weak, action: deny, operations: [fs.read], patterns: ['/**'], priority: "
		"1}]}");
	const struct ceiling_grant all = { OPERATION_FS_READ, "/a/**", NULL },
				   one = { OPERATION_FS_READ, "/a/x", NULL };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/x"), VERDICT_ASK);
	assert_int_equal(ceiling_add(p, &one, &test_options, &e), 0);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/x"), VERDICT_ALLOW);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/y"), VERDICT_ASK);
	assert_int_equal(ceiling_add(p, &all, &test_options, &e), 0);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/y"), VERDICT_ALLOW);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/never"), VERDICT_DENY);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/strong"), VERDICT_DENY);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/a/equal"), VERDICT_DENY);
	assert_int_equal(verdict_of(p, OPERATION_FS_READ, "/b"), VERDICT_DENY);
	assert_int_equal(verdict_of(p, OPERATION_FS_WRITE, "/a/x"), VERDICT_DENY);
}

#define METHODS(action, pattern)                                                           \
	"rules: [{id: m, action: " action ", operations: [net.connect], methods: [POST], " \
	"patterns: ['" pattern "']}]"

/* A rule about some methods is not about all requests of a pattern, nor of one place. */
static void test_methods(void **state)
{
	static const char *const patterns[] = { "https://a.com/v1/**", "https://a.com/v1/x",
		"a.com:443", "*.a.com:443" };
	static const char *const layers[] = { METHODS("ask", "https://a.com/v1/**"),
		METHODS("allow", "https://a.com/v1/**"), METHODS("allow", "a.com:443"),
		METHODS("allow", "*.a.com:443"), METHODS("deny", "a.com:443") };

	(void)state;
	for (size_t i = 0; i < ROWS(patterns) * ROWS(layers); i++) {
		const struct ceiling_grant g = { OPERATION_NET_CONNECT,
			patterns[i % ROWS(patterns)], NULL };
		auto_permissions *p = test_read(layers[i / ROWS(patterns)]);
		struct error e = { 0 };

		assert_int_equal(ceiling_look(p, &g, &test_options, NULL, &e), CEILING_NOTHING);
	}
}

/* With its method a grant is of that alone. */
static void test_one_method(void **state)
{
	static const struct {
		const char *layer, *grant;
		enum ceiling_says want;
	} rows[] = {
		{ METHODS("ask", "https://a.com/v1/**"), "POST https://a.com/v1/**", CEILING_ASKS },
		{ METHODS("ask", "https://a.com/v1/**"), "POST https://a.com/v1/x", CEILING_ASKS },
		{ METHODS("allow", "a.com:443"), "POST https://a.com/v1/**", CEILING_ALLOWS },
		{ METHODS("allow", "a.com:443"), "GET https://a.com/v1/**", CEILING_NOTHING },
		{ METHODS("allow", "a.com:443"), "GET https://a.com/v1/x", CEILING_NOTHING },
		{ METHODS("deny", "a.com:443"), "POST https://a.com/v1/**", CEILING_DENIES },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = test_read(rows[i].layer);
		struct ceiling_grant g;
		auto_arena a = { 0 };
		struct error e = { 0 };

		assert_int_equal(
			ceiling_grant_read(&g, OPERATION_NET_CONNECT, rows[i].grant, &a), 0);
		if (ceiling_look(p, &g, &test_options, NULL, &e) != (int)rows[i].want)
			fail_msg("%s: %s", rows[i].layer, rows[i].grant);
	}
}

static void test_add_one_method(void **state)
{
	auto_permissions *p = test_read("rules: [" ASK("net.connect", "a.com:443") "]");
	const struct ceiling_grant g = { OPERATION_NET_CONNECT, "https://a.com/x", "GET" };
	struct request r = { .op = OPERATION_NET_CONNECT, .target = "https://a.com/x" };
	static const struct {
		const char *method;
		enum verdict want;
	} rows[] = { { "GET", VERDICT_ALLOW }, { "POST", VERDICT_ASK }, { NULL, VERDICT_ASK } };
	const struct permissions *layer = p;
	auto_policy *policy = NULL;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(ceiling_add(p, &g, &test_options, &e), 0);
	assert_int_equal(policy_new(&policy, &layer, 1, &test_options, &e), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct decision d;

		r.method = rows[i].method;
		assert_int_equal(policy_decide(policy, &r, &d), 0);
		assert_int_equal(d.verdict, rows[i].want);
	}
}

/* One program more would take all others away. */
static void test_open_programs(void **state)
{
	const struct ceiling_grant g = { OPERATION_EXEC, "/opt/tool", NULL };
	auto_permissions *p = test_read("fs: {read: [/usr/**]}");
	struct error e = { 0 };

	(void)state;
	assert_int_equal(ceiling_add(p, &g, &test_options, &e), -EOPNOTSUPP);
	assert_int_equal(p->n_rules, 0);
}

static void test_admits(void **state)
{
	static const struct {
		const char *layers[2];
		bool is_declared;
		struct ceiling_grant grant;
		int want;
	} rows[] = {
		{ { "fs: {read: [/a/**]}" }, false, { OPERATION_FS_READ, "/a/b/**", NULL }, 1 },
		{ { "fs: {read: [/a/**]}", "{}" }, false, { OPERATION_FS_READ, "/a/b/**", NULL },
			0 },
		{ { "fs: {read: [/a/**]}", "rules: [" ASK("fs.read", "/**") "]" }, false,
			{ OPERATION_FS_READ, "/a/b/**", NULL }, 1 },
		{ { "fs: {read: [/a/**], deny: [/a/b/c]}" }, false,
			{ OPERATION_FS_READ, "/a/b/**", NULL }, 1 },
		/* What is not enforced must not be opened in part. */
		{ { "fs: {read: [/a/**], deny: [/a/b/c]}" }, true,
			{ OPERATION_FS_READ, "/a/b/**", NULL }, 0 },
		{ { "fs: {read: [/a/**], deny: [/a/c]}" }, true,
			{ OPERATION_FS_READ, "/a/b/**", NULL }, 1 },
		{ { "{fs: {read: [/a/**]}, rules: [{id: d, action: deny, operations: [fs.read], "
		    "patterns: ['**/*.key'], priority: -5}]}" },
			true, { OPERATION_FS_READ, "/a/b/**", NULL }, 0 },
		{ { "network: {allow: ['a.com'], methods: [GET]}" }, true,
			{ OPERATION_NET_CONNECT, "a.com:443", NULL }, 0 },
		{ { "network: {allow: ['a.com'], methods: [GET]}" }, false,
			{ OPERATION_NET_CONNECT, "a.com:443", NULL }, 1 },
		{ { "network: {allow: ['a.com'], methods: [GET]}" }, true,
			{ OPERATION_NET_CONNECT, "a.com:443", "GET" }, 1 },
		{ { "network: {allow: ['a.com'], methods: [GET]}" }, true,
			{ OPERATION_NET_CONNECT, "a.com:443", "POST" }, 0 },
		{ { METHODS("allow", "*.a.com:443") }, true,
			{ OPERATION_NET_CONNECT, "*.a.com:443", NULL }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *a = test_read(rows[i].layers[0]);
		auto_permissions *b = rows[i].layers[1] ? test_read(rows[i].layers[1]) : NULL;
		const struct permissions *all[] = { a, b }, *which = NULL;
		struct error e = { 0 };
		int r = ceiling_admits(all, b ? 2 : 1, &rows[i].grant, &test_options,
			rows[i].is_declared, &which, &e);

		if (r != rows[i].want)
			fail_msg("row %zu: %d %s", i, r, e.text);
	}
	assert_int_equal(ceiling_admits(NULL, 0, &rows[0].grant, &test_options, true,
				 &(const struct permissions *){ NULL }, NULL),
		0);
}

static void test_baseline(void **state)
{
	static const struct {
		const char *layer;
		struct ceiling_grant grant;
		const char *want; /* NULL: the baseline does not deny all of it */
	} rows[] = {
		{ "fs: {read: [/**]}", { OPERATION_FS_READ, "/etc/shadow", NULL }, "/etc/shadow" },
		{ "rules: [" ASK("fs.read", "/**") "]", { OPERATION_FS_READ, "/etc/shadow", NULL },
			"/etc/shadow" },
		{ "fs: {read: [/**]}", { OPERATION_FS_READ, "/root/.ssh/**", NULL }, "ssh" },
		{ "network: {allow: ['*']}", { OPERATION_NET_CONNECT, "169.254.169.254:80", NULL },
			"169.254.169.254" },
		{ "fs: {read: [/**]}", { OPERATION_FS_READ, "/etc/hosts", NULL }, NULL },
		{ "fs: {read: [/**]}", { OPERATION_FS_READ, "/etc/**", NULL }, NULL },
		{ "fs: {read: [/**]}", { OPERATION_FS_READ, "/root/**", NULL }, NULL },
		{ "{fs: {read: [/**]}, dangerously_allow: [/etc/shadow]}",
			{ OPERATION_FS_READ, "/etc/shadow", NULL }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = test_read(rows[i].layer);
		const struct permissions *all[] = { p };
		const char *entry = NULL, *why = NULL;
		struct error e = { 0 };
		int r = ceiling_baseline(all, 1, &rows[i].grant, &test_options, &entry, &why, &e);

		if (r != (rows[i].want != NULL) ||
			(rows[i].want && (!strstr(entry, rows[i].want) || !why[0])))
			fail_msg("row %zu: %d %s %s", i, r, entry ? entry : "", e.text);
	}
}

static void test_patterns(void **state)
{
	static const struct {
		enum operation op;
		const char *target, *want;
	} rows[] = {
		{ OPERATION_FS_READ, "/a/b", "/a/b" },
		{ OPERATION_FS_READ, "/a/*", "/a/\\*" },
		{ OPERATION_NET_CONNECT, "GET https://a.com/x", "GET https://a.com/x" },
		{ OPERATION_NET_CONNECT, "GET http://[2001:db8::1]:80/x",
			"GET http://[2001:db8::1]:80/x" },
		{ OPERATION_NET_CONNECT, "a.com:443", "a.com:443" },
		{ OPERATION_NET_CONNECT, "unix:/run/a", "unix:/run/a" },
		/* Each of these would be a pattern of more. */
		{ OPERATION_NET_CONNECT, "a.com", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/*", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/**", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/x/", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/x/.", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/x*", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/{x,y}", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/[xy]", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com/x?y", NULL },
		{ OPERATION_NET_CONNECT, "GET https://a.com?x=/y", NULL },
		{ OPERATION_NET_CONNECT, "GET https:/\\a.com/x", NULL },
		{ OPERATION_NET_CONNECT, "GET http://10.0.0.0/8:80", NULL },
		{ OPERATION_NET_CONNECT, "*:443", NULL },
		{ OPERATION_SERVICE, "reminders.read:*", NULL },
		{ OPERATION_SERVICE, "reminders.read:a", "reminders.read:a" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		int r = ceiling_pattern_of(rows[i].op, rows[i].target, &out);

		if (r != (rows[i].want ? 0 : -EINVAL))
			fail_msg("%s: %d", rows[i].target, r);
		if (rows[i].want)
			assert_string_equal(buffer_text(&out), rows[i].want);
	}
}

/* Whether the rule that decides about /a is a grant. */
static bool is_granted(const struct permissions *p)
{
	const struct request r = { .op = OPERATION_FS_READ, .target = "/a" };
	auto_policy *policy = NULL;
	struct decision d;
	struct error e = { 0 };

	assert_int_equal(policy_new(&policy, &p, 1, &test_options, &e), 0);
	assert_int_equal(policy_decide(policy, &r, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	return d.source->in->is_granted;
}

/* By its id no rule of a file is a grant, and a grant that was written as text is a rule. */
static void test_only_grants_are_granted(void **state)
{
	const struct ceiling_grant grant = { OPERATION_FS_READ, "/a", NULL };
	auto_permissions *file = test_read("rules: [{id: " CEILING_RULE ", action: allow, "
					   "operations: [fs.read], patterns: [/a]}]"),
			 *live = test_read("{}");
	auto_permissions *copy = NULL, *back = NULL;
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_false(is_granted(file));
	assert_int_equal(ceiling_add(live, &grant, &test_options, &e), 0);
	assert_true(is_granted(live));
	copy = permissions_copy(live);
	assert_true(is_granted(copy));
	permissions_print_yaml(live, &text);
	back = test_read(buffer_text(&text));
	assert_false(is_granted(back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_one_method),
		cmocka_unit_test(test_add_one_method),
		cmocka_unit_test(test_open_programs),
		cmocka_unit_test(test_admits),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_only_grants_are_granted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
