/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "inject/masking.h"
#include "inject/test/masking-rows.h"

static struct masking *masking_of(const char *first, const char *second)
{
	struct masking *m;

	assert_int_equal(masking_new(&m), 0);
	assert_int_equal(masking_add(m, "TOKEN", first, strlen(first)), 0);
	if (second)
		assert_int_equal(masking_add(m, "TOKEN", second, strlen(second)), 0);
	return m;
}

static struct masking *masking_of_row(const struct masking_row *row)
{
	return masking_of(masking_values[row->value], NULL);
}

/* The row's text as a stream of two pieces. */
static void stream_pieces(
	const struct masking *m, const struct masking_row *row, size_t cut, struct buffer *ret)
{
	struct masking_stream s = { .masking = m };

	for (int i = 0; i < 2; i++) {
		const size_t at = i > 0 ? cut : 0, end = i > 0 ? row->len : cut;
		const char *data;
		size_t len;

		assert_int_equal(masking_stream_add(&s, row->text + at, end - at, i > 0), 0);
		data = masking_stream_ready(&s, &len);
		buffer_add(ret, data, len);
		masking_stream_done(&s);
	}
	if (s.masked != 1)
		fail_msg("%s of %s, cut at %zu: found %zu times: %.*s", row->name,
			masking_values[row->value], cut, s.masked, (int)row->len, row->text);
	masking_stream_deinit(&s);
}

/* Nothing but the value has gone. */
static void check_row(const struct masking_row *row, size_t cut, const struct buffer *out)
{
	assert_int_equal(out->len, row->len);
	for (size_t i = 0; i < row->len; i++) {
		const char c = row->text[i];
		const bool is_out = i >= row->from && i < row->to && c != '\r' && c != '\n';

		if (out->data[i] != (is_out ? '*' : c))
			fail_msg("%s of %s, cut at %zu, byte %zu: %.*s", row->name,
				masking_values[row->value], cut, i, (int)out->len, out->data);
	}
}

/* What real encoders write, cut anywhere. */
static void test_encodings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(masking_rows); i++) {
		const struct masking_row *row = &masking_rows[i];
		struct masking *m = masking_of_row(row);

		for (size_t cut = 0; cut <= row->len; cut++) {
			auto_buffer out = { 0 };

			stream_pieces(m, row, cut, &out);
			check_row(row, cut, &out);
		}
		masking_free(m);
	}
}

static uint32_t draw(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 10) % n;
}

/* One character, in one of the ways that are known. */
static void print_somehow(uint32_t *seed, char c, struct buffer *out)
{
	const unsigned byte = (uint8_t)c;

	switch (draw(seed, 12)) {
	case 0:
		buffer_printf(out, "%%%02X", byte);
		return;
	case 1:
		buffer_printf(out, "%%%02x", byte);
		return;
	case 2:
		buffer_printf(out, "\\u%04x", byte);
		return;
	case 3:
		buffer_printf(out, "\\x%02X", byte);
		return;
	case 4:
		buffer_printf(out, "&#%u;", byte);
		return;
	case 5:
		buffer_printf(out, "%%25%02X", byte);
		return;
	case 6:
		buffer_printf(out, "\\\\u%04X", byte);
		return;
	case 7:
		buffer_printf(out, "&amp;#x%X;", byte);
		return;
	default:
		buffer_addc(out, c);
	}
}

/* Escapes in any mixture, lines of base64 broken anywhere, streams cut anywhere. */
static void test_mixtures(void **state)
{
	static const char *const texts[] = { "s3cr3t/+value=of it%4",
		"czNjcjN0Lyt2YWx1ZT1vZiBpdCU0" };
	struct masking *m = masking_of(texts[0], NULL);
	uint32_t seed = 3;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const char *text = texts[round % 2];
		auto_buffer all = { 0 }, out = { 0 };
		struct masking_row row = { .name = "a mixture" };
		char whole[512];

		buffer_adds(&all, "before: ");
		row.from = all.len;
		for (size_t i = 0; text[i]; i++) {
			if (round % 2 && i > 2 && text[i + 1] && draw(&seed, 16) == 0)
				buffer_adds(&all, draw(&seed, 2) ? "\r\n" : "\n");
			print_somehow(&seed, text[i], &all);
		}
		row.to = all.len;
		buffer_adds(&all, " :behind");
		/* What is longer is not looked for. */
		if (row.to - row.from > masking_window(m) || all.len > sizeof(whole))
			continue;
		memcpy(whole, all.data, all.len);
		row.text = whole;
		row.len = all.len;
		stream_pieces(m, &row, draw(&seed, (uint32_t)row.len), &out);
		check_row(&row, 0, &out);
	}
	masking_free(m);
}

/* Text that has a value nowhere, and much that must be looked at, passes as it is. */
static void test_others(void **state)
{
	struct masking *m = masking_of(masking_values[0], "ghp_0123456789abcdefghij");
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ROWS(masking_rows); i++) {
		const struct masking_row *row = &masking_rows[i];
		auto_buffer text = { 0 };
		size_t found = 0;
		char *at;

		if (row->value == 1)
			continue;
		buffer_add(&text, row->text, row->len);
		/* The middle of the value is another one. */
		at = text.data + (row->from + row->to) / 2;
		for (size_t k = 0; k < 12; k++)
			at[k] = (char)(at[k] == '\r' || at[k] == '\n' ? at[k] : '~');
		(void)masking_apply(m, text.data, text.len, true, &found);
		if (found > 0)
			fail_msg("%s: %.*s", row->name, (int)text.len, text.data);
	}
	for (int round = 0; round < 200; round++) {
		static const char letters[] = "%\\&#xu0041ghp_s3\n\r+;\"/=";
		char text[2048], same[2048];
		size_t found = 0;

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = letters[((seed = seed * 1664525 + 1013904223) >> 8) %
					  (sizeof(letters) - 1)];
		memcpy(same, text, sizeof(text));
		assert_int_equal(masking_apply(m, text, sizeof(text), true, &found), sizeof(text));
		assert_memory_equal(text, same, sizeof(text));
		assert_int_equal(found, 0);
	}
	masking_free(m);
}

/* However a stream is cut into pieces, the same comes out, and nothing of the value passes. */
static void test_pieces(void **state)
{
	struct masking *m = masking_of("abcabcabd", "cabdef-longer-than-the-other");
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		char whole[120], parts[120], pending[120];
		size_t n = 0, kept = 0, done = 0, found = 0, again = 0;

		while (n < 80) {
			static const char *const words[] = { "abc", "abd", "cabdef-longer-than",
				"-the-other", "x", "c", "cabdef-longer-than-the-other" };
			const char *w =
				words[(seed = seed * 1664525 + 1013904223) >> 8 & 7 ? seed % 7 : 0];

			memcpy(whole + n, w, strlen(w));
			n += strlen(w);
		}
		memcpy(parts, whole, n);
		assert_int_equal(masking_apply(m, whole, n, true, &found), n);
		for (size_t at = 0; at < n;) {
			size_t take = 1 + (seed = seed * 1664525 + 1013904223) % 9, final;

			take = take < n - at ? take : n - at;
			memcpy(pending + kept, parts + at, take);
			at += take;
			final = masking_apply(m, pending, kept + take, at == n, &again);
			memcpy(parts + done, pending, final);
			done += final;
			kept = kept + take - final;
			memmove(pending, pending + final, kept);
		}
		assert_int_equal(done, n);
		assert_int_equal(kept, 0);
		assert_memory_equal(parts, whole, n);
		assert_int_equal(again, found);
	}
	masking_free(m);
}

/* What waits has the same length, whatever is in it: else a value could be tried byte by byte. */
static void test_oracle(void **state)
{
	static const char *const rows[] = { "data: hello, world", "data: ghp_01234567",
		"data: ghp_0123456x", "ghp_01234567890123", "xxxxghp_0123456789" };
	struct masking *m = masking_of("ghp_0123456789", NULL);
	size_t first = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char text[32];
		size_t found = 0, final;

		(void)snprintf(text, sizeof(text), "%s", rows[i]);
		final = masking_apply(m, text, strlen(text), false, &found);
		first = i == 0 ? final : first;
		assert_int_equal(final, first);
	}
	masking_free(m);
}

/* Two that overlap are both overwritten. */
static void test_overlap(void **state)
{
	struct masking *m = masking_of("abcabc", NULL);
	char text[] = "-abcabcabc-";
	size_t found = 0;

	(void)state;
	assert_int_equal(masking_apply(m, text, strlen(text), true, &found), strlen(text));
	assert_string_equal(text, "-*********-");
	masking_free(m);
}

static void test_short(void **state)
{
	struct masking *m = masking_of("abc", NULL);
	char text[] = "abc abc";
	size_t found = 0;

	(void)state;
	assert_int_equal(masking_apply(m, text, strlen(text), true, &found), strlen(text));
	assert_string_equal(text, "abc abc");
	masking_free(m);
}

static bool masks(const struct masking *m, const char *text)
{
	auto_buffer copy = { 0 };
	size_t found = 0;

	buffer_adds(&copy, text);
	(void)masking_apply(m, copy.data, copy.len, true, &found);
	return found > 0;
}

/* A name has its newest value, and so many before; other names keep theirs. */
static void test_renewals(void **state)
{
	struct masking *m = masking_of("the-first-value", NULL);
	char value[32];

	(void)state;
	assert_int_equal(masking_add(m, "OTHER", "another-one", strlen("another-one")), 0);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(value, sizeof(value), "value-%04d-of-many", i);
		assert_int_equal(masking_add(m, "TOKEN", value, strlen(value)), 0);
		assert_true(masks(m, value));
		(void)snprintf(value, sizeof(value), "value-%04d-of-many", i - MASKING_KEPT);
		assert_int_equal(masks(m, value), i >= MASKING_KEPT);
		(void)snprintf(value, sizeof(value), "value-%04d-of-many", i - MASKING_KEPT - 1);
		assert_false(masks(m, value));
	}
	assert_false(masks(m, "the-first-value"));
	assert_true(masks(m, "another-one"));
	masking_free(m);
}

/* One that is in use stays, whatever a source gives beside it. */
static void test_current(void **state)
{
	struct masking *m = masking_of("the-first-value", NULL);
	char value[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(value, sizeof(value), "value-%04d-of-many", i);
		assert_int_equal(masking_add(m, "TOKEN", value, strlen(value)), 0);
		assert_int_equal(
			masking_add(m, "TOKEN", "the-first-value", strlen("the-first-value")), 0);
		assert_true(masks(m, "the-first-value"));
	}
	masking_free(m);
}

/* Hosts share their tables, not their values: a star would say what another one's is. */
static void test_hosts(void **state)
{
	struct masking *first = masking_of("the-value-of-both", "of-the-first-one"), *second;

	(void)state;
	assert_int_equal(masking_share(first, &second), 0);
	assert_true(masking_is_empty(second));
	assert_int_equal(masking_window(second), 0);
	assert_false(masks(second, "the-value-of-both"));
	assert_int_equal(
		masking_add(second, "TOKEN", "the-value-of-both", strlen("the-value-of-both")), 0);
	assert_int_equal(masking_add(second, "SECOND", "of-the-second", 13), 0);
	assert_true(masks(first, "the-value-of-both") && masks(first, "of-the-first-one"));
	assert_true(masks(second, "the-value-of-both") && masks(second, "of-the-second"));
	assert_false(masks(first, "of-the-second") || masks(second, "of-the-first-one"));
	assert_false(masks(first, "of%2Dthe%2Dsecond") || masks(second, "of%2Dthe%2Dfirst-one"));
	assert_int_equal(masking_window(second), 8 * strlen("the-value-of-both") - 1);
	masking_free(first);
	assert_true(masks(second, "the-value-of-both"));
	masking_free(second);
}

/* What waits is bounded, for long values, too. */
static void test_window(void **state)
{
	char value[4096];
	struct masking *m;

	(void)state;
	memset(value, 'k', sizeof(value));
	assert_int_equal(masking_new(&m), 0);
	assert_int_equal(masking_add(m, "TOKEN", value, sizeof(value)), 0);
	assert_int_equal(masking_window(m), 2 * sizeof(value) + 256 - 1);
	masking_free(m);
}

/* Lines of a head stay lines, whatever the host writes into them. */
static void test_lines(void **state)
{
	struct masking *m = masking_of("ghp_0123456789ab", NULL);
	char text[] = "A: Z2hwXzAxMjM\r\n0NTY3ODlhYg==\r\nContent-Length: 1\r\n";
	size_t found = 0;

	(void)state;
	(void)masking_apply(m, text, strlen(text), true, &found);
	assert_int_equal(found, 1);
	assert_string_equal(text, "A: ***********\r\n**********g==\r\nContent-Length: 1\r\n");
	masking_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_renewals),
		cmocka_unit_test(test_current),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
