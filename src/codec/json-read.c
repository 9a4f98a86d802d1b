/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive-descent reader for RFC 8259: one function per production, one byte of look-ahead. It
 * recurses only behind a successful builder_open(), so NODE_DEPTH_MAX bounds the stack.
 *
 * It is written here rather than taken from a library because every node must know its line and
 * column, and because the laxness of JSON libraries (duplicate keys, lone surrogates, infinities)
 * is what lets two programs read one policy in two ways.
 *
 * The input is known to be UTF-8 without NUL (input.c). Outside strings only white space holds a
 * line break, and inside them none may stand, so skip_space() is the only one that counts lines.
 */
#include "codec/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/builder.h"
#include "codec/scalar.h"

enum { END = -1 };

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct reader {
	struct builder b;
	const struct input *in;
	size_t at;     /* the next byte */
	uint32_t line; /* where that is */
	size_t line_start;
	struct buffer scratch; /* the string or number at hand */
};

static int json_read_peek(const struct reader *r)
{
	return r->at < r->in->len ? (unsigned char)r->in->text[r->at] : END;
}

static bool json_read_take(struct reader *r, char c)
{
	if (json_read_peek(r) != c)
		return false;
	r->at++;
	return true;
}

static void skip_space(struct reader *r)
{
	for (;; r->at++) {
		switch (json_read_peek(r)) {
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

static struct location json_read_place(const struct reader *r, size_t offset)
{
	return (struct location){
		.file = r->in->file,
		.line = r->line,
		.column = (uint32_t)(offset - r->line_start) + 1,
	};
}

/* Bytes from r->at on that are all in the set, or beyond ASCII: a word, however wrong. */
static size_t span(const struct reader *r, const char *set)
{
	size_t n = 0, rest = r->in->len - r->at;
	const char *s = r->in->text + r->at;

	while (n < rest && (strchr(set, s[n]) || (unsigned char)s[n] >= 0x80))
		n++;
	return n;
}

/* Mistakes that people make; NULL where the complaint alone must do. */
static const char *hint(const struct reader *r, const char *found, size_t len)
{
	static const char *const words[] = { "True", "False", "None", "Null", "TRUE", "FALSE",
		"NULL" };
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
	for (size_t i = 0; i < ROWS(words); i++) {
		if (len == strlen(words[i]) && memcmp(found, words[i], len) == 0)
			return "JSON has true, false and null, in small letters";
	}
	return NULL;
}

static int unexpected(struct reader *r, const char *wanted)
{
	struct location at = json_read_place(r, r->at);
	size_t len = span(r, LETTERS DIGITS "+-._");
	const char *found = r->in->text + r->at, *help;

	if (json_read_peek(r) == END)
		return error_set(
			r->b.error, -EINVAL, &at, "expected %s, found the end of the text", wanted);
	if (len == 0)
		len = 1;
	(void)error_set(r->b.error, -EINVAL, &at, "expected %s, found %c%.*s%c", wanted,
		*found == '\'' ? '"' : '\'', input_excerpt(found, len), found,
		*found == '\'' ? '"' : '\'');
	help = hint(r, found, len);
	if (help)
		error_hint(r->b.error, "%s", help);
	return -EINVAL;
}

/* Four digits behind "\u". */
static int read_hex4(struct reader *r, uint32_t *ret)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int c = json_read_peek(r);

		if (c >= '0' && c <= '9')
			c -= '0';
		else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
			c = (c | 0x20) - 'a' + 10;
		else
			return unexpected(r, "four hexadecimal digits behind \\u");
		value = value << 4 | (uint32_t)c;
		r->at++;
	}
	*ret = value;
	return 0;
}

/* The rest of an escape behind "\u"; a character beyond U+FFFF takes two of them. */
static int read_unicode(struct reader *r)
{
	struct location at = json_read_place(r, r->at - 2);
	uint32_t c = 0, low = 0;
	char bytes[4];
	size_t n;
	int res = read_hex4(r, &c);

	if (res < 0)
		return res;
	if (c >= 0xd800 && c < 0xdc00 && json_read_take(r, '\\') && json_read_take(r, 'u')) {
		res = read_hex4(r, &low);
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

static int read_escape(struct reader *r)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int c;

	r->at++;
	if (json_read_take(r, 'u'))
		return read_unicode(r);
	c = json_read_peek(r);
	letter = c > 0 ? strchr(letters, c) : NULL;
	if (!letter)
		return unexpected(r, "one of \" \\ / b f n r t u behind a backslash");
	buffer_addc(&r->scratch, meanings[letter - letters]);
	r->at++;
	return 0;
}

/* Copies bytes up to the next one that means something. */
static void read_run(struct reader *r)
{
	const char *s = r->in->text + r->at;
	size_t n = 0, rest = r->in->len - r->at;

	while (n < rest && s[n] != '"' && s[n] != '\\' && (unsigned char)s[n] >= 0x20)
		n++;
	buffer_add(&r->scratch, s, n);
	r->at += n;
}

/* Reads a string into r->scratch, which stays. */
static int json_read_string(struct reader *r)
{
	struct location start = json_read_place(r, r->at), at;
	int res = 0;

	buffer_clear(&r->scratch);
	for (r->at++; res == 0;) {
		read_run(r);
		if (json_read_take(r, '"'))
			return r->scratch.failed ? builder_no_memory(&r->b) : 0;
		if (json_read_peek(r) == '\\') {
			res = read_escape(r);
		} else if (json_read_peek(r) == END) {
			res = error_set(r->b.error, -EINVAL, &start,
				"expected '\"' at the end of this text, found the end of the text");
		} else {
			at = json_read_place(r, r->at);
			res = error_set(r->b.error, -EINVAL, &at,
				"expected '\"' or a character, found control byte 0x%02x",
				json_read_peek(r));
			error_hint(r->b.error, "inside text write \\n, \\t or \\u%04x",
				json_read_peek(r));
		}
	}
	return res;
}

static int json_read_text(struct reader *r)
{
	struct location at = json_read_place(r, r->at);
	int res = json_read_string(r);

	if (res < 0)
		return res;
	return builder_scalar(&r->b, &at, NODE_STRING, r->scratch.data, r->scratch.len);
}

static int read_number(struct reader *r)
{
	struct location at = json_read_place(r, r->at);
	size_t len = span(r, LETTERS DIGITS "+-._");

	buffer_clear(&r->scratch);
	buffer_add(&r->scratch, r->in->text + r->at, len);
	if (r->scratch.failed)
		return builder_no_memory(&r->b);
	if (!scalar_is_json_number(r->scratch.data)) {
		(void)unexpected(r, "a number");
		error_hint(r->b.error, "JSON numbers are decimal and finite, such as -12.5e3: no "
				       "leading 0 or +, digits on both sides of the point");
		return -EINVAL;
	}
	r->at += len;
	return builder_scalar(&r->b, &at, NODE_NUMBER, r->scratch.data, len);
}

static int json_read_word(struct reader *r)
{
	static const struct {
		const char *word;
		enum node_type type;
	} words[] = { { "true", NODE_BOOL }, { "false", NODE_BOOL }, { "null", NODE_NULL } };
	struct location at = json_read_place(r, r->at);
	size_t len = span(r, LETTERS DIGITS "+-._");

	for (size_t i = 0; i < ROWS(words); i++) {
		if (len != strlen(words[i].word) ||
			memcmp(r->in->text + r->at, words[i].word, len) != 0)
			continue;
		r->at += len;
		return builder_scalar(&r->b, &at, words[i].type, words[i].word, len);
	}
	return unexpected(r, "a value");
}

static int read_value(struct reader *r);

static int json_read_list(struct reader *r)
{
	struct location at = json_read_place(r, r->at);
	int res = builder_open(&r->b, &at, NODE_LIST);

	if (res < 0)
		return res;
	r->at++;
	skip_space(r);
	if (json_read_take(r, ']'))
		return builder_close(&r->b);
	for (;;) {
		res = read_value(r);
		if (res < 0)
			return res;
		skip_space(r);
		if (json_read_take(r, ']'))
			return builder_close(&r->b);
		if (!json_read_take(r, ','))
			return unexpected(r, "',' or ']'");
		skip_space(r);
	}
}

/* "key": value */
static int read_member(struct reader *r)
{
	struct location at = json_read_place(r, r->at);
	int res;

	if (json_read_peek(r) != '"')
		return unexpected(r, "a key in double quotes");
	res = json_read_string(r);
	if (res < 0)
		return res;
	res = builder_key(&r->b, &at, r->scratch.data, r->scratch.len);
	if (res < 0)
		return res;
	skip_space(r);
	if (!json_read_take(r, ':'))
		return unexpected(r, "':' behind the key");
	skip_space(r);
	return read_value(r);
}

static int read_map(struct reader *r)
{
	struct location at = json_read_place(r, r->at);
	int res = builder_open(&r->b, &at, NODE_MAP);

	if (res < 0)
		return res;
	r->at++;
	skip_space(r);
	if (json_read_take(r, '}'))
		return builder_close(&r->b);
	for (;;) {
		res = read_member(r);
		if (res < 0)
			return res;
		skip_space(r);
		if (json_read_take(r, '}'))
			return builder_close(&r->b);
		if (!json_read_take(r, ','))
			return unexpected(r, "',' or '}'");
		skip_space(r);
	}
}

static int read_value(struct reader *r)
{
	int c = json_read_peek(r);

	switch (c) {
	case '{':
		return read_map(r);
	case '[':
		return json_read_list(r);
	case '"':
		return json_read_text(r);
	default:
		return c == '-' || (c >= '0' && c <= '9') ? read_number(r) : json_read_word(r);
	}
}

static int json_read_document(struct reader *r)
{
	struct location start = json_read_place(r, 0);
	int res;

	if (input_bom(r->in->text, r->in->len)) {
		(void)error_set(
			r->b.error, -EINVAL, &start, "expected a value, found a byte order mark");
		error_hint(r->b.error, "save the file as UTF-8 without one");
		return -EINVAL;
	}
	skip_space(r);
	res = read_value(r);
	if (res < 0)
		return res;
	skip_space(r);
	return json_read_peek(r) == END ? 0 : unexpected(r, "the end of the text");
}

int json_read(struct document *d, const char *file, const char *text, size_t len, struct error *e)
{
	const struct input in = {
		.file = file,
		.text = len ? text : "",
		.len = len,
		.first_line = 1,
	};
	struct reader r = { .in = &in, .line = 1 };
	int res = builder_begin(&r.b, d, &in, e);

	if (res == 0)
		res = json_read_document(&r);
	buffer_deinit(&r.scratch);
	return builder_end(&r.b, res);
}
