/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "services/calendar/dav-answer.h"

#define BEGIN                                                                          \
	"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<d:multistatus xmlns:d=\"DAV:\" " \
	"xmlns:c=\"urn:ietf:params:xml:ns:caldav\">"
#define END "</d:multistatus>"
#define RESPONSE(href, prop, status)                                     \
	"<d:response><d:href>" href "</d:href><d:propstat><d:prop>" prop \
	"</d:prop><d:status>HTTP/1.1 " status "</d:status></d:propstat></d:response>"

static int print(void *context, const struct dav_response *r)
{
	struct buffer *out = context;

	buffer_printf(out, "[%s", r->href);
	if (r->name)
		buffer_printf(out, " name=%s", r->name);
	if (r->tag)
		buffer_printf(out, " tag=%s", r->tag);
	if (r->object)
		buffer_printf(out, " object=%s", r->object);
	if (r->principal)
		buffer_printf(out, " principal=%s", r->principal);
	if (r->home)
		buffer_printf(out, " home=%s", r->home);
	buffer_printf(out, "%s%s%s%s]", r->is_calendar ? " calendar" : "",
		r->has_components ? " components" : "", r->has_events ? " events" : "",
		r->has_todos ? " todos" : "");
	return 0;
}

static const struct {
	const char *text;
	int code;
	const char *found;
} rows[] = {
	{ BEGIN END, 0, "" },
	{ BEGIN RESPONSE("/a", "<d:displayname>A &amp; B</d:displayname>", "200 OK") END, 0,
		"[/a name=A & B]" },
	{ BEGIN RESPONSE("/a",
		  "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>"
		  "<c:supported-calendar-component-set><c:comp "
		  "name='VTODO'/></c:supported-calendar-component-set>",
		  "200 OK") END,
		0, "[/a calendar components todos]" },
	{ BEGIN RESPONSE("/a",
		  "<d:getetag>\"1\"</d:getetag><c:calendar-data><![CDATA[<!DOCTYPE "
		  "x>]]></c:calendar-data>",
		  "200 OK") END,
		0, "[/a tag=\"1\" object=<!DOCTYPE x>]" },
	{ BEGIN RESPONSE("/a",
		  "<d:current-user-principal><d:href>/p</d:href></d:current-user-principal>"
		  "<c:calendar-home-set><d:href>/h</d:href></c:calendar-home-set>",
		  "200 OK") END,
		0, "[/a principal=/p home=/h]" },
	/* What the server says it does not have. */
	{ BEGIN RESPONSE("/a", "<d:displayname>no</d:displayname>", "404 Not Found") END, 0,
		"[/a]" },
	/* Names of other spaces mean nothing. */
	{ BEGIN RESPONSE("/a", "<displayname>no</displayname><c:displayname>no</c:displayname>",
		  "200 OK") END,
		0, "[/a]" },
	{ "<multistatus><response><href>/a</href></response></multistatus>", -EBADMSG, NULL },
	{ "", -EBADMSG, NULL },
	{ "<html><body>no</body></html>", -EBADMSG, NULL },
	{ BEGIN, -EBADMSG, NULL },
	{ BEGIN "<d:response>" END, -EBADMSG, NULL },
	/* DTDs, in all their forms. */
	{ "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><d:multistatus xmlns:d=\"DAV:\">"
	  "<d:response><d:href>&x;</d:href></d:response></d:multistatus>",
		-EBADMSG, NULL },
	{ "<?xml version=\"1.0\"?><!-- c --><!DOCTYPE d SYSTEM \"http://127.0.0.1:1/x.dtd\">" BEGIN
			END,
		-EBADMSG, NULL },
	{ "<?xml version=\"1.0\" encoding=\"utf-7\"?><d:multistatus xmlns:d=\"DAV:\"/>", -EBADMSG,
		NULL },
	{ "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
	  "<d:multistatus xmlns:d=\"DAV:\">&b;</d:multistatus>",
		-EBADMSG, NULL },
	/* An entity that no one declared. */
	{ BEGIN "&x;" END, -EBADMSG, NULL },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		int r = dav_answer_read(rows[i].text, strlen(rows[i].text), print, &out);

		if (r != rows[i].code)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].code);
		if (rows[i].found && strcmp(buffer_text(&out), rows[i].found) != 0)
			fail_msg("row %zu: %s", i, buffer_text(&out));
	}
}

static void test_bounds(void **state)
{
	auto_buffer text = { 0 }, out = { 0 };

	(void)state;
	buffer_adds(&text, BEGIN);
	for (size_t i = 0; i < 100000; i++)
		buffer_adds(&text, "<d:a>");
	assert_int_equal(dav_answer_read(text.data, text.len, print, &out), -EBADMSG);
	buffer_clear(&text);
	buffer_adds(&text, BEGIN);
	for (size_t i = 0; i <= DAV_ANSWER_RESPONSES; i++)
		buffer_adds(&text, "<d:response><d:href>/</d:href></d:response>");
	buffer_adds(&text, END);
	assert_int_equal(dav_answer_read(text.data, text.len, print, &out), -EBADMSG);
	/* A name without an end is cut. */
	buffer_clear(&text);
	buffer_clear(&out);
	buffer_adds(&text, BEGIN "<d:response><d:href>/");
	for (size_t i = 0; i < 3 * DAV_ANSWER_TEXT; i++)
		buffer_addc(&text, 'a');
	buffer_adds(&text, "</d:href></d:response>" END);
	assert_int_equal(dav_answer_read(text.data, text.len, print, &out), 0);
	assert_true(out.len <= DAV_ANSWER_TEXT + 2);
	assert_int_equal(dav_answer_read("<a\0/>", 5, print, &out), -EBADMSG);
}

static const struct {
	const char *href, *origin, *path;
} hrefs[] = {
	{ "/cal/a.ics", "https://h:443", "/cal/a.ics" },
	{ "https://h:443/cal/", "https://h:443", "/cal/" },
	{ "https://h/cal/", "https://h:443", "/cal/" },
	{ "HTTPS://H/cal/", "https://h:443", NULL },
	{ "https://h:8443/cal/", "https://h:443", NULL },
	{ "https://h/cal/", "https://h:8443", NULL },
	{ "http://h/cal/", "https://h:443", NULL },
	{ "https://other/cal/", "https://h:443", NULL },
	{ "https://h.evil.example/cal/", "https://h:443", NULL },
	{ "https://h@evil.example/cal/", "https://h:443", NULL },
	{ "//evil.example/cal", "https://h:443", NULL },
	{ "/cal/../b", "https://h:443", NULL },
	{ "/cal/..", "https://h:443", NULL },
	{ "/cal/./b", "https://h:443", NULL },
	{ "/cal/%2e%2e/b", "https://h:443", NULL },
	{ "/cal/a%2Fb", "https://h:443", NULL },
	{ "/cal/a%0d%0aX:1", "https://h:443", NULL },
	{ "/cal/a\r\nX: 1", "https://h:443", NULL },
	{ "/cal/a b", "https://h:443", NULL },
	{ "/cal/a%20b", "https://h:443", "/cal/a%20b" },
	{ "/cal/%zz", "https://h:443", NULL },
	{ "/cal/%", "https://h:443", NULL },
	{ "/cal/a?x=1", "https://h:443", NULL },
	{ "cal", "https://h:443", NULL },
	{ "", "https://h:443", NULL },
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(hrefs); i++) {
		auto_arena a = { 0 };
		const char *path = dav_answer_path(hrefs[i].href, hrefs[i].origin, &a);

		if ((path == NULL) != (hrefs[i].path == NULL) ||
			(path && strcmp(path, hrefs[i].path) != 0))
			fail_msg("row %zu: %s", i, path ? path : "nothing");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
