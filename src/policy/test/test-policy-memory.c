/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory, everywhere: the linker leads each call of an allocating function to the wrapper
 * here (see meson.build), and a loop fails the first call, then the second, and so on until all
 * succeed. Every one of these failures must come back as -ENOMEM; never as permissions that say
 * something else. Sanitizers see that nothing leaks.
 */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/explain.h"
#include "policy/match/pattern.h"
#include "policy/algebra/relation.h"
#include "policy/algebra/subset.h"
#include "test/failing-arena.h"

FAILING_CALLOC
FAILING_MALLOC
FAILING_REALLOC
FAILING_ALIGNED_ALLOC

/*
 * Something of everything, by sections. a and b are plain, so that two of them meet; in simple is
 * nothing that is too complex to be compared.
 */
static const struct section {
	const char *a, *b, *simple;
} sections[] = {
	{ "fs: {read: [/a/**, '/b*', '/{c,d}*', {all: ['/e*', '/*f']}, $HOME/x], write: "
	  "[$TEMP/**, /w], deny: [/a/s, '/**/t']}\n",
		"fs: {read: [/a/b/**, '/*x', '/c?'], write: [$TEMP/y, '/w*'], deny: ['/a/s*']}\n",
		"fs: {read: [/a/**, '/b*'], deny: [/a/s]}\n" },
	{ "network: {allow: [h.com, '*.i.com:443', 10.0.0.0/8, 'https://u.com/v1/**', "
	  "'unix:/run/s'], deny: [bad.com], listen: [80], methods: [GET, PUT], rate_limit: "
	  "5/min}\n",
		"network: {allow: ['h.com:80', '*.i.com', 10.1.0.0/16, 'https://u.com/*/x', "
		"'unix:/run/s'], listen: [80], methods: [PUT]}\n",
		"network: {allow: [h.com, 10.0.0.0/8, 'unix:/run/s'], listen: [80], rate_limit: "
		"5/min}\n" },
	{ "exec: [git, 'ls -l:*', /opt/**, '/usr/*/x a:', '*:', {all: [sh, /bin/**]}, "
	  "/bin/git]\n",
		"",
		"exec: [git, 'ls -l:*', /opt/**, '/usr/*/x a:', {all: [sh, /bin/**]}, {all: [zsh, "
		"/bin/**]}]\n" },
	{ "env: [A, 'B*', C=1, {all: ['D*', D1=2]}, {all: ['?E*', '*F']}]\n",
		"env: ['A*', B1, C]\n", "env: [A, 'B*', C=1]\n" },
	{ "services: {reminders: {access: readwrite, lists: ['W*', x]}, calendar: {access: read, "
	  "range: 7d}}\n"
	  "dangerously_allow: [/etc/shadow]\nlimits: {memory: 1G}\n",
		"services: {reminders: {access: read, lists: ['*k', x]}, calendar: {access: "
		"read}}\n"
		"dangerously_allow: [/etc/**]\n",
		"services: {reminders: {access: readwrite, lists: [x]}, calendar: {access: read, "
		"range: 7d}}\n"
		"dangerously_allow: [/etc/shadow]\nlimits: {memory: 1G}\n"
		"rules: [{id: a, action: ask, operations: [service], patterns: ['reminders:W1', "
		"'*']}]\n" },
};
static const char ruled[] =
	"fs: {read: [/r]}\n"
	"rules: [{id: a, priority: 5, action: deny, operations: [fs.read], patterns: "
	"['/**/secret*', /z]},\n"
	"        {id: b, action: ask, operations: [net.connect], patterns: [h.com], methods: "
	"[POST]},\n"
	"        {id: d, action: ask, operations: [exec], patterns: ['git push:*', 'ls']},\n"
	"        {id: c, action: ask, operations: [service], patterns: ['reminders:W1', '*']}]\n"
	"guest_paths: [{guest: /g, host: /h, mode: rw}]\n";

static struct permissions *a, *b, *layered, *simple;

static int find_git(
	void *context, const char *name, int (*found)(void *data, const char *path), void *data)
{
	(void)context;
	return strstr(name, "git") ? found(data, "/bin/git") : -ENOENT;
}

static const struct resolver resolver = { .programs = find_git };
static const struct policy_options options = { .variables = &test_variables,
	.resolver = &resolver };

static int run_policy(const struct permissions *x)
{
	auto_policy *p = NULL;
	struct error e = { 0 };
	int r = policy_new(&p, &x, 1, &options, &e);

	assert_true((r == 0) == (p != NULL));
	if (r < 0)
		assert_string_equal(e.text, "out of memory");
	return r;
}

static int run_policy_plain(void)
{
	return run_policy(a);
}

static int run_policy_layered(void)
{
	return run_policy(layered);
}

static int run_algebra(int (*f)(struct permissions **ret, const struct permissions *x,
			       const struct permissions *y),
	const struct permissions *x, const struct permissions *y)
{
	auto_permissions *p = NULL;
	int r = f(&p, x, y);

	assert_true((r == 0) == (p != NULL));
	return r;
}

static int run_intersect(void)
{
	return run_algebra(algebra_intersect, a, b);
}

static int run_intersect_layered(void)
{
	return run_algebra(algebra_intersect, layered, b);
}

static int run_merge(void)
{
	return run_algebra(algebra_merge, a, b);
}

static int run_merge_layered(void)
{
	return run_algebra(algebra_merge, layered, b);
}

static int run_subset(const struct permissions *x, const struct permissions *y)
{
	auto_subset s;

	return subset_compare(&s, x, y, &options, NULL);
}

static int run_subset_yes(void)
{
	return run_subset(b, b);
}

static int run_subset_simple(void)
{
	return run_subset(simple, simple);
}

static int run_subset_no(void)
{
	return run_subset(a, b);
}

static int run_subset_layered(void)
{
	return run_subset(layered, layered);
}

static int run_pattern(void)
{
	static const struct {
		enum operation op;
		const char *text;
	} rows[] = {
		{ OPERATION_FS_READ, "~/x/{a,b}*[c-d]" },
		{ OPERATION_FS_READ, "/x//*" },
		{ OPERATION_NET_CONNECT, "https://h.com/v1/*" },
		{ OPERATION_EXEC, "~/bin/x y" },
		{ OPERATION_EXEC, "git push" },
		{ OPERATION_ENV, "A" },
	};
	auto_arena arena = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++) {
		const char *text = NULL;

		r = pattern_canonical(rows[i].op, rows[i].text, &arena, &text, NULL, NULL);
		assert_true((r == 0) == (text != NULL));
	}
	return r;
}

static int run_relation(void)
{
	auto_arena arena = { 0 };
	struct glob x, y;
	int r = glob_parse(&x, &arena, "/a*[bc]?", NULL, NULL);

	if (r == 0)
		r = glob_parse(&y, &arena, "/*/{x,y}**", NULL, NULL);
	if (r == 0)
		r = relation_of_globs(&x, &y, PRODUCT_PATHS);
	return r < 0 ? r : 0;
}

/*
 * Fails each call in turn; of many calls ever fewer after the first `all`, as each failure means to
 * start again.
 */
static void sweep(const char *name, int (*run)(void), unsigned all)
{
	for (unsigned n = 0;; n += 1 + n / all) {
		int r;

		failing_start(n);
		r = run();
		failing_stop();
		if (!failing_did) {
			assert_int_equal(r, 0);
			print_message("# %s: %u allocations\n", name, n);
			return;
		}
		if (r != -ENOMEM)
			fail_msg("%s: allocation %u failed, and it returned %d", name, n, r);
	}
}

enum { ALL = 2500, SOME = 100 };

static const struct sweep {
	const char *name;
	int (*run)(void);
	unsigned all;
	bool by_section; /* each section by itself has failed at each call */
} sweeps[] = {
	{ "policy", run_policy_plain, ALL, false },
	{ "policy of layers", run_policy_layered, ALL, false },
	{ "intersect", run_intersect, SOME, true },
	{ "intersect of layers", run_intersect_layered, ALL, false },
	{ "merge", run_merge, SOME, true },
	{ "merge of layers", run_merge_layered, ALL, false },
	{ "subset: yes", run_subset_yes, ALL, false },
	{ "subset: simple", run_subset_simple, ALL, false },
	{ "subset: no", run_subset_no, ALL, false },
	{ "subset of layers", run_subset_layered, ALL, false },
	{ "pattern", run_pattern, ALL, false },
	{ "relation", run_relation, ALL, false },
};

static void test_sections(void **state)
{
	(void)state;
	for (size_t k = 0; k < ROWS(sections); k++) {
		auto_permissions *of_a = test_read(sections[k].a);
		auto_permissions *of_b = test_read(*sections[k].b ? sections[k].b : "{}");

		a = of_a;
		b = of_b;
		for (size_t i = 0; i < ROWS(sweeps); i++)
			if (sweeps[i].by_section)
				sweep(sweeps[i].name, sweeps[i].run, ALL);
	}
}

static void test_all(void **state)
{
	auto_buffer text_a = { 0 }, text_b = { 0 }, text_simple = { 0 };

	(void)state;
	for (size_t k = 0; k < ROWS(sections); k++) {
		buffer_adds(&text_a, sections[k].a);
		buffer_adds(&text_b, sections[k].b);
		buffer_adds(&text_simple, sections[k].simple);
	}
	a = test_read(buffer_text(&text_a));
	b = test_read(buffer_text(&text_b));
	simple = test_read(buffer_text(&text_simple));
	layered = test_read("{}");
	assert_int_equal(permissions_add_layer(layered, b), 0);
	{
		auto_permissions *rules = test_read(ruled);

		assert_int_equal(permissions_add_layer(layered, rules), 0);
	}
	for (size_t i = 0; i < ROWS(sweeps); i++)
		sweep(sweeps[i].name, sweeps[i].run, sweeps[i].all);
	permissions_free(a);
	permissions_free(b);
	permissions_free(layered);
	permissions_free(simple);
}

/* An explanation that there was no room for is marked as such, or leaves out the line. */
static void test_explain(void **state)
{
	static const char *const requests[] = { "fs.read /a", "exec /a:b", "exec x", "env A",
		"service vault.read", "net.connect h.com", "fs.read /etc/shadow" };
	auto_policy *p = test_compile("exec: []");

	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++) {
		struct test_request q;
		struct decision d;

		test_request(&q, requests[i]);
		(void)policy_decide(p, &q.request, &d);
		for (unsigned n = 0;; n++) {
			auto_buffer line = { 0 }, all = { 0 };

			failing_start(n);
			explain_line(&q.request, &d, &line);
			explain_reason(&q.request, &d, &all);
			explain_remedy(&q.request, &d, &all);
			failing_stop();
			if (!failing_did)
				break;
			/* Half a line would be another line. */
			assert_true(line.failed || line.len == 0 ||
				    strchr("}]", line.data[line.len - 1]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_explain),
	};

	return cmocka_run_group_tests_name("policy-memory", tests, NULL, NULL);
}
