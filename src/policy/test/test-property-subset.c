/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset_compare() by its promises: "yes" and no request tells the two apart, "no" and the witness
 * does, and never "no" where a subset was made on purpose.
 */
#include "policy/test/test-property.h"

#include <string.h>

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/algebra/subset.h"

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
			random_fail("called a subset, but this tells them apart", &req.request,
				shown, 2);
	}
}

/* The witness as a request; a command is words with blanks between them. */
static void read_witness(const struct subset *s, struct random_request *ret)
{
	const char *from = buffer_text(&s->witness);
	char *to = ret->target;

	*ret = (struct random_request){ .request.target = ret->target };
	ret->request.to_private = strcmp(s->what, "network.private") == 0;
	assert_int_equal(operation_parse(ret->request.to_private ? "net.connect" : s->what,
				 &ret->request.op),
		0);
	assert_true(s->witness.len < sizeof(ret->target));
	if (ret->request.op != OPERATION_EXEC) {
		memcpy(to, from, s->witness.len + 1);
		return;
	}
	for (; *from; from++) {
		if (*from == ' ') {
			*to++ = '\0';
			assert_true(ret->request.n_args < ROWS(ret->args));
			ret->args[ret->request.n_args++] = to;
			ret->request.args = ret->args;
			continue;
		}
		from += *from == '\\';
		*to++ = *from;
	}
	*to = '\0';
}

/* A program that is started without arguments is written as one of which nothing is known. */
static bool tells_apart(const struct policy *p, const struct policy *q, struct random_request *w)
{
	if (random_decide(p, &w->request) > random_decide(q, &w->request))
		return true;
	w->request.args = w->args;
	return random_decide(p, &w->request) > random_decide(q, &w->request);
}

static void check_no(
	const struct permissions *a, const struct permissions *b, const struct subset *s)
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

static void check(struct random *r, const struct permissions *a, const struct permissions *b,
	size_t counts[3])
{
	auto_subset s;
	enum subset_answer answer = compare(a, b, &s);

	counts[answer]++;
	if (answer == SUBSET_YES)
		check_yes(r, a, b);
	else if (answer == SUBSET_NO)
		check_no(a, b, &s);
}

static void report(const char *what, const size_t counts[3])
{
	print_message("# yes %zu, no %zu, too complex %zu\n", counts[SUBSET_YES], counts[SUBSET_NO],
		counts[SUBSET_TOO_COMPLEX]);
	random_report(what, counts[0] + counts[1] + counts[2]);
}

static unsigned kind(unsigned i)
{
	static const unsigned kinds[] = { RANDOM_ANY, RANDOM_PLAIN | RANDOM_NO_URL | RANDOM_WORDS,
		RANDOM_NO_URL | RANDOM_WORDS };

	return kinds[i % ROWS(kinds)];
}

static void test_any_two(void **state)
{
	struct random r = random_start(21);
	size_t counts[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		auto_permissions *a = random_permissions(&r, kind(i));
		auto_permissions *b = random_permissions(&r, kind(i));

		check(&r, a, b, counts);
	}
	report("subset of any two", counts);
}

/* One list, or all rules, of p become those of `from`. */
static void change(struct random *r, struct permissions *p, const struct permissions *from)
{
	static const size_t lists[] = { offsetof(struct permissions, fs_read),
		offsetof(struct permissions, fs_write), offsetof(struct permissions, fs_deny),
		offsetof(struct permissions, network_allow),
		offsetof(struct permissions, network_deny), offsetof(struct permissions, exec),
		offsetof(struct permissions, env) };
	unsigned which = random_pick(r, ROWS(lists) + 2);
	struct grant_list *to;

	if (which < ROWS(lists)) {
		to = (struct grant_list *)((char *)p + lists[which]);
		to->n = 0;
		assert_int_equal(
			permissions_add_list(p, to,
				(const struct grant_list *)((const char *)from + lists[which])),
			0);
		p->exec_listed |= p->exec.n > 0;
		return;
	}
	if (which == ROWS(lists)) {
		p->n_rules = 0;
		for (size_t i = 0; i < from->n_rules; i++)
			assert_int_equal(permissions_add_rule(p, &from->rules[i]), 0);
		return;
	}
	p->n_services = 0;
	for (size_t i = 0; i < from->n_services; i++)
		assert_int_equal(permissions_add_service(p, &from->services[i]), 0);
}

static void test_one_change(void **state)
{
	struct random r = random_start(23);
	size_t counts[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		auto_permissions *a = random_permissions(&r, kind(i) | RANDOM_ONE_LAYER);
		auto_permissions *other = random_permissions(&r, kind(i) | RANDOM_ONE_LAYER);
		auto_permissions *b = permissions_copy(a);

		assert_non_null(b);
		change(&r, b, other);
		check(&r, a, b, counts);
	}
	report("subset after one change", counts);
}

static size_t check_subset(struct random *r, const char *what, const struct permissions *a,
	const struct permissions *b)
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
	struct random r = random_start(22);
	size_t yes = 0, all = 0;

	(void)state;
	for (unsigned i = 0; i < 140; i++) {
		unsigned what = (i % 2 ? RANDOM_PLAIN : RANDOM_ANY) |
				(i % 4 < 2 ? RANDOM_NO_URL | RANDOM_WORDS : 0);
		auto_permissions *a = random_permissions(&r, what),
				 *b = random_permissions(&r, what);
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
		cmocka_unit_test(test_one_change),
		cmocka_unit_test(test_made_to_be),
	};

	return cmocka_run_group_tests_name("property-subset", tests, NULL, NULL);
}
