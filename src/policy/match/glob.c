/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching one pattern against one path, by keeping the set of all places in the pattern that the
 * text so far can lead to. Each byte moves the whole set once, so the time is at most pattern x
 * path and no pattern is slow. Places are bits: bit i means "the tokens before i are matched"; a
 * GLOB_TREE or GLOB_TAIL at i that has begun and runs on has a bit of its own in `inside`.
 */
#include "policy/match/glob.h"

#include <string.h>

#include "base/buffer.h"

enum { WORDS = (GLOB_LENGTH_MAX + 64) / 64 };

struct glob_places {
	uint64_t at[WORDS], inside[WORDS];
};

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

static bool has_bit(const uint64_t *bits, size_t i)
{
	return bits[i >> 6] >> (i & 63) & 1;
}

/* Place i, and what needs no byte from there. */
static void glob_arrive(struct glob_places *p, const struct glob_alternative *alt, size_t i)
{
	set_bit(p->at, i);
	while (i < alt->n && alt->tokens[i].type == GLOB_STAR)
		set_bit(p->at, ++i);
}

/* Moves from place i over byte b. */
static void glob_match_move(
	struct glob_places *next, const struct glob_alternative *alt, size_t i, unsigned char b)
{
	const struct glob_token *t = &alt->tokens[i];

	switch (t->type) {
	case GLOB_BYTE:
	case GLOB_ANY:
	case GLOB_CLASS:
		if (glob_token_has(t, b))
			glob_arrive(next, alt, i + 1);
		break;
	case GLOB_STAR:
		if (b != '/')
			glob_arrive(next, alt, i);
		break;
	case GLOB_TREE:
		if (b == '/') {
			set_bit(next->inside, i);
			glob_arrive(next, alt, i + 1);
		}
		break;
	case GLOB_TAIL:
		if (b == '/')
			set_bit(next->inside, i);
		break;
	}
}

static void glob_places_clear(struct glob_places *p, size_t words)
{
	memset(p->at, 0, words * sizeof(p->at[0]));
	memset(p->inside, 0, words * sizeof(p->inside[0]));
}

static void glob_match_step(struct glob_places *next, const struct glob_places *now,
	const struct glob_alternative *alt, unsigned char b)
{
	size_t words = alt->n / 64 + 1;

	glob_places_clear(next, words);
	for (size_t w = 0; w < words; w++) {
		for (uint64_t bits = now->at[w]; bits; bits &= bits - 1) {
			size_t i = w * 64 + (size_t)__builtin_ctzll(bits);

			if (i < alt->n)
				glob_match_move(next, alt, i, b);
		}
		for (uint64_t bits = now->inside[w]; bits; bits &= bits - 1) {
			size_t i = w * 64 + (size_t)__builtin_ctzll(bits);

			set_bit(next->inside, i);
			if (alt->tokens[i].type == GLOB_TREE && b == '/')
				glob_arrive(next, alt, i + 1);
		}
	}
}

bool glob_alternative_match(const struct glob_alternative *alt, const char *path, size_t len)
{
	struct glob_places a, b, *now = &a, *next = &b;
	bool tail = alt->n && alt->tokens[alt->n - 1].type == GLOB_TAIL;

	glob_places_clear(now, alt->n / 64 + 1);
	glob_arrive(now, alt, 0);
	for (size_t i = 0; i < len; i++) {
		struct glob_places *swap = now;

		glob_match_step(next, now, alt, (unsigned char)path[i]);
		now = next;
		next = swap;
	}
	return has_bit(now->at, alt->n) ||
	       (tail && (has_bit(now->at, alt->n - 1) || has_bit(now->inside, alt->n - 1)));
}

bool glob_match(const struct glob *g, const char *path, size_t len)
{
	for (size_t i = 0; i < g->n; i++) {
		if (glob_alternative_match(&g->alternatives[i], path, len))
			return true;
	}
	return false;
}

bool glob_match_text(const char *pattern, const char *text)
{
	auto_arena a = { 0 };
	struct glob g;

	return glob_parse(&g, &a, pattern, NULL, NULL) == 0 && glob_match(&g, text, strlen(text));
}

/* Tokens back to text, in the one spelling that parses to the same tokens. */

/* '$' would be a variable, '~' only at the start, where a path has its slash. */
#define GLOB_SPECIAL "*?[]{}\\$"
#define GLOB_SPECIAL_IN_CLASS "[]!^-\\"

static void glob_print_byte(unsigned char b, const char *escaped, struct buffer *out)
{
	if (strchr(escaped, b))
		buffer_addc(out, '\\');
	buffer_addc(out, (char)b);
}

void glob_print_literal(const char *text, size_t len, struct buffer *out)
{
	for (size_t i = 0; i < len; i++)
		glob_print_byte((unsigned char)text[i], GLOB_SPECIAL, out);
}

/* Sets hold either ASCII only, or all above it (a negated set): see glob-parse.c. */
static void glob_print_class(const struct glob_class *c, struct buffer *out)
{
	bool negated = glob_class_has(c, 0xff);

	buffer_adds(out, negated ? "[!" : "[");
	for (unsigned lo = 1; lo < 0x80; lo++) {
		unsigned hi = lo;

		if (lo == '/' || glob_class_has(c, (unsigned char)lo) == negated)
			continue;
		while (hi + 1 < 0x80 && hi + 1 != '/' &&
			glob_class_has(c, (unsigned char)(hi + 1)) != negated)
			hi++;
		glob_print_byte((unsigned char)lo, GLOB_SPECIAL_IN_CLASS, out);
		if (hi > lo + 1)
			buffer_addc(out, '-');
		if (hi > lo)
			glob_print_byte((unsigned char)hi, GLOB_SPECIAL_IN_CLASS, out);
		lo = hi;
	}
	buffer_addc(out, ']');
}

static bool is_slash(const struct glob_token *t)
{
	return t->type == GLOB_BYTE && t->byte == '/';
}

/* GLOB_ANY GLOB_STAR as a whole component is how a lone "*" is kept. */
static bool is_lone_star(const struct glob_alternative *alt, size_t i)
{
	const struct glob_token *t = &alt->tokens[i];
	bool starts = i > 0 && (is_slash(t - 1) || t[-1].type == GLOB_TREE);
	bool star = t->type == GLOB_ANY && i + 1 < alt->n && t[1].type == GLOB_STAR;

	return starts && star &&
	       (i + 2 == alt->n || is_slash(t + 2) || t[2].type == GLOB_TREE ||
		       t[2].type == GLOB_TAIL);
}

void glob_print(const struct glob_alternative *alt, struct buffer *out)
{
	static const char *const texts[] = {
		[GLOB_ANY] = "?", [GLOB_STAR] = "*", [GLOB_TREE] = "/**/", [GLOB_TAIL] = "/**"
	};

	for (size_t i = 0; i < alt->n; i++) {
		const struct glob_token *t = &alt->tokens[i];

		if (is_lone_star(alt, i))
			continue;
		if (t->type == GLOB_BYTE)
			glob_print_byte(t->byte, GLOB_SPECIAL, out);
		else if (t->type == GLOB_CLASS)
			glob_print_class(t->class, out);
		else
			buffer_adds(out, texts[t->type]);
	}
}
