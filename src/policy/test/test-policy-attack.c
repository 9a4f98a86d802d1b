/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies made to be slow: 64 KB of patterns that multiply, explode or overlap. Whatever is done
 * with them ends soon and needs little memory, be it with a refusal. The bounds leave room for slow
 * machines and sanitizers; what is meant is half a second and some ten megabytes.
 */
#include "policy/test/test-policy.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/algebra/subset.h"

enum { FILE_BYTES = 64000, SECONDS_MAX = 20, MEGABYTES_MAX = 1500 };

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* before, `times` times the middle, a number, after: as many as fit into a file. */
struct attack {
	const char *name, *before, *middle;
	unsigned times;
	const char *after;
	size_t list;
};

#define FILES offsetof(struct permissions, fs_read)
#define PROGRAMS offsetof(struct permissions, exec)
#define VARIABLES offsetof(struct permissions, env)
#define HOSTS offsetof(struct permissions, network_allow)

static const struct attack attacks[] = {
	{ "long alternatives", "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "x", 3900, "", FILES },
	{ "many alternatives", "/", "{a,b}", 8, "*", FILES },
	{ "alternatives of sets", "/", "{[a-c],[b-d]}", 8, "*", FILES },
	{ "explosions", "/*a", "?", 50, "", FILES },
	{ "one long explosion", "/*a", "?", 3990, "", FILES },
	{ "explosions in folders", "/d/*a", "?", 14, "*", FILES },
	{ "stars", "/**/*a", "*b*c*d*a", 5, "*", FILES },
	{ "long stars", "/", "*a", 1900, "??????????????????????????????", FILES },
	{ "trees", "/**/a", "/**/b", 3, "/**", FILES },
	{ "long trees", "/", "**/a/", 700, "", FILES },
	{ "programs", "/**/*a", "?", 10, " x:", PROGRAMS },
	{ "variables", "*A", "?", 20, "", VARIABLES },
	{ "hosts", "*.", "a.", 3, ".com:1-1000", HOSTS },
};

static struct permissions *make(const struct attack *a, unsigned seed)
{
	struct permissions *p = permissions_new();
	size_t bytes = 0;

	p->exec_listed = a->list == PROGRAMS;
	for (unsigned i = 0;; i++) {
		auto_buffer text = { 0 };

		buffer_adds(&text, a->before);
		for (unsigned k = 0; k < a->times; k++)
			buffer_adds(&text, a->middle);
		buffer_printf(&text, "%u%s", i * 2 + seed, a->after);
		bytes += text.len + 5;
		if (bytes > FILE_BYTES)
			return p;
		assert_int_equal(permissions_add(p, (struct grant_list *)((char *)p + a->list),
					 buffer_text(&text), NULL),
			0);
	}
}

static void check(const char *attack, const char *what, double *start)
{
	double now = seconds(), took = now - *start;
	struct rusage usage;

	*start = now;
	(void)getrusage(RUSAGE_SELF, &usage);
	if (took > SECONDS_MAX || usage.ru_maxrss > MEGABYTES_MAX * 1024L)
		fail_msg("%s: %s took %.1f s, %ld MB", attack, what, took, usage.ru_maxrss / 1024);
	if (took > 1)
		print_message("# %s: %s took %.1f s\n", attack, what, took);
}

static void test_compiling(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(attacks); i++) {
		auto_permissions *p = make(&attacks[i], 0);
		const struct permissions *layer = p;
		auto_policy *policy = NULL;
		struct error e = { 0 };
		double start = seconds();
		int r = policy_new(&policy, &layer, 1, NULL, &e);

		assert_true(r == 0 || (r == -E2BIG && e.text[0]));
		check(attacks[i].name, "compiling", &start);
	}
}

static void test_algebra(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(attacks); i++) {
		auto_permissions *a = make(&attacks[i], 0), *b = make(&attacks[i], 1);
		auto_permissions *both = NULL, *either = NULL;
		double start = seconds();

		assert_int_equal(algebra_intersect(&both, a, b), 0);
		check(attacks[i].name, "intersecting", &start);
		assert_int_equal(algebra_merge(&either, a, b), 0);
		check(attacks[i].name, "merging", &start);
	}
}

static void test_subset(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(attacks); i++) {
		auto_permissions *a = make(&attacks[i], 0);
		double start = seconds();
		auto_subset s;

		assert_int_equal(subset_compare(&s, a, a, NULL, NULL), 0);
		assert_int_not_equal(s.answer, SUBSET_NO);
		check(attacks[i].name, "comparing", &start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compiling),
		cmocka_unit_test(test_algebra),
		cmocka_unit_test(test_subset),
	};

	return cmocka_run_group_tests_name("policy-attack", tests, NULL, NULL);
}
