/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The property of a diff, for the unit test and the fuzzer. */
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/line-diff.h"

/*
 * Do the steps walk through each text once and in order? What is kept and removed is the old text,
 * what is kept and added the new one.
 */
static inline bool line_diff_applies(
	const struct line_diff *d, const char *old, size_t old_len, const char *new, size_t new_len)
{
	auto_buffer a = { 0 }, b = { 0 };
	bool is_right = true;

	for (size_t i = 0; i < d->n_steps; i++) {
		const struct line_diff_line *l = line_diff_line_of(d, &d->steps[i]);

		is_right &= memchr(" +-", d->steps[i].sign, 3) != NULL;
		if (d->steps[i].sign != '+')
			buffer_add(&a, l->text, l->len);
		if (d->steps[i].sign != '-')
			buffer_add(&b, l->text, l->len);
	}
	return is_right && !a.failed && !b.failed && a.len == old_len && b.len == new_len &&
	       memcmp(buffer_text(&a), old, old_len) == 0 &&
	       memcmp(buffer_text(&b), new, new_len) == 0;
}

static inline size_t line_diff_changes(const struct line_diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_steps; i++)
		n += d->steps[i].sign != ' ';
	return n;
}
