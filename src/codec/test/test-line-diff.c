/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdint.h>

#include "codec/test/line-diff.h"

enum { LINES_MAX = 12 };

static void check(const char *old, size_t old_len, const char *new, size_t new_len, int wanted,
	size_t changes)
{
	auto_line_diff d = { 0 };

	assert_int_equal(line_diff_make(&d, old, old_len, new, new_len), wanted);
	assert_true(line_diff_applies(&d, old, old_len, new, new_len));
	assert_int_equal(line_diff_changes(&d), changes);
}

/* A text of up to LINES_MAX lines of four different ones; the last may lack its newline. */
static void make_text(uint32_t *seed, struct buffer *out)
{
	buffer_clear(out);
	*seed = *seed * 1664525 + 1013904223;
	for (uint32_t n = (*seed >> 16) % (LINES_MAX + 1); n > 0; n--) {
		*seed = *seed * 1664525 + 1013904223;
		buffer_addc(out, (char)('a' + (*seed >> 20) % 4));
		if (n > 1 || (*seed >> 28) % 2)
			buffer_addc(out, '\n');
	}
}

/* The number of changes by the textbook: what is not in the longest common subsequence. */
static size_t fewest_changes(const struct line_diff *d)
{
	size_t table[LINES_MAX + 1][LINES_MAX + 1] = { 0 };

	for (size_t i = d->old.n; i-- > 0;) {
		for (size_t j = d->new.n; j-- > 0;) {
			const struct line_diff_line *a = &d->old.items[i], *b = &d->new.items[j];
			const size_t one = table[i + 1][j], other = table[i][j + 1];

			if (a->len == b->len && memcmp(a->text, b->text, a->len) == 0)
				table[i][j] = table[i + 1][j + 1] + 1;
			else
				table[i][j] = one > other ? one : other;
		}
	}
	return d->old.n + d->new.n - 2 * table[0][0];
}

static void test_steps_are_right_and_fewest(void **state)
{
	auto_buffer old = { 0 }, new = { 0 };
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		auto_line_diff d = { 0 };

		make_text(&seed, &old);
		make_text(&seed, &new);
		assert_int_equal(
			line_diff_make(&d, buffer_text(&old), old.len, buffer_text(&new), new.len),
			0);
		if (!line_diff_applies(
			    &d, buffer_text(&old), old.len, buffer_text(&new), new.len) ||
			line_diff_changes(&d) != fewest_changes(&d))
			fail_msg("pair %d: \"%s\" and \"%s\"", i, buffer_text(&old),
				buffer_text(&new));
	}
}

/* n different lines around the same beginning and end. */
static void make_lines(struct buffer *out, char letter, int n)
{
	buffer_clear(out);
	buffer_adds(out, "begin\n");
	for (int i = 0; i < n; i++)
		buffer_printf(out, "%c%d\n", letter, i);
	buffer_adds(out, "end");
}

/* At the bound the steps are searched for; past it, all lines are replaced. */
static void test_bound(void **state)
{
	auto_buffer old = { 0 }, new = { 0 };

	(void)state;
	make_lines(&old, 'a', LINE_DIFF_STEPS / 2);
	make_lines(&new, 'b', LINE_DIFF_STEPS / 2);
	check(old.data, old.len, new.data, new.len, 0, LINE_DIFF_STEPS);
	make_lines(&new, 'b', LINE_DIFF_STEPS / 2 + 1);
	check(old.data, old.len, new.data, new.len, 1, LINE_DIFF_STEPS + 1);
	make_lines(&old, 'a', 20000);
	make_lines(&new, 'b', 20000);
	check(old.data, old.len, new.data, new.len, 1, 40000);
}

static void test_bytes(void **state)
{
	auto_line_diff d = { 0 };

	(void)state;
	check("a\0b\n", 4, "a\0c\n", 4, 0, 2);
	check("", 0, "", 0, 0, 0);
	check("\n", 1, "", 0, 0, 1);
	assert_int_equal(line_diff_make(&d, "", (size_t)LINE_DIFF_BYTES + 1, "", 0), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_are_right_and_fewest),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
