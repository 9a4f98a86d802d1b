/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "services/calendar/edit.h"

#define BEGIN "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"
#define END "END:VCALENDAR\r\n"
#define EVENT(text) BEGIN "BEGIN:VEVENT\r\n" text "END:VEVENT\r\n" END

/* What is refused, whatever it might mean. */
static const struct {
	const char *text;
	int code;
} rows[] = {
	{ EVENT("UID:1\r\n"), 0 },
	{ EVENT("UID:1\n"), 0 },
	{ EVENT("X-ANY;A=\"b:c;d\";E=f:value: more\r\n"), 0 },
	{ "begin:vcalendar\r\nend:VCalendar\r\n", 0 },
	{ BEGIN END "\r\n\r\n", 0 },
	{ "", -EINVAL },
	{ "UID:1\r\n", -EINVAL },
	{ "BEGIN:VEVENT\r\nEND:VEVENT\r\n", -EINVAL },
	{ BEGIN, -EINVAL },
	{ BEGIN END BEGIN END, -EINVAL },
	{ BEGIN END "UID:1\r\n", -EINVAL },
	{ BEGIN "END:VEVENT\r\n" END, -EINVAL },
	{ BEGIN "BEGIN:VEVENT\r\n" END "END:VEVENT\r\n", -EINVAL },
	{ EVENT("no colon\r\n"), -EINVAL },
	{ EVENT(":value\r\n"), -EINVAL },
	{ EVENT("BAD NAME:value\r\n"), -EINVAL },
	{ EVENT("UID:a\rb\r\n"), -EINVAL },
	{ EVENT("UID:a\x1b[31m\r\n"), -EINVAL },
	{ EVENT("UID:\xff\xfe\r\n"), -EINVAL },
	{ EVENT("X-A;B=\"open:1\r\n"), -EINVAL },
	{ BEGIN "BEGIN:A\r\nBEGIN:B\r\nBEGIN:C\r\nEND:C\r\nEND:B\r\nEND:A\r\n" END, 0 },
	{ BEGIN "BEGIN:A\r\nBEGIN:B\r\nBEGIN:C\r\nBEGIN:D\r\nEND:D\r\nEND:C\r\nEND:B\r\nEND:"
		"A\r\n" END,
		-EFBIG },
};

static void test_what_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_lines l = { 0 };
		int r = lines_parse(&l, rows[i].text, strlen(rows[i].text));

		if (r != rows[i].code)
			fail_msg("row %zu: %d, not %d:\n%s", i, r, rows[i].code, rows[i].text);
	}
}

static void test_bounds(void **state)
{
	auto_buffer text = { 0 };
	auto_lines l = { 0 };

	(void)state;
	/* A hundred thousand components, one in another. */
	buffer_adds(&text, BEGIN);
	for (size_t i = 0; i < 10000; i++)
		buffer_adds(&text, "BEGIN:VEVENT\r\n");
	assert_int_equal(lines_parse(&l, text.data, text.len), -EFBIG);
	buffer_clear(&text);
	buffer_adds(&text, BEGIN);
	for (size_t i = 0; i <= LINES_MAX; i++)
		buffer_adds(&text, "X-A:1\r\n");
	buffer_adds(&text, END);
	assert_int_equal(lines_parse(&l, text.data, text.len), -EFBIG);
	buffer_clear(&text);
	buffer_adds(&text, BEGIN "X-A:");
	while (text.len <= LINES_BYTES_MAX)
		buffer_adds(&text, "aaaaaaaaaaaaaaaa");
	buffer_adds(&text, "\r\n" END);
	assert_int_equal(lines_parse(&l, text.data, text.len), -EFBIG);
	/* A NUL ends nothing. */
	assert_int_equal(
		lines_parse(&l, BEGIN "X-A:1\0\r\n" END, sizeof(BEGIN "X-A:1\0\r\n" END) - 1),
		-EINVAL);
}

static void test_lines_and_parameters(void **state)
{
	static const char text[] =
		EVENT("uid:a\r\n b\r\nDTSTART;X=1;TZID=\"Europe/Ber\r\n lin\":2026\r\n"
		      "SUMMARY:gr\xc3\r\n \xbc\xc3\x9f\r\n"
		      "BEGIN:VALARM\r\nSUMMARY:alarm\r\nEND:VALARM\r\n");
	auto_lines l = { 0 };
	auto_arena a = { 0 };
	const struct line *line;

	(void)state;
	assert_int_equal(lines_parse(&l, text, strlen(text)), 0);
	assert_int_equal(l.n_parts, 3);
	line = lines_find(&l, 1, "UID", NULL);
	assert_string_equal(line->value, "ab");
	assert_null(lines_find(&l, 1, "UID", line));
	line = lines_find(&l, 1, "DTSTART", NULL);
	assert_string_equal(lines_param(line, "tzid", &a), "Europe/Berlin");
	assert_string_equal(lines_param(line, "X", &a), "1");
	assert_null(lines_param(line, "TZ", &a));
	assert_string_equal(line->value, "2026");
	/* The alarm's is not the event's. */
	line = lines_find(&l, 1, "SUMMARY", NULL);
	assert_string_equal(line->value, "gr\xc3\xbc\xc3\x9f");
	assert_null(lines_find(&l, 1, "SUMMARY", line));
	assert_string_equal(lines_find(&l, 2, "SUMMARY", NULL)->value, "alarm");
	arena_deinit(&a);
}

/* What an edit does not name stays, byte for byte. */
static void test_edit(void **state)
{
	static const char text[] =
		EVENT("X-APPLE;odd=\"1\":  as\r\n  it is\r\nSUMMARY;LANGUAGE=de:old\r\n"
		      "UNKNOWN-THING:\\q\r\nSUMMARY:twice\r\n"
		      "BEGIN:VALARM\r\nSUMMARY:alarm\r\nEND:VALARM\r\n");
	static const char changed[] =
		EVENT("X-APPLE;odd=\"1\":  as\r\n  it is\r\nSUMMARY:new\\, text\r\n"
		      "UNKNOWN-THING:\\q\r\n"
		      "BEGIN:VALARM\r\nSUMMARY:alarm\r\nEND:VALARM\r\n"
		      "DUE:1\r\nPRIORITY:5\r\n");
	auto_lines l = { 0 };
	auto_edit e = { .lines = &l };
	auto_buffer line = { 0 }, out = { 0 };

	(void)state;
	assert_int_equal(lines_parse(&l, text, strlen(text)), 0);
	assert_int_equal(edit_set(&e, 1, "DUE", "DUE:1\r\n"), 0);
	assert_int_equal(edit_set(&e, 1, "PRIORITY", "PRIORITY:5\r\n"), 0);
	edit_add_text(&line, "SUMMARY", "new, text");
	assert_int_equal(edit_set(&e, 1, "SUMMARY", line.data), 0);
	assert_int_equal(edit_set(&e, 1, "NONE", NULL), 0);
	edit_print(&e, &out);
	assert_string_equal(out.data, changed);
}

/* Text cannot become lines of its own, and comes back as it was. */
static void test_text(void **state)
{
	static const char *const texts[] = { "", "plain", "a\nb;c,d\\e\\n", "tab\there",
		"BEGIN:VEVENT\nEND:VCALENDAR\nX:1",
		"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
		"\xc3\xbc"
		"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
		"\xc3\xbc"
		"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
		"\xc3\xbc"
		"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
		"\xc3\xbc" };

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_buffer out = { 0 }, back = { 0 };
		auto_lines l = { 0 };
		const struct line *line;

		buffer_adds(&out, BEGIN);
		edit_add_text(&out, "SUMMARY", texts[i]);
		buffer_adds(&out, END);
		for (const char *at = out.data; *at; at += strcspn(at, "\n") + 1)
			assert_true(strcspn(at, "\r") <= 75);
		assert_int_equal(lines_parse(&l, out.data, out.len), 0);
		assert_int_equal(l.n, 4);
		line = lines_find(&l, 0, "SUMMARY", NULL);
		edit_unescape(line->value, &back);
		assert_string_equal(buffer_text(&back), texts[i]);
	}
}

static void test_control_characters_are_left_out(void **state)
{
	auto_buffer out = { 0 };

	(void)state;
	edit_add_text(&out, "SUMMARY", "a\r\x1b[31m\x7f\x01z");
	assert_string_equal(out.data, "SUMMARY:a[31mz\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_lines_and_parameters),
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_control_characters_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
