/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "services/calendar/compose.h"
#include "services/calendar/expand.h"
#include "services/calendar/show.h"

/* The 16th of November 2026, noon. */
enum { NOW = 1794830400 };

#define OBJECT(text) "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" text "END:VCALENDAR\r\n"
#define REMINDER(text) OBJECT("BEGIN:VTODO\r\nUID:1\r\n" text "END:VTODO\r\n")
#define EVENT(text) OBJECT("BEGIN:VEVENT\r\nUID:1\r\n" text "END:VEVENT\r\n")

static struct moment at(const char *text, const char *zone)
{
	struct moment m;

	assert_int_equal(moment_parse(&m, text, zone ? zone_find(zone) : NULL), 0);
	return m;
}

/* What is composed, as libical itself understands it. */
static void check_by_libical(const char *text)
{
	icalcomponent *c = icalparser_parse_string(text);

	assert_non_null(c);
	assert_int_equal(icalcomponent_count_errors(c), 0);
	icalcomponent_free(c);
}

static void test_new_reminder(void **state)
{
	static const char hostile[] = "Milk\r\nEND:VTODO\r\nBEGIN:VEVENT\nUID:2; a, b\\";
	const struct composition c = { .kind = ITEM_TODO,
		.title = hostile,
		.notes = "n",
		.priority = "1",
		.due = at("2026-11-20T09:00:00", "Europe/Berlin"),
		.now = NOW };
	auto_buffer text = { 0 }, shown = { 0 };
	auto_item i = NULL;
	char uid[COMPOSE_UID];

	(void)state;
	assert_int_equal(compose_uid(uid), 0);
	assert_int_equal(compose_new(&c, uid, &text), 0);
	check_by_libical(text.data);
	assert_int_equal(item_parse(&i, text.data, text.len), 0);
	assert_int_equal(i->kind, ITEM_TODO);
	assert_int_equal(i->n_changed, 0);
	assert_string_equal(i->uid, uid);
	assert_non_null(strstr(text.data, "BEGIN:VTIMEZONE"));
	show_reminder(i, "L\"", "t", &(struct json_writer){ .out = &shown });
	assert_non_null(strstr(shown.data,
		"\"title\":\"Milk\\nEND:VTODO\\nBEGIN:VEVENT\\nUID:2; a, b\\\\\",\"notes\":\"n\","
		"\"list\":\"L\\\"\",\"due\":\"2026-11-20T09:00:00+01:00\",\"priority\":1,"
		"\"completed\":false,\"etag\":\"t\"}"));
}

static void test_new_event(void **state)
{
	const struct composition c = { .kind = ITEM_EVENT,
		.title = "T",
		.location = "here",
		.rule = "FREQ=WEEKLY;COUNT=3",
		.start = at("2026-11-16", NULL),
		.end = at("2026-11-18", NULL),
		.now = NOW };
	const struct window w = { NOW - MOMENT_DAY, NOW };
	struct occurrences found = { 0 };
	auto_buffer text = { 0 }, shown = { 0 };
	auto_arena a = { 0 };
	auto_item i = NULL;

	(void)state;
	assert_int_equal(compose_new(&c, "u", &text), 0);
	check_by_libical(text.data);
	assert_int_equal(item_parse(&i, text.data, text.len), 0);
	assert_int_equal(expand(i, &w, &a, &found), 0);
	assert_int_equal(found.n, 1);
	show_event(i, &found.items[0], "C", "t", &(struct json_writer){ .out = &shown });
	assert_string_equal(shown.data,
		"{\"id\":\"u\",\"title\":\"T\",\"location\":\"here\",\"calendar\":\"C\","
		"\"start\":\"2026-11-16\",\"end\":\"2026-11-18\",\"allDay\":true,"
		"\"recurring\":true,\"occurrence\":\"2026-11-16\",\"etag\":\"t\"}");
}

static void change(const char *before, const struct composition *c, int code, struct buffer *out)
{
	auto_item i = NULL;
	struct error e = { 0 };

	assert_int_equal(item_parse(&i, before, strlen(before)), 0);
	assert_int_equal(compose_change(i, c, out, &e), code);
	if (code < 0)
		assert_true(e.text[0] != '\0');
}

#define TOUCHED "DTSTAMP:20261116T120000Z\r\nLAST-MODIFIED:20261116T120000Z\r\nSEQUENCE:1\r\n"

static void test_change(void **state)
{
	auto_buffer out = { 0 };

	(void)state;
	change(REMINDER("X-A;B=c:odd\r\n "
			"value\r\nSUMMARY:old\r\nDUE:20261101T000000Z\r\nDESCRIPTION:d\r\n"),
		&(struct composition){ .title = "new", .notes = "", .no_due = true, .now = NOW }, 0,
		&out);
	assert_string_equal(out.data, REMINDER("X-A;B=c:odd\r\n value\r\nSUMMARY:new\r\n" TOUCHED));
	buffer_clear(&out);
	/* The start alone: it takes as long as before. */
	change(EVENT("DTSTART:20261116T090000Z\r\nDTEND:20261116T103000Z\r\n"),
		&(struct composition){ .start = at("2026-11-17T08:00:00Z", NULL), .now = NOW }, 0,
		&out);
	assert_string_equal(
		out.data, EVENT("DTSTART:20261117T080000Z\r\nDTEND:20261117T093000Z\r\n" TOUCHED));
	buffer_clear(&out);
	change(EVENT("DTSTART:20261116T090000Z\r\nDURATION:PT1H\r\nSEQUENCE:7\r\n"),
		&(struct composition){ .end = at("2026-11-16T12:00:00Z", NULL), .now = NOW }, 0,
		&out);
	assert_non_null(strstr(out.data, "DTEND:20261116T120000Z"));
	assert_null(strstr(out.data, "DURATION"));
	assert_non_null(strstr(out.data, "SEQUENCE:8\r\n"));
	buffer_clear(&out);
	/* A zone that the object did not have comes along. */
	change(EVENT("DTSTART:20261116T090000Z\r\n"),
		&(struct composition){
			.start = at("2026-11-17T09:00:00", "Europe/Berlin"), .now = NOW },
		0, &out);
	assert_non_null(strstr(out.data, "DTSTART;TZID=Europe/Berlin:20261117T090000\r\n"));
	check_by_libical(out.data);
}

static void test_changes_that_are_refused(void **state)
{
	static const char changed[] =
		OBJECT("BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261116T090000Z\r\nRRULE:FREQ="
		       "DAILY\r\nEND:VEVENT\r\n"
		       "BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:20261117T090000Z\r\nDTSTART:"
		       "20261117T150000Z\r\n"
		       "END:VEVENT\r\n");
	auto_buffer out = { 0 };

	(void)state;
	change(EVENT("DTSTART:20261116T090000Z\r\n"),
		&(struct composition){ .end = at("2026-11-15T00:00:00Z", NULL), .now = NOW },
		-EINVAL, &out);
	change(EVENT("DTSTART:20261116T090000Z\r\n"),
		&(struct composition){ .end = at("2026-11-17", NULL), .now = NOW }, -EINVAL, &out);
	change(changed, &(struct composition){ .start = at("2026-11-17", NULL), .now = NOW },
		-EOPNOTSUPP, &out);
	change(changed, &(struct composition){ .rule = "", .now = NOW }, -EOPNOTSUPP, &out);
	change(changed, &(struct composition){ .title = "t", .now = NOW }, 0, &out);
}

static void complete(const char *before, struct buffer *out, struct moment *next)
{
	auto_item i = NULL;

	assert_int_equal(item_parse(&i, before, strlen(before)), 0);
	assert_int_equal(compose_completed(i, NOW, out, next), 0);
}

static void test_completed(void **state)
{
	auto_buffer out = { 0 }, text = { 0 };
	struct moment next;

	(void)state;
	complete(REMINDER("STATUS:NEEDS-ACTION\r\n"), &out, &next);
	assert_string_equal(
		out.data, REMINDER("STATUS:COMPLETED\r\nCOMPLETED:"
				   "20261116T120000Z\r\nPERCENT-COMPLETE:100\r\n" TOUCHED));
	assert_false(next.is_set);
	buffer_clear(&out);
	/* One that recurs is due again, one time less. */
	complete(REMINDER("DTSTART;VALUE=DATE:20261101\r\nDUE;VALUE=DATE:20261102\r\n"
			  "RRULE:FREQ=WEEKLY;COUNT=3;WKST=MO\r\n"),
		&out, &next);
	assert_non_null(
		strstr(out.data, "DTSTART;VALUE=DATE:20261108\r\nDUE;VALUE=DATE:20261109\r\n"
				 "RRULE:FREQ=WEEKLY;COUNT=2;WKST=MO\r\n"));
	assert_null(strstr(out.data, "COMPLETED"));
	assert_true(next.is_set);
	buffer_clear(&out);
	complete(REMINDER("DUE:20261101T080000Z\r\nRRULE:FREQ=DAILY;COUNT=1\r\n"), &out, &next);
	assert_non_null(strstr(out.data, "STATUS:COMPLETED"));
	buffer_clear(&out);
	complete(REMINDER("DUE;TZID=Europe/Berlin:20261024T090000\r\nRRULE:FREQ=DAILY\r\n"), &out,
		&next);
	moment_print(&next, &text);
	assert_string_equal(text.data, "2026-10-25T09:00:00+01:00");
}

/* A series by the clock of Berlin, through the end of summer time. */
#define SERIES                                                                               \
	EVENT("SUMMARY:S\r\nDTSTART;TZID=Europe/Berlin:20261018T090000\r\nDURATION:PT1H\r\n" \
	      "RRULE:FREQ=WEEKLY\r\nX-A:b\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\n")

static void one_changed(const char *before, const char *id, const struct composition *c,
	const char *now_at, struct buffer *out)
{
	const struct moment m = at(id, "Europe/Berlin"), then = at(now_at, "Europe/Berlin");
	struct occurrence o = { 0 };
	auto_item i = NULL;
	auto_item after = NULL;
	struct error e = { 0 };

	assert_int_equal(item_parse(&i, before, strlen(before)), 0);
	assert_int_equal(expand_find(i, &m, &o), 0);
	assert_int_equal(compose_change_one(i, &o, c, out, &e), 0);
	check_by_libical(out->data);
	assert_int_equal(item_parse(&after, out->data, out->len), 0);
	assert_int_equal(after->n_changed, 1);
	assert_int_equal(expand_find(after, &m, &o), 0);
	assert_int_equal(o.start.at, then.at);
	assert_int_equal(o.end.at, then.at + 3600);
	assert_int_not_equal(o.part, after->master);
}

static void test_one_occurrence(void **state)
{
	const struct composition title = { .title = "T", .now = NOW };
	const struct composition later = { .start = at("2026-11-08T11:00:00", "Europe/Berlin"),
		.now = NOW };
	auto_buffer once = { 0 }, twice = { 0 };

	(void)state;
	one_changed(SERIES, "2026-11-08T09:00:00", &title, "2026-11-08T09:00:00", &once);
	assert_non_null(strstr(once.data, "SUMMARY:T\r\n"));
	assert_non_null(strstr(once.data, "RECURRENCE-ID;TZID=Europe/Berlin:20261108T090000\r\n"));
	assert_ptr_equal(strstr(strstr(once.data, "RRULE") + 1, "RRULE"), NULL);
	one_changed(once.data, "2026-11-08T09:00:00", &later, "2026-11-08T11:00:00", &twice);
	assert_non_null(strstr(twice.data, "SUMMARY:T\r\n"));
}

static void test_one_is_removed(void **state)
{
	const struct composition title = { .title = "T", .now = NOW };
	const struct moment id = at("2026-11-08T09:00:00", "Europe/Berlin");
	const struct moment none = at("2026-11-09T09:00:00", "Europe/Berlin");
	static const char single[] = EVENT("RECURRENCE-ID:20261108T080000Z\r\n"
					   "DTSTART:20261108T100000Z\r\n");
	auto_buffer changed = { 0 }, out = { 0 };

	(void)state;
	one_changed(SERIES, "2026-11-08T09:00:00", &title, "2026-11-08T09:00:00", &changed);
	for (int n = 0; n < 2; n++) {
		const char *before = n ? changed.data : SERIES;
		struct occurrence o = { 0 };
		auto_item i = NULL;
		auto_item after = NULL;

		out.len = 0;
		assert_int_equal(item_parse(&i, before, strlen(before)), 0);
		assert_int_equal(expand_find(i, &none, &o), -ENOENT);
		assert_int_equal(expand_find(i, &id, &o), 0);
		assert_int_equal(compose_remove_one(i, &o, NOW, &out), 0);
		check_by_libical(out.data);
		assert_int_equal(item_parse(&after, out.data, out.len), 0);
		assert_int_equal(after->n_changed, 0);
		assert_int_equal(expand_find(after, &id, &o), -ENOENT);
	}
	{
		struct occurrence o = { 0 };
		auto_item i = NULL;

		assert_int_equal(item_parse(&i, single, strlen(single)), 0);
		assert_int_equal(expand_find(i, &id, &o), 0);
		assert_int_equal(compose_remove_one(i, &o, NOW, &out), -ENODATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_reminder),
		cmocka_unit_test(test_new_event),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_changes_that_are_refused),
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_one_occurrence),
		cmocka_unit_test(test_one_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
