/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/reply.h"

#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"

static void test_statuses(void **state)
{
	static const struct {
		int code;
		unsigned status;
		const char *text;
	} rows[] = {
		{ -EACCES, 403, "{\"error\":\"Permission denied: Permission denied\"}\n" },
		{ -ENOENT, 404, "{\"error\":\"No such file or directory\"}\n" },
		{ -EFBIG, 413, "{\"error\":\"File too large\"}\n" },
		{ -ETIMEDOUT, 504, "{\"error\":\"Connection timed out\"}\n" },
		{ -ENOMEM, 503, "{\"error\":\"Cannot allocate memory\"}\n" },
		{ -EINVAL, 400, "{\"error\":\"Invalid argument\"}\n" },
		/* What is in no row is a fault of ours. */
		{ -EIO, 500, "{\"error\":\"Input/output error\"}\n" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct reply c = { .status = 200, .missing = "; never" };

		buffer_adds(&c.json, "{\"half\":");
		reply_refuse(&c, rows[i].code, NULL);
		assert_int_equal(c.status, rows[i].status);
		/* What was half written is gone. */
		assert_string_equal(buffer_text(&c.json), rows[i].text);
		assert_false(c.is_ended);
		buffer_deinit(&c.json);
	}
}

static void test_ended(void **state)
{
	struct reply c = { .status = 200 };

	(void)state;
	reply_refuse(&c, -ECANCELED, NULL);
	assert_int_equal(c.status, 409);
	assert_true(c.is_ended);
	buffer_deinit(&c.json);
}

static void test_fail(void **state)
{
	struct reply c = { .status = 200 };

	(void)state;
	buffer_adds(&c.json, "{");
	reply_fail(&c, 413, "too \"long\"");
	assert_int_equal(c.status, 413);
	assert_string_equal(buffer_text(&c.json), "{\"error\":\"too \\\"long\\\"\"}\n");
	buffer_deinit(&c.json);
}

static void check_data(const char *data, size_t len, bool base64, const char *expected)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	json_open_map(&w, NULL);
	reply_data(&w, "d", data, len, base64);
	json_close(&w);
	assert_string_equal(buffer_text(&out), expected);
}

static void test_data(void **state)
{
	static char controls[4096];
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	(void)state;
	check_data("text\n", 5, false, "{\"d\":\"text\\n\",\"encoding\":\"utf8\"}");
	check_data("text\n", 5, true, "{\"d\":\"dGV4dAo=\",\"encoding\":\"base64\"}");
	check_data("\xff\0", 2, false, "{\"d\":\"/wA=\",\"encoding\":\"base64\"}");
	check_data("", 0, false, "{\"d\":\"\",\"encoding\":\"utf8\"}");
	/* Control characters would take six bytes each: base64 takes less than two. */
	memset(controls, 1, sizeof(controls));
	json_open_map(&w, NULL);
	reply_data(&w, "d", controls, sizeof(controls), false);
	json_close(&w);
	assert_true(out.len < 2 * sizeof(controls));
	assert_non_null(strstr(buffer_text(&out), "\"encoding\":\"base64\""));
}

static void test_denial(void **state)
{
	const struct corral_denial d = {
		.op = CORRAL_FS_WRITE, .target = "/a", .rule = "r", .reason = "w", .remedy = "m"
	};
	struct corral_denial unknown = d;
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	(void)state;
	unknown.op = (enum corral_operation)99;
	json_open_list(&w, NULL);
	reply_denial(&w, NULL, &d);
	reply_denial(&w, NULL, &unknown);
	json_close(&w);
	assert_non_null(strstr(buffer_text(&out), "{\"op\":\"fs.write\",\"target\":\"/a\","));
	assert_non_null(strstr(buffer_text(&out), "{\"op\":\"?\""));
}

static void test_path(void **state)
{
	static const struct {
		const char *given, *is; /* NULL: refused */
	} rows[] = {
		{ "/a/../b", "/b" },
		{ "/a//b/.", "/a/b" },
		{ "relative", NULL },
		{ "", NULL },
	};
	char room[PATH_BYTES], longest[2 * PATH_BYTES];
	const char *path;

	(void)state;
	for (size_t i = 0; i <= ROWS(rows); i++) {
		struct reply c = { .call.route = &routes[ROUTE_FS_READ], .status = 200 };
		const char *is = i < ROWS(rows) ? rows[i].is : NULL;

		memset(longest, '/', 1);
		memset(longest + 1, 'a', sizeof(longest) - 2);
		longest[sizeof(longest) - 1] = '\0';
		for (size_t k = 0; c.call.route->fields[k].name; k++)
			if (strcmp(c.call.route->fields[k].name, "path") == 0)
				c.call.values[k] = i < ROWS(rows) ? rows[i].given : longest;
		assert_int_equal(reply_path(&c, "path", room, &path), is != NULL);
		assert_int_equal(c.status, is ? 200 : 400);
		if (is)
			assert_string_equal(path, is);
		/* What was not given is none. */
		assert_true(reply_path(&c, "encoding", room, &path) && !path);
		buffer_deinit(&c.json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_denial),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
