/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pattern against one path, by keeping the set of all places in the pattern that the text so
 * far can lead to. Each byte moves the whole set once, so the time is at most pattern x path and no
 * pattern is slow. Places are bits: bit i means "the tokens before i are matched"; a GLOB_TREE or
 * GLOB_TAIL at i that has begun and runs on has a bit of its own in `inside`.
 */
#include <string.h>

#include "policy/match/glob.h"

enum { WORDS = (GLOB_LENGTH_MAX + 64) / 64 };

struct places {
	uint64_t at[WORDS], inside[WORDS];
};

static void glob_match_set(uint64_t *bits, size_t i)
{
	bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

static bool glob_match_has(const uint64_t *bits, size_t i)
{
	return bits[i >> 6] >> (i & 63) & 1;
}

/* Place i, and what needs no byte from there. */
static void arrive(struct places *p, const struct glob_alternative *alt, size_t i)
{
	glob_match_set(p->at, i);
	while (i < alt->n && alt->tokens[i].type == GLOB_STAR)
		glob_match_set(p->at, ++i);
}

/* Moves from place i over byte b. */
static void move_at(
	struct places *next, const struct glob_alternative *alt, size_t i, unsigned char b)
{
	const struct glob_token *t = &alt->tokens[i];

	switch (t->type) {
	case GLOB_BYTE:
		if (t->byte == b)
			arrive(next, alt, i + 1);
		break;
	case GLOB_ANY:
		if (b != '/')
			arrive(next, alt, i + 1);
		break;
	case GLOB_CLASS:
		if (glob_class_has(t->class, b))
			arrive(next, alt, i + 1);
		break;
	case GLOB_STAR:
		if (b != '/')
			arrive(next, alt, i);
		break;
	case GLOB_TREE:
		if (b == '/') {
			glob_match_set(next->inside, i);
			arrive(next, alt, i + 1);
		}
		break;
	case GLOB_TAIL:
		if (b == '/')
			glob_match_set(next->inside, i);
		break;
	}
}

static void move_inside(
	struct places *next, const struct glob_alternative *alt, size_t i, unsigned char b)
{
	glob_match_set(next->inside, i);
	if (alt->tokens[i].type == GLOB_TREE && b == '/')
		arrive(next, alt, i + 1);
}

static void glob_match_step(struct places *next, const struct places *now,
	const struct glob_alternative *alt, unsigned char b)
{
	size_t words = alt->n / 64 + 1;

	memset(next->at, 0, words * sizeof(next->at[0]));
	memset(next->inside, 0, words * sizeof(next->inside[0]));
	for (size_t w = 0; w < words; w++) {
		for (uint64_t bits = now->at[w]; bits; bits &= bits - 1) {
			size_t i = w * 64 + (size_t)__builtin_ctzll(bits);

			if (i < alt->n)
				move_at(next, alt, i, b);
		}
		for (uint64_t bits = now->inside[w]; bits; bits &= bits - 1)
			move_inside(next, alt, w * 64 + (size_t)__builtin_ctzll(bits), b);
	}
}

bool glob_alternative_match(const struct glob_alternative *alt, const char *path, size_t len)
{
	struct places a, b, *now = &a, *next = &b;
	size_t words = alt->n / 64 + 1;
	bool tail = alt->n && alt->tokens[alt->n - 1].type == GLOB_TAIL;

	memset(a.at, 0, words * sizeof(a.at[0]));
	memset(a.inside, 0, words * sizeof(a.inside[0]));
	arrive(now, alt, 0);
	for (size_t i = 0; i < len; i++) {
		struct places *swap = now;

		glob_match_step(next, now, alt, (unsigned char)path[i]);
		now = next;
		next = swap;
	}
	return glob_match_has(now->at, alt->n) ||
	       (tail && (glob_match_has(now->at, alt->n - 1) ||
				glob_match_has(now->inside, alt->n - 1)));
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
