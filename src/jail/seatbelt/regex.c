/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/seatbelt/regex.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/match/glob.h"

static bool is_holdable(unsigned b)
{
	return b >= 0x20 && b != 0x7f && b != '"';
}

static void seatbelt_regex_print_byte(unsigned char b, struct buffer *out)
{
	if (strchr(".^$*+?()[]{}|\\", b))
		buffer_addc(out, '\\');
	buffer_addc(out, (char)b);
}

/* Inside brackets these mean something, depending on where they stand. */
static bool is_awkward(unsigned b)
{
	return b == ']' || b == '^' || b == '-';
}

/* All members but the awkward ones: single, or as runs like a-z. */
static void print_runs(const bool in[128], struct buffer *out)
{
	for (unsigned lo = 0; lo < 128; lo++) {
		unsigned hi = lo;

		if (!in[lo] || is_awkward(lo))
			continue;
		while (hi + 1 < 128 && in[hi + 1] && !is_awkward(hi + 1))
			hi++;
		buffer_addc(out, (char)lo);
		if (hi > lo + 1)
			buffer_addc(out, '-');
		if (hi > lo)
			buffer_addc(out, (char)hi);
		lo = hi;
	}
}

/* A ] must come first, a ^ must not, and a - is plain at either end. */
static void print_set(const bool in[128], bool negated, struct buffer *out)
{
	size_t start;

	buffer_adds(out, negated ? "[^" : "[");
	start = out->len;
	if (in[']'])
		buffer_addc(out, ']');
	print_runs(in, out);
	if (in['^'] && out->len == start && !negated)
		buffer_adds(out, "-^"); /* a set of one is a byte to glob.h, so - is there too */
	else
		buffer_printf(out, "%s%s", in['^'] ? "^" : "", in['-'] ? "-" : "");
	buffer_addc(out, ']');
}

/*
 * A set is ASCII only, or has all above ASCII: then it was written negated, and what it lacks is
 * listed (the slash is always among that).
 */
static int seatbelt_regex_print_class(const struct glob_class *class, struct buffer *out)
{
	bool negated = glob_class_has(class, 0xff);
	bool in[128] = { false };

	for (unsigned b = 1; b < 128; b++) {
		in[b] = glob_class_has(class, (unsigned char)b) != negated;
		if (in[b] && (!is_holdable(b) || b == '\\'))
			return -EDOM;
	}
	print_set(in, negated, out);
	return 0;
}

static int print_token(const struct glob_token *t, struct buffer *out)
{
	switch (t->type) {
	case GLOB_BYTE:
		seatbelt_regex_print_byte(t->byte, out);
		return is_holdable(t->byte) ? 0 : -EDOM;
	case GLOB_ANY:
		buffer_adds(out, "[^/]");
		return 0;
	case GLOB_CLASS:
		return seatbelt_regex_print_class(t->class, out);
	case GLOB_STAR:
		buffer_adds(out, "[^/]*");
		return 0;
	case GLOB_TREE:
		buffer_adds(out, "/(.*/)?");
		return 0;
	case GLOB_TAIL:
		buffer_adds(out, "(/.*)?");
		return 0;
	}
	return -EDOM;
}

int seatbelt_regex_print(const struct glob_alternative *alt, struct buffer *out)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < alt->n; i++)
		r = print_token(&alt->tokens[i], out);
	return r;
}
