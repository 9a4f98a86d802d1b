/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of single characters, and what the patterns need to know of a file and a line. Each goes
 * through its text once.
 */
#include "advice/scan/text.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/shebang.h"
#include "base/utf8.h"

enum {
	LONG_LINE = 2000,
	BLOB_DIGITS = 200, /* of base64 or hexadecimal in a row */
	BLOB_ESCAPES = 32, /* like \x41, in a row */
	FOREIGN_PERCENT = 10,
};

/* No NUL, and few bytes that no text has: other controls, and what is not UTF-8. */
bool scan_text_is_text(const char *data, size_t len)
{
	size_t foreign = 0, i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(data + i, len - i, &c);

		if (n == 1 && c == 0)
			return false;
		if (n == 0 || (c < 0x20 && !strchr("\t\n\r\f\x1b", (int)c)))
			foreign++;
		i += n ? n : 1;
	}
	return foreign * 100 <= len * FOREIGN_PERCENT;
}

static const struct {
	const char *extension;
	enum scan_language language;
} extensions[] = {
	{ ".sh", LANGUAGE_SHELL },
	{ ".bash", LANGUAGE_SHELL },
	{ ".zsh", LANGUAGE_SHELL },
	{ ".py", LANGUAGE_PYTHON },
	{ ".pyi", LANGUAGE_PYTHON },
	{ ".js", LANGUAGE_NODE },
	{ ".mjs", LANGUAGE_NODE },
	{ ".cjs", LANGUAGE_NODE },
	{ ".jsx", LANGUAGE_NODE },
	{ ".ts", LANGUAGE_NODE },
	{ ".mts", LANGUAGE_NODE },
	{ ".tsx", LANGUAGE_NODE },
	{ ".md", LANGUAGE_PROSE },
	{ ".txt", LANGUAGE_PROSE },
	{ ".rst", LANGUAGE_PROSE },
};

static const struct {
	const char *name;
	enum scan_language language;
} interpreters[] = {
	{ "python", LANGUAGE_PYTHON },
	{ "node", LANGUAGE_NODE },
	{ "bun", LANGUAGE_NODE },
	{ "deno", LANGUAGE_NODE },
	{ "sh", LANGUAGE_SHELL },
};

static enum scan_language language_of_first_line(const char *data, size_t len)
{
	struct shebang s;

	for (size_t i = 0; shebang_parse(&s, data, len) == 0 && i < ROWS(interpreters); i++) {
		if (strstr(s.program, interpreters[i].name) ||
			strstr(s.argument, interpreters[i].name))
			return interpreters[i].language;
	}
	return LANGUAGE_OTHER;
}

enum scan_language scan_text_language(const char *path, const char *data, size_t len)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ROWS(extensions); i++) {
		if (strcasecmp(dot, extensions[i].extension) == 0)
			return extensions[i].language;
	}
	return language_of_first_line(data, len);
}

void scan_text_normalize(struct buffer *out, const char *line, size_t len)
{
	if (out->len == 0)
		buffer_addc(out, ' ');
	for (size_t i = 0; i < len; i++) {
		const char c = line[i], last = out->data ? out->data[out->len - 1] : ' ';

		if (c != ' ' && c != '\t' && c != '\r')
			buffer_addc(out, c);
		else if (last != ' ' && last != '|')
			buffer_addc(out, ' ');
	}
}

/* A joiner between pictures, as in a family of emoji, is how they are written. */
static bool is_picture(uint32_t c)
{
	return c >= 0x1f000 || c == 0xfe0f || (c >= 0x2190 && c <= 0x2bff);
}

bool scan_text_hidden(const char *line, size_t len, size_t *ret)
{
	uint32_t before = 0;
	size_t i = 0;

	while (i < len) {
		uint32_t c = 0;
		size_t n = utf8_decode(line + i, len - i, &c);

		if (n && utf8_is_deceptive(c) && !(c == 0x200d && is_picture(before))) {
			*ret = i;
			return true;
		}
		before = c;
		i += n ? n : 1;
	}
	return false;
}

bool scan_text_long(const char *line, size_t len, size_t *ret)
{
	(void)line;
	*ret = 0;
	return len > LONG_LINE;
}

/* What kinds of digits a run holds. */
struct run {
	size_t start, len;
	bool upper, lower, digit, hex;
};

static bool is_blob(const struct run *r)
{
	return r->len >= BLOB_DIGITS && (r->hex || (r->upper && r->lower && r->digit));
}

static bool is_base64(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("+/=_-", c));
}

static bool find_digits(const char *line, size_t len, size_t *ret)
{
	struct run r = { .hex = true };

	for (size_t i = 0; i <= len; i++) {
		const char c = i < len ? line[i] : ' ';

		if (is_base64(c)) {
			r.len++;
			r.upper |= isupper((unsigned char)c) != 0;
			r.lower |= islower((unsigned char)c) != 0;
			r.digit |= isdigit((unsigned char)c) != 0;
			r.hex &= isxdigit((unsigned char)c) != 0;
			continue;
		}
		if (is_blob(&r)) {
			*ret = r.start;
			return true;
		}
		r = (struct run){ .start = i + 1, .hex = true };
	}
	return false;
}

static bool is_escape(const char *s, size_t len)
{
	return len >= 4 && s[0] == '\\' && s[1] == 'x' && isxdigit((unsigned char)s[2]) &&
	       isxdigit((unsigned char)s[3]);
}

static bool find_escapes(const char *line, size_t len, size_t *ret)
{
	size_t n = 0, i = 0;

	while (i < len) {
		if (!is_escape(line + i, len - i)) {
			n = 0;
			i++;
			continue;
		}
		i += 4;
		if (++n == BLOB_ESCAPES) {
			*ret = i - 4 * n;
			return true;
		}
	}
	return false;
}

bool scan_text_blob(const char *line, size_t len, size_t *ret)
{
	return find_digits(line, len, ret) || find_escapes(line, len, ret);
}

/* Four numbers with dots between them, and no name that goes on; not this machine itself. */
static bool scan_text_is_address(const char *s, size_t len)
{
	size_t dots = 0, i = 0;

	if (len && s[0] == '[')
		return true;
	for (; i < len && (isdigit((unsigned char)s[i]) || s[i] == '.'); i++)
		dots += s[i] == '.';
	if (dots != 3 || !isdigit((unsigned char)s[i - 1]))
		return false;
	if (i < len && (isalpha((unsigned char)s[i]) || s[i] == '-'))
		return false;
	return strncmp(s, "127.", 4) != 0 && strncmp(s, "0.0.0.0", 7) != 0;
}

bool scan_text_address(const char *line, size_t len, size_t *ret)
{
	const char *s = line, *end = line + len;

	while ((s = memmem(s, (size_t)(end - s), "://", 3))) {
		s += 3;
		if (scan_text_is_address(s, (size_t)(end - s))) {
			*ret = (size_t)(s - line) - 3;
			return true;
		}
	}
	return false;
}
