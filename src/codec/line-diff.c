/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Myers' algorithm, on the lines between the common beginning and the common end. A point (x, y)
 * means that x old lines and y new ones are done; diagonal k is x - y. rows[d][i] is the largest x
 * that d additions and removals reach on the diagonal k = 2 * i - d. Row d needs row d - 1 alone;
 * all are kept, to find the steps from the end.
 */
#include "codec/line-diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is compared. */
struct line_diff_middle {
	const struct line_diff_line *old, *new;
	int32_t n_old, n_new;
};

static int line_diff_split(struct line_diff_lines *l, const char *text, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	l->items = calloc(n, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		const size_t line = end ? (size_t)(end - text) - at + 1 : len - at;

		l->items[l->n++] = (struct line_diff_line){ text + at, line };
		at += line;
	}
	return 0;
}

static bool line_diff_is_same(const struct line_diff_line *a, const struct line_diff_line *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static int32_t *line_diff_row(int32_t *rows, int32_t d)
{
	return rows + (size_t)d * ((size_t)d + 1) / 2;
}

/* Is the point i of row d reached by an addition, from the point i of the row before? */
static bool line_diff_adds(const int32_t *before, int32_t i, int32_t d)
{
	return i == 0 || (i != d && before[i - 1] < before[i]);
}

/* How far equal lines lead from a point. */
static int32_t line_diff_slide(const struct line_diff_middle *m, int32_t x, int32_t y)
{
	while (x < m->n_old && y < m->n_new && line_diff_is_same(&m->old[x], &m->new[y])) {
		x++;
		y++;
	}
	return x;
}

/* The number of additions and removals; -1: more than the bound. */
static int32_t line_diff_search(const struct line_diff_middle *m, int32_t *rows)
{
	for (int32_t d = 0; d <= LINE_DIFF_STEPS; d++) {
		const int32_t *before = d ? line_diff_row(rows, d - 1) : NULL;
		int32_t *row = line_diff_row(rows, d);

		for (int32_t i = 0; i <= d; i++) {
			const int32_t k = 2 * i - d;
			int32_t x = 0;

			if (d)
				x = line_diff_adds(before, i, d) ? before[i] : before[i - 1] + 1;
			row[i] = line_diff_slide(m, x, x - k);
			if (row[i] >= m->n_old && row[i] - k >= m->n_new)
				return d;
		}
	}
	return -1;
}

static void line_diff_put_before(struct line_diff_step **at, char sign, size_t line)
{
	*--*at = (struct line_diff_step){ sign, (uint32_t)line };
}

/* Writes the steps of the middle before *at, from the last to the first. */
static void line_diff_trace(const struct line_diff_middle *m, int32_t *rows, int32_t d,
	size_t start, struct line_diff_step **at)
{
	int32_t x = m->n_old, y = m->n_new;

	for (; d > 0; d--) {
		const int32_t *before = line_diff_row(rows, d - 1), i = (x - y + d) / 2;
		const bool adds = line_diff_adds(before, i, d);
		const int32_t from = adds ? before[i] : before[i - 1] + 1;

		for (; x > from; x--, y--)
			line_diff_put_before(at, ' ', start + (size_t)x - 1);
		if (adds)
			line_diff_put_before(at, '+', start + (size_t)--y);
		else
			line_diff_put_before(at, '-', start + (size_t)--x);
	}
	for (; x > 0; x--)
		line_diff_put_before(at, ' ', start + (size_t)x - 1);
}

/* All old lines removed, all new ones added. */
static void line_diff_replace(
	const struct line_diff_middle *m, size_t start, struct line_diff_step **at)
{
	for (int32_t y = m->n_new; y > 0; y--)
		line_diff_put_before(at, '+', start + (size_t)y - 1);
	for (int32_t x = m->n_old; x > 0; x--)
		line_diff_put_before(at, '-', start + (size_t)x - 1);
}

static int line_diff_compare(struct line_diff *d)
{
	const struct line_diff_lines *a = &d->old, *b = &d->new;
	const size_t cells = (LINE_DIFF_STEPS + 1) * (LINE_DIFF_STEPS + 2) / 2;
	int32_t *rows = malloc(cells * sizeof(*rows));
	struct line_diff_step *at;
	size_t start = 0, end = 0;
	int32_t steps;

	d->steps = calloc(a->n + b->n + 1, sizeof(*d->steps));
	if (!rows || !d->steps) {
		free(rows);
		return -ENOMEM;
	}
	at = d->steps + a->n + b->n;
	while (start < a->n && start < b->n &&
		line_diff_is_same(&a->items[start], &b->items[start]))
		start++;
	while (end < a->n - start && end < b->n - start &&
		line_diff_is_same(&a->items[a->n - 1 - end], &b->items[b->n - 1 - end])) {
		end++;
		line_diff_put_before(&at, ' ', a->n - end);
	}
	const struct line_diff_middle m = { a->items + start, b->items + start,
		(int32_t)(a->n - start - end), (int32_t)(b->n - start - end) };

	steps = line_diff_search(&m, rows);
	if (steps < 0)
		line_diff_replace(&m, start, &at);
	else
		line_diff_trace(&m, rows, steps, start, &at);
	free(rows);
	while (start > 0)
		line_diff_put_before(&at, ' ', --start);
	d->n_steps = (size_t)(d->steps + a->n + b->n - at);
	memmove(d->steps, at, d->n_steps * sizeof(*d->steps));
	return steps < 0;
}

int line_diff_make(
	struct line_diff *ret, const char *old, size_t old_len, const char *new, size_t new_len)
{
	struct line_diff d = { 0 };
	int r = old_len > LINE_DIFF_BYTES || new_len > LINE_DIFF_BYTES ? -E2BIG : 0;

	if (r == 0)
		r = line_diff_split(&d.old, old, old_len);
	if (r == 0)
		r = line_diff_split(&d.new, new, new_len);
	if (r == 0)
		r = line_diff_compare(&d);
	if (r < 0)
		line_diff_deinit(&d);
	else
		*ret = d;
	return r;
}

void line_diff_deinit(struct line_diff *d)
{
	free(d->old.items);
	free(d->new.items);
	free(d->steps);
	*d = (struct line_diff){ 0 };
}
