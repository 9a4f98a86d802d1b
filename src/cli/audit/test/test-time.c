/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "audit/field.h"
#include "cli/audit/figures.h"

#define S UINT64_C(1000000000)

/* 2026-03-29, when Berlin's clocks went from 02:00 to 03:00; now is 01:30 UTC, 03:30 there. */
#define NOW (UINT64_C(1774747800) * S)
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

struct row {
	const char *zone, *text;
	enum audit_time_end end;
	int64_t seconds; /* -1: it is no time */
	uint64_t ns;
};

static const struct row rows[] = {
	/* RFC 3339 */
	{ "UTC0", "2026-01-02T03:04:05Z", 0, 1767323045, 0 },
	{ BERLIN, "2026-01-02T03:04:05Z", 0, 1767323045, 0 },
	{ BERLIN, "2026-01-02t03:04:05z", 0, 1767323045, 0 },
	{ BERLIN, "2026-01-02T03:04:05+00:00", 0, 1767323045, 0 },
	{ "UTC0", "2026-01-02T04:04:05+01:00", 0, 1767323045, 0 },
	{ "UTC0", "2026-01-01T21:34:05-05:30", 0, 1767323045, 0 },
	{ "UTC0", "2026-01-02T03:04:05.5Z", 0, 1767323045, 500000000 },
	{ "UTC0", "2026-01-02T03:04:05.123456789Z", 0, 1767323045, 123456789 },
	{ "UTC0", "2026-01-02T03:04:05.1234567891234Z", 0, 1767323045, 123456789 },
	{ "UTC0", "1970-01-01T00:00:00Z", 0, 0, 0 },
	{ "UTC0", "2024-02-29T00:00:00Z", 0, 1709164800, 0 },
	/* Local */
	{ BERLIN, "2026-01-02 04:04:05", 0, 1767323045, 0 },
	{ BERLIN, "2026-01-02T04:04", 0, 1767323040, 0 },
	{ BERLIN, "2026-07-01 02:00", 0, 1782864000, 0 },
	/* Days, also one with 23 hours */
	{ "UTC0", "2026-01-02", AUDIT_TIME_BEGINS, 1767312000, 0 },
	{ "UTC0", "2026-01-02", AUDIT_TIME_ENDS, 1767398399, 999999999 },
	{ BERLIN, "2026-01-02", AUDIT_TIME_BEGINS, 1767308400, 0 },
	{ BERLIN, "2026-03-29", AUDIT_TIME_BEGINS, 1774738800, 0 },
	{ BERLIN, "2026-03-29", AUDIT_TIME_ENDS, 1774738800 + 23 * 3600 - 1, 999999999 },
	{ "UTC0", "2026-12-31", AUDIT_TIME_ENDS, 1798761599, 999999999 },
	/* The time of day, as it was last */
	{ "UTC0", "01:30", 0, 1774747800, 0 },
	{ "UTC0", "01:29", 0, 1774747740, 0 },
	{ "UTC0", "01:31", 0, 1774747860 - 86400, 0 },
	{ "UTC0", "00:00", 0, 1774742400, 0 },
	{ "UTC0", "23:59:59.25", 0, 1774742399, 250000000 },
	{ BERLIN, "03:30", 0, 1774747800, 0 },
	{ BERLIN, "00:30", 0, 1774740600, 0 },
	{ BERLIN, "04:00", 0, 1774666800, 0 },
	/* So long ago */
	{ "UTC0", "0s", 0, 1774747800, 0 },
	{ "UTC0", "90s", 0, 1774747710, 0 },
	{ "UTC0", "10m", 0, 1774747200, 0 },
	{ "UTC0", "2h", 0, 1774740600, 0 },
	{ "UTC0", "3d", 0, 1774488600, 0 },
	{ "UTC0", "1w", 0, 1774143000, 0 },
	{ "UTC0", "4294967295w", 0, 0, 0 },
	/* None */
	{ "UTC0", "", 0, -1, 0 },
	{ "UTC0", "m", 0, -1, 0 },
	{ "UTC0", "10", 0, -1, 0 },
	{ "UTC0", "10M", 0, -1, 0 },
	{ "UTC0", "10m ", 0, -1, 0 },
	{ "UTC0", "-10m", 0, -1, 0 },
	{ "UTC0", "1.5h", 0, -1, 0 },
	{ "UTC0", "4294967296s", 0, -1, 0 },
	{ "UTC0", "99999999999999999999999s", 0, -1, 0 },
	{ "UTC0", "24:00", 0, -1, 0 },
	{ "UTC0", "12:60", 0, -1, 0 },
	{ "UTC0", "12:00:60", 0, -1, 0 },
	{ "UTC0", "12:00:00.", 0, -1, 0 },
	{ "UTC0", "12:0", 0, -1, 0 },
	{ "UTC0", "12:00Z", 0, -1, 0 },
	{ "UTC0", "2026-02-29", 0, -1, 0 },
	{ "UTC0", "2026-04-31T00:00:00Z", 0, -1, 0 },
	{ "UTC0", "2026-00-10", 0, -1, 0 },
	{ "UTC0", "2026-13-10", 0, -1, 0 },
	{ "UTC0", "2026-01-00", 0, -1, 0 },
	{ "UTC0", "2026-1-10", 0, -1, 0 },
	{ "UTC0", "2026-01-10T", 0, -1, 0 },
	{ "UTC0", "2026-01-10T10", 0, -1, 0 },
	{ "UTC0", "2026-01-10T10:00:00+1", 0, -1, 0 },
	{ "UTC0", "2026-01-10T10:00:00+24:00", 0, -1, 0 },
	{ "UTC0", "2026-01-10T10:00:00Zx", 0, -1, 0 },
	{ "UTC0", "1969-12-31T23:59:59Z", 0, -1, 0 },
	{ "UTC0", "1970-01-01T00:00:00+01:00", 0, -1, 0 },
	{ "UTC0", "9999-01-01", 0, -1, 0 },
};

static void set_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct row *row = &rows[i];
		uint64_t ns = 42, wanted;
		int r;

		set_zone(row->zone);
		r = audit_time_parse(row->text, row->end, NOW, &ns);
		wanted = row->seconds < 0 ? 42 : (uint64_t)row->seconds * S + row->ns;
		if (r != (row->seconds < 0 ? -EINVAL : 0) || ns != wanted)
			fail_msg("%s `%s`: %d, %llu instead of %llu", row->zone, row->text, r,
				(unsigned long long)ns, (unsigned long long)wanted);
	}
}

static void test_print(void **state)
{
	char text[AUDIT_TIME_BYTES], utc[AUDIT_FIELD_BYTES];

	(void)state;
	set_zone(BERLIN);
	assert_string_equal(
		audit_time_print(UINT64_C(1767323045) * S, text), "2026-01-02 04:04:05");
	assert_string_equal(text + AUDIT_TIME_CLOCK, "04:04:05");
	assert_string_equal(audit_field_print_time(UINT64_C(1767323045) * S + 7, utc),
		"2026-01-02T03:04:05.000000007Z");
	/* The last moment that a record can have. */
	assert_string_equal(
		audit_field_print_time(UINT64_MAX, utc), "2554-07-21T23:34:33.709551615Z");
	assert_string_equal(audit_time_print(UINT64_MAX, text), "2554-07-22 01:34:33");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
