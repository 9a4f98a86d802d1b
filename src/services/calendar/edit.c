/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/edit.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

enum { EDIT_FOLD = 74 }; /* octets of a line; 75 are allowed */

/* Appends a logical line, folded where no character is cut. */
static void edit_fold(struct buffer *out, const char *line, size_t len)
{
	size_t room = EDIT_FOLD;

	for (size_t i = 0; i < len;) {
		uint32_t c;
		size_t n = utf8_decode(line + i, len - i, &c);

		n = n > 0 ? n : 1;
		if (n > room) {
			buffer_adds(out, "\r\n ");
			room = EDIT_FOLD - 1;
		}
		buffer_add(out, line + i, n);
		room -= n;
		i += n;
	}
	buffer_adds(out, "\r\n");
}

void edit_add_raw(struct buffer *out, const char *name, const char *params, const char *value)
{
	auto_buffer line = { 0 };

	buffer_printf(&line, "%s%s:%s", name, params, value);
	out->failed = out->failed || line.failed;
	edit_fold(out, buffer_text(&line), line.len);
}

void edit_add_text(struct buffer *out, const char *name, const char *text)
{
	auto_buffer line = { 0 };

	buffer_printf(&line, "%s:", name);
	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			buffer_adds(&line, "\\n");
		else if (*c == '\\' || *c == ';' || *c == ',')
			buffer_printf(&line, "\\%c", *c);
		else if (!ascii_is_control(*c) || *c == '\t')
			buffer_addc(&line, *c);
	}
	out->failed = out->failed || line.failed;
	edit_fold(out, buffer_text(&line), line.len);
}

void edit_unescape(const char *value, struct buffer *out)
{
	for (const char *c = value; *c; c++) {
		if (*c != '\\' || !c[1])
			buffer_addc(out, *c);
		else {
			c++;
			buffer_addc(out, *c == 'n' || *c == 'N' ? '\n' : *c);
		}
	}
}

static int edit_add(struct edit *e, size_t at, size_t len, const char *text)
{
	const char *copy = arena_strdup(&e->arena, text);
	const struct edit_change change = { at, len, copy };

	return copy ? ARENA_PUSH(&e->arena, e->changes, e->n, e->cap, change) : -ENOMEM;
}

int edit_append(struct edit *e, uint32_t part, const char *text)
{
	return edit_add(e, e->lines->items[e->lines->parts[part].last].at, 0, text);
}

int edit_set(struct edit *e, uint32_t part, const char *name, const char *line)
{
	const struct lines *l = e->lines;
	const struct line *at = lines_find(l, part, name, NULL);
	int r = 0;

	if (!at && line)
		return edit_append(e, part, line);
	for (; r == 0 && at; at = lines_find(l, part, name, at)) {
		r = edit_add(e, at->at, at->len, line ? line : "");
		line = NULL;
	}
	return r;
}

int edit_insert(struct edit *e, uint32_t part, const char *text)
{
	return edit_add(e, e->lines->items[e->lines->parts[part].first].at, 0, text);
}

int edit_remove_part(struct edit *e, uint32_t part)
{
	const struct lines *l = e->lines;
	const struct line *first = &l->items[l->parts[part].first];
	const struct line *last = &l->items[l->parts[part].last];

	return edit_add(e, first->at, last->at + last->len - first->at, "");
}

/* By insertion: few changes, and those at one place keep their order. */
static void edit_sort(struct edit *e)
{
	for (size_t i = 1; i < e->n; i++) {
		const struct edit_change x = e->changes[i];
		size_t j = i;

		for (; j > 0 && e->changes[j - 1].at > x.at; j--)
			e->changes[j] = e->changes[j - 1];
		e->changes[j] = x;
	}
}

void edit_print(struct edit *e, struct buffer *out)
{
	const struct lines *l = e->lines;
	size_t at = 0;

	edit_sort(e);
	for (size_t i = 0; i < e->n; i++) {
		const struct edit_change *c = &e->changes[i];

		/* Inside of a part that goes. */
		if (c->at < at)
			continue;
		buffer_add(out, l->source + at, c->at - at);
		buffer_adds(out, c->text);
		at = c->at + c->len;
	}
	buffer_add(out, l->source + at, l->len - at);
}

void edit_deinit(struct edit *e)
{
	arena_deinit(&e->arena);
	*e = (struct edit){ 0 };
}
