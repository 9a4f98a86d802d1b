/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset_compare() by its promises: "yes" and no request tells the two apart, "no" and the witness
 * does, and never "no" where a subset was made on purpose.
 */
#include "policy/test-property.h"

#include <stdio.h>
#include <string.h>

#include "policy/algebra.h"
#include "policy/subset.h"

static const struct permissions *shown[2];

static struct policy *compile(const struct permissions *p)
{
	return random_compile(&p, 1, &random_bare_options);
}

static enum subset_answer compare(
	const struct permissions *a, const struct permissions *b, struct subset *s)
{
	struct error e = { 0 };
	int r = subset_compare(s, a, b, &random_bare_options, &e);

	shown[0] = a;
	shown[1] = b;
	if (r < 0) {
		print_error("%d: %s\n", r, e.text);
		random_fail("subset_compare failed", NULL, shown, 2);
	}
	return s->answer;
}

/* "yes": no request that A allows more than B does. */
static void check_yes(struct random *r, const struct permissions *a, const struct permissions *b)
{
	auto_policy *p = compile(a), *q = compile(b);

	for (unsigned i = 0; i < 150; i++) {
		struct random_request req;

		random_request(r, &req);
		if (random_decide(p, &req.request) > random_decide(q, &req.request))
			random_fail("called a subset, but this tells them apart", &req.request, shown, 2);
	}
}

/* The witness as a request. Its words are plain, so blanks only stand between arguments. */
static void read_witness(const struct subset *s, struct random_request *ret)
{
	char *at;

	*ret = (struct random_request){ .request.target = ret->target };
	assert_int_equal(operation_parse(s->what, &ret->request.op), 0);
	(void)snprintf(ret->target, sizeof(ret->target), "%s", buffer_text(&s->witness));
	if (ret->request.op != OPERATION_EXEC)
		return;
	at = strchr(ret->target, ' ');
	ret->request.args = at ? ret->args : NULL;
	while (at && ret->request.n_args < ROWS(ret->args)) {
		*at++ = '\0';
		ret->args[ret->request.n_args++] = at;
		at = strchr(at, ' ');
	}
}

/* A program that is started without arguments is written as one of which nothing is known. */
static bool tells_apart(const struct policy *p, const struct policy *q, struct random_request *w)
{
	if (random_decide(p, &w->request) > random_decide(q, &w->request))
		return true;
	w->request.args = w->args;
	return random_decide(p, &w->request) > random_decide(q, &w->request);
}

static void check_no(const struct permissions *a, const struct permissions *b, const struct subset *s)
{
	auto_policy *p = compile(a), *q = compile(b);
	struct random_request w;

	if (strcmp(s->what, "dangerously_allow") == 0)
		return;
	read_witness(s, &w);
	if (!tells_apart(p, q, &w))
		random_fail("called no subset, but the witness is allowed by neither or by both",
			&w.request, shown, 2);
}

static void test_any_two(void **state)
{
	struct random r = { 21 };
	size_t n[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned what = i % 3 == 0 ? RANDOM_ANY :
				i % 3 == 1 ? RANDOM_PLAIN | RANDOM_NO_URL | RANDOM_WORDS :
					     RANDOM_NO_URL | RANDOM_WORDS;
		auto_permissions *a = random_permissions(&r, what);
		auto_permissions *b = random_permissions(&r, what);
		auto_subset s;
		enum subset_answer answer = compare(a, b, &s);

		n[answer]++;
		if (answer == SUBSET_YES)
			check_yes(&r, a, b);
		else if (answer == SUBSET_NO)
			check_no(a, b, &s);
	}
	print_message("# yes %zu, no %zu, too complex %zu\n", n[SUBSET_YES], n[SUBSET_NO],
		n[SUBSET_TOO_COMPLEX]);
	random_report("subset of any two", 3000);
}

static size_t check_subset(
	struct random *r, const char *what, const struct permissions *a, const struct permissions *b)
{
	auto_subset s;
	enum subset_answer answer = compare(a, b, &s);

	if (answer == SUBSET_NO) {
		print_error("%s: %s %s\n", what, s.what, buffer_text(&s.witness));
		random_fail("a subset is called none", NULL, shown, 2);
	}
	if (answer == SUBSET_YES)
		check_yes(r, a, b);
	return answer == SUBSET_YES;
}

static void test_made_to_be(void **state)
{
	struct random r = { 22 };
	size_t yes = 0, all = 0;

	(void)state;
	for (unsigned i = 0; i < 700; i++) {
		unsigned what = (i % 2 ? RANDOM_PLAIN : RANDOM_ANY) |
				(i % 4 < 2 ? RANDOM_NO_URL | RANDOM_WORDS : 0);
		auto_permissions *a = random_permissions(&r, what), *b = random_permissions(&r, what);
		auto_permissions *plain = random_permissions(&r, what | RANDOM_PLAIN);
		auto_permissions *more = random_permissions(
			&r, what | RANDOM_PLAIN | RANDOM_NO_DENY | RANDOM_ONE_LAYER);
		auto_permissions *both = NULL, *either = NULL;

		assert_int_equal(algebra_intersect(&both, a, b), 0);
		assert_int_equal(algebra_merge(&either, plain, more), 0);
		yes += check_subset(&r, "A and B in A", both, a);
		yes += check_subset(&r, "A and B in B", both, b);
		yes += check_subset(&r, "A in A or B", plain, either);
		yes += check_subset(&r, "A in A", a, a);
		all += 4;
	}
	print_message("# %zu of %zu were found to be subsets\n", yes, all);
	random_report("subsets made on purpose", all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_two),
		cmocka_unit_test(test_made_to_be),
	};

	return cmocka_run_group_tests_name("property-subset", tests, NULL, NULL);
}
