/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "services/desktop/page.h"

static const struct {
	const char *text, *want; /* NULL: it is refused */
} rows[] = {
	{ "https://example.com", "https://example.com/" },
	{ "HTTPS://Example.COM/", "https://example.com/" },
	{ "http://example.com:80/a?b=c#d", "http://example.com/a?b=c#d" },
	{ "http://example.com:8080/", "http://example.com:8080/" },
	{ "https://example.com/a/../b", "https://example.com/b" },
	{ "https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4" },
	{ "https://example.com/?q='`\"<>|^{}",
		"https://example.com/?q=%27%60%22%3C%3E%7C%5E%7B%7D" },
	{ "https://127.0.0.1/", "https://127.0.0.1/" },
	{ "https://0x7f000001/", "https://127.0.0.1/" },
	{ "https://[::1]:8443/", "https://[::1]:8443/" },
	/* Its host is evil.example, whatever stands behind it. */
	{ "https://evil.example/.example.com", "https://evil.example/.example.com" },
	{ "https://evil.example#.example.com", "https://evil.example/#.example.com" },
	{ "https://evil.example?.example.com", "https://evil.example/?.example.com" },
	{ "https:///example.com", "https://example.com/" },
	/* Refused */
	{ "https://example.com@evil.example/", NULL },
	{ "https://user:pass@example.com/", NULL },
	{ "https://example.com\\@evil.example/", NULL },
	{ "https://evil.example\\.example.com/", NULL },
	{ "https://example.com /", NULL },
	{ "https://example.com/\n--help", NULL },
	{ "https://example.com/\x1b", NULL },
	{ "\thttps://example.com/", NULL },
	{ "file:///etc/passwd", NULL },
	{ "javascript:alert(1)", NULL },
	{ "data:text/html,x", NULL },
	{ "ftp://example.com/", NULL },
	{ "ws://example.com/", NULL },
	{ "--help", NULL },
	{ "-https://example.com", NULL },
	{ "example.com", NULL },
	{ "//example.com/", NULL },
	{ "https:example.com", NULL },
	{ "https://", NULL },
	{ "view-source:https://example.com", NULL },
	{ "", NULL },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		struct error e = { 0 };
		int r = page_normal(rows[i].text, strlen(rows[i].text), &out, &e);

		if (r != (rows[i].want ? 0 : -EINVAL) ||
			(rows[i].want && strcmp(buffer_text(&out), rows[i].want) != 0))
			fail_msg("%s: %d, %s %s", rows[i].text, r, buffer_text(&out), e.text);
		/* One spelling: what is normal stays as it is. */
		if (rows[i].want) {
			auto_buffer again = { 0 };

			assert_true(page_is_normal(out.data, out.len));
			assert_int_equal(page_normal(out.data, out.len, &again, &e), 0);
			assert_string_equal(buffer_text(&again), buffer_text(&out));
		}
	}
}

static void test_the_launcher_takes_no_other(void **state)
{
	static const char *const texts[] = { "", "-", "--help", "file:///etc/passwd", "http:/x",
		"https://a/ b", "https://a/\n", "https://a/'", "https://a/`id`", "https://a/|x" };

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++)
		if (page_is_normal(texts[i], strlen(texts[i])))
			fail_msg("%s", texts[i]);
	assert_false(page_is_normal("https://a/\0b", 12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_the_launcher_takes_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
