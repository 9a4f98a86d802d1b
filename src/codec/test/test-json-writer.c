/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json-writer.h"

static void write_all(struct json_writer *w)
{
	json_open_map(w, NULL);
	json_put_text(w, "text", "a\"b\\c\n\x01");
	json_put_text(w, "none", NULL);
	json_open_list(w, "list");
	json_put_number(w, NULL, INT64_MIN);
	json_put_count(w, NULL, UINT64_MAX);
	json_open_map(w, NULL);
	json_close(w);
	json_open_list(w, NULL);
	json_close(w);
	json_put_flag(w, NULL, true);
	json_put_flag(w, NULL, false);
	json_close(w);
	json_put_format(w, "for\"mat", "%s.%d\"", "id", 7);
	json_put_encoded(w, "hex", ENCODING_HEX, "\x01\xff", 2);
	json_put_encoded(w, "base64", ENCODING_BASE64, "\x01\xff", 2);
	json_put_encoded(w, "utf8", ENCODING_UTF8, "\t", 1);
	json_put_raw(w, "raw", "[1]");
	json_close(w);
}

static void test_styles(void **state)
{
	static const char *const texts[] = {
		[JSON_COMPACT] = "{\"text\":\"a\\\"b\\\\c\\n\\u0001\",\"none\":null,\"list\":["
				 "-9223372036854775808,18446744073709551615,{},[],true,false],"
				 "\"for\\\"mat\":\"id.7\\\"\",\"hex\":\"01ff\",\"base64\":\"Af8=\","
				 "\"utf8\":\"\\t\",\"raw\":[1]}",
		[JSON_SPACED] =
			"{\"text\": \"a\\\"b\\\\c\\n\\u0001\", \"none\": null, \"list\": ["
			"-9223372036854775808, 18446744073709551615, {}, [], true, false], "
			"\"for\\\"mat\": \"id.7\\\"\", \"hex\": \"01ff\", \"base64\": \"Af8=\", "
			"\"utf8\": \"\\t\", \"raw\": [1]}",
		[JSON_PRETTY] =
			"{\n  \"text\": \"a\\\"b\\\\c\\n\\u0001\",\n  \"none\": null,\n"
			"  \"list\": [\n    -9223372036854775808,\n    18446744073709551615,\n"
			"    {},\n    [],\n    true,\n    false\n  ],\n"
			"  \"for\\\"mat\": \"id.7\\\"\",\n  \"hex\": \"01ff\",\n"
			"  \"base64\": \"Af8=\",\n  \"utf8\": \"\\t\",\n  \"raw\": [1]\n}",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_buffer out = { 0 };
		struct json_writer w = { .out = &out, .style = (enum json_style)i };

		write_all(&w);
		assert_int_equal(json_end(&w), 0);
		assert_string_equal(buffer_text(&out), texts[i]);
	}
}

/* What is open keeps its style; what is opened then has the new one. */
static void test_a_style_of_what_is_inside(void **state)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out, .style = JSON_PRETTY };

	(void)state;
	json_open_map(&w, NULL);
	w.style = JSON_SPACED;
	json_open_map(&w, "a");
	json_put_number(&w, "x", 1);
	json_put_number(&w, "y", 2);
	json_close(&w);
	w.style = JSON_PRETTY;
	json_open_list(&w, "b");
	w.style = JSON_COMPACT;
	json_open_map(&w, NULL);
	json_put_number(&w, "x", 1);
	json_close(&w);
	json_close(&w);
	json_close(&w);
	assert_int_equal(json_end(&w), 0);
	assert_string_equal(buffer_text(&out),
		"{\n  \"a\": {\"x\": 1, \"y\": 2},\n  \"b\": [\n    {\"x\":1}\n  ]\n}");
}

static void test_lines(void **state)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	(void)state;
	json_open_map(&w, NULL);
	json_open_list(&w, "a");
	for (int i = 0; i < 2; i++) {
		json_line(&w);
		json_put_number(&w, NULL, i);
	}
	json_close(&w);
	json_line(&w);
	json_put_null(&w, "b");
	json_put_null(&w, "c");
	json_line(&w);
	json_end_line(&w);
	assert_string_equal(buffer_text(&out), "{\"a\":[\n0,\n1],\n\"b\":null,\"c\":null\n}\n");
}

static void test_text(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *json;
	} rows[] = {
		{ TEXT(""), "\"\"" },
		{ TEXT("\xff"
		       "a\xc3"),
			"\"\xef\xbf\xbd"
			"a\xef\xbf\xbd\"" },
		{ TEXT("a\0b"), "\"a\\u0000b\"" },
		{ TEXT("\x7f"), "\"\\u007f\"" },
		{ TEXT("\xe2\x80\xae"), "\"\\u202e\"" },
		{ TEXT("\xc3\xa9"), "\"\xc3\xa9\"" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		struct json_writer w = { .out = &out };

		json_put_bytes(&w, NULL, rows[i].text, rows[i].len);
		assert_int_equal(json_end(&w), 0);
		assert_string_equal(buffer_text(&out), rows[i].json);
	}
}

/* Calls that do not make JSON, each by a letter: map, list, close, key and value, value. */
static int write_calls(const char *calls, struct buffer *out)
{
	struct json_writer w = { .out = out };

	for (; *calls; calls++) {
		const char *key = *calls == 'M' || *calls == 'L' || *calls == 'V' ? "k" : NULL;

		if (*calls == 'm' || *calls == 'M')
			json_open_map(&w, key);
		else if (*calls == 'l' || *calls == 'L')
			json_open_list(&w, key);
		else if (*calls == '.')
			json_close(&w);
		else
			json_put_flag(&w, key, true);
	}
	return json_end(&w);
}

static void test_misuse(void **state)
{
	static const char *const wrong[] = { "", "V", "M", "mv", "mm", "ml", "lV", "lL", "vv",
		"m.m", ".", "m.." };
	static const char *const right[] = { "v", "m.", "l.", "mV.", "lvv.", "mL.M..", "lm.l..",
		"m", "lm.", "mV", "mL." };

	(void)state;
	for (size_t i = 0; i < ROWS(wrong); i++) {
		auto_buffer out = { 0 };

		assert_int_equal(write_calls(wrong[i], &out), -EINVAL);
		assert_true(out.failed);
	}
	for (size_t i = 0; i < ROWS(right); i++) {
		auto_buffer out = { 0 };

		assert_int_equal(write_calls(right[i], &out), 0);
		assert_false(out.failed);
	}
}

static void test_the_first_error_stays(void **state)
{
	auto_buffer out = { 0 }, none = { .failed = true };
	struct json_writer w = { .out = &out };

	(void)state;
	json_open_list(&w, NULL);
	json_put_flag(&w, "key", true);
	json_put_flag(&w, NULL, true);
	json_close(&w);
	assert_int_equal(json_end(&w), -EINVAL);
	assert_string_equal(buffer_text(&out), "[");

	w = (struct json_writer){ .out = &none };
	json_put_flag(&w, NULL, true);
	assert_int_equal(json_end(&w), -ENOMEM);

	buffer_deinit(&out);
	w = (struct json_writer){ .out = &out };
	json_put_buffer(&w, NULL, &none);
	assert_int_equal(json_end(&w), -ENOMEM);
	assert_true(out.failed);
}

static void test_depth(void **state)
{
	(void)state;
	for (int depth = JSON_WRITER_DEPTH_MAX; depth <= JSON_WRITER_DEPTH_MAX + 1; depth++) {
		auto_buffer out = { 0 };
		struct json_writer w = { .out = &out, .style = JSON_PRETTY };

		for (int i = 0; i < depth; i++)
			json_open_list(&w, NULL);
		for (int i = 0; i < depth; i++)
			json_close(&w);
		assert_int_equal(json_end(&w), depth > JSON_WRITER_DEPTH_MAX ? -E2BIG : 0);
		assert_int_equal(out.failed, depth > JSON_WRITER_DEPTH_MAX);
	}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

/* A random value; `room` bounds its depth. Keys are numbered, so they differ. */
static void write_random(struct json_writer *w, const char *key, uint32_t *seed, int room)
{
	const uint32_t kind = next_random(seed) % (room ? 7 : 5), n = next_random(seed) % 5;
	char bytes[8], child[16];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)next_random(seed);
	switch (kind) {
	case 0:
		json_put_number(w, key, (int64_t)next_random(seed) - 0x8000);
		break;
	case 1:
		json_put_flag(w, key, n > 2);
		break;
	case 2:
		json_put_null(w, key);
		break;
	case 3:
		json_put_encoded(w, key, ENCODING_BASE64, bytes, n);
		break;
	case 4:
		/* The reader refuses NUL. */
		json_put_bytes(w, key, bytes, strnlen(bytes, sizeof(bytes)));
		break;
	default:
		if (kind == 5)
			json_open_map(w, key);
		else
			json_open_list(w, key);
		for (uint32_t i = 0; i < n; i++) {
			(void)snprintf(child, sizeof(child), "%c%u",
				bytes[0] & 0x7f ? bytes[0] & 0x7f : 'k', i);
			write_random(w, kind == 5 ? child : NULL, seed, room - 1);
		}
		json_close(w);
	}
}

static void test_what_is_written_parses_back(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 3000; seed++) {
		auto_buffer out = { 0 }, again = { 0 };
		auto_document d = { 0 };
		struct error e = { 0 };
		uint32_t random = seed;
		struct json_writer w = { .out = &out, .style = (enum json_style)(seed % 3) };

		write_random(&w, NULL, &random, 6);
		assert_int_equal(json_end(&w), 0);
		if (json_read(&d, NULL, out.data, out.len, &e) < 0)
			fail_msg("seed %u: %s in <%s>", seed, e.text, out.data);
		w = (struct json_writer){ .out = &again, .style = (enum json_style)(seed % 3) };
		json_put_node(&w, NULL, d.root);
		assert_int_equal(json_end(&w), 0);
		assert_string_equal(buffer_text(&again), buffer_text(&out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_a_style_of_what_is_inside),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_the_first_error_stays),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_what_is_written_parses_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
