/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive-descent reader for RFC 8259: one function per production, one byte of look-ahead. It
 * recurses only after a successful builder_open(), so NODE_DEPTH_MAX bounds the stack.
 *
 * It is written here rather than taken from a library because every node must know its line and
 * column, and because the laxness of JSON libraries (duplicate keys, lone surrogates, infinities)
 * is what lets two programs read one policy in two ways.
 *
 * The input is known to be UTF-8 without NUL (builder.c). Outside strings only white space holds a
 * line break, and inside them none may stand, so json_skip_space() is the only one that counts
 * lines.
 */
#include "codec/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "base/words.h"
#include "codec/internal.h"

enum { END = -1 };

struct json_reader {
	struct builder b;
	const struct input *in;
	size_t at;     /* the next byte */
	uint32_t line; /* where that is */
	size_t line_start;
	struct buffer scratch; /* the string or number at hand */
};

static int json_peek(const struct json_reader *r)
{
	return r->at < r->in->len ? (unsigned char)r->in->text[r->at] : END;
}

static bool json_take(struct json_reader *r, char c)
{
	if (json_peek(r) != c)
		return false;
	r->at++;
	return true;
}

static void json_skip_space(struct json_reader *r)
{
	for (;; r->at++) {
		switch (json_peek(r)) {
		case '\n':
			r->line++;
			r->line_start = r->at + 1;
			break;
		case ' ':
		case '\t':
		case '\r':
			break;
		default:
			return;
		}
	}
}

static struct location json_place(const struct json_reader *r, size_t offset)
{
	return (struct location){ r->in->file, r->line, (uint32_t)(offset - r->line_start) + 1 };
}

/* How many bytes from r->at on are a word or number, however wrong. */
static size_t json_word_length(const struct json_reader *r)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789+-._";
	size_t n = 0, rest = r->in->len - r->at;
	const char *s = r->in->text + r->at;

	while (n < rest && (strchr(set, s[n]) || (unsigned char)s[n] >= 0x80))
		n++;
	return n;
}

/* Mistakes that people make; NULL where the complaint alone must do. */
static const char *json_hint(const struct json_reader *r, const char *found, size_t len)
{
	static const char *const words[] = { "True", "False", "None", "Null", "TRUE", "FALSE",
		"NULL", NULL };
	size_t before = r->at;

	if (len && strchr("]}", found[0])) {
		while (before > 0 && strchr(" \t\r\n", r->in->text[before - 1]))
			before--;
		if (before > 0 && r->in->text[before - 1] == ',')
			return "JSON allows no comma after the last entry";
	}
	if (len && found[0] == '\'')
		return "JSON text stands in double quotes";
	if (len && strchr("/#", found[0]))
		return "JSON has no comments";
	return words_find(words, found, len) < 0
		       ? NULL
		       : "JSON has true, false and null, in small letters";
}

static int json_unexpected(struct json_reader *r, const char *wanted)
{
	struct location at = json_place(r, r->at);
	size_t len = json_word_length(r);
	const char *found = r->in->text + r->at, *help;

	if (json_peek(r) == END)
		return error_set(
			r->b.error, -EINVAL, &at, "expected %s, found the end of the text", wanted);
	len = len ? len : 1;
	(void)error_set(r->b.error, -EINVAL, &at, "expected %s, found %c%.*s%c", wanted,
		*found == '\'' ? '"' : '\'', input_excerpt(found, len), found,
		*found == '\'' ? '"' : '\'');
	help = json_hint(r, found, len);
	if (help)
		error_hint(r->b.error, "%s", help);
	return -EINVAL;
}

/* Four digits after "\u". */
static int json_read_hex4(struct json_reader *r, uint32_t *ret)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int c = json_peek(r), digit = c == END ? -1 : ascii_hex((char)c);

		if (digit < 0)
			return json_unexpected(r, "four hexadecimal digits after \\u");
		value = value << 4 | (uint32_t)digit;
		r->at++;
	}
	*ret = value;
	return 0;
}

/* The rest of an escape after "\u"; a character beyond U+FFFF takes two of them. */
static int json_read_unicode(struct json_reader *r)
{
	struct location at = json_place(r, r->at - 2);
	uint32_t c = 0, low = 0;
	char bytes[4];
	size_t n;
	int res = json_read_hex4(r, &c);

	if (res < 0)
		return res;
	if (c >= 0xd800 && c < 0xdc00 && json_take(r, '\\') && json_take(r, 'u')) {
		res = json_read_hex4(r, &low);
		if (res < 0)
			return res;
		if (low >= 0xdc00 && low < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	/* Half a pair is no character, and the only thing here that has no encoding. */
	n = utf8_encode(c, bytes);
	if (!n)
		return error_set(r->b.error, -EINVAL, &at,
			"expected a character, found half a surrogate pair, '\\u%04x'",
			(unsigned)c);
	buffer_add(&r->scratch, bytes, n);
	return 0;
}

static int json_read_escape(struct json_reader *r)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int c;

	r->at++;
	if (json_take(r, 'u'))
		return json_read_unicode(r);
	c = json_peek(r);
	letter = c > 0 ? strchr(letters, c) : NULL;
	if (!letter)
		return json_unexpected(r, "one of \" \\ / b f n r t u after a backslash");
	buffer_addc(&r->scratch, meanings[letter - letters]);
	r->at++;
	return 0;
}

/* Reads a string into r->scratch, which stays. */
static int json_read_string(struct json_reader *r)
{
	struct location start = json_place(r, r->at), at;
	int res = 0;

	buffer_clear(&r->scratch);
	for (r->at++; res == 0;) {
		size_t from = r->at;

		/* Bytes up to the next one that means something. */
		while (json_peek(r) >= 0x20 && json_peek(r) != '"' && json_peek(r) != '\\')
			r->at++;
		buffer_add(&r->scratch, r->in->text + from, r->at - from);
		if (json_take(r, '"'))
			return r->scratch.failed ? builder_no_memory(&r->b) : 0;
		if (json_peek(r) == '\\') {
			res = json_read_escape(r);
		} else if (json_peek(r) == END) {
			res = error_set(r->b.error, -EINVAL, &start,
				"expected '\"' at the end of this text, found the end of the text");
		} else {
			at = json_place(r, r->at);
			res = error_set(r->b.error, -EINVAL, &at,
				"expected '\"' or a character, found control byte 0x%02x",
				json_peek(r));
			error_hint(
				r->b.error, "inside text write \\n, \\t or \\u%04x", json_peek(r));
		}
	}
	return res;
}

static int json_read_number(struct json_reader *r)
{
	struct location at = json_place(r, r->at);
	size_t len = json_word_length(r);

	buffer_clear(&r->scratch);
	buffer_add(&r->scratch, r->in->text + r->at, len);
	if (r->scratch.failed)
		return builder_no_memory(&r->b);
	if (!scalar_is_json_number(r->scratch.data)) {
		(void)json_unexpected(r, "a number");
		error_hint(r->b.error, "JSON numbers are decimal and finite, such as -12.5e3: no "
				       "leading 0 or +, digits on both sides of the point");
		return -EINVAL;
	}
	r->at += len;
	return builder_scalar(&r->b, &at, NODE_NUMBER, r->scratch.data, len);
}

static int json_read_word(struct json_reader *r)
{
	static const struct {
		const char *word;
		enum node_type type;
	} words[] = { { "true", NODE_BOOL }, { "false", NODE_BOOL }, { "null", NODE_NULL } };
	struct location at = json_place(r, r->at);
	size_t len = json_word_length(r);

	for (size_t i = 0; i < ROWS(words); i++) {
		if (len != strlen(words[i].word) ||
			memcmp(r->in->text + r->at, words[i].word, len) != 0)
			continue;
		r->at += len;
		return builder_scalar(&r->b, &at, words[i].type, words[i].word, len);
	}
	return json_unexpected(r, "a value");
}

static int json_read_value(struct json_reader *r);

/* "key": value */
static int json_read_member(struct json_reader *r)
{
	struct location at = json_place(r, r->at);
	int res;

	if (json_peek(r) != '"')
		return json_unexpected(r, "a key in double quotes");
	res = json_read_string(r);
	if (res < 0)
		return res;
	res = builder_key(&r->b, &at, r->scratch.data, r->scratch.len);
	if (res < 0)
		return res;
	json_skip_space(r);
	if (!json_take(r, ':'))
		return json_unexpected(r, "':' after the key");
	json_skip_space(r);
	return json_read_value(r);
}

static int json_read_container(struct json_reader *r, enum node_type type)
{
	const char end = type == NODE_MAP ? '}' : ']';
	struct location at = json_place(r, r->at);
	int res = builder_open(&r->b, &at, type);

	r->at++;
	json_skip_space(r);
	if (res == 0 && json_take(r, end))
		return builder_close(&r->b);
	while (res == 0) {
		res = type == NODE_MAP ? json_read_member(r) : json_read_value(r);
		if (res < 0)
			return res;
		json_skip_space(r);
		if (json_take(r, end))
			return builder_close(&r->b);
		if (!json_take(r, ','))
			return json_unexpected(r, type == NODE_MAP ? "',' or '}'" : "',' or ']'");
		json_skip_space(r);
	}
	return res;
}

static int json_read_value(struct json_reader *r)
{
	struct location at = json_place(r, r->at);
	int c = json_peek(r), res;

	switch (c) {
	case '{':
		return json_read_container(r, NODE_MAP);
	case '[':
		return json_read_container(r, NODE_LIST);
	case '"':
		res = json_read_string(r);
		return res < 0 ? res
			       : builder_scalar(
					 &r->b, &at, NODE_STRING, r->scratch.data, r->scratch.len);
	default:
		return c == '-' || (c >= '0' && c <= '9') ? json_read_number(r) : json_read_word(r);
	}
}

static int json_read_document(struct json_reader *r)
{
	struct location start = json_place(r, 0);
	int res;

	if (input_bom(r->in->text, r->in->len)) {
		(void)error_set(
			r->b.error, -EINVAL, &start, "expected a value, found a byte order mark");
		error_hint(r->b.error, "save the file as UTF-8 without one");
		return -EINVAL;
	}
	json_skip_space(r);
	res = json_read_value(r);
	if (res < 0)
		return res;
	json_skip_space(r);
	return json_peek(r) == END ? 0 : json_unexpected(r, "the end of the text");
}

int json_read(struct document *d, const char *file, const char *text, size_t len, struct error *e)
{
	return json_read_within(d, file, text, len, &NODE_BOUNDS, e);
}

int json_read_within(struct document *d, const char *file, const char *text, size_t len,
	const struct node_bounds *bounds, struct error *e)
{
	const struct input in = { file, len ? text : "", len, 1, *bounds };
	struct json_reader r = { .in = &in, .line = 1 };
	int res = builder_begin(&r.b, d, &in, e);

	if (res == 0)
		res = json_read_document(&r);
	buffer_deinit(&r.scratch);
	return builder_end(&r.b, res);
}
