/* SPDX-License-Identifier: Apache-2.0 */
/* Settings files are often JSON with comments. What JSON does not have becomes spaces, so that
 * lines and columns of messages stay right. */
#include <string.h>

#include "base/buffer.h"
#include "cli/import/internal.h"

/* Behind the text that begins at `at`; an open one ends with the input. */
static size_t comments_skip_text(const char *s, size_t at, size_t len)
{
	for (at++; at < len && s[at] != '"'; at++)
		at += s[at] == '\\';
	return at < len ? at + 1 : len;
}

/* Blanks out one comment; returns the offset behind it. */
static size_t comments_blank(char *s, size_t at, size_t len)
{
	bool is_line = s[at + 1] == '/';

	s[at] = s[at + 1] = ' ';
	for (at += 2; at < len; at++) {
		if (is_line && s[at] == '\n')
			return at;
		if (!is_line && s[at] == '*' && at + 1 < len && s[at + 1] == '/') {
			s[at] = s[at + 1] = ' ';
			return at + 2;
		}
		if (s[at] != '\n')
			s[at] = ' ';
	}
	return len;
}

void import_strip_comments(struct buffer *text)
{
	char *s = text->data;
	size_t at = 0, len = text->len, comma = SIZE_MAX;

	while (at < len) {
		if (s[at] == '"') {
			comma = SIZE_MAX;
			at = comments_skip_text(s, at, len);
		} else if (s[at] == '/' && at + 1 < len && strchr("/*", s[at + 1])) {
			at = comments_blank(s, at, len);
		} else {
			if (strchr("]}", s[at]) && comma != SIZE_MAX)
				s[comma] = ' ';
			if (!strchr(" \t\r\n", s[at]))
				comma = s[at] == ',' ? at : SIZE_MAX;
			at++;
		}
	}
}
