/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/text.h"

#include "base/utf8.h"

#define CUT "…"

static bool text_is_space(uint32_t c)
{
	/* Line and paragraph separators are line breaks, too. */
	return c == '\n' || c == '\r' || c == '\t' || c == 0x2028 || c == 0x2029;
}

static bool text_is_dropped(uint32_t c)
{
	/* Tags, and the private use of a font, show what no one can read. */
	return c < 0x20 || c == 0x7f || utf8_is_deceptive(c) || (c >= 0xe000 && c <= 0xf8ff) ||
	       c >= 0xe0000;
}

static void text_add_escaped(struct buffer *out, const char *s, size_t n)
{
	switch (n == 1 ? *s : '\0') {
	case '&':
		buffer_adds(out, "&amp;");
		break;
	case '<':
		buffer_adds(out, "&lt;");
		break;
	case '>':
		buffer_adds(out, "&gt;");
		break;
	default:
		buffer_add(out, s, n);
		break;
	}
}

void text_add_lines(struct buffer *out, const char *text, size_t len, size_t max, size_t lines,
	bool with_markup)
{
	size_t n_chars = 0, n_lines = 1;

	for (size_t at = 0, n; at < len; at += n) {
		uint32_t c;

		n = utf8_decode(text + at, len - at, &c);
		if (n == 0) {
			n = 1;
			continue;
		}
		if (!text_is_space(c) && text_is_dropped(c))
			continue;
		if (n_chars++ == max || (c == '\n' && n_lines == lines && lines > 1)) {
			buffer_adds(out, CUT);
			return;
		}
		if (c == '\n' && lines > 1) {
			buffer_addc(out, '\n');
			n_lines++;
		} else if (text_is_space(c)) {
			buffer_addc(out, ' ');
		} else if (with_markup) {
			text_add_escaped(out, text + at, n);
		} else {
			buffer_add(out, text + at, n);
		}
	}
}

void text_add_line(struct buffer *out, const char *text, size_t len, size_t max)
{
	text_add_lines(out, text, len, max, 1, false);
}
