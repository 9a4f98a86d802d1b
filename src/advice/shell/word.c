/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes words: quotes, expansions, here-documents.
 *
 * What stands in quotes goes to the scratch buffer as the shell would see it. The values of
 * expansions are unknown, so a word keeps them as they are written; they are read for the commands
 * in them and to find their ends.
 */
#include "advice/shell/internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* Quotes */

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
static int shell_quote_content(struct shell_parser *p, struct shell_piece *w, char close)
{
	int r = 0;

	while (r == 0 && !shell_at_end(p)) {
		char c = shell_peek(p, 0), next = shell_peek(p, 1);

		if (close && c == close)
			return 0;
		if (c == '$') {
			r = shell_expand_dollar(p, w, true);
		} else if (c == '`') {
			w->dynamic = true;
			r = shell_expand_backquote(p, true);
		} else if (c == '\\' && next && (strchr("$`\\\n", next) || next == close)) {
			shell_quote_backslash(p);
		} else {
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
		const int digit = ascii_hex(shell_peek(p, 0));

		if (digit < 0 || digit >= (int)base)
			break;
		value = value * base + (uint32_t)digit;
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

static int shell_quote_ansi(struct shell_parser *p)
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

/* Expansions */

/* Replaces what was gathered since mark by the text as it is written since start; passes r on. */
static int shell_expand_keep_written(struct shell_parser *p, size_t start, size_t mark, int r)
{
	if (r < 0)
		return r;
	p->scratch.len = mark;
	buffer_add(&p->scratch, p->in.text + start, p->in.at - start);
	return 0;
}

static bool shell_expand_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * $(( starts arithmetic if the parentheses close as "))", else a substitution whose first command
 * is a subshell. Only brackets and quotes are looked at. Past a depth that no arithmetic has it
 * counts as a subshell, which also bounds how far a hostile text can make us look ahead.
 */
size_t shell_expand_arithmetic_end(const struct shell_parser *p, size_t at)
{
	const char *text = p->in.text;
	char open[64] = "((";
	size_t n = 2;

	for (size_t i = at; i < p->in.len && n < sizeof(open); i++) {
		const char top = open[n - 1];

		if (text[i] == '\\') {
			i++;
		} else if (text[i] == '"') {
			if (top == '"')
				n--;
			else
				open[n++] = '"';
		} else if (text[i] == '(' && (top == '(' || text[i - 1] == '$')) {
			open[n++] = '(';
		} else if (text[i] == ')' && top == '(') {
			if (n == 2)
				return i + 1 < p->in.len && text[i + 1] == ')' ? i : 0;
			n--;
		}
	}
	return 0;
}

int shell_expand_range(struct shell_parser *p, size_t at, size_t end, size_t next)
{
	const struct shell_input outer = p->in;
	const size_t mark = p->scratch.len;
	struct shell_piece ignored = { 0 };
	int r;

	p->in.at = at;
	p->in.len = end;
	r = shell_quote_content(p, &ignored, '\0');
	p->in = outer;
	p->in.at = next;
	p->scratch.len = mark;
	return r;
}

int shell_expand_process(struct shell_parser *p)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	int r;

	p->in.at += 2;
	r = shell_find_substitution(p, start, ')');
	return shell_expand_keep_written(p, start, mark, r);
}

int shell_expand_backquote(struct shell_parser *p, bool quoted)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	struct shell_input in = { .base = shell_offset(p, start + 1), .exact = p->in.exact };
	const char *text = p->in.text;
	size_t end = start + 1;
	char *inner;
	int r;

	while (end < p->in.len && text[end] != '`')
		end += text[end] == '\\' ? 2 : 1;
	if (end >= p->in.len)
		return shell_unclosed(p, start, "`");
	inner = arena_alloc(p->arena, end - start);
	if (!inner)
		return -ENOMEM;
	/* Without the escapes that only protect it from the backquotes. */
	for (size_t i = start + 1; i < end; i++) {
		if (text[i] == '\\' && i + 1 < end &&
			strchr(quoted ? "$`\\\"" : "$`\\", text[i + 1]))
			i++;
		inner[in.len++] = text[i];
	}
	in.text = inner;
	in.exact &= in.len == end - start - 1;
	p->in.at = end + 1;
	r = shell_find_text(p, &in);
	return shell_expand_keep_written(p, start, mark, r);
}

/*
 * Inside double quotes a single quote in ${…} is an ordinary character, except behind the operators
 * that take a pattern.
 */
static bool takes_pattern(const struct shell_parser *p)
{
	size_t k = shell_peek(p, 0) == '!' || shell_peek(p, 0) == '#';

	while (shell_expand_is_name(shell_peek(p, k)))
		k++;
	if (shell_peek(p, k) == '[') {
		while (shell_peek(p, k) && shell_peek(p, k) != ']' && shell_peek(p, k) != '}')
			k++;
		k++;
	}
	return shell_peek(p, k) && strchr("#%/^,", shell_peek(p, k));
}

/* ${…}; bash 5.3 and ksh have ${ list; } and ${| list; } as well. */
static int parameter(struct shell_parser *p, struct shell_piece *w, bool quoted)
{
	const size_t start = p->in.at;
	bool literal;
	int r;

	p->in.at += 2;
	if (shell_peek(p, 0) && strchr(" \t\n|", shell_peek(p, 0))) {
		p->in.at++;
		return shell_find_substitution(p, start, '}');
	}
	r = shell_enter(p);
	literal = quoted && !takes_pattern(p);
	while (r == 0 && shell_peek(p, 0) != '}') {
		char c = shell_peek(p, 0);

		if (shell_at_end(p))
			return shell_unclosed(p, start, "${");
		if (c == '$')
			r = shell_expand_dollar(p, w, quoted);
		else if (c == '`')
			r = shell_expand_backquote(p, quoted);
		else if (c == '"')
			r = shell_quote_double(p, w);
		else if (c == '\'' && !literal)
			r = shell_quote_single(p);
		else if (!quoted && (c == '<' || c == '>') && shell_peek(p, 1) == '(')
			r = shell_expand_process(p);
		else
			p->in.at += c == '\\' && shell_peek(p, 1) ? 2 : 1;
	}
	if (r < 0)
		return r;
	p->in.at++;
	shell_leave(p);
	return 0;
}

/* $name, $1, $@ …: how many characters follow the dollar; 0 if it is just a dollar. */
static size_t shell_expand_name_length(const struct shell_parser *p)
{
	char c = shell_peek(p, 1);
	size_t n = 1;

	if (isdigit((unsigned char)c) || (c && strchr("@*#?-$!", c)))
		return 1;
	while (shell_expand_is_name(shell_peek(p, n)))
		n++;
	return n - 1;
}

int shell_expand_dollar(struct shell_parser *p, struct shell_piece *w, bool quoted)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	const char next = shell_peek(p, 1);
	size_t end = 0;
	int r = 0;

	if (next == '\'' && !quoted) {
		w->quoted = true;
		return shell_quote_ansi(p);
	}
	if (next == '"' && !quoted) {
		/* $"…" is translated when it runs. */
		w->quoted = w->dynamic = true;
		p->in.at++;
		return shell_quote_double(p, w);
	}
	w->dynamic |= next == '(' || next == '{' || shell_expand_name_length(p) > 0;
	if (next == '(' && shell_peek(p, 2) == '(')
		end = shell_expand_arithmetic_end(p, start + 3);
	if (end) {
		r = shell_expand_range(p, start + 3, end, end + 2);
	} else if (next == '(') {
		p->in.at += 2;
		r = shell_find_substitution(p, start, ')');
	} else if (next == '{') {
		r = parameter(p, w, quoted);
	} else {
		p->in.at += 1 + shell_expand_name_length(p);
	}
	return shell_expand_keep_written(p, start, mark, r);
}

/*
 * Here-documents. Their bodies begin after the next newline, in the order of their operators. The
 * lines of a body are found first, whatever stands in them; then, unless a part of the delimiter
 * was quoted, the expansions in the body are read. A body that nothing ends goes to the end of the
 * text: shells warn of it and run the command.
 */

static int read_body(struct shell_parser *p, const struct shell_heredoc *h)
{
	const char *text = p->in.text;
	const size_t start = p->in.at, n = strlen(h->delimiter);
	size_t last = start, next = start; /* where the body ends, and the next line begins */
	bool joined = false;

	while (next < p->in.len) {
		const char *newline = memchr(text + next, '\n', p->in.len - next);
		size_t line = next, end = newline ? (size_t)(newline - text) : p->in.len;
		size_t slashes = 0;

		last = next;
		next = newline ? end + 1 : end;
		while (h->tabs && line < end && text[line] == '\t')
			line++;
		if (!joined && end - line == n && memcmp(text + line, h->delimiter, n) == 0)
			break;
		/* A backslash joins the next line to this one, unless it is quoted itself. */
		while (slashes < end - last && text[end - 1 - slashes] == '\\')
			slashes++;
		joined = !h->quoted && slashes % 2 == 1;
		last = next;
	}
	p->in.at = next;
	return h->quoted ? 0 : shell_expand_range(p, start, last, next);
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
