/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the two fences by lines and leaves what stands between them to the YAML reader. A fence is
 * found by its line alone, before any YAML is understood: every tool that reads such files does so,
 * and they must all agree on where the block ends.
 */
#include "codec/frontmatter.h"

#include <errno.h>
#include <string.h>

#include "codec/internal.h"
#include "codec/yaml.h"

struct frontmatter_line {
	size_t len;  /* without its end, and without blanks before that */
	size_t next; /* offset of the line after it */
};

static struct frontmatter_line frontmatter_line_at(const char *text, size_t len, size_t start)
{
	const char *end = memchr(text + start, '\n', len - start);
	size_t stop = end ? (size_t)(end - text) : len;
	struct frontmatter_line l = { .len = stop - start, .next = end ? stop + 1 : len };

	if (l.len && text[start + l.len - 1] == '\r')
		l.len--;
	while (l.len && (text[start + l.len - 1] == ' ' || text[start + l.len - 1] == '\t'))
		l.len--;
	return l;
}

static bool is_fence(const char *text, const struct frontmatter_line *l, const char *fence)
{
	return l->len == 3 && memcmp(text, fence, 3) == 0;
}

int frontmatter_read(
	struct frontmatter *f, const char *file, const char *text, size_t len, struct error *e)
{
	size_t start = input_bom(text, len), end = 0;
	struct frontmatter_line open = { 0 }, close = { 0 };
	int r;

	*f = (struct frontmatter){ 0 };
	if (len > start) /* text may be NULL where there is none */
		open = frontmatter_line_at(text, len, start);
	if (!open.len || !is_fence(text + start, &open, "---")) {
		r = yaml_read(&f->meta, file, 1, "", 0, e);
		f->body = r < 0 ? 0 : start;
		return r;
	}
	for (end = open.next; end < len; end = close.next) {
		close = frontmatter_line_at(text, len, end);
		if (is_fence(text + end, &close, "---") || is_fence(text + end, &close, "..."))
			break;
	}
	if (end >= len) {
		struct location at = { .file = file, .line = 1, .column = 1 };

		(void)error_set(
			e, -EINVAL, &at, "the frontmatter that starts here is never closed");
		error_hint(e, "put a line of \"---\" after it; a file without frontmatter must "
			      "not start with such a line");
		return -EINVAL;
	}
	r = yaml_read(&f->meta, file, 2, text + open.next, end - open.next, e);
	if (r < 0)
		return r;
	f->present = true;
	f->body = close.next;
	return 0;
}

void frontmatter_deinit(struct frontmatter *f)
{
	document_deinit(&f->meta);
	*f = (struct frontmatter){ 0 };
}
