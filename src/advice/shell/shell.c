/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry, and what all parts of the reader share: places, errors, bounds, and blanks, operators
 * and words.
 *
 * A word is read piece by piece: plain characters, quoted strings, expansions. Its text gathers in
 * the scratch buffer with the quotes removed; an expansion stays there as it is written and makes
 * the word dynamic.
 *
 * Commands are collected as they are found, which is not always the order in which they are written
 * (what `sudo` starts is known only when all of its words were read), so they are put in order at
 * the end.
 */
#include "advice/shell/shell.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice/shell/internal.h"
#include "base/array.h"

size_t shell_offset(const struct shell_parser *p, size_t at)
{
	return p->in.exact ? p->in.base + at : p->in.base;
}

static struct location shell_locate(const struct shell_parser *p, size_t at)
{
	struct location loc = { NULL, 1, 1 };
	size_t offset = shell_offset(p, at);

	for (size_t i = 0; i < offset && i < p->source_len; i++) {
		loc.column++;
		if (p->source[i] == '\n') {
			loc.line++;
			loc.column = 1;
		}
	}
	return loc;
}

int shell_error(struct shell_parser *p, size_t at, const char *format, ...)
{
	struct location loc = shell_locate(p, at);
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(p->error, -EINVAL, &loc, "%s", text);
}

int shell_unclosed(struct shell_parser *p, size_t at, const char *what)
{
	return shell_error(p, at, "this %s is never closed", what);
}

int shell_unexpected(struct shell_parser *p)
{
	const char *op = shell_lex_operator(p);
	size_t n = 0;

	if (shell_at_end(p))
		return shell_error(p, p->in.at, "a command is missing at the end");
	if (op)
		return shell_error(p, p->in.at, "unexpected %s", *op == '\n' ? "newline" : op);
	while (!shell_lex_is_meta(shell_peek(p, n)) && n < 32)
		n++;
	return shell_error(p, p->in.at, "unexpected '%.*s'", (int)n, p->in.text + p->in.at);
}

int shell_enter(struct shell_parser *p)
{
	struct location loc;

	if (p->nesting < SHELL_DEPTH_MAX) {
		p->nesting++;
		return 0;
	}
	loc = shell_locate(p, p->in.at);
	return error_set(p->error, -E2BIG, &loc, "nested deeper than %d levels", SHELL_DEPTH_MAX);
}

/* Blanks, operators, words */

bool shell_lex_is_meta(char c)
{
	return c == '\0' || strchr(" \t\n;&|()<>", c);
}

static void skip_comment(struct shell_parser *p)
{
	while (!shell_at_end(p) && shell_peek(p, 0) != '\n')
		p->in.at++;
}

void shell_lex_blanks(struct shell_parser *p)
{
	for (;;) {
		char c = shell_peek(p, 0);
		size_t n = c == ' ' || c == '\t'                   ? 1
			   : c == '\\' && shell_peek(p, 1) == '\n' ? 2
								   : 0;

		if (n == 0)
			break;
		p->in.at += n;
	}
	if (shell_peek(p, 0) == '#')
		skip_comment(p);
}

int shell_lex_newlines(struct shell_parser *p)
{
	int r = 0;

	shell_lex_blanks(p);
	while (r == 0 && shell_peek(p, 0) == '\n') {
		p->in.at++;
		r = shell_heredoc_read(p);
		shell_lex_blanks(p);
	}
	return r;
}

/* True if a word that starts at the cursor would go on k bytes behind it. */
static bool goes_on(const struct shell_parser *p, size_t k)
{
	char c = shell_peek(p, k), next = shell_peek(p, k + 1);

	if (c == '<' || c == '>')
		return next == '(';
	return !shell_lex_is_meta(c);
}

bool shell_lex_at_keyword(const struct shell_parser *p, const char *word)
{
	size_t n = strlen(word);

	if (p->in.len - p->in.at < n || memcmp(p->in.text + p->in.at, word, n) != 0)
		return false;
	return !goes_on(p, n) || (shell_peek(p, n) == '\\' && shell_peek(p, n + 1) == '\n');
}

const char *shell_lex_operator(const struct shell_parser *p)
{
	/* Longer ones first. */
	static const char *const operators[] = { "&&", "||", ";;&", ";;", ";&", "|&", "|", "&", ";",
		"(", ")", "<", ">", "\n" };
	const size_t left = p->in.len - p->in.at;

	for (size_t i = 0; i < ROWS(operators); i++) {
		size_t n = strlen(operators[i]);

		if (n <= left && memcmp(p->in.text + p->in.at, operators[i], n) == 0)
			return operators[i];
	}
	return NULL;
}

size_t shell_lex_assignment(const struct shell_parser *p)
{
	size_t n = 0;

	if (isdigit((unsigned char)shell_peek(p, 0)))
		return 0;
	while (isalnum((unsigned char)shell_peek(p, n)) || shell_peek(p, n) == '_')
		n++;
	if (n > 0 && shell_peek(p, n) == '[') {
		while (!shell_lex_is_meta(shell_peek(p, n)) && shell_peek(p, n) != ']')
			n++;
		n += shell_peek(p, n) == ']';
	}
	n += n > 0 && shell_peek(p, n) == '+';
	return n > 0 && shell_peek(p, n) == '=' ? n + 1 : 0;
}

/*
 * (…) inside a word: the elements of an array, or the alternatives of a pattern like @(a|b). Kept
 * as it is written; what matters are the substitutions in it.
 */
static int shell_lex_parentheses(struct shell_parser *p, struct shell_piece *w)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	int r = shell_enter(p);

	p->in.at++;
	while (r == 0 && shell_peek(p, 0) != ')') {
		char c = shell_peek(p, 0);

		if (c == '\0')
			r = shell_unclosed(p, start, "'('");
		else if (c == '(')
			r = shell_lex_parentheses(p, w);
		else if (c == '#' && isspace((unsigned char)p->in.text[p->in.at - 1]))
			skip_comment(p);
		else if (shell_lex_is_meta(c) && shell_peek(p, 1) != '(')
			p->in.at++;
		else
			r = shell_lex_piece(p, w);
	}
	if (r < 0)
		return r;
	p->in.at++;
	p->scratch.len = mark;
	buffer_add(&p->scratch, p->in.text + start, p->in.at - start);
	shell_leave(p);
	return 0;
}

int shell_lex_piece(struct shell_parser *p, struct shell_piece *w)
{
	char c = shell_peek(p, 0), next = shell_peek(p, 1);

	switch (c) {
	case '\'':
		w->quoted = true;
		return shell_quote_single(p);
	case '"':
		w->quoted = true;
		return shell_quote_double(p, w);
	case '\\':
		w->quoted |= next != '\n';
		shell_quote_backslash(p);
		return 0;
	case '$':
		return shell_expand_dollar(p, w, false);
	case '`':
		w->dynamic = true;
		return shell_expand_backquote(p, false);
	case '<':
	case '>':
		w->dynamic = true;
		return shell_expand_process(p);
	}
	/* A plain character may make a pattern or a brace expansion of the word. */
	w->dynamic |= c == '*' || c == '?' || (c == ']' && w->bracket) ||
		      (c == '}' && w->brace && w->list);
	w->bracket |= c == '[';
	w->list |= w->brace && (c == ',' || (c == '.' && next == '.'));
	w->brace |= c == '{';
	buffer_addc(&p->scratch, c);
	p->in.at++;
	if (next != '(' || !strchr("?*+@!", c))
		return 0;
	w->dynamic = true;
	return shell_lex_parentheses(p, w);
}

static int read_pieces(struct shell_parser *p, struct shell_piece *w)
{
	const size_t start = p->in.at, assignment = shell_lex_assignment(p);
	const size_t value = assignment ? start + assignment : 0;
	int r = 0;

	while (r == 0) {
		if (value && p->in.at == value && shell_peek(p, 0) == '(') {
			r = shell_lex_parentheses(p, w);
		} else if (goes_on(p, 0)) {
			const char *s = p->in.text + p->in.at;

			/* ~ is expanded at the start, and in an assignment behind '=' and ':'. */
			w->dynamic |=
				*s == '~' &&
				(p->in.at == start || (value && (s[-1] == '=' || s[-1] == ':')));
			r = shell_lex_piece(p, w);
		} else {
			break;
		}
	}
	return r;
}

int shell_lex_word(struct shell_parser *p, struct shell_word *ret, bool *ret_quoted)
{
	const size_t start = p->in.at, mark = p->scratch.len;
	struct shell_piece w = { 0 };
	const char *text;
	int r;

	if (!goes_on(p, 0))
		return 0;
	r = read_pieces(p, &w);
	if (r < 0)
		return r;
	if (p->scratch.failed)
		return -ENOMEM;
	text = arena_strndup(p->arena, buffer_text(&p->scratch) + mark, p->scratch.len - mark);
	p->scratch.len = mark;
	if (!text)
		return -ENOMEM;
	*ret = (struct shell_word){ text, shell_offset(p, start), w.dynamic };
	if (ret_quoted)
		*ret_quoted = w.quoted;
	return 1;
}

/* The entry */

/* By their place in the text; what is found first comes first where that is the same. */
static int compare_commands(const void *x, const void *y)
{
	const struct shell_command *a = *(const struct shell_command *const *)x;
	const struct shell_command *b = *(const struct shell_command *const *)y;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a < b ? -1 : 1;
}

static int sort_commands(struct shell_parser *p)
{
	struct shell_command **order = arena_calloc(p->arena, p->n_commands, sizeof(*order));
	struct shell_command *sorted = arena_calloc(p->arena, p->n_commands, sizeof(*sorted));

	if (!order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_commands; i++)
		order[i] = &p->commands[i];
	qsort(order, p->n_commands, sizeof(*order), compare_commands);
	for (size_t i = 0; i < p->n_commands; i++)
		sorted[i] = *order[i];
	p->commands = sorted;
	return 0;
}

int shell_parse(
	struct shell_script *ret, struct arena *a, const char *text, size_t len, struct error *e)
{
	struct shell_parser p = {
		.arena = a,
		.error = e,
		.source = text,
		.source_len = len,
		.in = { .text = text, .len = len, .exact = true },
		.before = "",
	};
	const char *nul = len ? memchr(text, '\0', len) : NULL;
	int r;

	if (len > SHELL_INPUT_MAX)
		return error_set(e, -E2BIG, NULL, "more than %d bytes of shell", SHELL_INPUT_MAX);
	if (nul)
		return shell_error(&p, (size_t)(nul - text), "a NUL byte cannot stand in shell");
	r = shell_find_list(&p);
	if (r >= 0 && !shell_at_end(&p))
		r = shell_unexpected(&p);
	if (r >= 0)
		r = sort_commands(&p);
	buffer_deinit(&p.scratch);
	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r < 0)
		return r;
	*ret = (struct shell_script){ p.commands, p.n_commands };
	return 0;
}
