/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens back to text, in the one spelling that parses to the same tokens. */
#include <string.h>

#include "base/buffer.h"
#include "policy/match/glob.h"

static void glob_print_byte(unsigned char b, struct buffer *out)
{
	/* '$' would be a variable, '~' only at the start, where a path has its slash. */
	if (strchr("*?[]{}\\$", b))
		buffer_addc(out, '\\');
	buffer_addc(out, (char)b);
}

void glob_print_literal(const char *text, size_t len, struct buffer *out)
{
	for (size_t i = 0; i < len; i++)
		glob_print_byte((unsigned char)text[i], out);
}

static void print_member(unsigned char b, struct buffer *out)
{
	if (strchr("[]!^-\\", b))
		buffer_addc(out, '\\');
	buffer_addc(out, (char)b);
}

/* Sets hold either ASCII only, or all above it (a negated set): see class_read. */
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
		print_member((unsigned char)lo, out);
		if (hi > lo + 1)
			buffer_addc(out, '-');
		if (hi > lo)
			print_member((unsigned char)hi, out);
		lo = hi;
	}
	buffer_addc(out, ']');
}

static bool ends_component(const struct glob_alternative *alt, size_t i)
{
	const struct glob_token *t = &alt->tokens[i];

	return i == alt->n || t->type == GLOB_TREE || t->type == GLOB_TAIL ||
	       (t->type == GLOB_BYTE && t->byte == '/');
}

/* GLOB_ANY GLOB_STAR as a whole component is how a lone "*" is kept. */
static bool is_lone_star(const struct glob_alternative *alt, size_t i)
{
	return i > 0 && alt->tokens[i].type == GLOB_ANY && i + 1 < alt->n &&
	       alt->tokens[i + 1].type == GLOB_STAR && ends_component(alt, i + 2) &&
	       (alt->tokens[i - 1].type == GLOB_TREE ||
		       (alt->tokens[i - 1].type == GLOB_BYTE && alt->tokens[i - 1].byte == '/'));
}

void glob_print(const struct glob_alternative *alt, struct buffer *out)
{
	for (size_t i = 0; i < alt->n; i++) {
		const struct glob_token *t = &alt->tokens[i];

		if (is_lone_star(alt, i))
			continue;
		switch (t->type) {
		case GLOB_BYTE:
			glob_print_byte(t->byte, out);
			break;
		case GLOB_ANY:
			buffer_addc(out, '?');
			break;
		case GLOB_CLASS:
			glob_print_class(t->class, out);
			break;
		case GLOB_STAR:
			buffer_addc(out, '*');
			break;
		case GLOB_TREE:
			buffer_adds(out, "/**/");
			break;
		case GLOB_TAIL:
			buffer_adds(out, "/**");
			break;
		}
	}
}
