/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive-descent reader for TOML 1.0. Headers go back to tables that were left, so the tree is
 * not built in the order of the text, and the builder of this folder serves for the checks of the
 * input only.
 *
 * How a table came to be decides what may still be added to it. While the text is read, a table or
 * list that is not closed by its own brackets has a mark in `text`, which only scalars use
 * otherwise.
 */
#include "codec/toml.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/internal.h"
#include "codec/toml-scalar.h"

enum { TOML_END = -1 };

static const char mark_implied[] = "implied"; /* on the way to a header's table */
static const char mark_header[] = "header";   /* has a header of its own */
static const char mark_dotted[] = "dotted";   /* on the way to a dotted key's value */
static const char mark_tables[] = "tables";   /* a list whose items have [[headers]] */

struct toml_reader {
	struct builder b;
	const struct input *in;
	size_t at;
	uint32_t line;
	size_t line_start;
	size_t count, depth;
	struct node *table; /* of the latest header */
	struct buffer scratch;
};

static int toml_peek_at(const struct toml_reader *r, size_t n)
{
	return n < r->in->len - r->at ? (unsigned char)r->in->text[r->at + n] : TOML_END;
}

static int toml_peek(const struct toml_reader *r)
{
	return toml_peek_at(r, 0);
}

static bool toml_take(struct toml_reader *r, const char *text)
{
	size_t n = strlen(text);

	if (r->in->len - r->at < n || memcmp(r->in->text + r->at, text, n) != 0)
		return false;
	r->at += n;
	return true;
}

static struct location toml_place(const struct toml_reader *r)
{
	return (struct location){ r->in->file, r->line, (uint32_t)(r->at - r->line_start) + 1 };
}

static int toml_expected(struct toml_reader *r, const char *wanted)
{
	struct location at = toml_place(r);
	const char *found = r->in->text + r->at;

	if (toml_peek(r) == TOML_END)
		return error_set(
			r->b.error, -EINVAL, &at, "expected %s, found the end of the text", wanted);
	if (*found == '\n' || *found == '\r')
		return error_set(
			r->b.error, -EINVAL, &at, "expected %s, found the end of the line", wanted);
	return error_set(r->b.error, -EINVAL, &at, "expected %s, found '%.*s'", wanted,
		input_excerpt(found, 1), found);
}

static bool toml_take_newline(struct toml_reader *r)
{
	if (!toml_take(r, "\n") && !toml_take(r, "\r\n"))
		return false;
	r->line++;
	r->line_start = r->at;
	return true;
}

static void toml_skip_blanks(struct toml_reader *r)
{
	while (toml_peek(r) == ' ' || toml_peek(r) == '\t')
		r->at++;
}

/* A comment up to the end of its line, if there is one. */
static int toml_skip_comment(struct toml_reader *r)
{
	if (toml_peek(r) != '#')
		return 0;
	for (;; r->at++) {
		int c = toml_peek(r);

		if (c == TOML_END || c == '\n' || (c == '\r' && toml_peek_at(r, 1) == '\n'))
			return 0;
		if (c != '\t' && ascii_is_control((char)c))
			return toml_expected(r, "a comment without control characters");
	}
}

/* What may stand at the end of a line, and the line's end. */
static int toml_end_line(struct toml_reader *r)
{
	int res;

	toml_skip_blanks(r);
	res = toml_skip_comment(r);
	if (res < 0 || toml_peek(r) == TOML_END || toml_take_newline(r))
		return res;
	return toml_expected(r, "the end of the line");
}

/* Blanks, comments and line ends inside of a list. */
static int toml_skip_lines(struct toml_reader *r)
{
	int res;

	for (;;) {
		toml_skip_blanks(r);
		res = toml_skip_comment(r);
		if (res < 0 || !toml_take_newline(r))
			return res;
	}
}

/* Nodes */

static struct node *toml_new(struct toml_reader *r, enum node_type type)
{
	struct location at = toml_place(r);
	struct node *n;

	if (++r->count > TOML_COUNT_MAX) {
		(void)error_set(
			r->b.error, -E2BIG, &at, "more than %d values", (int)TOML_COUNT_MAX);
		return NULL;
	}
	n = node_new(&r->b.doc->arena, type);
	if (!n) {
		(void)builder_no_memory(&r->b);
		return NULL;
	}
	n->line = at.line;
	n->column = at.column;
	return n;
}

/* Why toml_new() failed. */
static int toml_new_failed(const struct toml_reader *r)
{
	return r->count > TOML_COUNT_MAX ? -E2BIG : -ENOMEM;
}

static int toml_put(struct toml_reader *r, struct node *map, const char *key, struct node *child,
	const struct location *at)
{
	if (!node_put(&r->b.doc->arena, map, key, child))
		return builder_no_memory(&r->b);
	child->key_line = at->line;
	child->key_column = at->column;
	return 0;
}

/* An empty map or list under a key. NULL: *res says why. */
static struct node *toml_add(struct toml_reader *r, struct node *map, const char *key,
	enum node_type type, const struct location *at, int *res)
{
	struct node *n = toml_new(r, type);

	*res = n ? toml_put(r, map, key, n, at) : toml_new_failed(r);
	return *res < 0 ? NULL : n;
}

static int toml_twice(struct toml_reader *r, const struct location *at, const char *key)
{
	return error_set(r->b.error, -EINVAL, at, "`%.*s` is defined twice",
		input_excerpt(key, strlen(key)), key);
}

/* Strings */

static int toml_read_unicode(struct toml_reader *r, int digits)
{
	uint32_t c = 0;
	char bytes[4];
	size_t n;

	for (int i = 0; i < digits; i++) {
		int digit = toml_peek(r) == TOML_END ? -1 : ascii_hex((char)toml_peek(r));

		if (digit < 0)
			return toml_expected(r, "a hexadecimal digit");
		c = c << 4 | (uint32_t)digit;
		r->at++;
	}
	n = c ? utf8_encode(c, bytes) : 0;
	if (!n) {
		struct location at = toml_place(r);

		return error_set(r->b.error, -EINVAL, &at, "expected a character, found \\u%04x",
			(unsigned)c);
	}
	buffer_add(&r->scratch, bytes, n);
	return 0;
}

/* A backslash at the end of a line takes all white space up to the next word. */
static bool toml_skip_continuation(struct toml_reader *r)
{
	struct toml_reader before = *r;

	toml_skip_blanks(r);
	if (!toml_take_newline(r)) {
		*r = before;
		return false;
	}
	do
		toml_skip_blanks(r);
	while (toml_take_newline(r));
	return true;
}

static int toml_read_escape(struct toml_reader *r, bool is_long)
{
	static const char letters[] = "\"\\bfnrt", meanings[] = "\"\\\b\f\n\r\t";
	const char *letter;
	int c;

	r->at++;
	if (toml_take(r, "u"))
		return toml_read_unicode(r, 4);
	if (toml_take(r, "U"))
		return toml_read_unicode(r, 8);
	if (is_long && toml_skip_continuation(r))
		return 0;
	c = toml_peek(r);
	letter = c > 0 ? strchr(letters, c) : NULL;
	if (!letter)
		return toml_expected(r, "one of \" \\ b f n r t u U after a backslash");
	buffer_addc(&r->scratch, meanings[letter - letters]);
	r->at++;
	return 0;
}

/* The end of a long text; up to two quotes before it belong to the text. */
static bool toml_end_long(struct toml_reader *r, char quote)
{
	size_t n = 0;

	while (n < 5 && toml_peek_at(r, n) == quote)
		n++;
	if (n < 3)
		return false;
	for (size_t i = 3; i < n; i++)
		buffer_addc(&r->scratch, quote);
	r->at += n;
	return true;
}

/* One character of a text, or a line's end in a long one. */
static int toml_read_char(struct toml_reader *r, bool is_long)
{
	int c = toml_peek(r);

	if (is_long && toml_take_newline(r)) {
		buffer_addc(&r->scratch, '\n');
		return 0;
	}
	if (c == TOML_END || (c != '\t' && ascii_is_control((char)c)))
		return toml_expected(r, "the quotes at the end of this text");
	buffer_addc(&r->scratch, (char)c);
	r->at++;
	return 0;
}

/* Reads a text of any of the four kinds into r->scratch. */
static int toml_read_string(struct toml_reader *r, bool may_be_long)
{
	const char quote = (char)toml_peek(r);
	const char three[] = { quote, quote, quote, '\0' }, one[] = { quote, '\0' };
	bool is_long = may_be_long && toml_take(r, three);
	int res = 0;

	buffer_clear(&r->scratch);
	if (is_long)
		(void)toml_take_newline(r);
	else
		r->at++;
	while (res == 0) {
		if (is_long ? toml_end_long(r, quote) : toml_take(r, one))
			return r->scratch.failed ? builder_no_memory(&r->b) : 0;
		if (r->scratch.len > NODE_SCALAR_MAX) {
			struct location at = toml_place(r);

			return error_set(r->b.error, -E2BIG, &at, "text of more than %d bytes",
				(int)NODE_SCALAR_MAX);
		}
		res = quote == '"' && toml_peek(r) == '\\' ? toml_read_escape(r, is_long)
							   : toml_read_char(r, is_long);
	}
	return res;
}

/* Keys */

/* One part of a key, in the document's arena. */
static int toml_read_key(struct toml_reader *r, const char **ret)
{
	if (toml_peek(r) == '"' || toml_peek(r) == '\'') {
		int res = toml_read_string(r, false);

		if (res < 0)
			return res;
	} else {
		buffer_clear(&r->scratch);
		while (toml_peek(r) != TOML_END &&
			(ascii_is_alnum((char)toml_peek(r)) || toml_peek(r) == '-' ||
				toml_peek(r) == '_'))
			buffer_addc(&r->scratch, r->in->text[r->at++]);
		if (!r->scratch.len)
			return toml_expected(r, "a key");
	}
	*ret = arena_strndup(&r->b.doc->arena, buffer_text(&r->scratch), r->scratch.len);
	if (*ret && !r->scratch.failed)
		return 0;
	(void)builder_no_memory(&r->b);
	return -ENOMEM;
}

/* Counts levels around what comes next; the caller takes them back. */
static int toml_deeper(struct toml_reader *r, const struct location *at, size_t levels)
{
	if (r->depth + levels >= NODE_DEPTH_MAX)
		return error_set(r->b.error, -E2BIG, at, "nested too deep");
	r->depth += levels;
	return 0;
}

/*
 * The table under a key on the way to another one, made if there is none. Headers pass all tables
 * but those in brackets, and by the latest item of [[lists]]; dotted keys only what they made.
 */
static int toml_step(struct toml_reader *r, struct node **table, const char *key,
	const struct location *at, bool is_header)
{
	struct node *n = node_get(*table, key);
	int res = toml_deeper(r, at, is_header ? 2 : 1); /* a list and its item, or a map */

	if (res < 0)
		return res;
	if (!n) {
		n = toml_add(r, *table, key, NODE_MAP, at, &res);
		if (!n)
			return res;
		n->text = is_header ? mark_implied : mark_dotted;
	} else if (is_header && n->type == NODE_LIST && n->text == mark_tables) {
		n = n->last;
	} else if (n->type != NODE_MAP || !n->text || (!is_header && n->text != mark_dotted)) {
		return error_set(r->b.error, -EINVAL, at, "`%.*s` is no table that can be extended",
			input_excerpt(key, strlen(key)), key);
	}
	*table = n;
	return 0;
}

/* All parts of a key but the last, which is left to the caller. */
static int toml_read_path(struct toml_reader *r, struct node **table, bool is_header,
	const char **key, struct location *at)
{
	for (;;) {
		int res;

		toml_skip_blanks(r);
		*at = toml_place(r);
		res = toml_read_key(r, key);
		if (res < 0)
			return res;
		toml_skip_blanks(r);
		if (!toml_take(r, "."))
			return 0;
		res = toml_step(r, table, *key, at, is_header);
		if (res < 0)
			return res;
	}
}

/* Values */

static int toml_read_value(struct toml_reader *r, struct node **ret);

/* key = value, into a table. */
static int toml_read_pair(struct toml_reader *r, struct node *table)
{
	struct node *value = NULL;
	size_t depth = r->depth;
	struct location at;
	const char *key = "";
	int res = toml_read_path(r, &table, false, &key, &at);

	if (res < 0)
		return res;
	if (!toml_take(r, "="))
		return toml_expected(r, "'=' after the key");
	if (node_get(table, key))
		return toml_twice(r, &at, key);
	toml_skip_blanks(r);
	res = toml_read_value(r, &value);
	r->depth = depth;
	return res < 0 || !value ? res : toml_put(r, table, key, value, &at);
}

static int toml_read_list(struct toml_reader *r, struct node *list)
{
	int res = toml_skip_lines(r);

	while (res == 0 && !toml_take(r, "]")) {
		struct node *item = NULL;

		res = toml_read_value(r, &item);
		if (res < 0 || !item)
			return res;
		(void)node_append(list, item);
		res = toml_skip_lines(r);
		if (res < 0)
			return res;
		if (toml_take(r, "]"))
			return 0;
		if (!toml_take(r, ","))
			return toml_expected(r, "',' or ']'");
		res = toml_skip_lines(r);
	}
	return res;
}

/* What dotted keys made inside of brackets is closed with them. */
static void toml_close(struct node *table)
{
	node_for_each(child, table) {
		if (child->type == NODE_MAP && child->text) {
			child->text = NULL;
			toml_close(child);
		}
	}
}

static int toml_read_inline(struct toml_reader *r, struct node *table)
{
	toml_skip_blanks(r);
	if (toml_take(r, "}"))
		return 0;
	for (;;) {
		int res = toml_read_pair(r, table);

		if (res < 0)
			return res;
		toml_skip_blanks(r);
		if (toml_take(r, "}")) {
			toml_close(table);
			return 0;
		}
		if (!toml_take(r, ","))
			return toml_expected(r, "',' or '}'");
	}
}

static int toml_read_container(struct toml_reader *r, bool is_list, struct node **ret)
{
	struct location at = toml_place(r);
	int res = toml_deeper(r, &at, 1);

	if (res < 0)
		return res;
	*ret = toml_new(r, is_list ? NODE_LIST : NODE_MAP);
	if (!*ret)
		return toml_new_failed(r);
	r->at++;
	res = is_list ? toml_read_list(r, *ret) : toml_read_inline(r, *ret);
	r->depth--;
	return res;
}

/* "1979-05-27 07:32:00": the one word with a space in it. */
static bool toml_is_date_before_time(const char *word, size_t len)
{
	return len == 10 && word[4] == '-' && word[7] == '-';
}

static int toml_read_word(struct toml_reader *r, struct node **ret)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789+-._:";
	const char *word = r->in->text + r->at;
	enum node_type type;
	auto_buffer text = { 0 };
	size_t n = 0;

	while (toml_peek_at(r, n) > 0 &&
		(strchr(set, toml_peek_at(r, n)) ||
			(word[n] == ' ' && toml_is_date_before_time(word, n) &&
				toml_peek_at(r, n + 1) > 0 && ascii_is_digit(word[n + 1]))))
		n++;
	buffer_clear(&r->scratch);
	buffer_add(&r->scratch, word, n);
	if (r->scratch.failed)
		return builder_no_memory(&r->b);
	if (!n || n > NODE_SCALAR_MAX || toml_scalar(buffer_text(&r->scratch), &text, &type) < 0)
		return toml_expected(r, "a value");
	*ret = toml_new(r, type);
	if (!*ret)
		return toml_new_failed(r);
	(*ret)->text = arena_strdup(&r->b.doc->arena, buffer_text(&text));
	r->at += n;
	return (*ret)->text && !text.failed ? 0 : builder_no_memory(&r->b);
}

static int toml_read_value(struct toml_reader *r, struct node **ret)
{
	int c = toml_peek(r), res;

	if (c == '[' || c == '{')
		return toml_read_container(r, c == '[', ret);
	if (c != '"' && c != '\'')
		return toml_read_word(r, ret);
	*ret = toml_new(r, NODE_STRING);
	if (!*ret)
		return toml_new_failed(r);
	res = toml_read_string(r, true);
	if (res < 0)
		return res;
	(*ret)->text = arena_strndup(&r->b.doc->arena, buffer_text(&r->scratch), r->scratch.len);
	return (*ret)->text ? 0 : builder_no_memory(&r->b);
}

/* Headers */

/* [table] */
static int toml_open_table(
	struct toml_reader *r, struct node *in, const char *key, const struct location *at)
{
	struct node *n = node_get(in, key);
	int res;

	if (n && (n->type != NODE_MAP || n->text != mark_implied))
		return toml_twice(r, at, key);
	if (!n) {
		n = toml_add(r, in, key, NODE_MAP, at, &res);
		if (!n)
			return res;
	}
	n->text = mark_header;
	r->table = n;
	return 0;
}

/* [[table]] */
static int toml_open_item(
	struct toml_reader *r, struct node *in, const char *key, const struct location *at)
{
	struct node *list = node_get(in, key);
	int res;

	if (list && (list->type != NODE_LIST || list->text != mark_tables))
		return toml_twice(r, at, key);
	if (!list) {
		list = toml_add(r, in, key, NODE_LIST, at, &res);
		if (!list)
			return res;
		list->text = mark_tables;
	}
	r->table = toml_new(r, NODE_MAP);
	if (!r->table)
		return toml_new_failed(r);
	r->table->text = mark_header;
	(void)node_append(list, r->table);
	return 0;
}

static int toml_read_header(struct toml_reader *r)
{
	bool is_item = toml_take(r, "[[");
	struct node *in = r->b.doc->root;
	struct location at;
	const char *key = "";
	int res;

	if (!is_item)
		r->at++;
	r->depth = 0;
	res = toml_read_path(r, &in, true, &key, &at);
	if (res < 0)
		return res;
	if (!toml_take(r, is_item ? "]]" : "]"))
		return toml_expected(r, is_item ? "']]'" : "']'");
	res = toml_deeper(r, &at, 2);
	if (res < 0)
		return res;
	return is_item ? toml_open_item(r, in, key, &at) : toml_open_table(r, in, key, &at);
}

static int toml_read_document(struct toml_reader *r)
{
	int res = 0;

	r->at = input_bom(r->in->text, r->in->len);
	r->b.doc->root = r->table = toml_new(r, NODE_MAP);
	if (!r->table)
		return toml_new_failed(r);
	while (res == 0) {
		int c;

		res = toml_skip_lines(r);
		c = toml_peek(r);
		if (res < 0 || c == TOML_END)
			return res;
		res = c == '[' ? toml_read_header(r) : toml_read_pair(r, r->table);
		if (res == 0)
			res = toml_end_line(r);
	}
	return res;
}

/* Takes the marks away; the depth is that of the text, and bounded. */
static void toml_unmark(struct node *n)
{
	if (n->type != NODE_MAP && n->type != NODE_LIST)
		return;
	n->text = NULL;
	node_for_each(child, n)
		toml_unmark(child);
}

int toml_read(struct document *d, const char *file, const char *text, size_t len, struct error *e)
{
	const struct input in = { file, len ? text : "", len, 1, NODE_BOUNDS };
	struct toml_reader r = { .in = &in, .line = 1 };
	int res = builder_begin(&r.b, d, &in, e);

	if (res == 0)
		res = toml_read_document(&r);
	if (res == 0)
		toml_unmark(d->root);
	buffer_deinit(&r.scratch);
	return builder_end(&r.b, res);
}
