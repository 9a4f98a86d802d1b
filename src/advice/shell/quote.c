/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes: what stands in them goes to the scratch buffer as the shell would see it. */
#include "advice/shell/internal.h"

#include <string.h>

#include "base/utf8.h"

int shell_quote_single(struct shell_parser *p)
{
	const char *from = p->in.text + p->in.at + 1;
	const char *to = memchr(from, '\'', p->in.len - p->in.at - 1);

	if (!to)
		return shell_unclosed(p, p->in.at, "quote '");
	buffer_add(&p->scratch, from, (size_t)(to - from));
	p->in.at += (size_t)(to - from) + 2;
	return 0;
}

void shell_quote_backslash(struct shell_parser *p)
{
	char next = shell_peek(p, 1);

	/* A backslash at the very end has nothing to quote and stays. */
	if (next != '\n')
		buffer_addc(&p->scratch, next ? next : '\\');
	p->in.at += next ? 2 : 1;
}

/* In double quotes a backslash only quotes what would mean something there. */
static void inner_backslash(struct shell_parser *p, char close)
{
	char next = shell_peek(p, 1);
	bool quotes = next && (strchr("$`\\\n", next) || (close && next == close));

	if (quotes) {
		shell_quote_backslash(p);
		return;
	}
	buffer_addc(&p->scratch, '\\');
	p->in.at++;
}

int shell_quote_content(struct shell_parser *p, struct shell_piece *w, char close)
{
	int r = 0;

	while (r == 0 && !shell_at_end(p)) {
		char c = shell_peek(p, 0);

		if (close && c == close)
			return 0;
		switch (c) {
		case '\\':
			inner_backslash(p, close);
			break;
		case '$':
			r = shell_expand_dollar(p, w, true);
			break;
		case '`':
			w->dynamic = true;
			r = shell_expand_backquote(p, true);
			break;
		default:
			buffer_addc(&p->scratch, c);
			p->in.at++;
		}
	}
	return r;
}

int shell_quote_double(struct shell_parser *p, struct shell_piece *w)
{
	const size_t start = p->in.at++;
	int r = shell_quote_content(p, w, '"');

	if (r < 0)
		return r;
	if (shell_at_end(p))
		return shell_unclosed(p, start, "quote \"");
	p->in.at++;
	return 0;
}

/* Up to max digits of a base at the cursor. */
static uint32_t shell_quote_number(struct shell_parser *p, unsigned base, size_t max)
{
	uint32_t value = 0;

	for (size_t i = 0; i < max; i++) {
		const char *digits = "0123456789abcdef";
		char c = shell_peek(p, 0);
		const char *d = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

		if (!d || d - digits >= (int)base)
			break;
		value = value * base + (uint32_t)(d - digits);
		p->in.at++;
	}
	return value;
}

/* Adds a character that an escape names; false for NUL, at which the shell cuts the string. */
static bool add_named(struct shell_parser *p, char kind)
{
	uint32_t value;
	char out[4];

	switch (kind) {
	case 'u':
	case 'U':
		value = shell_quote_number(p, 16, kind == 'u' ? 4 : 8);
		if (value)
			buffer_add(&p->scratch, out, utf8_encode(value, out));
		return value != 0;
	case 'x':
		value = shell_quote_number(p, 16, 2);
		break;
	case 'c':
		value = (unsigned char)shell_peek(p, 0) & 0x1f;
		p->in.at += shell_peek(p, 0) == '\\' && shell_peek(p, 1) ? 2 : 1;
		break;
	default:
		value = shell_quote_number(p, 8, 3);
	}
	if ((unsigned char)value)
		buffer_addc(&p->scratch, (char)value);
	return (unsigned char)value != 0;
}

/* One escape of $'…'; the cursor is at its backslash. */
static bool ansi_escape(struct shell_parser *p)
{
	static const char letters[] = "abefnrtvE\\'\"?", values[] = "\a\b\x1b\f\n\r\t\v\x1b\\'\"?";
	char c = shell_peek(p, 1);
	const char *l = c ? strchr(letters, c) : NULL;

	p->in.at++;
	if (l) {
		buffer_addc(&p->scratch, values[l - letters]);
		p->in.at++;
		return true;
	}
	if (c >= '0' && c <= '7')
		return add_named(p, '0');
	if (c && strchr(shell_peek(p, 1) && shell_peek(p, 1) != '\'' ? "uUxc" : "uUx", c)) {
		p->in.at++;
		return add_named(p, c);
	}
	buffer_addc(&p->scratch, '\\');
	return true;
}

int shell_quote_ansi(struct shell_parser *p)
{
	const size_t start = p->in.at;
	size_t cut = 0; /* where the string ends because of a NUL in it */

	p->in.at += 2;
	while (shell_peek(p, 0) != '\'') {
		if (shell_at_end(p))
			return shell_unclosed(p, start, "quote $'");
		if (shell_peek(p, 0) != '\\') {
			buffer_addc(&p->scratch, shell_peek(p, 0));
			p->in.at++;
		} else if (!ansi_escape(p) && !cut) {
			cut = p->scratch.len + 1;
		}
	}
	if (cut)
		p->scratch.len = cut - 1;
	p->in.at++;
	return 0;
}
