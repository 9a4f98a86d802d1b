/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "broker/fetch/response.h"

static int add(struct response *r, const char *line)
{
	return response_add_line(r, line, strlen(line));
}

static void test_head(void **state)
{
	static struct response r;

	(void)state;
	assert_int_equal(add(&r, "HTTP/1.1 103 Early Hints\r\n"), 0);
	assert_int_equal(add(&r, "Link: </a>\r\n"), 0);
	assert_int_equal(add(&r, "\r\n"), 1);
	assert_int_equal(r.status, 103);
	assert_int_equal(add(&r, "HTTP/1.1 404 Not\tFound\r\n"), 0);
	assert_int_equal(add(&r, "Content-Type:  text/plain \r\n"), 0);
	assert_int_equal(add(&r, "Vary: a\r\n"), 0);
	assert_int_equal(add(&r, "VARY: b\r\n"), 0);
	assert_int_equal(add(&r, "X: gr\xfc\xdf\x01\r\n"), 0);
	assert_int_equal(add(&r, "Empty:\r\n"), 0);
	assert_int_equal(add(&r, "no field\r\n"), 0);
	assert_int_equal(add(&r, " folded: x\r\n"), 0);
	assert_int_equal(add(&r, "na me: x\r\n"), 0);
	assert_int_equal(add(&r, "\r\n"), 1);
	assert_int_equal(r.status, 404);
	assert_string_equal(r.status_text, "Not Found");
	assert_null(response_field(&r, "link"));
	assert_string_equal(response_field(&r, "content-type"), "text/plain");
	assert_string_equal(response_field(&r, "vary"), "a, b");
	assert_string_equal(response_field(&r, "x"), "gr\xc3\xbc\xc3\x9f ");
	assert_string_equal(response_field(&r, "empty"), "");
	assert_int_equal(r.n, 4);
	assert_int_equal(add(&r, "HTTP/2 200\r\n"), 0);
	assert_string_equal(r.status_text, "");
	assert_int_equal(add(&r, "Content-Length: 5\r\n"), 0);
	assert_int_equal(add(&r, "content-length: 5\r\n"), 0);
	assert_int_equal(add(&r, "content-length: 6\r\n"), -EINVAL);
	assert_int_equal(add(&r, "HTTP/1.1 20\r\n"), -EINVAL);
	assert_int_equal(add(&r, "HTTP/1.1 12345\r\n"), -EINVAL);
	response_deinit(&r);
}

static void test_bounds(void **state)
{
	static struct response r;
	static char line[40 << 10];
	int code = 0;

	(void)state;
	assert_int_equal(add(&r, "HTTP/1.1 200 OK"), 0);
	for (int i = 0; code == 0 && i < 100000; i++) {
		(void)snprintf(line, sizeof(line), "x-%d: y\r\n", i);
		code = add(&r, line);
	}
	assert_int_equal(code, -E2BIG);
	assert_int_equal(add(&r, "HTTP/1.1 200 OK"), 0);
	(void)memset(line, 'a', sizeof(line) - 1);
	line[1] = ':';
	assert_int_equal(add(&r, line), -E2BIG);
	/* The same name again and again: what is joined counts once. */
	assert_int_equal(add(&r, "HTTP/1.1 200 OK"), 0);
	for (code = 0; code == 0;)
		code = add(&r, "vary: accept");
	assert_int_equal(code, -E2BIG);
	response_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
