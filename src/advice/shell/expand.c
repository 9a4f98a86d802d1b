/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expansions. Their values are unknown, so a word keeps them as they are written; they are read for
 * the commands in them and to find their ends.
 */
#include "advice/shell/internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

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

/* The text between backquotes, with the escapes removed that only protect it from them. */
static const char *shell_expand_unescape(
	struct arena *a, const char *s, size_t len, bool quoted, size_t *ret)
{
	char *out = arena_alloc(a, len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		if (s[i] == '\\' && i + 1 < len && strchr(quoted ? "$`\\\"" : "$`\\", s[i + 1]))
			i++;
		out[n++] = s[i];
	}
	*ret = n;
	return out;
}

int shell_expand_backquote(struct shell_parser *p, bool quoted)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	struct shell_input in = { .base = shell_offset(p, start + 1), .exact = p->in.exact };
	size_t end = start + 1;
	int r;

	while (end < p->in.len && p->in.text[end] != '`')
		end += p->in.text[end] == '\\' ? 2 : 1;
	if (end >= p->in.len)
		return shell_unclosed(p, start, "`");
	in.text = shell_expand_unescape(
		p->arena, p->in.text + start + 1, end - start - 1, quoted, &in.len);
	if (!in.text)
		return -ENOMEM;
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

static int parameter_piece(struct shell_parser *p, struct shell_piece *w, bool quoted, bool literal)
{
	char c = shell_peek(p, 0);

	if (c == '$')
		return shell_expand_dollar(p, w, quoted);
	if (c == '`')
		return shell_expand_backquote(p, quoted);
	if (c == '"')
		return shell_quote_double(p, w);
	if (c == '\'' && !literal)
		return shell_quote_single(p);
	if (!quoted && (c == '<' || c == '>') && shell_peek(p, 1) == '(')
		return shell_expand_process(p);
	p->in.at += c == '\\' && shell_peek(p, 1) ? 2 : 1;
	return 0;
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
		if (shell_at_end(p))
			return shell_unclosed(p, start, "${");
		r = parameter_piece(p, w, quoted, literal);
	}
	if (r < 0)
		return r;
	p->in.at++;
	shell_leave(p);
	return 0;
}

static int shell_expand_parentheses(struct shell_parser *p)
{
	const size_t start = p->in.at;
	size_t end = 0;

	if (shell_peek(p, 2) == '(')
		end = shell_expand_arithmetic_end(p, start + 3);
	if (end)
		return shell_expand_range(p, start + 3, end, end + 2);
	p->in.at += 2;
	return shell_find_substitution(p, start, ')');
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
	if (next == '(')
		r = shell_expand_parentheses(p);
	else if (next == '{')
		r = parameter(p, w, quoted);
	else
		p->in.at += 1 + shell_expand_name_length(p);
	return shell_expand_keep_written(p, start, mark, r);
}
