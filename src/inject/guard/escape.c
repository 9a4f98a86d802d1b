/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/guard/escape.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/utf8.h"

enum {
	ESCAPE_LEN_MAX = 10,   /* of one that is looked at */
	ESCAPE_BREAK_MAX = 64, /* of the break of a line, with what follows it */
	ESCAPE_BREAKS = 2,     /* CR LF */
	CODE_MAX = 0xffff,
	BYTE = 8,
	DECIMAL = 10,
	HEXADECIMAL = 16,
	ESCAPE_LANES = 4, /* a bit for each of their bytes */
};
/* By this product the lowest bits of the eight bytes of a word come to stand in its highest one. */
#define ESCAPE_LOWEST UINT64_C(0x0101010101010101)
#define ESCAPE_GATHER UINT64_C(0x0102040810204080)

typedef unsigned char escape_lane __attribute__((vector_size(16)));

/* The number that `digits` digits at most stand for; returns how many there were. */
static size_t escape_number(
	const char *text, size_t len, size_t digits, unsigned base, uint32_t *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < len && n < digits) {
		const int digit = ascii_hex(text[n]);

		if (digit < 0 || (unsigned)digit >= base)
			break;
		*ret = *ret * base + (uint32_t)digit;
		n++;
	}
	return n;
}

static bool escape_byte(struct escape *ret, uint32_t byte, size_t len)
{
	*ret = (struct escape){ .bytes = { (char)byte }, .n = 1, .len = len };
	return true;
}

static bool escape_code(struct escape *ret, uint32_t code, size_t len)
{
	*ret = (struct escape){ .len = len };
	if (code <= CODE_MAX)
		ret->n = utf8_encode(code, ret->bytes);
	return ret->n > 0;
}

/* Ways to write a character. Each says what stands at the start of a text, which begins as it does.
 */

static bool escape_read_percent(const char *text, size_t len, struct escape *ret)
{
	uint32_t byte;

	return escape_number(text + 1, len - 1, 2, HEXADECIMAL, &byte) == 2 &&
	       escape_byte(ret, byte, 3);
}

static bool escape_read_plus(const char *text, size_t len, struct escape *ret)
{
	(void)text;
	(void)len;
	return escape_byte(ret, ' ', 1);
}

static bool escape_read_backslash(const char *text, size_t len, struct escape *ret)
{
	static const char letters[] = "\"\\/'bfnrt", meanings[] = "\"\\/'\b\f\n\r\t";
	const char *letter = len > 1 && text[1] ? strchr(letters, text[1]) : NULL;
	uint32_t code;

	if (letter)
		return escape_byte(ret, (uint8_t)meanings[letter - letters], 2);
	if (len > 2 && text[1] == 'u')
		return escape_number(text + 2, len - 2, 4, HEXADECIMAL, &code) == 4 &&
		       escape_code(ret, code, 6);
	return len > 2 && text[1] == 'x' &&
	       escape_number(text + 2, len - 2, 2, HEXADECIMAL, &code) == 2 &&
	       escape_byte(ret, code, 4);
}

static bool escape_read_entity(const char *text, size_t len, struct escape *ret)
{
	static const struct {
		const char *name;
		char c;
	} names[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
		{ "&apos;", '\'' }, { "&sol;", '/' }, { "&plus;", '+' }, { "&equals;", '=' },
		{ "&lowbar;", '_' } };
	const size_t from = len > 2 && (text[2] | 0x20) == 'x' ? 3 : 2;
	uint32_t code;
	size_t n;

	for (size_t i = 0; i < ROWS(names); i++) {
		n = strlen(names[i].name);
		if (n <= len && memcmp(text, names[i].name, n) == 0)
			return escape_byte(ret, (uint8_t)names[i].c, n);
	}
	if (len < 4 || text[1] != '#')
		return false;
	n = escape_number(text + from, len - from, ESCAPE_LEN_MAX - from - 1,
		from == 3 ? HEXADECIMAL : DECIMAL, &code);
	return n > 0 && from + n < len && text[from + n] == ';' &&
	       escape_code(ret, code, from + n + 1);
}

static const struct escape_row {
	char lead;
	/* Whether what follows the lead may be written by others, as in \&quot; for \". */
	bool has_rest;
	bool is_outer; /* others may be written by it */
	bool (*read)(const char *text, size_t len, struct escape *ret);
} escape_rows[] = {
	{ '%', false, true, escape_read_percent },
	{ '\\', true, true, escape_read_backslash },
	{ '&', false, true, escape_read_entity },
	{ '+', false, false, escape_read_plus },
};

/* Rows of the table, from 1 on. */
static const uint8_t escape_row_of[UINT8_MAX + 1] = { ['%'] = 1, ['\\'] = 2, ['&'] = 3, ['+'] = 4 };

static const struct escape_row *escape_row(char lead)
{
	const uint8_t i = escape_row_of[(uint8_t)lead];

	return i > 0 ? &escape_rows[i - 1] : NULL;
}

/* Which of these bytes lead, without a branch for each. */
static inline escape_lane escape_leads_in(const char *text, char plus)
{
	escape_lane lane;

	memcpy(&lane, text, sizeof(lane));
	return (escape_lane)((lane == '%') | (lane == '&') | (lane == '\\') | (lane == '\n') |
			     (lane == '\r') | (lane == (unsigned char)plus));
}

/* A bit for each byte of a block that leads, the first one's the lowest; 0: there is none. */
static inline uint64_t escape_block(const char *text, char plus)
{
	const size_t lane = sizeof(escape_lane);
	escape_lane found[ESCAPE_LANES], any = { 0 };
	uint64_t words[2], bits = 0;

	for (size_t i = 0; i < ESCAPE_LANES; i++) {
		found[i] = escape_leads_in(text + i * lane, plus);
		any |= found[i];
	}
	memcpy(words, &any, sizeof(words));
	if ((words[0] | words[1]) == 0)
		return 0;
	/* The lowest bits of eight bytes, side by side. */
	for (size_t i = ESCAPE_LANES; i-- > 0;) {
		memcpy(words, &found[i], sizeof(words));
		for (size_t k = 2; k-- > 0;)
			bits = bits << BYTE |
			       (le64toh(words[k]) & ESCAPE_LOWEST) * ESCAPE_GATHER >> (64 - BYTE);
	}
	return bits;
}

/* The next block with some. */
static void escape_look(struct escape_scan *s)
{
	const size_t block = ESCAPE_LANES * sizeof(escape_lane);
	const char plus = s->has_plus ? '+' : '%';
	char rest[ESCAPE_LANES * sizeof(escape_lane)] = { 0 };

	for (; s->bits == 0 && s->from + block <= s->len; s->from += block) {
		s->at = s->from;
		s->bits = escape_block(s->text + s->from, plus);
	}
	if (s->bits != 0 || s->from == s->len)
		return;
	/* Zero bytes lead nowhere. */
	memcpy(rest, s->text + s->from, s->len - s->from);
	s->at = s->from;
	s->from = s->len;
	s->bits = escape_block(rest, plus);
}

size_t escape_next(struct escape_scan *s)
{
	size_t n;

	if (s->bits == 0 && s->from < s->len)
		escape_look(s);
	if (s->bits == 0)
		return s->len;
	n = (size_t)__builtin_ctzll(s->bits);
	s->bits &= s->bits - 1;
	return s->at + n;
}

/* An escape whose characters are written by `outer`, from the first on. */
static bool escape_read_inner(const struct escape_row *outer, const struct escape_row *inner,
	const char *text, size_t len, struct escape *ret)
{
	char plain[ESCAPE_LEN_MAX];
	size_t ends[ESCAPE_LEN_MAX], n = 0, at = 0;
	struct escape x;

	while (n < ESCAPE_LEN_MAX && at < len) {
		if (text[at] == outer->lead && outer->read(text + at, len - at, &x)) {
			plain[n] = x.bytes[0];
			at += x.len;
		} else {
			plain[n] = text[at++];
		}
		ends[n++] = at;
	}
	if (!inner->read(plain, n, ret))
		return false;
	ret->len = ends[ret->len - 1];
	return true;
}

/* What `outer` writes is not the lead, as in \&quot; for \". */
static bool escape_read_rest(const struct escape_row *outer, const struct escape_row *row,
	const char *text, size_t len, struct escape *ret)
{
	const size_t near = len < ESCAPE_LEN_MAX ? len : ESCAPE_LEN_MAX;

	return outer != row && memchr(text + 1, outer->lead, near - 1) &&
	       escape_read_inner(outer, row, text, len, ret);
}

size_t escape_read(const char *text, size_t len, struct escape ret[ESCAPE_READINGS_MAX])
{
	const struct escape_row *row = len > 0 ? escape_row(text[0]) : NULL, *inner;
	size_t n = row && row->read(text, len, &ret[0]);

	inner = n == 1 && ret[0].n == 1 && ret[0].len > 1 ? escape_row(ret[0].bytes[0]) : NULL;
	if (inner && escape_read_inner(row, inner, text, len, &ret[1]))
		n++;
	for (size_t i = 0; row && row->has_rest && i < ROWS(escape_rows); i++)
		if (escape_rows[i].is_outer &&
			escape_read_rest(&escape_rows[i], row, text, len, &ret[n]) &&
			(n == 0 || ret[n].len != ret[0].len))
			n++;
	return n;
}

/* The next character breaks the line. */
static size_t escape_one_break(const char *text, size_t len)
{
	struct escape all[ESCAPE_READINGS_MAX];

	if (len == 0 || text[0] == '\n' || text[0] == '\r')
		return len > 0;
	for (size_t i = 0, n = escape_read(text, len, all); i < n; i++)
		if (all[i].bytes[0] == '\n' || all[i].bytes[0] == '\r')
			return all[i].len;
	return 0;
}

size_t escape_break(const char *text, size_t len)
{
	size_t at = 0;

	len = len < ESCAPE_BREAK_MAX ? len : ESCAPE_BREAK_MAX;
	for (int i = 0; i < ESCAPE_BREAKS; i++)
		at += escape_one_break(text + at, len - at);
	while (at > 0 && at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}
