/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "services/calendar/expand.h"

#define OBJECT(text) "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" text "END:VCALENDAR\r\n"
#define EVENT(text) "BEGIN:VEVENT\r\nUID:1\r\n" text "END:VEVENT\r\n"
#define ONE(text) OBJECT(EVENT(text))
#define BERLIN ";TZID=Europe/Berlin:"

static int compare(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	return x->start.at < y->start.at ? -1 : x->start.at > y->start.at;
}

static struct window window_of(const char *from, const char *to)
{
	struct moment a, b;

	assert_int_equal(moment_parse(&a, from, NULL), 0);
	assert_int_equal(moment_parse(&b, to, NULL), 0);
	return (struct window){ a.at, b.at };
}

/* What occurs from the 16th of November 2026 on, for a week. */
static const struct {
	const char *text;
	int code;
	const char *found;
} rows[] = {
	{ ONE("DTSTART:20261117T090000Z\r\nDTEND:20261117T100000Z\r\n"), 0,
		"2026-11-17T09:00:00Z/2026-11-17T10:00:00Z" },
	{ ONE("DTSTART:20261117T090000Z\r\nDURATION:PT90M\r\n"), 0,
		"2026-11-17T09:00:00Z/2026-11-17T10:30:00Z" },
	{ ONE("DTSTART;VALUE=DATE:20261117\r\n"), 0, "2026-11-17/2026-11-18" },
	{ ONE("DTSTART:20261124T090000Z\r\n"), 0, "" },
	{ ONE("DTSTART:20261115T235900Z\r\nDTEND:20261116T000000Z\r\n"), 0, "" },
	/* It reaches into the window, on either side. */
	{ ONE("DTSTART:20261110T090000Z\r\nDTEND:20261116T000001Z\r\n"), 0,
		"2026-11-10T09:00:00Z/2026-11-16T00:00:01Z" },
	{ ONE("DTSTART:20261122T235959Z\r\nDTEND:20270101T000000Z\r\n"), 0,
		"2026-11-22T23:59:59Z/2027-01-01T00:00:00Z" },
	/* Rules */
	{ ONE("DTSTART:20200106T090000Z\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE\r\n"), 0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z "
		"2026-11-18T09:00:00Z/2026-11-18T09:00:00Z" },
	{ ONE("DTSTART:20200106T090000Z\r\nRRULE:FREQ=MONTHLY;BYDAY=3FR\r\n"), 0,
		"2026-11-20T09:00:00Z/2026-11-20T09:00:00Z" },
	{ ONE("DTSTART:20261101T090000Z\r\nRRULE:FREQ=DAILY;COUNT=17\r\n"), 0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z "
		"2026-11-17T09:00:00Z/2026-11-17T09:00:00Z" },
	{ ONE("DTSTART:20261101T090000Z\r\nRRULE:FREQ=DAILY;UNTIL=20261117T085959Z\r\n"), 0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z" },
	{ ONE("DTSTART:20261101T090000Z\r\nRRULE:FREQ=DAILY;UNTIL=20261117\r\n"), 0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z "
		"2026-11-17T09:00:00Z/2026-11-17T09:00:00Z" },
	{ ONE("DTSTART;VALUE=DATE:20201117\r\nRRULE:FREQ=YEARLY\r\n"), 0, "2026-11-17/2026-11-18" },
	/* The clock of the zone counts: nine in the morning in summer and in winter. */
	{ ONE("DTSTART" BERLIN "20260701T090000\r\nRRULE:FREQ=WEEKLY\r\n"), 0,
		"2026-11-18T09:00:00+01:00/2026-11-18T09:00:00+01:00" },
	/* Exceptions, additions, changes */
	{ ONE("DTSTART:20261116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=3\r\nEXDATE:"
	      "20261117T090000Z\r\n"),
		0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z "
		"2026-11-18T09:00:00Z/2026-11-18T09:00:00Z" },
	{ ONE("DTSTART:20261116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=2\r\nEXDATE;VALUE=DATE:"
	      "20261117\r\n"),
		0, "2026-11-16T09:00:00Z/2026-11-16T09:00:00Z" },
	{ ONE("DTSTART:20250101T090000Z\r\nRDATE:20261119T120000Z,20280101T000000Z\r\n"), 0,
		"2026-11-19T12:00:00Z/2026-11-19T12:00:00Z" },
	{ ONE("DTSTART:20261116T090000Z\r\nRDATE:20261116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=1\r\n"),
		0, "2026-11-16T09:00:00Z/2026-11-16T09:00:00Z" },
	{ OBJECT(EVENT("DTSTART:20261116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=2\r\n")
			  EVENT("RECURRENCE-ID:20261117T090000Z\r\nDTSTART:20261117T150000Z\r\n")),
		0,
		"2026-11-16T09:00:00Z/2026-11-16T09:00:00Z "
		"2026-11-17T15:00:00Z/2026-11-17T15:00:00Z" },
	/* One that was moved into the window, and one that was moved out of it. */
	{ OBJECT(EVENT("DTSTART:20270116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=2\r\n")
			  EVENT("RECURRENCE-ID:20270117T090000Z\r\nDTSTART:20261117T150000Z\r\n")),
		0, "2026-11-17T15:00:00Z/2026-11-17T15:00:00Z" },
	{ OBJECT(EVENT("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;COUNT=1\r\n")
			  EVENT("RECURRENCE-ID:20261117T090000Z\r\nDTSTART:20270117T150000Z\r\n")),
		0, "" },
	/* Within a day */
	{ ONE("DTSTART:20261116T210000Z\r\nRRULE:FREQ=HOURLY;INTERVAL=2;COUNT=2\r\n"), 0,
		"2026-11-16T21:00:00Z/2026-11-16T21:00:00Z "
		"2026-11-16T23:00:00Z/2026-11-16T23:00:00Z" },
	{ ONE("DTSTART:19800101T000000Z\r\nRRULE:FREQ=MINUTELY;INTERVAL=30000\r\n"), 0,
		"2026-11-20T00:00:00Z/2026-11-20T00:00:00Z" },
	{ ONE("DTSTART:20250101T000000Z\r\nRRULE:FREQ=SECONDLY;COUNT=1000000\r\n"), 0, "" },
	{ ONE("DTSTART:19010101T000000Z\r\nRRULE:FREQ=SECONDLY\r\n"), 1, NULL },
	{ ONE("DTSTART:20261110T000000Z\r\nRRULE:FREQ=SECONDLY;COUNT=1000000\r\n"), 1, NULL },
	{ ONE("DTSTART:20261116T000000Z\r\nRRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30\r\n"),
		-EOPNOTSUPP, NULL },
	{ ONE("DTSTART:20261116T000000Z\r\nRRULE:RSCALE=CHINESE;FREQ=YEARLY\r\n"), -EOPNOTSUPP,
		NULL },
	/* What matches nothing ends behind the window. */
	{ ONE("DTSTART:19000101T000000Z\r\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30\r\n"), 0, "" },
	{ ONE("DTSTART:19000101T000000Z\r\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=3\r\n"),
		0, "" },
	{ ONE("DTSTART:19000101T000000Z\r\nRRULE:FREQ=DAILY;COUNT=1000000\r\n"), 1, NULL },
	/* What cannot be read */
	{ ONE(""), -EINVAL, NULL },
	{ ONE("DTSTART:20261116\r\nRRULE:FREQ=NEVER\r\n"), -EINVAL, NULL },
	{ ONE("DTSTART:20261116\r\nRRULE:FREQ=DAILY;INTERVAL=0\r\n"), -EINVAL, NULL },
	{ ONE("DTSTART:00010101T000000Z\r\n"), -EINVAL, NULL },
	{ ONE("DTSTART;TZID=No/Where:20261116T000000\r\n"), -ENOENT, NULL },
};

static void test_a_week(void **state)
{
	const struct window w = window_of("2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z");

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct occurrences found = { 0 };
		auto_item item = NULL;
		auto_arena a = { 0 };
		auto_buffer text = { 0 };
		int r;

		assert_int_equal(item_parse(&item, rows[i].text, strlen(rows[i].text)), 0);
		r = expand(item, &w, &a, &found);
		if (r != rows[i].code)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].code);
		assert_true(found.n <= EXPAND_MAX);
		if (!rows[i].found)
			continue;
		if (found.n > 0)
			qsort(found.items, found.n, sizeof(*found.items), compare);
		for (size_t n = 0; n < found.n; n++) {
			buffer_adds(&text, n ? " " : "");
			moment_print(&found.items[n].start, &text);
			buffer_addc(&text, '/');
			moment_print(&found.items[n].end, &text);
		}
		if (strcmp(buffer_text(&text), rows[i].found) != 0)
			fail_msg("row %zu: %s", i, buffer_text(&text));
	}
}

/* What lies within that week as a whole, so that it may be changed. */
static const struct {
	const char *text;
	int within;
} spans[] = {
	{ ONE("DTSTART:20261117T090000Z\r\nDTEND:20261117T100000Z\r\n"), 1 },
	{ ONE("DTSTART:20261122T235959Z\r\nDTEND:20261123T000000Z\r\n"), 1 },
	{ ONE("DTSTART:20261122T235959Z\r\nDTEND:20261123T000001Z\r\n"), 0 },
	{ ONE("DTSTART:20261115T235959Z\r\nDTEND:20261117T000000Z\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;COUNT=6\r\n"), 1 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;COUNT=7\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;UNTIL=20261120T000000Z\r\n"), 1 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;UNTIL=20271120T000000Z\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nDURATION:P3D\r\nRRULE:FREQ=DAILY;UNTIL="
	      "20261121T000000Z\r\n"),
		0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=SECONDLY;COUNT=1000000\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;COUNT=1000000\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=HOURLY;COUNT=10\r\n"), 1 },
	{ ONE("DTSTART:20261117T090000Z\r\nRDATE:20261118T090000Z,20271118T090000Z\r\n"), 0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=DAILY;COUNT=1\r\nRRULE:FREQ=YEARLY\r\n"), 0 },
	{ OBJECT(EVENT("DTSTART:20261116T090000Z\r\nRRULE:FREQ=DAILY;COUNT=2\r\n")
			  EVENT("RECURRENCE-ID:20261117T090000Z\r\nDTSTART:20271117T150000Z\r\n")),
		0 },
	{ ONE("DTSTART:20261117T090000Z\r\nRRULE:FREQ=SECONDLY;BYMONTH=2\r\n"), -EOPNOTSUPP },
};

static void test_within(void **state)
{
	const struct window w = window_of("2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z");

	(void)state;
	for (size_t i = 0; i < ROWS(spans); i++) {
		auto_item item = NULL;
		int r;

		assert_int_equal(item_parse(&item, spans[i].text, strlen(spans[i].text)), 0);
		r = expand_is_within(item, &w);
		if (r != spans[i].within)
			fail_msg("row %zu: %d, not %d", i, r, spans[i].within);
	}
}

static void test_next(void **state)
{
	static const char text[] = OBJECT("BEGIN:VTODO\r\nUID:1\r\nDUE;VALUE=DATE:20261116\r\n"
					  "RRULE:FREQ=WEEKLY;COUNT=2\r\nEND:VTODO\r\n");
	auto_item item = NULL;
	struct moment due, next;
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(item_parse(&item, text, strlen(text)), 0);
	assert_int_equal(item_moment(item, item_part(item), "DUE", &due), 1);
	assert_int_equal(expand_next(item, &due, &next), 1);
	moment_print(&next, &out);
	assert_string_equal(out.data, "2026-11-23");
	assert_int_equal(expand_next(item, &next, &due), 0);
}

static void test_rules_of_callers(void **state)
{
	(void)state;
	assert_int_equal(expand_check_rule("FREQ=WEEKLY;BYDAY=MO,-1FR;COUNT=3"), 0);
	assert_int_equal(expand_check_rule("FREQ=HOURLY;INTERVAL=6"), 0);
	assert_int_equal(expand_check_rule("FREQ=DAILY\r\nX:1"), -EINVAL);
	assert_int_equal(expand_check_rule("nonsense"), -EINVAL);
	assert_int_equal(expand_check_rule("FREQ=SECONDLY;BYMONTH=1"), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_week),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_rules_of_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
