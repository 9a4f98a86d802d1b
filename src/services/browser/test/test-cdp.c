/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "services/browser/cdp.h"

/* Reads a stream in pieces of `step` bytes; writes "id method session error|code;" of each. */
static void read_all(const char *data, size_t len, size_t step, struct buffer *out)
{
	struct cdp_stream s = { 0 };

	while (len > 0) {
		size_t piece = len < step ? len : step, left = piece;

		while (left > 0 && cdp_stream_take(&s, &data, &left) == 1) {
			struct cdp_message m;
			const int r = cdp_read(&m, &s);

			buffer_printf(out, "%d %s %s %s %d;", (int)m.id, m.method, m.session,
				m.error ? m.error : "-", r);
			cdp_message_deinit(&m);
		}
		len -= piece;
	}
	cdp_stream_deinit(&s);
}

static void test_messages(void **state)
{
	static const struct {
		const char *text, *read;
	} rows[] = {
		{ "{\"id\":1,\"result\":{}}", "1   - 0;" },
		{ "{\"id\":7,\"error\":{\"code\":-32000,\"message\":\"no\"}}", "7   no 0;" },
		{ "{\"id\":7,\"error\":3}", "7    0;" },
		{ "{\"method\":\"Page.x\",\"params\":{},\"sessionId\":\"S\"}", "0 Page.x S - 0;" },
		{ "{\"method\":7}", "0   - -74;" },
		{ "{\"id\":0,\"result\":{}}", "0   - -74;" },
		{ "{\"id\":-1,\"result\":{}}", "0   - -74;" },
		{ "{\"id\":\"1\",\"result\":{}}", "0   - -74;" },
		{ "{\"id\":2,\"method\":\"both\"}", "2   - -74;" },
		{ "{\"id\":3,\"result\":{\"value\":\"\\ud800\"}}", "3   - -74;" },
		{ "{\"id\":4,\"result\":", "4   - -74;" },
		{ "{\"id\":5,\"id\":6}", "5   - -74;" },
		{ "[1]", "0   - -74;" },
		{ "", "0   - -74;" },
		{ "{}", "0   - -74;" },
		{ "{\"id\":99999999999999999999", "9999999999   - -74;" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (size_t step = 1; step < 100; step += 33) {
			auto_buffer out = { 0 };

			read_all(rows[i].text, strlen(rows[i].text) + 1, step, &out);
			if (i + 1 < ROWS(rows))
				assert_string_equal(buffer_text(&out), rows[i].read);
		}
	}
}

static void test_several(void **state)
{
	static const char text[] = "{\"id\":1,\"result\":{}}\0{\"method\":\"a\"}\0\0{\"id\":2}";
	auto_buffer out = { 0 };

	(void)state;
	read_all(text, sizeof(text), 5, &out);
	assert_string_equal(buffer_text(&out), "1   - 0;0 a  - 0;0   - -74;2   - 0;");
}

/* One that is too long is skipped, keeps its id, and the next is read. */
static void test_too_long(void **state)
{
	const size_t len = CDP_MESSAGE_MAX + 100;
	char *text = malloc(len + 32);
	auto_buffer out = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len + 32);
	memcpy(text, "{\"id\":12,", 9);
	text[len] = '\0';
	memcpy(text + len + 1, "{\"id\":13}", 10);
	read_all(text, len + 11, 100000, &out);
	assert_string_equal(buffer_text(&out), "12   - -90;13   - 0;");
	free(text);
}

/* Deeper than a document may be. */
static void test_too_deep(void **state)
{
	auto_buffer text = { 0 }, out = { 0 };

	(void)state;
	buffer_adds(&text, "{\"id\":3,\"result\":");
	for (int i = 0; i < 200; i++)
		buffer_addc(&text, '[');
	for (int i = 0; i < 200; i++)
		buffer_addc(&text, ']');
	buffer_adds(&text, "}");
	read_all(text.data, text.len + 1, 1000, &out);
	assert_string_equal(buffer_text(&out), "3   - -90;");
}

static void test_paths(void **state)
{
	static const char text[] =
		"{\"id\":1,\"result\":{\"a\":{\"b\":\"c\",\"n\":4},\"t\":\"x\"}}";
	const char *data = text;
	size_t len = sizeof(text);
	struct cdp_stream s = { 0 };
	struct cdp_message m;

	(void)state;
	assert_int_equal(cdp_stream_take(&s, &data, &len), 1);
	assert_int_equal(cdp_read(&m, &s), 0);
	assert_string_equal(cdp_text(&m, "a.b"), "c");
	assert_string_equal(cdp_text(&m, "t"), "x");
	assert_string_equal(cdp_text(&m, "a.n"), "");
	assert_string_equal(cdp_text(&m, "a.b.c"), "");
	assert_string_equal(cdp_text(&m, "t.x"), "");
	assert_string_equal(cdp_text(&m, "none"), "");
	assert_non_null(cdp_node(&m, "a.n"));
	cdp_message_deinit(&m);
	assert_string_equal(cdp_text(&m, "a"), "");
	cdp_stream_deinit(&s);
}

static void test_writing(void **state)
{
	static const char wanted[] = "{\"id\":5,\"method\":\"A.b\",\"params\":{}}\0"
				     "{\"id\":6,\"method\":\"A.b\",\"sessionId\":\"S\\\"\","
				     "\"params\":{\"x\":1}}";
	auto_buffer out = { 0 };

	(void)state;
	cdp_write(&out, 5, "", "A.b", "{}");
	cdp_write(&out, 6, "S\"", "A.b", "{\"x\":1}");
	assert_int_equal(out.len, sizeof(wanted));
	assert_memory_equal(out.data, wanted, sizeof(wanted));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_writing),
	};

	return cmocka_run_group_tests_name("browser cdp", tests, NULL, NULL);
}
