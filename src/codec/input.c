/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of all input, whatever language it is in: it is not too large, it is UTF-8, it has
 * no NUL. Checked once and before a parser sees the first byte, so that the parsers need no opinion
 * on encodings, and so that all of them refuse the same bytes with the same words.
 */
#include "codec/input.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "codec/node.h"

enum { EXCERPT = 40 };

static bool starts_with(const struct input *in, const char *bytes, size_t n)
{
	return in->len >= n && memcmp(in->text, bytes, n) == 0;
}

size_t input_bom(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* With a mark or without one: in UTF-16 one of the first two bytes of anything we read is 0. */
static bool looks_like_utf16(const struct input *in)
{
	if (starts_with(in, "\xff\xfe", 2) || starts_with(in, "\xfe\xff", 2))
		return true;
	return in->len >= 2 && (in->text[0] == '\0') != (in->text[1] == '\0');
}

struct location input_location(const struct input *in, size_t offset)
{
	struct location at = { .file = in->file, .line = in->first_line };
	size_t line_start = 0;

	for (size_t i = 0; i < offset; i++) {
		if (in->text[i] == '\n') {
			at.line++;
			line_start = i + 1;
		}
	}
	at.column = (uint32_t)(offset - line_start) + 1;
	return at;
}

static int refuse_byte(const struct input *in, size_t offset, struct error *e)
{
	struct location at = input_location(in, offset);
	unsigned char c = (unsigned char)in->text[offset];

	if (c == '\0')
		(void)error_set(e, -EINVAL, &at, "the text holds a NUL byte");
	else
		(void)error_set(e, -EINVAL, &at, "byte 0x%02x is not UTF-8", c);
	if (looks_like_utf16(in))
		error_hint(e, "this looks like UTF-16: save it as UTF-8");
	else
		error_hint(e, "only UTF-8 text can be read");
	return -EINVAL;
}

int input_check(const struct input *in, struct error *e)
{
	struct location start = { .file = in->file };
	const char *nul = in->len ? memchr(in->text, '\0', in->len) : NULL;
	size_t bad;

	if (in->len > NODE_INPUT_MAX)
		return error_set(e, -E2BIG, &start, "too large: %zu bytes, at most %d are read",
			in->len, NODE_INPUT_MAX);
	if (!utf8_valid(in->text, in->len, &bad))
		return refuse_byte(in, bad, e);
	if (nul)
		return refuse_byte(in, (size_t)(nul - in->text), e);
	return 0;
}

int input_excerpt(const char *s, size_t len)
{
	size_t n = len < EXCERPT ? len : EXCERPT;

	/* A byte 10xxxxxx behind the cut continues a character: leave all of that one out. */
	while (n > 0 && n < len && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}
