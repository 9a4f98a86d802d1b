/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, JSON with comments and JSON5, by one recursive-descent reader: one function per production.
 * It recurses only after places_deeper(), so PLACES_DEPTH_MAX bounds the stack. Texts are decoded,
 * because a key may be written with escapes; a NUL or half of a surrogate pair becomes U+FFFD, so
 * that such a text equals no other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "base/words.h"
#include "mcp/client/internal.h"

static int jp_peek(const struct places_reader *r)
{
	return r->at < r->len ? (unsigned char)r->text[r->at] : -1;
}

static bool jp_starts(const struct places_reader *r, const char *what)
{
	const size_t n = strlen(what);

	return r->len - r->at >= n && memcmp(r->text + r->at, what, n) == 0;
}

/* White space that JSON5 has in addition; its length. */
static size_t jp_wide_space(const struct places_reader *r)
{
	static const char *const spaces[] = { "\v", "\f", "\xc2\xa0", "\xef\xbb\xbf",
		"\xe2\x80\xa8", "\xe2\x80\xa9" };

	for (size_t i = 0; r->dialect == PLACES_JSON5 && i < ROWS(spaces); i++)
		if (jp_starts(r, spaces[i]))
			return strlen(spaces[i]);
	return 0;
}

/* White space and comments. */
static int jp_skip(struct places_reader *r)
{
	for (;;) {
		const int c = jp_peek(r);
		const size_t wide = jp_wide_space(r), start = r->at;

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			r->at++;
		} else if (wide) {
			r->at += wide;
		} else if (r->dialect != PLACES_JSON && jp_starts(r, "//")) {
			while (r->at < r->len && r->text[r->at] != '\n')
				r->at++;
		} else if (r->dialect != PLACES_JSON && jp_starts(r, "/*")) {
			for (r->at += 2; r->at < r->len && !jp_starts(r, "*/");)
				r->at++;
			if (r->at >= r->len)
				return place_expected(r, start, "*/ at the end of this comment");
			r->at += 2;
		} else {
			return 0;
		}
	}
}

/* Four or two hexadecimal digits; -1: they are none. */
static long jp_hex(struct places_reader *r, int digits)
{
	long c = 0;

	for (int i = 0; i < digits; i++) {
		const int d = r->at < r->len ? ascii_hex(r->text[r->at]) : -1;

		if (d < 0)
			return -1;
		c = c << 4 | d;
		r->at++;
	}
	return c;
}

static void jp_add(struct buffer *out, long c)
{
	char bytes[4];
	size_t n = c > 0 ? utf8_encode((uint32_t)c, bytes) : 0;

	if (!n)
		n = utf8_encode(0xfffd, bytes);
	buffer_add(out, bytes, n);
}

/* Behind "\u": a character, or a pair of surrogates. */
static int jp_unicode(struct places_reader *r, struct buffer *out)
{
	long c = jp_hex(r, 4), low;
	size_t before;

	if (c < 0)
		return place_expected(r, r->at, "a hexadecimal digit");
	before = r->at;
	if (c >= 0xd800 && c < 0xdc00 && jp_starts(r, "\\u")) {
		r->at += 2;
		low = jp_hex(r, 4);
		if (low >= 0xdc00 && low < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		else
			r->at = before;
	}
	jp_add(out, c);
	return 0;
}

static int jp_escape(struct places_reader *r, struct buffer *out)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const int c = ++r->at < r->len ? (unsigned char)r->text[r->at] : -1;
	const char *letter = c > 0 ? strchr(letters, c) : NULL;

	if (letter) {
		buffer_addc(out, meanings[letter - letters]);
	} else if (c == 'u') {
		r->at++;
		return jp_unicode(r, out);
	} else if (r->dialect != PLACES_JSON5 || c < 0 || (c >= '1' && c <= '9')) {
		return place_expected(r, r->at, "one of \" \\ / b f n r t u after a backslash");
	} else if (c == 'x') {
		long v;

		r->at++;
		v = jp_hex(r, 2);
		if (v < 0)
			return place_expected(r, r->at, "a hexadecimal digit");
		jp_add(out, v);
		return 0;
	} else if (c == '\r' || c == '\n') { /* the line goes on */
		r->at += jp_starts(r, "\r\n");
	} else if (c == '0' || c == 'v') {
		jp_add(out, c == 'v' ? '\v' : 0);
	} else { /* itself; of a longer character the rest follows */
		buffer_addc(out, (char)c);
	}
	r->at++;
	return 0;
}

/* A text with its quotes; what it says, in the arena. */
static int jp_string(struct places_reader *r, const char **ret)
{
	const char quote = r->text[r->at];
	const size_t start = r->at++;
	auto_buffer out = { 0 };
	int res = 0;

	while (r->at < r->len && r->text[r->at] != quote) {
		const char c = r->text[r->at];

		if (c == '\\') {
			res = jp_escape(r, &out);
			if (res < 0)
				return res;
		} else if (c == '\n' || c == '\r' ||
			   (r->dialect != PLACES_JSON5 && (unsigned char)c < 0x20)) {
			return place_expected(r, r->at, "the quotes at the end of this text");
		} else {
			buffer_addc(&out, c);
			r->at++;
		}
	}
	if (r->at >= r->len)
		return place_expected(r, start, "quotes at the end of this text");
	r->at++;
	*ret = out.failed ? NULL : arena_strndup(r->arena, buffer_text(&out), out.len);
	return *ret ? 0 : error_no_memory(r->error);
}

static bool jp_is_quote(const struct places_reader *r)
{
	return jp_peek(r) == '"' || (r->dialect == PLACES_JSON5 && jp_peek(r) == '\'');
}

static bool jp_is_name(int c)
{
	return c >= 0x80 || c == '_' || c == '$' || (c > 0 && ascii_is_alnum((char)c));
}

static int jp_key(struct places_reader *r, const char **ret)
{
	const size_t start = r->at;

	if (jp_is_quote(r))
		return jp_string(r, ret);
	if (r->dialect != PLACES_JSON5 || !jp_is_name(jp_peek(r)) || ascii_is_digit(r->text[start]))
		return place_expected(r, r->at, "a key in double quotes");
	while (jp_is_name(jp_peek(r)))
		r->at++;
	*ret = arena_strndup(r->arena, r->text + start, r->at - start);
	return *ret ? 0 : error_no_memory(r->error);
}

static size_t jp_digits(const char *s, size_t len, size_t at)
{
	while (at < len && ascii_is_digit(s[at]))
		at++;
	return at;
}

/* A number as RFC 8259 has it. */
static bool jp_is_number(const char *s, size_t len)
{
	size_t at = len && s[0] == '-', start = at;

	at = jp_digits(s, len, at);
	if (at == start || (s[start] == '0' && at > start + 1))
		return false;
	if (at < len && s[at] == '.') {
		start = ++at;
		at = jp_digits(s, len, at);
		if (at == start)
			return false;
	}
	if (at < len && (s[at] | 0x20) == 'e') {
		at++;
		at += at < len && (s[at] == '+' || s[at] == '-');
		start = at;
		at = jp_digits(s, len, at);
		if (at == start)
			return false;
	}
	return at == len;
}

/* What JSON5 adds: a sign, no digits on one side of the point, hexadecimal, Infinity, NaN. */
static bool jp_is_number5(const char *s, size_t len)
{
	static const char *const words[] = { "Infinity", "NaN", NULL };
	size_t digits = 0, at;

	if (len && (s[0] == '+' || s[0] == '-')) {
		s++;
		len--;
	}
	if (words_find(words, s, len) >= 0)
		return true;
	if (len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		for (at = 2; at < len && ascii_hex(s[at]) >= 0; at++)
			;
		return at == len;
	}
	at = jp_digits(s, len, 0);
	digits = at;
	if (at > 1 && s[0] == '0')
		return false;
	if (at < len && s[at] == '.') {
		const size_t point = ++at;

		at = jp_digits(s, len, at);
		digits += at - point;
	}
	if (!digits)
		return false;
	return at == len || ((s[at] | 0x20) == 'e' && s[at + 1 < len ? at + 1 : at] != '.' &&
				    jp_is_number(s + at + 1 + (at + 1 < len && s[at + 1] == '+'),
					    len - at - 1 - (at + 1 < len && s[at + 1] == '+')));
}

static int jp_word(struct places_reader *r)
{
	static const char *const words[] = { "true", "false", "null", NULL };
	const size_t start = r->at;
	const char *s = r->text + start;
	size_t n;

	while (jp_is_name(jp_peek(r)) || (jp_peek(r) > 0 && strchr("+-.", jp_peek(r))))
		r->at++;
	n = r->at - start;
	if (words_find(words, s, n) >= 0 || jp_is_number(s, n) ||
		(r->dialect == PLACES_JSON5 && jp_is_number5(s, n)))
		return 0;
	r->at = start;
	return place_expected(r, start, "a value");
}

static int jp_value(struct places_reader *r, struct text_place **ret);

static int jp_compare_keys(const void *a, const void *b)
{
	const struct text_place *const *x = a, *const *y = b;
	const int c = strcmp((*x)->key, (*y)->key);

	return c ? c : (*x)->key_at < (*y)->key_at ? -1 : 1;
}

static int jp_check_keys(struct places_reader *r, const struct text_place *map)
{
	struct text_place **sorted =
		arena_calloc(r->arena, map->count + 1, sizeof(struct text_place *));
	size_t n = 0;

	if (!sorted)
		return error_no_memory(r->error);
	place_for_each(p, map) sorted[n++] = p;
	qsort(sorted, n, sizeof(struct text_place *), jp_compare_keys);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
			return place_twice(r, sorted[i]->key_at, sorted[i]->key);
	return 0;
}

/* One entry of a list or map, without what is around it. */
static int jp_entry(struct places_reader *r, struct text_place *parent)
{
	const size_t start = r->at;
	const char *key = NULL;
	struct text_place *child = NULL;
	int res = 0;

	if (parent->kind == PLACE_MAP) {
		res = jp_key(r, &key);
		res = res < 0 ? res : jp_skip(r);
		if (res == 0 && jp_peek(r) != ':')
			res = place_expected(r, r->at, "':' after the key");
		if (res < 0)
			return res;
		r->at++;
		res = jp_skip(r);
	}
	res = res < 0 ? res : jp_value(r, &child);
	if (res < 0 || !child)
		return res;
	child->key = key;
	child->key_at = start;
	place_append(parent, child);
	return jp_skip(r);
}

static int jp_entries(struct places_reader *r, struct text_place *parent)
{
	const char close = parent->kind == PLACE_MAP ? '}' : ']';
	int res;

	r->at++;
	res = jp_skip(r);
	while (res == 0 && jp_peek(r) != close) {
		res = jp_entry(r, parent);
		if (res < 0 || jp_peek(r) == close)
			break;
		if (jp_peek(r) != ',')
			return place_expected(r, r->at,
				close == '}' ? "',' or '}' after a value"
					     : "',' or ']' after a value");
		parent->last->comma = r->at++;
		res = jp_skip(r);
		if (res == 0 && jp_peek(r) == close && r->dialect == PLACES_JSON)
			return place_expected(r, r->at, "a value after the comma");
	}
	if (res < 0)
		return res;
	r->at++;
	return parent->kind == PLACE_MAP ? jp_check_keys(r, parent) : 0;
}

static int jp_value(struct places_reader *r, struct text_place **ret)
{
	const int c = jp_peek(r);
	const enum place_kind kind = c == '{'         ? PLACE_MAP
				     : c == '['       ? PLACE_LIST
				     : jp_is_quote(r) ? PLACE_TEXT
						      : PLACE_OTHER;
	const struct location where = { r->file, 0, 0 };
	int res = 0;
	struct text_place *p = place_new(r, kind, &res);

	if (!p)
		return res;
	if (kind == PLACE_TEXT) {
		res = jp_string(r, &p->text);
	} else if (kind == PLACE_OTHER) {
		res = jp_word(r);
	} else if (r->depth >= PLACES_DEPTH_MAX) {
		res = error_set(r->error, -E2BIG, &where,
			"more than %d lists and maps in each other", (int)PLACES_DEPTH_MAX);
	} else {
		r->depth++;
		res = jp_entries(r, p);
		r->depth--;
	}
	p->end = r->at;
	*ret = p;
	return res;
}

int places_read_json(struct places_reader *r, struct text_place **ret)
{
	struct text_place *root = NULL;
	int res = jp_skip(r);

	res = res < 0 ? res : jp_value(r, &root);
	res = res < 0 ? res : jp_skip(r);
	if (res == 0 && r->at < r->len)
		res = place_expected(r, r->at, "the end of the text");
	if (res == 0)
		*ret = root;
	return res;
}
