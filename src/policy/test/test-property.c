/* SPDX-License-Identifier: Apache-2.0 */
/* Random permissions, random requests: the engine says what test-naive.c says. */
#include "policy/test/test-property.h"

#include <string.h>

#include "codec/json.h"
#include "codec/yaml.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_engine_with_resolver),
	};

	return cmocka_run_group_tests_name("property", tests, NULL, NULL);
}
