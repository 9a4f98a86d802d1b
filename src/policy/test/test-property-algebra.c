/* SPDX-License-Identifier: Apache-2.0 */
/* The algebra of permissions by what it promises for every request: random permissions, random
 * requests. */
#include "policy/test/test-property.h"

#include <stdio.h>
#include <string.h>

#include "policy/algebra/algebra.h"

enum { REQUESTS = 60 };

typedef int algebra_fn(
	struct permissions **ret, const struct permissions *a, const struct permissions *b);

static struct permissions *apply(
	algebra_fn *f, const struct permissions *a, const struct permissions *b)
{
	const struct permissions *both[] = { a, b };
	struct permissions *p = NULL;
	int r = f(&p, a, b);

	if (r < 0) {
		print_error("%d\n", r);
		random_fail("the algebra failed", NULL, both, 2);
	}
	return p;
}

static struct policy *compile(const struct permissions *p)
{
	return random_compile(&p, 1, &random_bare_options);
}

static void check_equal(struct random *r, const char *what, const struct permissions *x,
	const struct permissions *y, const struct permissions *a, const struct permissions *b)
{
	const struct permissions *all[] = { a, b, x, y };
	struct policy *p = compile(x), *q = compile(y);

	for (unsigned i = 0; i < REQUESTS; i++) {
		struct random_request req;

		random_request(r, &req);
		if (random_decide(p, &req.request) != random_decide(q, &req.request))
			random_fail(what, &req.request, all, 4);
	}
	policy_free(p);
	policy_free(q);
}

/* What both allow, exactly; with the strictest verdict where they ask. */
static void test_intersect(void **state)
{
	struct random r = random_start(11);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 1200; i++) {
		unsigned what = RANDOM_METHODS | (i % 2 ? RANDOM_PLAIN : RANDOM_ANY);
		auto_permissions *a = random_permissions(&r, what);
		auto_permissions *b = random_permissions(&r, what);
		auto_permissions *both = apply(algebra_intersect, a, b);
		const struct permissions *all[] = { a, b, both };
		auto_policy *p = compile(a), *q = compile(b), *m = compile(both);

		for (unsigned k = 0; k < REQUESTS; k++, cases++) {
			struct random_request req;

			random_request(&r, &req);
			if (random_decide(m, &req.request) !=
				verdict_strictest(random_decide(p, &req.request),
					random_decide(q, &req.request)))
				random_fail("the intersection is not exact", &req.request, all, 3);
		}
	}
	random_report("intersect", cases);
}

/* A pattern that forbids is wide: guards do not shrink it, as they would a grant. */
static bool forbids_host(const struct grant_list *deny, const char *target)
{
	for (size_t i = 0; i < deny->n; i++) {
		size_t n = 0;

		while (n < deny->items[i].n && naive_host(deny->items[i].all[n], target, true))
			n++;
		if (n == deny->items[i].n)
			return true;
	}
	return false;
}

/* The grants alone, or the deny lists turned into grants. */
static bool is_in(const struct permissions *p, const struct request *req, bool deny)
{
	auto_permissions *part = permissions_copy(p);

	assert_non_null(part);
	if (deny && req->op == OPERATION_NET_CONNECT)
		return forbids_host(&p->network_deny, req->target);
	if (deny) {
		part->fs_read = p->fs_deny;
		part->network_private.n = 0;
		part->network_allow.n = part->fs_write.n = part->env.n = part->n_services = 0;
		part->secrets.n = 0;
		part->exec_listed = false;
	}
	part->fs_deny.n = part->network_deny.n = 0;
	return naive_decide_layers(&random_bare_world, &(const struct permissions *){ part }, 1,
		       req) == VERDICT_ALLOW;
}

static bool merge_allows(
	const struct permissions *a, const struct permissions *b, const struct request *req)
{
	/* A deny list of files counts for writing, too. */
	struct request read = *req;

	if (req->op == OPERATION_FS_WRITE)
		read.op = OPERATION_FS_READ;
	return (is_in(a, req, false) || is_in(b, req, false)) && !is_in(a, &read, true) &&
	       !is_in(b, &read, true);
}

/* "readwrite" is two things: one may come from A and the other from B. */
static bool merge_allows_each(
	const struct permissions *a, const struct permissions *b, const struct request *req)
{
	char one[sizeof(((struct random_request *)NULL)->target)];
	const char *both = strstr(req->target, ".readwrite");
	struct request part = *req;

	if (req->op != OPERATION_SERVICE || !both)
		return merge_allows(a, b, req);
	part.target = one;
	(void)snprintf(one, sizeof(one), "%.*s.read%s", (int)(both - req->target), req->target,
		both + strlen(".readwrite"));
	if (!merge_allows(a, b, &part))
		return false;
	(void)snprintf(one, sizeof(one), "%.*s.write%s", (int)(both - req->target), req->target,
		both + strlen(".readwrite"));
	return merge_allows(a, b, &part);
}

/* (A ∪ B) − (A.deny ∪ B.deny) */
static void test_merge(void **state)
{
	struct random r = random_start(12);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		auto_permissions *a = random_permissions(&r, RANDOM_PLAIN);
		auto_permissions *b = random_permissions(&r, RANDOM_PLAIN);
		auto_permissions *either = apply(algebra_merge, a, b);
		const struct permissions *all[] = { a, b, either };
		auto_policy *m = compile(either);

		for (unsigned k = 0; k < REQUESTS; k++, cases++) {
			struct random_request req;
			bool want;

			random_request(&r, &req);
			want = merge_allows_each(a, b, &req.request);
			if ((random_decide(m, &req.request) == VERDICT_ALLOW) != want)
				random_fail(
					want ? "the merge is too narrow" : "the merge is too wide",
					&req.request, all, 3);
		}
	}
	random_report("merge", cases);
}

static void test_laws(void **state, algebra_fn *f, unsigned what, uint64_t seed)
{
	struct random r = random_start(seed);

	(void)state;
	for (unsigned i = 0; i < 250; i++) {
		auto_permissions *a = random_permissions(&r, what);
		auto_permissions *b = random_permissions(&r, what);
		auto_permissions *c = random_permissions(&r, what);
		auto_permissions *ab = apply(f, a, b), *ba = apply(f, b, a), *aa = apply(f, a, a);
		auto_permissions *bc = apply(f, b, c), *ab_c = apply(f, ab, c),
				 *a_bc = apply(f, a, bc);

		check_equal(&r, "not commutative", ab, ba, a, b);
		check_equal(&r, "not idempotent", aa, a, a, a);
		check_equal(&r, "not associative", ab_c, a_bc, a, b);
	}
	random_report("laws", (size_t)250 * 3 * REQUESTS);
}

static void test_intersect_laws(void **state)
{
	test_laws(state, algebra_intersect, RANDOM_METHODS, 13);
}

static void test_merge_laws(void **state)
{
	test_laws(state, algebra_merge, RANDOM_PLAIN, 14);
}

/* Nothing is granted: then nothing is. */
static void test_empty(void **state)
{
	struct random r = random_start(15);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		auto_permissions *a = random_permissions(&r, RANDOM_ANY);
		auto_permissions *b = random_permissions(&r, RANDOM_PLAIN);
		auto_permissions *both = apply(algebra_intersect, a, b);
		const struct permissions *one = both;
		auto_policy *p = NULL;

		if (!permissions_is_empty(both))
			continue;
		p = compile(both);
		for (unsigned k = 0; k < 40; k++, cases++) {
			struct random_request req;

			random_request(&r, &req);
			if (random_decide(p, &req.request) != VERDICT_DENY)
				random_fail("empty permissions do not deny", &req.request, &one, 1);
		}
	}
	assert_true(cases > 1000);
	random_report("empty", cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intersect),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_intersect_laws),
		cmocka_unit_test(test_merge_laws),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("property-algebra", tests, NULL, NULL);
}
