/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"
#include "mcp/gateway/pattern.h"
#include "mcp/gateway/shape.h"

static const struct {
	const char *schema, *value;
	bool fits;
} rows[] = {
	{ "{}", "5", true },
	{ "true", "null", true },
	{ "false", "null", false },
	{ "{\"type\":\"string\"}", "\"a\"", true },
	{ "{\"type\":\"string\"}", "1", false },
	{ "{\"type\":[\"string\",\"null\"]}", "null", true },
	{ "{\"type\":\"integer\"}", "1.0", true },
	{ "{\"type\":\"integer\"}", "1.5", false },
	{ "{\"type\":\"integer\"}", "1e300", false },
	{ "{\"type\":\"number\"}", "1", true },
	{ "{\"const\":1}", "1.0", true },
	{ "{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[2],\"a\":1}", true },
	{ "{\"const\":{\"a\":1}}", "{\"a\":1,\"b\":2}", false },
	{ "{\"const\":[1,2]}", "[2,1]", false },
	{ "{\"enum\":[\"a\",null]}", "null", true },
	{ "{\"enum\":[\"a\",null]}", "\"b\"", false },
	{ "{\"minimum\":1,\"maximum\":3}", "3", true },
	{ "{\"exclusiveMaximum\":3}", "3", false },
	{ "{\"exclusiveMinimum\":3}", "3.1", true },
	{ "{\"minimum\":1}", "\"x\"", true },
	{ "{\"minLength\":2,\"maxLength\":2}", "\"\\u00e9\\u00e9\"", true },
	{ "{\"maxLength\":1}", "\"ab\"", false },
	{ "{\"items\":{\"type\":\"string\"},\"minItems\":1}", "[\"a\"]", true },
	{ "{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", false },
	{ "{\"maxItems\":1}", "[1,2]", false },
	{ "{\"properties\":{\"a\":{\"const\":1}}}", "{}", true },
	{ "{\"properties\":{\"a\":{\"const\":1}}}", "{\"a\":2}", false },
	{ "{\"required\":[\"a\"]}", "{}", false },
	{ "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1}", true },
	{ "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"b\":1}", false },
	{ "{\"additionalProperties\":{\"type\":\"string\"}}", "{\"b\":1}", false },
	{ "{\"minProperties\":1}", "{}", false },
	{ "{\"maxProperties\":0}", "{\"a\":1}", false },
	{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "3", false },
	{ "{\"anyOf\":[{\"const\":1},{\"const\":2}]}", "2", true },
	{ "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "2", false },
	{ "{\"not\":{\"const\":1}}", "2", true },
	{ "{\"type\":\"string\",\"pattern\":\"^/home/\"}", "\"/home/x\"", true },
	{ "{\"type\":\"string\",\"pattern\":\"^/home/\"}", "\"/etc//home/\"", false },
	{ "{\"type\":\"string\",\"description\":\"x\",\"pattern\":\"b\"}", "\"abc\"", true },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document schema = { 0 }, value = { 0 };
		struct error e = { 0 };

		assert_int_equal(
			json_read(&schema, NULL, rows[i].schema, strlen(rows[i].schema), NULL), 0);
		assert_int_equal(
			json_read(&value, NULL, rows[i].value, strlen(rows[i].value), NULL), 0);
		if (shape_check(schema.root, &schema, &e) < 0)
			fail_msg("%s: %s", rows[i].schema, e.text);
		if (shape_fits(schema.root, value.root) != rows[i].fits)
			fail_msg("%s with %s", rows[i].schema, rows[i].value);
	}
}

/* In a rule, what is not understood must not mean anything. */
static const struct {
	const char *schema, *part;
} refused[] = {
	{ "[]", "a schema is a map" },
	{ "{\"patern\":\"x\"}", "no keyword" },
	{ "{\"$ref\":\"#\"}", "no keyword" },
	{ "{\"type\":\"text\"}", "`type`" },
	{ "{\"type\":[]}", "`type`" },
	{ "{\"enum\":[]}", "`enum`" },
	{ "{\"minLength\":-1}", "`minLength`" },
	{ "{\"minimum\":\"1\"}", "`minimum`" },
	{ "{\"required\":[1]}", "`required`" },
	{ "{\"properties\":{\"a\":{\"x\":1}}}", "no keyword" },
	{ "{\"anyOf\":[]}", "`anyOf`" },
	{ "{\"pattern\":\"a\"}", "needs `type: string`" },
	{ "{\"not\":{\"items\":[]}}", "a schema is a map" },
	{ "{\"type\":\"string\",\"pattern\":\"(a|b)\"}", "groups" },
	{ "{\"type\":\"string\",\"pattern\":\"a**\"}", "must follow" },
	{ "{\"type\":\"string\",\"pattern\":\"[a\"}", "no ]" },
	{ "{\"type\":\"string\",\"pattern\":\"[b-a]\"}", "before it begins" },
	{ "{\"type\":\"string\",\"pattern\":\"a^\"}", "at the start" },
	{ "{\"type\":\"string\",\"pattern\":\"a$b\"}", "at the start" },
	{ "{\"type\":\"string\",\"pattern\":\"\\\\q\"}", "stands only" },
	{ "{\"type\":\"string\",\"pattern\":\"\\\\\"}", "stands only" },
	{ "{\"type\":\"string\",\"pattern\":\"a{2}\"}", "groups" },
	{ "{\"type\":\"string\",\"pattern\":5}", "no text" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		auto_document d = { 0 };
		struct error e = { 0 };

		assert_int_equal(
			json_read(&d, "f", refused[i].schema, strlen(refused[i].schema), NULL), 0);
		assert_int_equal(shape_check(d.root, &d, &e), -EINVAL);
		if (!strstr(e.text, refused[i].part) || e.line != 1)
			fail_msg("%s: %s", refused[i].schema, e.text);
	}
}

static const struct {
	const char *pattern, *text;
	bool matches;
} patterns[] = {
	{ "", "", true },
	{ "", "x", true },
	{ "^$", "x", false },
	{ "abc", "xabcx", true },
	{ "^abc$", "abc", true },
	{ "^abc$", "abc\n", false },
	{ "a.c",
		"a\xc3\xa9"
		"c",
		true },
	{ "a.c", "a\nc", false },
	{ "^a*b+c?$", "aabb", true },
	{ "^a*b+c?$", "aac", false },
	{ "^[a-c/]+$", "a/b", true },
	{ "^[^/]+$", "a/b", false },
	{ "^[\\w.-]+$", "a_1.b-", true },
	{ "^[]$", "", false }, /* an empty class: nothing is in it */
	{ "\\d\\d", "a12", true },
	{ "^\\S+$", "a b", false },
	{ "^\\D$", "\xf0\x9f\x99\x82", true },
	{ "^/home/[^/]*/\\.config/", "/home/me/.config/x", true },
	{ "^/home/[^/]*/\\.config/", "/home/me/x.config/x", false },
	{ "a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		false },
};

static void test_patterns(void **state)
{
	static struct pattern p;

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++) {
		const char *why = pattern_read(&p, patterns[i].pattern);

		if (why)
			fail_msg("%s: %s", patterns[i].pattern, why);
		if (pattern_matches(&p, patterns[i].text) != patterns[i].matches)
			fail_msg("%s with %s", patterns[i].pattern, patterns[i].text);
	}
}

/* Too long is an error, not a part of it. */
static void test_long(void **state)
{
	static struct pattern p;
	char text[2 * PATTERN_ATOMS_MAX + 1];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[PATTERN_ATOMS_MAX] = '\0';
	assert_null(pattern_read(&p, text));
	assert_true(pattern_matches(&p, text));
	text[PATTERN_ATOMS_MAX] = 'a';
	text[sizeof(text) - 1] = '\0';
	assert_non_null(pattern_read(&p, text));
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\\w", 2);
	assert_non_null(pattern_read(&p, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_long) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
