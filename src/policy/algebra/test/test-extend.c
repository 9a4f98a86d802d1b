/* SPDX-License-Identifier: Apache-2.0 */
/* What a file becomes that extends a profile; and that nobody takes one for resolved that is not.
 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/algebra/extend.h"
#include "policy/algebra/subset.h"

static void test_table(void **state)
{
	static const struct {
		const char *base, *file, *want;
	} rows[] = {
		{ "{}", "extends: x", "{}" },
		{ "fs: {read: [/a]}", "extends: x", "fs: {read: [/a]}" },
		{ "fs: {read: [/a], deny: [/d]}",
			"{extends: x, fs: {read: [/b], write: [/c], deny: [/e]}}",
			"fs: {read: [/a, /b], write: [/c], deny: [/d, /e]}" },
		/* An exec list is one, wherever it stands. */
		{ "fs: {read: [/a]}", "{extends: x, exec: []}", "{fs: {read: [/a]}, exec: []}" },
		{ "exec: [ls]", "extends: x", "exec: [ls]" },
		{ "exec: [ls]", "{extends: x, exec: [cat]}", "exec: [cat, ls]" },
		/* Of numbers the file's, wider or not. */
		{ "limits: {memory: 1M, pids: 3}",
			"{extends: x, limits: {memory: 2M, timeout: 1s}}",
			"limits: {memory: 2M, pids: 3, timeout: 1s}" },
		{ "network: {max_bytes: 1M}",
			"{extends: x, network: {rate_limit: 5/s, "
			"max_request_size: 2K}}",
			"network: {max_bytes: 1M, rate_limit: 5/s, max_request_size: 2K}" },
		{ "network: {allow: [a.com]}", "{extends: x, network: {methods: [GET]}}",
			"network: {allow: [a.com], methods: [GET]}" },
		{ "network: {methods: [GET]}", "{extends: x, network: {listen: [80]}}",
			"network: {methods: [GET], listen: [80]}" },
		{ "network: {listen: [81], deny: ['*']}",
			"{extends: x, network: {allow: [a.com], listen: [80]}}",
			"network: {allow: [a.com], deny: ['*'], listen: [80, 81]}" },
		{ "secrets: {A: {hosts: [a:1]}}", "{extends: x, secrets: {B: {hosts: [b:1]}}}",
			"secrets: {A: {hosts: [a:1]}, B: {hosts: [b:1]}}" },
		{ "{env: [A], services: {clipboard: {access: read}}}", "{extends: x, env: [B]}",
			"{env: [A, B], services: {clipboard: {access: read}}}" },
		{ "{default: allow, mode: audit}", "extends: x", "{default: allow, mode: audit}" },
		{ "{}", "{extends: x, default: ask, mode: monitor}",
			"{default: ask, mode: monitor}" },
		{ "dangerously_allow: [/a]", "{extends: x, dangerously_allow: [/b]}",
			"dangerously_allow: [/a, /b]" },
		{ "all_of: [{fs: {read: [/a]}}, {fs: {read: [/b]}}]",
			"{extends: x, fs: {read: [/c]}}",
			"all_of: [{fs: {read: [/a, /c]}}, {fs: {read: [/b, /c]}}]" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *base = test_read(rows[i].base), *file = test_read(rows[i].file);
		auto_permissions *want = test_read(rows[i].want), *got = NULL;
		auto_buffer x = { 0 }, y = { 0 };

		assert_int_equal(extend_permissions(&got, base, file), 0);
		assert_null(got->extends);
		permissions_print_yaml(got, &x);
		permissions_print_yaml(want, &y);
		if (strcmp(buffer_text(&x), buffer_text(&y)) != 0)
			fail_msg("%s with %s:\n%swant\n%s", rows[i].base, rows[i].file,
				buffer_text(&x), buffer_text(&y));
	}
}

/* Nothing that is not resolved is compiled, merged, met or compared. */
static void test_unresolved(void **state)
{
	auto_permissions *p = test_read("{extends: workspace, fs: {read: [/a]}}");
	auto_permissions *q = test_read("fs: {read: [/a]}"), *ret = NULL, *copy = NULL;
	const struct permissions *layers[] = { p };
	auto_policy *policy = NULL;
	auto_subset s = { 0 };
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(p->extends_where.line, 1);
	assert_int_equal(policy_new(&policy, layers, 1, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "extends: workspace"));
	assert_int_equal(algebra_merge(&ret, p, q), -EINVAL);
	assert_int_equal(algebra_merge(&ret, q, p), -EINVAL);
	assert_int_equal(algebra_intersect(&ret, p, q), -EINVAL);
	assert_int_equal(algebra_intersect(&ret, q, p), -EINVAL);
	assert_true(subset_compare(&s, p, q, NULL, &e) < 0);
	assert_true(subset_compare(&s, q, p, NULL, &e) < 0);
	assert_int_equal(extend_permissions(&ret, p, q), -EINVAL);
	assert_false(permissions_is_empty(p));
	/* A copy and what is printed have it still. */
	copy = permissions_copy(p);
	assert_string_equal(copy->extends, "workspace");
	permissions_print_yaml(copy, &text);
	assert_non_null(strstr(buffer_text(&text), "extends: workspace"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_unresolved),
	};

	return cmocka_run_group_tests_name("extend", tests, NULL, NULL);
}
