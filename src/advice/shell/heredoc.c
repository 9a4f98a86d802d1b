/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Here-documents. Their bodies begin after the next newline, in the order of their operators. The
 * lines of a body are found first, whatever stands in them; then, unless a part of the delimiter
 * was quoted, the expansions in the body are read. A body that nothing ends goes to the end of the
 * text: shells warn of it and run the command.
 */
#include "advice/shell/internal.h"

#include <errno.h>
#include <string.h>

int shell_heredoc_add(struct shell_parser *p, const char *delimiter, bool quoted, bool tabs)
{
	const struct shell_heredoc h = { delimiter, quoted, tabs };
	struct shell_pending *list = &p->pending;

	return ARENA_PUSH(p->arena, list->items, list->n, list->cap, h);
}

struct line {
	size_t start, end, next; /* end: its newline, or the end of the text */
};

static struct line shell_heredoc_line_at(const struct shell_input *in, size_t at)
{
	const char *newline = memchr(in->text + at, '\n', in->len - at);
	size_t end = newline ? (size_t)(newline - in->text) : in->len;

	return (struct line){ at, end, newline ? end + 1 : end };
}

static bool is_delimiter(const struct shell_heredoc *h, const struct shell_input *in, struct line l)
{
	size_t n = strlen(h->delimiter);

	while (h->tabs && l.start < l.end && in->text[l.start] == '\t')
		l.start++;
	return l.end - l.start == n && memcmp(in->text + l.start, h->delimiter, n) == 0;
}

/* A backslash before the newline joins the next line to this one, unless it is quoted itself. */
static bool shell_heredoc_is_continued(const struct shell_input *in, struct line l)
{
	size_t n = 0;

	while (n < l.end - l.start && in->text[l.end - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

static int read_body(struct shell_parser *p, const struct shell_heredoc *h)
{
	const size_t start = p->in.at;
	struct line l = { start, start, start };
	bool joined = false;

	while (l.next < p->in.len) {
		l = shell_heredoc_line_at(&p->in, l.next);
		if (!joined && is_delimiter(h, &p->in, l))
			break;
		joined = !h->quoted && shell_heredoc_is_continued(&p->in, l);
		l.start = l.next;
	}
	p->in.at = l.next;
	return h->quoted ? 0 : shell_expand_range(p, start, l.start, l.next);
}

int shell_heredoc_read(struct shell_parser *p)
{
	const struct shell_pending list = p->pending;
	int r = 0;

	p->pending.n = 0;
	for (size_t i = 0; r == 0 && i < list.n; i++)
		r = read_body(p, &list.items[i]);
	return r;
}
