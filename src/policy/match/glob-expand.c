/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brace expansion as a work list: take a text, split its first group, put the results back. Each
 * text that holds no group is a result. The number of results and of texts waiting is bounded, so
 * {a,b}{a,b}{a,b}… ends with a sentence instead of 2^n strings. Quoting and brackets hide braces
 * and commas.
 */
#include "policy/match/glob-expand.h"

#include <errno.h>
#include <string.h>

#include "policy/match/glob.h"

size_t glob_bracket_length(const char *s)
{
	size_t i = 1;

	if (s[i] == '!' || s[i] == '^')
		i++;
	if (s[i] == ']')
		i++;
	for (; s[i]; i++) {
		if (s[i] == ']')
			return i + 1;
		if (s[i] == '\\' && s[i + 1]) {
			i++;
		} else if (s[i] == '[' && s[i + 1] == ':') {
			const char *end = strstr(s + i + 2, ":]");

			/* "[[:]" is a set of '[' and ':': only a name makes a class. */
			if (end && strspn(s + i + 2, "abcdefghijklmnopqrstuvwxyz") ==
					   (size_t)(end - s) - i - 2)
				i = (size_t)(end - s) + 1;
		}
	}
	return 0;
}

/* Steps over one escaped byte, one bracket expression, or one plain byte. */
static size_t unit_length(const char *s)
{
	size_t n;

	if (s[0] == '\\' && s[1])
		return 2;
	if (s[0] != '[')
		return 1;
	n = glob_bracket_length(s);
	return n ? n : 1;
}

/* The offset of the first '{' that opens a group, or of the end. */
static size_t find_open(const char *s)
{
	size_t i = 0;

	while (s[i] && s[i] != '{')
		i += unit_length(s + i);
	return i;
}

/* From just behind a '{' to the next ',' or '}' of the same group; 0 if the text ends first. */
static size_t item_length(const char *s, bool *ret_closed)
{
	unsigned depth = 0;
	size_t i = 0;

	while (s[i]) {
		if (s[i] == '{')
			depth++;
		else if (s[i] == '}' && depth > 0)
			depth--;
		else if (depth == 0 && (s[i] == '}' || s[i] == ',')) {
			*ret_closed = s[i] == '}';
			return i + 1;
		}
		i += unit_length(s + i);
	}
	return 0;
}

static int glob_expand_too_many(const struct location *where, struct error *e)
{
	error_set(e, -E2BIG, where, "the pattern stands for more than %d patterns",
		GLOB_ALTERNATIVES_MAX);
	error_hint(e, "write several patterns with fewer {…} groups each");
	return -E2BIG;
}

static int glob_expand_unclosed(const struct location *where, struct error *e)
{
	error_set(e, -EINVAL, where, "a { is never closed by a }");
	error_hint(e, "write \\{ for a brace in a file's name");
	return -EINVAL;
}

/* Offset behind the group that opens at `open`; 0 if it is not closed. */
static size_t group_end(const char *text, size_t open)
{
	bool closed = false;
	size_t i = open + 1;

	while (!closed) {
		size_t n = item_length(text + i, &closed);

		if (n == 0)
			return 0;
		i += n;
	}
	return i;
}

/* Puts one text for each item of the group that opens at `open` onto the stack, last item first. */
static int glob_expand_split(
	struct glob_texts *stack, struct arena *a, const char *text, size_t open, size_t end)
{
	size_t first = stack->n, i = open + 1;
	bool closed = false;

	while (!closed) {
		size_t n = item_length(text + i, &closed);
		const char *one = arena_printf(
			a, "%.*s%.*s%s", (int)open, text, (int)(n - 1), text + i, text + end);

		if (!one || ARENA_PUSH(a, stack->items, stack->n, stack->cap, one) < 0)
			return -ENOMEM;
		i += n;
		if (stack->n > GLOB_ALTERNATIVES_MAX)
			return -E2BIG;
	}
	for (size_t lo = first, hi = stack->n - 1; lo < hi; lo++, hi--) {
		const char *swap = stack->items[lo];

		stack->items[lo] = stack->items[hi];
		stack->items[hi] = swap;
	}
	return 0;
}

/* Takes apart one text: a result, or several new texts. */
static int expand_one(struct glob_texts *ret, struct glob_texts *stack, struct arena *a,
	const char *text, const struct location *where, struct error *e)
{
	size_t open = find_open(text), end;
	int r;

	if (text[open] == '\0') {
		if (ret->n >= GLOB_ALTERNATIVES_MAX)
			return glob_expand_too_many(where, e);
		return ARENA_PUSH(a, ret->items, ret->n, ret->cap, text);
	}
	end = group_end(text, open);
	if (end == 0)
		return glob_expand_unclosed(where, e);
	r = glob_expand_split(stack, a, text, open, end);
	return r == -E2BIG ? glob_expand_too_many(where, e) : r;
}

int glob_expand(struct glob_texts *ret, struct arena *a, const char *text,
	const struct location *where, struct error *e)
{
	struct glob_texts stack = { 0 };
	int r = ARENA_PUSH(a, stack.items, stack.n, stack.cap, text);

	*ret = (struct glob_texts){ 0 };
	while (r == 0 && stack.n > 0)
		r = expand_one(ret, &stack, a, stack.items[--stack.n], where, e);
	return r;
}
