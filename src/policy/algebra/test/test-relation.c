/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of globs, and what they are found with: automata, their tables and products. */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/algebra/relation.h"
#include "policy/match/automaton.h"

static void parse(const char *text, struct arena *a, struct glob *ret)
{
	struct error e = { 0 };

	if (glob_parse(ret, a, text, NULL, &e) < 0)
		fail_msg("%s: %s", text, e.text);
}

static int relate(const char *x, const char *y, enum product_domain domain, size_t *effort)
{
	auto_arena arena = { 0 };
	struct glob a, b;

	parse(x, &arena, &a);
	parse(y, &arena, &b);
	return effort ? relation_within_effort(&a, &b, domain, effort)
		      : relation_of_globs(&a, &b, domain);
}

static void test_relations(void **state)
{
	static const struct {
		const char *a, *b;
		enum relation want, names; /* for paths, and for names of one component */
	} rows[] = {
		{ "/a", "/a", RELATION_EQUAL, RELATION_EQUAL },
		{ "/a", "/b", RELATION_DISJOINT, RELATION_DISJOINT },
		{ "/a", "/a/**", RELATION_INSIDE, RELATION_INSIDE },
		{ "/a/**", "/a", RELATION_OUTSIDE, RELATION_OUTSIDE },
		{ "/a/b/**", "/a/**", RELATION_INSIDE, RELATION_INSIDE },
		{ "/ab", "/a/**", RELATION_DISJOINT, RELATION_DISJOINT },
		{ "/a/**", "/ab/**", RELATION_DISJOINT, RELATION_DISJOINT },
		{ "/**", "/a", RELATION_OUTSIDE, RELATION_OUTSIDE },
		{ "/", "/**", RELATION_INSIDE, RELATION_INSIDE },
		{ "/a*", "/ab", RELATION_OUTSIDE, RELATION_OUTSIDE },
		{ "/a*", "/b*", RELATION_DISJOINT, RELATION_DISJOINT },
		{ "/a*", "/*b", RELATION_UNKNOWN, RELATION_UNKNOWN },
		{ "/*", "/?*", RELATION_EQUAL, RELATION_EQUAL },
		{ "/[ab]", "/{a,b}", RELATION_EQUAL, RELATION_EQUAL },
		{ "/[ab]", "/[abc]", RELATION_INSIDE, RELATION_INSIDE },
		{ "/**/x", "/*/x", RELATION_OUTSIDE, RELATION_DISJOINT },
		{ "/**/x/**", "/**/x", RELATION_OUTSIDE, RELATION_EQUAL },
		{ "/{a,b}", "/{b,c}", RELATION_UNKNOWN, RELATION_UNKNOWN },
		{ "/a/*", "/a/.*", RELATION_OUTSIDE, RELATION_DISJOINT },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		int got = relate(rows[i].a, rows[i].b, PRODUCT_PATHS, NULL);
		int names = relate(rows[i].a, rows[i].b, PRODUCT_NAMES, NULL);

		if (got != (int)rows[i].want || names != (int)rows[i].names)
			fail_msg("%s, %s: %d and %d", rows[i].a, rows[i].b, got, names);
	}
}

/* Too long to be compared: unknown, in no time. */
static void test_bounds(void **state)
{
	char a[2048] = "/*a", b[2048] = "/*b";
	size_t effort = 1 << 20;

	(void)state;
	memset(a + 3, '?', 1500);
	memset(b + 3, '?', 1501);
	assert_int_equal(relate(a, b, PRODUCT_PATHS, NULL), RELATION_UNKNOWN);
	assert_int_equal(relate(a, b, PRODUCT_PATHS, &effort), RELATION_UNKNOWN);
	assert_true(effort < 1 << 20);
	effort = 1;
	assert_int_equal(relate("/a*", "/ab", PRODUCT_PATHS, &effort), RELATION_OUTSIDE);
	assert_int_equal(effort, 0);
	assert_int_equal(relate("/a*", "/ab", PRODUCT_PATHS, &effort), RELATION_UNKNOWN);
	/* What needs no search is known all the same. */
	assert_int_equal(relate("/a", "/a/**", PRODUCT_PATHS, &effort), RELATION_INSIDE);
	assert_int_equal(relate("/a*", "/b*", PRODUCT_PATHS, &effort), RELATION_DISJOINT);
}

static struct automaton *automaton_for(
	const char *const *patterns, size_t n, struct arena *arena, size_t max)
{
	struct automaton *a = automaton_new();

	for (size_t i = 0; i < n; i++) {
		struct glob *g = arena_alloc(arena, sizeof(*g));

		parse(patterns[i], arena, g);
		assert_int_equal(automaton_add_all(a, g, 1, (uint32_t)i), 0);
	}
	assert_int_equal(automaton_build(a, max), 0);
	return a;
}

static uint32_t run(struct automaton *a, const char *text)
{
	uint32_t s = automaton_start(a);

	for (; *text; text++)
		assert_int_equal(automaton_next(a, s, (unsigned char)*text, &s), 0);
	return automaton_rank(a, s);
}

static void test_automaton(void **state)
{
	static const char *const patterns[] = { "/a/b", "/a/*", "/[a-c]?/**", "/a/**", "/**/x" };
	auto_arena arena = { 0 };
	auto_automaton *a = automaton_for(patterns, ROWS(patterns), &arena, 1000);
	static const struct {
		const char *path;
		uint32_t rank;
	} rows[] = {
		{ "/a/b", 0 },
		{ "/a/c", 1 },
		{ "/bx/y", 2 },
		{ "/bx", 2 },
		{ "/a/b/c", 3 },
		{ "/a", 3 },
		{ "/x", 4 },
		{ "/q/r/x", 4 },
		{ "/q", RANK_NONE },
		{ "/", RANK_NONE },
	};
	struct dfa *d = NULL;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(run(a, rows[i].path), rows[i].rank);
	assert_true(automaton_tokens(a) > 10);
	assert_true(automaton_classes(a) >= 5);
	for (size_t c = 0; c < automaton_classes(a); c++)
		assert_int_equal(automaton_class(a, automaton_byte(a, c)), c);
	assert_int_equal(dfa_new(a, &d), 0);
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(dfa_match(d, rows[i].path, strlen(rows[i].path)), rows[i].rank);
	dfa_free(d);
	dfa_free(NULL);
	automaton_free(NULL);
}

/* Entries of several patterns: at most 64 of them. */
static void test_joints(void **state)
{
	auto_arena arena = { 0 };
	auto_automaton *a = automaton_new();
	struct glob globs[65];

	(void)state;
	for (size_t i = 0; i < ROWS(globs); i++)
		parse(i % 2 ? "/a*" : "/{*b,*c}", &arena, &globs[i]);
	assert_int_equal(automaton_add_all(a, globs, 0, 0), -E2BIG);
	assert_int_equal(automaton_add_all(a, globs, 65, 0), -E2BIG);
	assert_int_equal(automaton_add_all(a, globs, 64, 0), 0);
	assert_int_equal(automaton_add_all(a, globs, 2, 1), 0);
	assert_int_equal(automaton_build(a, 1000), 0);
	assert_int_equal(run(a, "/ab"), 0);
	assert_int_equal(run(a, "/axc"), 0);
	assert_int_equal(run(a, "/a"), RANK_NONE);
	assert_int_equal(run(a, "/b"), RANK_NONE);
}

static void test_too_many_states(void **state)
{
	static const char *const patterns[] = { "/*a????????????????" };
	auto_arena arena = { 0 };
	auto_automaton *a = automaton_for(patterns, 1, &arena, 100), *b = automaton_new();
	struct dfa *d = NULL;

	(void)state;
	assert_int_equal(dfa_new(a, &d), -E2BIG);
	assert_null(d);
	assert_int_equal(automaton_states(a), 100);
	/* Not even a dead state fits. */
	assert_int_equal(automaton_build(b, 0), -E2BIG);
}

static int first_only(void *data, const uint32_t *ranks)
{
	(void)data;
	return ranks[0] != RANK_NONE && ranks[1] == RANK_NONE;
}

static void test_product(void **state)
{
	static const struct {
		const char *a, *b;
		enum product_domain domain;
		const char *witness; /* NULL: none */
	} rows[] = {
		{ "/**", "/a/**", PRODUCT_PATHS, "/" },
		{ "/**", "/", PRODUCT_NAMES, "/a" },
		{ "/a*", "/a", PRODUCT_PATHS, "/ab" },
		{ "/?", "/[a-z0-9A-Z]", PRODUCT_PATHS, "/-" },
		{ "/?", "/[!.]", PRODUCT_PATHS, NULL },
		{ "/??", "/{[!.]?,.[!.]}", PRODUCT_PATHS, NULL },
		{ "/*/x", "/[!=]*/x", PRODUCT_PATHS, "/=/x" },
		{ "/?", "/[!=]", PRODUCT_NAMES, NULL },
		{ "/a/b", "/a/**", PRODUCT_PATHS, NULL },
		{ "/a/b", "/c", PRODUCT_NAMES, NULL },
	};
	struct automaton *many[PRODUCT_AUTOMATA_MAX + 1] = { NULL };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena arena = { 0 };
		auto_automaton *a = automaton_for(&rows[i].a, 1, &arena, 1000);
		auto_automaton *b = automaton_for(&rows[i].b, 1, &arena, 1000);
		struct automaton *both[] = { a, b };
		auto_buffer w = { 0 };
		int r = product_search(both, 2, rows[i].domain, 10000, first_only, NULL, &w);

		if (r != (rows[i].witness != NULL) ||
			(r && strcmp(buffer_text(&w), rows[i].witness) != 0))
			fail_msg("%s, %s: %d <%s>", rows[i].a, rows[i].b, r, buffer_text(&w));
		assert_int_equal(
			product_search(both, 2, rows[i].domain, 1, first_only, NULL, &w), -E2BIG);
		assert_int_equal(
			product_search(both, 2, rows[i].domain, 10000, first_only, NULL, NULL), r);
		assert_int_equal(product_search_only(both[0], both[1], rows[i].domain, 10000), r);
	}
	assert_int_equal(
		product_search(many, ROWS(many), PRODUCT_PATHS, 1, first_only, NULL, NULL), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relations),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_automaton),
		cmocka_unit_test(test_joints),
		cmocka_unit_test(test_too_many_states),
		cmocka_unit_test(test_product),
	};

	return cmocka_run_group_tests_name("relation", tests, NULL, NULL);
}
