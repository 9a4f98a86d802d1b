/* SPDX-License-Identifier: Apache-2.0 */
/* Random permissions, random requests: the engine says what test-naive.c says. */
#include "policy/test/test-property.h"

#include <string.h>

#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/format/image.h"
#include "policy/format/permissions-text.h"

static void check_engine(const struct naive_world *w, const struct policy_options *o, unsigned what,
	uint64_t seed, unsigned n_policies)
{
	struct random r = random_start(seed);
	size_t cases = 0, allowed = 0;

	for (unsigned i = 0; i < n_policies; i++) {
		struct permissions *layers[3];
		size_t n = random_pick(&r, 12) ? 1 + random_pick(&r, 2) : 0;
		struct policy *p;

		for (size_t k = 0; k < n; k++)
			layers[k] = random_permissions(&r, what);
		p = random_compile((const struct permissions *const *)layers, n, o);
		for (unsigned k = 0; k < 60; k++, cases++) {
			struct random_request q;
			struct decision d;
			int err, want;

			random_request(&r, &q);
			err = policy_decide(p, &q.request, &d);
			want = naive_decide(
				w, (const struct permissions *const *)layers, n, &q.request);
			allowed += d.verdict == VERDICT_ALLOW;
			if ((err < 0) != (want == NAIVE_MALFORMED) ||
				(want >= 0 && (int)d.verdict != want) ||
				(err < 0 && d.verdict != VERDICT_DENY)) {
				print_error("engine %d %s, naive %s\n", err,
					verdict_name(d.verdict),
					want < 0 ? "malformed" : verdict_name((enum verdict)want));
				random_fail("the engine differs", &q.request,
					(const struct permissions *const *)layers, n);
			}
		}
		policy_free(p);
		for (size_t k = 0; k < n; k++)
			permissions_free(layers[k]);
	}
	/* A test that never allows anything says little. */
	assert_true(allowed > cases / 20 && allowed < cases);
	random_report("engine = naive", cases);
}

static void test_engine(void **state)
{
	(void)state;
	check_engine(&random_bare_world, &random_bare_options, RANDOM_METHODS, 1, 2500);
}

static void test_engine_with_resolver(void **state)
{
	(void)state;
	check_engine(&random_world, &random_options, RANDOM_RESOLVED | RANDOM_METHODS, 2, 2500);
}

/* As if it was read from a file: now one entry in a line, now two. */
static void place_in_file(struct random *r, struct permissions *p)
{
	p->origin = "p.yaml";
	for (int l = 0; l < LIST_COUNT; l++) {
		struct grant_list *list = permissions_list(p, (enum permission_list)l);
		uint32_t line = 1 + random_pick(r, 9);

		for (size_t i = 0; i < list->n; i++) {
			line += random_pick(r, 4) > 0;
			list->items[i].where = (struct location){ p->origin, line, 3 };
		}
	}
}

static bool same_source(const struct source *a, const struct source *b)
{
	return (!a && !b) || (a && b && strcmp(a->in->name, b->in->name) == 0 &&
				     strcmp(a->grant->all[0], b->grant->all[0]) == 0 &&
				     a->grant->where.line == b->grant->where.line &&
				     a->grant->where.column == b->grant->where.column);
}

/* What was kept as an image decides as what it was made from, and by the same entries. */
static void test_engine_from_image(void **state)
{
	struct random r = random_start(3);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		auto_permissions *from = random_permissions(&r, RANDOM_METHODS);
		auto_permissions *kept = permissions_new();
		auto_buffer bytes = { 0 };
		auto_policy *a = NULL, *b = NULL;

		place_in_file(&r, from);
		assert_int_equal(image_write(from, &bytes), 0);
		assert_int_equal(image_read(kept, bytes.data, bytes.len), 0);
		a = random_compile(
			(const struct permissions *const *)&from, 1, &random_bare_options);
		b = random_compile(
			(const struct permissions *const *)&kept, 1, &random_bare_options);
		for (unsigned k = 0; k < 40; k++, cases++) {
			struct random_request q;
			struct decision x, y;

			random_request(&r, &q);
			if (policy_decide(a, &q.request, &x) != policy_decide(b, &q.request, &y) ||
				x.verdict != y.verdict || x.why != y.why ||
				!same_source(x.source, y.source))
				random_fail("the image differs", &q.request,
					(const struct permissions *const *)&from, 1);
		}
	}
	random_report("image = what it was made from", cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_engine_with_resolver),
		cmocka_unit_test(test_engine_from_image),
	};

	return cmocka_run_group_tests_name("property", tests, NULL, NULL);
}
