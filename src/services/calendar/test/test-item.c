/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "services/calendar/item.h"

#define OBJECT(text) "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" text "END:VCALENDAR\r\n"
#define EVENT(text) "BEGIN:VEVENT\r\n" text "END:VEVENT\r\n"
#define REMINDER(text) "BEGIN:VTODO\r\n" text "END:VTODO\r\n"

static const struct {
	const char *text;
	int code;
} rows[] = {
	{ OBJECT(EVENT("UID:1\r\n")), 0 },
	{ OBJECT(REMINDER("UID:1\r\n")), 0 },
	{ OBJECT(EVENT("UID:1\r\n") EVENT("UID:1\r\nRECURRENCE-ID:20260101T000000Z\r\n")), 0 },
	{ OBJECT(""), -ENOENT },
	{ OBJECT("BEGIN:VJOURNAL\r\nUID:1\r\nEND:VJOURNAL\r\n"), -ENOENT },
	{ OBJECT(EVENT("")), -EINVAL },
	{ OBJECT(EVENT("UID:\r\n")), -EINVAL },
	{ OBJECT(EVENT("UID:1\r\nUID:2\r\n")), -EINVAL },
	{ OBJECT(EVENT("UID:1\r\n") EVENT("UID:2\r\n")), -EINVAL },
	{ OBJECT(EVENT("UID:1\r\n") EVENT("UID:1\r\n")), -EINVAL },
	{ OBJECT(EVENT("UID:1\r\n") REMINDER("UID:1\r\n")), -EINVAL },
	/* Only what stands in the calendar itself counts. */
	{ OBJECT("BEGIN:X-A\r\n" EVENT("UID:1\r\n") "END:X-A\r\n"), -ENOENT },
};

static void test_what_is_an_item(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_item item = NULL;
		int r = item_parse(&item, rows[i].text, strlen(rows[i].text));

		if (r != rows[i].code)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].code);
	}
}

static void test_fields(void **state)
{
	static const char text[] =
		OBJECT(REMINDER("UID:a\\,b\r\nSUMMARY:Milk\\, bread\\nand more\r\n"
				"PRIORITY:1\r\nDUE;VALUE=DATE:20261120\r\n"
				"STATUS:NEEDS-ACTION\r\n"));
	auto_item item = NULL;
	auto_arena a = { 0 };
	struct moment due;

	(void)state;
	assert_int_equal(item_parse(&item, text, strlen(text)), 0);
	assert_string_equal(
		item_text(item, item_part(item), "SUMMARY", 99, &a), "Milk, bread\nand more");
	assert_string_equal(item_text(item, item_part(item), "SUMMARY", 4, &a), "Milk");
	assert_int_equal(item_priority(item), 1);
	assert_false(item_is_completed(item));
	assert_false(item_recurs(item));
	assert_int_equal(item_moment(item, item_part(item), "DUE", &due), 1);
	assert_true(due.is_date);
	assert_int_equal(item_moment(item, item_part(item), "COMPLETED", &due), 0);
	arena_deinit(&a);
}

/* Times as callers write them, and as they are printed. */
static const struct {
	const char *text, *zone, *printed, *line;
} times[] = {
	{ "2026-11-16", NULL, "2026-11-16", "X;VALUE=DATE:20261116\r\n" },
	{ "2026-11-16T09:00:00Z", NULL, "2026-11-16T09:00:00Z", "X:20261116T090000Z\r\n" },
	{ "2026-11-16T09:00:00.25+01:00", NULL, "2026-11-16T08:00:00Z", "X:20261116T080000Z\r\n" },
	{ "2026-11-16T08:00:00Z", "Europe/Berlin", "2026-11-16T09:00:00+01:00",
		"X;TZID=Europe/Berlin:20261116T090000\r\n" },
	{ "2026-07-16T09:00:00", "Europe/Berlin", "2026-07-16T09:00:00+02:00",
		"X;TZID=Europe/Berlin:20260716T090000\r\n" },
	{ "2026-07-16T09:00:00", "America/St_Johns", "2026-07-16T09:00:00-02:30",
		"X;TZID=America/St_Johns:20260716T090000\r\n" },
	{ "2026-11-16T09:00:00-05:30", NULL, "2026-11-16T14:30:00Z", "X:20261116T143000Z\r\n" },
	{ "2026-02-29", NULL, NULL, NULL },
	{ "2026-13-01", NULL, NULL, NULL },
	{ "2026-1-01", NULL, NULL, NULL },
	{ "0001-01-01", NULL, NULL, NULL },
	{ "9999-01-01", NULL, NULL, NULL },
	{ "2026-11-16T25:00:00", NULL, NULL, NULL },
	{ "2026-11-16T09:00:00+99:00", NULL, NULL, NULL },
	{ "2026-11-16T09:00:00Z\r\nX:1", NULL, NULL, NULL },
	{ "tomorrow", NULL, NULL, NULL },
	{ "", NULL, NULL, NULL },
};

static void test_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(times); i++) {
		auto_buffer printed = { 0 }, line = { 0 };
		struct moment m;
		int r = moment_parse(
			&m, times[i].text, times[i].zone ? zone_find(times[i].zone) : NULL);

		if (r != (times[i].printed ? 0 : -EINVAL))
			fail_msg("row %zu: %d", i, r);
		if (r < 0)
			continue;
		moment_print(&m, &printed);
		moment_add_line(&m, "X", &line);
		assert_string_equal(printed.data, times[i].printed);
		assert_string_equal(line.data, times[i].line);
	}
}

#define ZONE(rule)                                                                            \
	"BEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\nBEGIN:STANDARD\r\n"               \
	"DTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n" rule          \
	"END:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\n" \
	"TZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\nEND:DAYLIGHT\r\nEND:"  \
	"VTIMEZONE\r\n"
#define AT(zone) EVENT("UID:1\r\nDTSTART;TZID=" zone ":20260716T090000\r\n")

/* Which zone a time is in. */
static const struct {
	const char *text, *printed;
} zones[] = {
	{ OBJECT(AT("Europe/Berlin")), "2026-07-16T09:00:00+02:00" },
	{ OBJECT(AT("/mozilla.org/20050126_1/Europe/Berlin")), "2026-07-16T09:00:00+02:00" },
	{ OBJECT(AT("America/New_York")), "2026-07-16T09:00:00-04:00" },
	{ OBJECT(AT("Etc/UTC")), "2026-07-16T09:00:00Z" },
	{ OBJECT(ZONE("RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\n") AT("W. Europe Standard Time")),
		"2026-07-16T09:00:00+02:00" },
	/* The system's counts, not what the object says of it. */
	{ OBJECT("BEGIN:VTIMEZONE\r\nTZID:Europe/"
		 "Berlin\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\n"
		 "TZOFFSETFROM:+0900\r\nTZOFFSETTO:+0900\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n" AT(
			 "Europe/Berlin")),
		"2026-07-16T09:00:00+02:00" },
	/* Rules that would unfold to thousands of millions. */
	{ OBJECT(ZONE("RRULE:FREQ=SECONDLY\r\n") AT("W. Europe Standard Time")), NULL },
	{ OBJECT(ZONE("RRULE:FREQ=YEARLY;BYSECOND=1\r\n") AT("W. Europe Standard Time")), NULL },
	{ OBJECT(AT("Nowhere/Town")), NULL },
	{ OBJECT(AT("../../../etc/passwd")), NULL },
	{ OBJECT(AT("/../../../etc/passwd")), NULL },
	{ OBJECT(AT("")), NULL },
};

static void test_zones(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(zones); i++) {
		auto_item item = NULL;
		auto_buffer printed = { 0 };
		struct moment m;
		int r = item_parse(&item, zones[i].text, strlen(zones[i].text));

		assert_int_equal(r, 0);
		r = item_moment(item, 1, "DTSTART", &m);
		if (strcmp(item->lines.parts[1].name, "VEVENT") != 0)
			r = item_moment(item, item_part(item), "DTSTART", &m);
		if (r != (zones[i].printed ? 1 : -ENOENT))
			fail_msg("row %zu: %d", i, r);
		if (r < 0)
			continue;
		moment_print(&m, &printed);
		if (strcmp(printed.data, zones[i].printed) != 0)
			fail_msg("row %zu: %s", i, printed.data);
	}
}

static void test_printed_zone(void **state)
{
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(zone_print(zone_find("Europe/Berlin"), &out), 0);
	assert_non_null(strstr(out.data, "BEGIN:VTIMEZONE"));
	assert_non_null(strstr(out.data, "TZID:Europe/Berlin\r\n"));
	assert_int_equal(zone_print(icaltimezone_get_utc_timezone(), &out), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_an_item),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_printed_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
