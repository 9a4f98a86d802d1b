/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How one text becomes another, line by line: pure and bounded. A newline belongs to its line, so
 * that the steps give the new text exactly.
 */
#include <stddef.h>
#include <stdint.h>

enum {
	LINE_DIFF_BYTES = 64 << 20, /* of each text */
	LINE_DIFF_STEPS = 512,      /* added and removed lines that are searched for */
};

struct line_diff_line {
	const char *text; /* of the caller's text */
	size_t len;       /* with its newline, which the last one may lack */
};

struct line_diff_lines {
	struct line_diff_line *items;
	size_t n;
};

/* ' ': line of the old text, also in the new one; '-': of the old one alone; '+': of the new one.
 */
struct line_diff_step {
	char sign;
	uint32_t line;
};

struct line_diff {
	struct line_diff_lines old, new;
	struct line_diff_step *steps;
	size_t n_steps;
};

/*
 * The shortest list of steps. 1: the texts differ in more than LINE_DIFF_STEPS lines; the steps
 * remove all lines between the common beginning and the common end, and add the new ones. -E2BIG: a
 * text is longer than LINE_DIFF_BYTES; -ENOMEM. The texts must outlive *ret.
 */
int line_diff_make(
	struct line_diff *ret, const char *old, size_t old_len, const char *new, size_t new_len);
void line_diff_deinit(struct line_diff *d);
#define auto_line_diff __attribute__((cleanup(line_diff_deinit))) struct line_diff

/* The line that a step is about. */
static inline const struct line_diff_line *line_diff_line_of(
	const struct line_diff *d, const struct line_diff_step *s)
{
	return s->sign == '+' ? &d->new.items[s->line] : &d->old.items[s->line];
}
