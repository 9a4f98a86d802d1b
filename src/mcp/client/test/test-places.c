/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "mcp/client/places.h"

static int read_text(enum places_dialect dialect, const char *text, struct arena *a,
	struct text_place **ret, struct error *e)
{
	return places_read(ret, a, dialect, "f", text, strlen(text), e);
}

/* What each dialect takes: one letter for each of JSON, JSONC, JSON5 that does. */
static void test_dialects(void **state)
{
	static const struct {
		const char *text, *taken;
	} rows[] = {
		{ "{}", "j c 5" },
		{ "{\"a\": [1, -2.5e+3, true, false, null, \"x\\u00e9\\n\"]}", "j c 5" },
		{ "\xef\xbb\xbf{\"a\": 1}\r\n", "j c 5" },
		{ "{\"a\": 1 // b\n}", "c 5" },
		{ "/* a */{\"a\": 1,}", "c 5" },
		{ "[1,2,]", "c 5" },
		{ "{a: 1, $b_2: 'x', \"c\": \"y\"}", "5" },
		{ "[+1, .5, 5., 0xFf, Infinity, -Infinity, NaN, 'a\\\nb', '\\x41\\v\\0', 1e5]",
			"5" },
		{ "{\"a\": 1, \"a\": 2}", "" },
		{ "{\"a\": 1, \"\\u0061\": 2}", "" },
		{ "{\"a\": {\"x\": [{\"b\": 1, \"b\": 1}]}}", "" },
		{ "{\"a\" 1}", "" },
		{ "{\"a\": 01}", "" },
		{ "{\"a\": 1.}", "5" },
		{ "{\"a\": tru}", "" },
		{ "{\"a\": 1} 2", "" },
		{ "{\"a\": \"x\ny\"}", "" },
		{ "{\"a\": \"x\ty\"}", "5" },
		{ "{\"a\": \"\\q\"}", "5" },
		{ "{\"a\": \"x", "" },
		{ "{,}", "" },
		{ "[1,,2]", "" },
		{ "/* open {}", "" },
		{ "{1a: 1}", "" },
		{ "{\"a\":1", "" },
		{ "{\"a\": \"\xff\"}", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer got = { 0 };

		for (int d = PLACES_JSON; d <= PLACES_JSON5; d++) {
			auto_arena a = { 0 };
			struct text_place *root = NULL;
			struct error e = { 0 };
			const int r =
				read_text((enum places_dialect)d, rows[i].text, &a, &root, &e);

			assert_true(r == 0 ? root != NULL : r == -EINVAL && e.text[0] && !root);
			if (r == 0)
				buffer_printf(&got, "%s%c", got.len ? " " : "", "jc5"[d]);
		}
		if (strcmp(buffer_text(&got), rows[i].taken) != 0)
			print_message("row %zu: %s\n", i, rows[i].text);
		assert_string_equal(buffer_text(&got), rows[i].taken);
	}
}

/* PATH.TO.KEY=raw bytes, for all that is no map; of headers the lines. */
static void list(const char *text, const struct text_place *p, const char *path, struct buffer *out)
{
	char name[256];

	for (const struct text_place *c = p->first; c; c = c->next) {
		(void)snprintf(name, sizeof(name), "%s/%s", path, c->key ? c->key : "-");
		if (c->kind == PLACE_MAP || (c->kind == PLACE_LIST && c->is_open))
			list(text, c, name, out);
		else
			buffer_printf(out, "%s=%.*s|", name, (int)(c->end - c->at), text + c->at);
	}
}

static void test_where(void **state)
{
	static const struct {
		enum places_dialect dialect;
		const char *text, *places;
	} rows[] = {
		{ PLACES_JSON, "{ \"a\" : [1, 2] ,\"b\":{\"c\\n\":\"d\"}}",
			"/a=[1, 2]|/b/c\n=\"d\"|" },
		{ PLACES_JSON5, "{a:'x', /*y*/ b: 0x1F,}", "/a='x'|/b=0x1F|" },
		{ PLACES_TOML, "a = 1 # x\nb.c = \"y\" \r\n", "/a=1|/b/c=\"y\"|" },
		{ PLACES_TOML, "[a.\"b c\".'d.e']\nx = ['1', # y\n \"2]\"]\ny = 07:32:00\n",
			"/a/b c/d.e/x=['1', # y\n \"2]\"]|/a/b c/d.e/y=07:32:00|" },
		{ PLACES_TOML, "[[a]]\nx = 1\n[[a]]\nx = 2\n[a.b]\ny = 3\n",
			"/a/-/x=1|/a/-/x=2|/a/-/b/y=3|" },
		{ PLACES_TOML, "a = { b = \"\"\"x\n\"y\"\"\"\", c.d = 'z' }\ne = ''''q'''\n",
			"/a/b=\"\"\"x\n\"y\"\"\"\"|/a/c/d='z'|/e=''''q'''|" },
		{ PLACES_TOML, "[ a . b ]\n  c . d = 1\n", "/a/b/c/d=1|" },
		{ PLACES_TOML, "", "" },
		{ PLACES_TOML, "\xef\xbb\xbf# only this", "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		auto_buffer got = { 0 };
		struct text_place *root = NULL;
		struct error e = { 0 };
		const int r = read_text(rows[i].dialect, rows[i].text, &a, &root, &e);

		if (r < 0)
			print_message("row %zu: %s\n", i, e.text);
		assert_int_equal(r, 0);
		list(rows[i].text, root, "", &got);
		assert_string_equal(buffer_text(&got), rows[i].places);
	}
}

static void test_bounds(void **state)
{
	static const enum places_dialect dialects[] = { PLACES_JSON, PLACES_JSON5, PLACES_TOML };
	auto_buffer deep = { 0 }, many = { 0 };
	char *large = calloc(1, PLACES_BYTES_MAX + 2);

	(void)state;
	assert_non_null(large);
	memset(large, ' ', PLACES_BYTES_MAX + 1);
	for (int i = 0; i < 100000; i++)
		buffer_addc(&deep, '[');
	buffer_addc(&many, '[');
	for (int i = 0; i <= PLACES_COUNT_MAX; i++)
		buffer_adds(&many, "1,");
	buffer_adds(&many, "1]");
	for (size_t i = 0; i < ROWS(dialects); i++) {
		auto_arena a = { 0 };
		struct text_place *root = NULL;
		struct error e = { 0 };
		const bool is_toml = dialects[i] == PLACES_TOML;

		assert_int_equal(read_text(dialects[i], large, &a, &root, &e), -E2BIG);
		assert_true(read_text(dialects[i], buffer_text(&deep), &a, &root, &e) < 0);
		if (!is_toml)
			assert_int_equal(
				read_text(dialects[i], buffer_text(&many), &a, &root, &e), -E2BIG);
		assert_null(root);
	}
	free(large);
}

/* A message says where. */
static void test_message(void **state)
{
	auto_arena a = { 0 };
	struct text_place *root = NULL;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(
		read_text(PLACES_JSON, "{\n  \"a\": 1,\n  // b\n}", &a, &root, &e), -EINVAL);
	assert_string_equal(e.file, "f");
	assert_int_equal(e.line, 3);
	assert_int_equal(e.column, 3);
	assert_int_equal(read_text(PLACES_TOML, "a = 1\nb = = 2\n", &a, &root, &e), -EINVAL);
	assert_int_equal(e.line, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dialects),
		cmocka_unit_test(test_where), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_message) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
