/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "broker/service/rate.h"

static const struct rate hourly = { 10, 3600 }, fast = { 5, 1 };

static bool call(struct service_rates *r, const struct rate *rate, uint64_t now)
{
	return service_rates_admit(r, rate, 1, now);
}

static void test_a_window_slides(void **state)
{
	struct service_rates r = { 0 };
	const uint64_t end = 3600 * 1000 - 1;

	(void)state;
	/* Ten at the end of an hour, and none more at the beginning of the next. */
	for (int i = 0; i < 10; i++)
		assert_true(call(&r, &hourly, end));
	assert_false(call(&r, &hourly, end));
	assert_false(call(&r, &hourly, end + 1));
	assert_false(call(&r, &hourly, end + 3599 * 1000));
	assert_true(call(&r, &hourly, end + 3600 * 1000 + 2 * 57 * 1000));
}

/* Calls under another rate do not begin the window anew. */
static void test_rates_are_counted_apart(void **state)
{
	struct service_rates r = { 0 };
	const struct rate both[] = { hourly, fast };
	int admitted = 0;

	(void)state;
	for (uint64_t now = 0; now < 60 * 1000; now += 100) {
		(void)call(&r, &fast, now);
		admitted += call(&r, &hourly, now);
	}
	assert_int_equal(admitted, 10);
	/* Under both, none is counted if one refuses. */
	r = (struct service_rates){ 0 };
	for (int i = 0; i < 5; i++)
		assert_true(service_rates_admit(&r, both, 2, 0));
	for (int i = 0; i < 20; i++)
		assert_false(service_rates_admit(&r, both, 2, 1));
	for (int i = 0; i < 5; i++)
		assert_true(service_rates_admit(&r, both, 2, 2000));
	assert_false(service_rates_admit(&r, both, 2, 4000));
}

/* Whatever the times of calls, no span of a second has more than five that were admitted. */
static void test_no_span_has_more(void **state)
{
	struct service_rates r = { 0 };
	uint64_t admitted[4096], now = 0, random = 15;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 20000 && n < 4096; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		now += (random >> 33) % 120;
		if (call(&r, &fast, now))
			admitted[n++] = now;
	}
	assert_true(n > 1000);
	for (size_t i = 5; i < n; i++)
		assert_true(admitted[i] - admitted[i - 5] >= 1000);
}

static void test_bounds(void **state)
{
	struct service_rates r = { 0 };
	struct rate list[SERVICE_RATES_MAX], odd = { 1, UINT64_MAX };
	size_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < SERVICE_RATES_MAX; i++) {
		assert_true(service_rate_add(list, &n, &(struct rate){ 1, i + 1 }));
		assert_true(service_rate_add(list, &n, &(struct rate){ 1, i + 1 }));
	}
	assert_int_equal(n, SERVICE_RATES_MAX);
	assert_false(service_rate_add(list, &n, &odd));
	assert_true(service_rates_admit(&r, list, n, 5));
	assert_false(service_rates_admit(&r, list, n + 1, 100000));
	assert_false(service_rates_admit(&r, &odd, 1, 100000));
	r = (struct service_rates){ 0 };
	assert_true(service_rates_admit(&r, &odd, 1, 5));
	assert_false(service_rates_admit(&r, &odd, 1, UINT32_MAX));
	assert_true(service_rates_admit(&r, NULL, 0, 6));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_slides),
		cmocka_unit_test(test_rates_are_counted_apart),
		cmocka_unit_test(test_no_span_has_more),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
