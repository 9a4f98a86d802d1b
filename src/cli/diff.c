/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of line_diff_make() near a change, in parts with a heading each. */
#include "cli/diff.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/output.h"
#include "codec/line-diff.h"

enum { DIFF_AROUND = 3 };

struct diff_view {
	const char *indent;
	size_t *lines; /* NULL: all, and all of each */
};

/* Tabs as they are, as in source code; all else that moves the cursor is made visible. */
static void diff_add_tabbed(struct buffer *out, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *tab = memchr(text + at, '\t', len - at);
		const size_t part = tab ? (size_t)(tab - text) - at : len - at;

		buffer_add_visible(out, text + at, part);
		if (tab)
			buffer_addc(out, '\t');
		at += part + 1;
	}
}

/* The bytes of a line that fit, at the end of a character. */
static size_t diff_cut(const struct line_diff_line *l, size_t len)
{
	size_t cut = DIFF_COLUMNS;

	if (len <= cut)
		return len;
	while (cut > 0 && ((unsigned char)l->text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

static void diff_put_line(
	struct output *o, const struct diff_view *v, char sign, const struct line_diff_line *l)
{
	static const enum output_style styles[] = {
		[' '] = OUTPUT_PLAIN, ['+'] = OUTPUT_GREEN, ['-'] = OUTPUT_RED
	};
	const bool has_newline = l->text[l->len - 1] == '\n';
	const size_t len = l->len - has_newline, shown = v->lines ? diff_cut(l, len) : len;
	auto_buffer text = { 0 };

	buffer_printf(&text, "%c ", sign);
	if (v->lines)
		diff_add_tabbed(&text, l->text, shown);
	else
		buffer_add_visible(&text, l->text, shown);
	if (shown < len)
		buffer_adds(&text, "…");
	buffer_adds(&o->text, v->indent);
	output_styled(o, styles[(unsigned char)sign], buffer_text(&text));
	buffer_addc(&o->text, '\n');
	if (!has_newline && sign != ' ')
		buffer_printf(&o->text, "%s\\ no newline at the end\n", v->indent);
	o->text.failed |= text.failed;
}

/* Is a change within the lines around this step? */
static bool diff_is_near(const struct line_diff *d, size_t at)
{
	const size_t from = at > DIFF_AROUND ? at - DIFF_AROUND : 0;

	for (size_t i = from; i < d->n_steps && i <= at + DIFF_AROUND; i++)
		if (d->steps[i].sign != ' ')
			return true;
	return false;
}

static void diff_put(struct output *o, const struct diff_view *v, const struct line_diff *d)
{
	bool was_near = false;

	for (size_t i = 0; i < d->n_steps; i++) {
		const struct line_diff_step *s = &d->steps[i];
		const bool is_near = diff_is_near(d, i);

		if (is_near && v->lines && *v->lines == 0) {
			output_styled(o, OUTPUT_DIM, "  …\n");
			return;
		}
		if (is_near && !was_near)
			buffer_printf(&o->text, "%s@@ %s %u @@\n", v->indent,
				s->sign == '+' ? "new line" : "line", s->line + 1);
		if (is_near)
			diff_put_line(o, v, s->sign, line_diff_line_of(d, s));
		if (is_near && v->lines)
			--*v->lines;
		was_near = is_near;
	}
}

void diff_print(struct output *o, const char *indent, const char *old, size_t old_len,
	const char *new, size_t len)
{
	const struct diff_view v = { .indent = indent };
	auto_line_diff d = { 0 };

	if (line_diff_make(&d, old, old_len, new, len) < 0)
		o->text.failed = true;
	else
		diff_put(o, &v, &d);
}

int diff_print_short(struct output *o, const char *old, size_t old_len, const char *new, size_t len,
	size_t *lines)
{
	const struct diff_view v = { .indent = "", .lines = lines };
	auto_line_diff d = { 0 };
	int r = line_diff_make(&d, old, old_len, new, len);

	if (r == 0)
		diff_put(o, &v, &d);
	return r > 0 ? -E2BIG : r;
}
