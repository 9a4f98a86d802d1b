/* SPDX-License-Identifier: Apache-2.0 */
#include "advice/code/code.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* What is open: brackets within which a newline ends nothing, or the block of a function. */
enum code_open { OPEN_BRACKET, OPEN_BLOCK };

struct code_reader {
	struct arena *arena;
	struct code_tokens tokens;
	enum code_language language;
	const char *text;
	size_t len, at;
	uint32_t line;
	unsigned char open[CODE_NESTING_MAX]; /* enum code_open */
	size_t n_open;
	int fault;
};

static char code_peek(const struct code_reader *r, size_t k)
{
	return k < r->len - r->at ? r->text[r->at + k] : '\0';
}

static bool code_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void code_push(struct code_reader *r, enum code_kind kind, size_t start, size_t len)
{
	struct code_token t = { kind, (uint32_t)start, (uint32_t)len, r->line };

	if (r->fault < 0)
		return;
	if (r->tokens.n == CODE_TOKENS_MAX) {
		r->tokens.cut = true;
		r->at = r->len;
		return;
	}
	/* Empty statements say nothing. */
	if (kind == CODE_END &&
		(r->tokens.n == 0 || r->tokens.items[r->tokens.n - 1].kind == CODE_END))
		return;
	r->fault = ARENA_PUSH(r->arena, r->tokens.items, r->tokens.n, r->tokens.cap, t);
}

static void code_skip(struct code_reader *r, size_t n)
{
	for (; n && r->at < r->len; n--)
		r->line += r->text[r->at++] == '\n';
}

static bool code_in_brackets(const struct code_reader *r)
{
	return r->n_open && r->open[r->n_open - 1] == OPEN_BRACKET;
}

/* Names in the part of a string that is code: text[from, to). */
static void code_read_inside(struct code_reader *r, size_t from, size_t to)
{
	while (from < to) {
		size_t start = from;

		while (from < to && code_is_name(r->text[from]))
			from++;
		if (from > start && !isdigit((unsigned char)r->text[start]))
			code_push(r, CODE_NAME, start, from - start);
		else if (from == start)
			code_push(r, CODE_MARK, from++, 1);
	}
}

static void code_read_holes(struct code_reader *r, size_t start, size_t end)
{
	const bool js = r->language == CODE_JAVASCRIPT;

	for (size_t i = start; i + 1 < end; i++) {
		const char *close;

		if (js ? r->text[i] != '$' || r->text[i + 1] != '{' : r->text[i] != '{')
			continue;
		if (!js && r->text[i + 1] == '{') {
			i++;
			continue;
		}
		i += js ? 2 : 1;
		close = memchr(r->text + i, '}', end - i);
		if (!close)
			return;
		code_read_inside(r, i, (size_t)(close - r->text));
		i = (size_t)(close - r->text);
	}
}

/* The cursor is at the quote. */
static void code_read_string(struct code_reader *r, bool has_holes)
{
	const char quote = code_peek(r, 0);
	const bool triple =
		r->language == CODE_PYTHON && code_peek(r, 1) == quote && code_peek(r, 2) == quote;
	const bool lines = triple || quote == '`';
	const size_t marks = triple ? 3 : 1, first = r->at + marks;
	const uint32_t line = r->line;
	size_t end, index = r->tokens.n;

	code_skip(r, marks);
	while (r->at < r->len) {
		const char c = code_peek(r, 0);

		if (c == '\\' && r->at + 1 < r->len)
			code_skip(r, 1);
		else if ((c == '\n' && !lines) ||
			 (c == quote && (!triple || (code_peek(r, 1) == quote &&
							    code_peek(r, 2) == quote))))
			break;
		code_skip(r, 1);
	}
	end = r->at < first ? first : r->at;
	code_push(r, CODE_STRING, first < r->len ? first : r->len, end - first);
	if (r->fault == 0 && index < r->tokens.n)
		r->tokens.items[index].line = line;
	if (code_peek(r, 0) == quote)
		code_skip(r, marks);
	if (has_holes)
		code_read_holes(r, first, end);
}

static void code_read_comment(struct code_reader *r, size_t marks, const char *close)
{
	const size_t start = r->at + marks;
	const char *end = start < r->len
				  ? memmem(r->text + start, r->len - start, close, strlen(close))
				  : NULL;
	const size_t stop = end ? (size_t)(end - r->text) : r->len;

	code_push(
		r, CODE_COMMENT, start < r->len ? start : r->len, stop > start ? stop - start : 0);
	/* A newline that ends it is the statement's. */
	code_skip(r, stop - r->at + (close[0] == '\n' || !end ? 0 : strlen(close)));
}

static const struct code_token *code_before(const struct code_reader *r)
{
	size_t n = r->tokens.n;

	while (n && r->tokens.items[n - 1].kind == CODE_COMMENT)
		n--;
	return n ? &r->tokens.items[n - 1] : NULL;
}

static bool code_is(const struct code_reader *r, const struct code_token *t, const char *text)
{
	return t && t->kind != CODE_STRING && t->len == strlen(text) &&
	       memcmp(r->text + t->start, text, t->len) == 0;
}

/* JavaScript: a '/' behind an operator starts a regular expression, else it divides. */
static bool code_at_regex(const struct code_reader *r)
{
	const struct code_token *t = code_before(r);

	if (!t || t->kind == CODE_END)
		return true;
	if (t->kind == CODE_NAME)
		return code_is(r, t, "return") || code_is(r, t, "typeof");
	return t->kind == CODE_MARK && !memchr(")]}", r->text[t->start], 3);
}

static void code_read_regex(struct code_reader *r)
{
	const size_t start = r->at + 1;
	bool in_class = false;

	code_skip(r, 1);
	while (r->at < r->len && code_peek(r, 0) != '\n') {
		const char c = code_peek(r, 0);

		if (c == '\\')
			code_skip(r, 1);
		else if (c == '[' || c == ']')
			in_class = c == '[';
		else if (c == '/' && !in_class)
			break;
		code_skip(r, 1);
	}
	code_push(
		r, CODE_STRING, start < r->len ? start : r->len, r->at > start ? r->at - start : 0);
	if (code_peek(r, 0) == '/')
		code_skip(r, 1);
}

/* A brace of JavaScript that holds statements, and no object. */
static bool code_is_block(const struct code_reader *r)
{
	static const char *const words[] = { "else", "try", "do", "finally" };
	const struct code_token *t = code_before(r);

	if (!t || t->kind == CODE_END || code_is(r, t, ")"))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (code_is(r, t, words[i]))
			return true;
	}
	/* "=>": its last character; and "class X {", "catch {". */
	return (code_is(r, t, ">") && t > r->tokens.items && code_is(r, t - 1, "=")) ||
	       (t->kind == CODE_NAME && !code_is(r, t, "return"));
}

static void code_read_mark(struct code_reader *r)
{
	const char c = code_peek(r, 0);
	const bool js = r->language == CODE_JAVASCRIPT;

	if (c == ';' && !code_in_brackets(r)) {
		code_push(r, CODE_END, r->at, 1);
	} else if (strchr("([{", c)) {
		const bool block = js && c == '{' && code_is_block(r);

		code_push(r, block ? CODE_END : CODE_MARK, r->at, 1);
		if (r->n_open < CODE_NESTING_MAX)
			r->open[r->n_open++] = block ? OPEN_BLOCK : OPEN_BRACKET;
	} else if (strchr(")]}", c)) {
		if (r->n_open && r->open[--r->n_open] == OPEN_BLOCK)
			code_push(r, CODE_END, r->at, 1);
		else
			code_push(r, CODE_MARK, r->at, 1);
	} else {
		code_push(r, CODE_MARK, r->at, 1);
	}
	code_skip(r, 1);
}

static void code_read_name(struct code_reader *r)
{
	const size_t start = r->at;
	size_t len = 0;
	bool prefix;

	while (code_is_name(code_peek(r, len)))
		len++;
	/* r"…", f'…', rb"…" */
	prefix = r->language == CODE_PYTHON && len <= 2 &&
		 (code_peek(r, len) == '"' || code_peek(r, len) == '\'');
	for (size_t i = 0; i < len; i++)
		prefix = prefix && strchr("rRbBfFuU", r->text[start + i]);
	code_skip(r, len);
	if (prefix)
		code_read_string(r, memchr(r->text + start, 'f', len) != NULL ||
					    memchr(r->text + start, 'F', len) != NULL);
	else
		code_push(r, isdigit((unsigned char)r->text[start]) ? CODE_NUMBER : CODE_NAME,
			start, len);
}

static void code_read_one(struct code_reader *r)
{
	const char c = code_peek(r, 0), next = code_peek(r, 1);
	const bool js = r->language == CODE_JAVASCRIPT;

	if (c == '\n') {
		if (!code_in_brackets(r))
			code_push(r, CODE_END, r->at, 1);
		code_skip(r, 1);
	} else if (c == '\\' && next == '\n') {
		code_skip(r, 2);
	} else if (isspace((unsigned char)c) || c == '\0') {
		code_skip(r, 1);
	} else if (js && c == '/' && (next == '/' || next == '*')) {
		code_read_comment(r, 2, next == '/' ? "\n" : "*/");
	} else if (!js && c == '#') {
		code_read_comment(r, 1, "\n");
	} else if (c == '"' || c == '\'' || (js && c == '`')) {
		code_read_string(r, c == '`');
	} else if (js && c == '/' && code_at_regex(r)) {
		code_read_regex(r);
	} else if (code_is_name(c)) {
		code_read_name(r);
	} else {
		code_read_mark(r);
	}
}

int code_read(struct code_tokens *ret, struct arena *a, enum code_language language,
	const char *text, size_t len)
{
	struct code_reader r = {
		.arena = a, .language = language, .text = text, .len = len, .line = 1
	};

	while (r.at < r.len && r.fault == 0)
		code_read_one(&r);
	if (r.fault < 0)
		return r.fault;
	code_push(&r, CODE_END, len, 0);
	if (r.fault < 0)
		return r.fault;
	*ret = r.tokens;
	return 0;
}
