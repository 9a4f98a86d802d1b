/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to tokens. After brace expansion (glob-expand.c) every alternative is a plain sequence,
 * read once from left to right. Slashes are the only structure: a "**" component swallows the slash
 * before it and becomes GLOB_TREE or, at the end, GLOB_TAIL, so that matching needs no notion of
 * components.
 *
 * What could never match a normal path is refused, because a grant that silently grants nothing is
 * a mistake somebody wants to hear about: "..", [/], an unclosed bracket, a backslash at the end.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/glob.h"
#include "policy/match/glob-expand.h"

/* The alternative being read. */
struct reader {
	struct arena *arena;
	const char *text;
	const struct location *where;
	struct error *error;
	struct glob_token *tokens;
	size_t n, cap;
};

static int glob_parse_push(struct reader *r, struct glob_token t)
{
	return ARENA_PUSH(r->arena, r->tokens, r->n, r->cap, t);
}

static bool glob_parse_is_slash(const struct glob_token *t)
{
	return t->type == GLOB_BYTE && t->byte == '/';
}

/* A component starts here: behind a slash, or behind a "**" that took its slash along. */
static bool at_component(const struct reader *r)
{
	return r->n == 0 || glob_parse_is_slash(&r->tokens[r->n - 1]) ||
	       r->tokens[r->n - 1].type == GLOB_TREE;
}

static int glob_parse_refuse(struct reader *r, const char *what, const char *hint)
{
	error_set(r->error, -EINVAL, r->where, "%s in the pattern %s", what, r->text);
	error_hint(r->error, "%s", hint);
	return -EINVAL;
}

/* Brackets */

static void class_add(struct glob_class *c, unsigned lo, unsigned hi)
{
	for (unsigned b = lo; b <= hi; b++)
		c->bits[b >> 6] |= (uint64_t)1 << (b & 63);
}

static void class_remove(struct glob_class *c, unsigned char b)
{
	c->bits[b >> 6] &= ~((uint64_t)1 << (b & 63));
}

/* The C locale's sets, as ranges. */
static const struct {
	const char *name;
	const char *ranges;
} named_classes[] = {
	{ "alnum", "azAZ09" },
	{ "alpha", "azAZ" },
	{ "blank", "  \t\t" },
	{ "cntrl", "\001\037\177\177" },
	{ "digit", "09" },
	{ "graph", "!~" },
	{ "lower", "az" },
	{ "print", " ~" },
	{ "punct", "!/:@[`{~" },
	{ "space", "  \t\r" },
	{ "upper", "AZ" },
	{ "xdigit", "09afAF" },
};

/* Adds [:name:] at s (behind "[:"); returns the length of "name:]", 0 if there is no such set. */
static size_t class_add_named(struct glob_class *c, const char *s)
{
	for (size_t i = 0; i < ROWS(named_classes); i++) {
		size_t n = strlen(named_classes[i].name);
		const char *range = named_classes[i].ranges;

		if (strncmp(s, named_classes[i].name, n) != 0 || strncmp(s + n, ":]", 2) != 0)
			continue;
		for (; *range; range += 2)
			class_add(c, (unsigned char)range[0], (unsigned char)range[1]);
		return n + 2;
	}
	return 0;
}

/* Reads one member byte, maybe escaped; returns its length. */
static size_t member(const char *s, unsigned char *ret)
{
	if (s[0] == '\\' && s[1]) {
		*ret = (unsigned char)s[1];
		return 2;
	}
	*ret = (unsigned char)s[0];
	return 1;
}

/* The members between the brackets, s..end. */
static int class_read(struct reader *r, struct glob_class *c, const char *s, const char *end)
{
	while (s < end) {
		unsigned char lo, hi;
		size_t named = s[0] == '[' && s[1] == ':' ? class_add_named(c, s + 2) : 0;

		if (named) {
			s += 2 + named;
			continue;
		}
		if (s[0] == '[' && s[1] == ':' && strstr(s, ":]") && strstr(s, ":]") < end &&
			strstr(s, ":]") > s + 1)
			return glob_parse_refuse(r, "an unknown class",
				"known are [:alnum:] [:alpha:] [:blank:] "
				"[:cntrl:] [:digit:] [:graph:] [:lower:] [:print:] [:punct:] "
				"[:space:] "
				"[:upper:] [:xdigit:]");
		s += member(s, &lo);
		hi = lo;
		if (s[0] == '-' && s + 1 < end)
			s += 1 + member(s + 1, &hi);
		if (lo >= 0x80 || hi >= 0x80)
			return glob_parse_refuse(r, "a character outside ASCII in […]",
				"brackets hold single bytes; write {é,è} instead of [éè]");
		class_add(c, lo, hi);
	}
	return 0;
}

static void class_negate(struct glob_class *c)
{
	for (size_t i = 0; i < 4; i++)
		c->bits[i] = ~c->bits[i];
	class_remove(c, 0);
}

/* A set as a token: one byte is that byte. -EINVAL if nothing is left. */
static int class_token(struct reader *r, const struct glob_class *c)
{
	struct glob_token t = { .type = GLOB_CLASS };
	struct glob_class *copy;
	unsigned count = 0;

	for (size_t i = 0; i < 4; i++)
		count += (unsigned)__builtin_popcountll(c->bits[i]);
	if (count == 0)
		return glob_parse_refuse(
			r, "a […] that can match nothing", "brackets never match a slash");
	if (count == 1) {
		t.type = GLOB_BYTE;
		while (!glob_class_has(c, t.byte))
			t.byte++;
		return glob_parse_push(r, t);
	}
	/* All but the slash (and the NUL, which no path holds) is what ? says. */
	if (count == 254)
		return glob_parse_push(r, (struct glob_token){ .type = GLOB_ANY });
	copy = arena_alloc(r->arena, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *c;
	t.class = copy;
	return glob_parse_push(r, t);
}

static int read_bracket(struct reader *r, const char **s)
{
	size_t len = glob_bracket_length(*s);
	const char *at = *s + 1, *end = *s + len - 1;
	struct glob_class c = { 0 };
	bool negated;
	int err;

	if (len == 0)
		return glob_parse_refuse(
			r, "a [ that is never closed", "write \\[ for a bracket in a file's name");
	negated = at[0] == '!' || at[0] == '^';
	err = class_read(r, &c, at + negated, end);
	if (err < 0)
		return err;
	if (negated)
		class_negate(&c);
	class_remove(&c, '/');
	*s += len;
	return class_token(r, &c);
}

/* Stars and slashes */

/* "**" as a whole component: takes the place of the slash before it. */
static int glob_parse_read_tree(struct reader *r, const char **s)
{
	bool last = **s == '\0';

	if (!last)
		(*s)++;
	if (r->n == 0)
		return glob_parse_push(
			r, (struct glob_token){ .type = last ? GLOB_TAIL : GLOB_TREE });
	r->tokens[r->n - 1].type = last ? GLOB_TAIL : GLOB_TREE;
	return 0;
}

static int read_star(struct reader *r, const char **s)
{
	bool start = at_component(r);
	size_t n = strspn(*s, "*");
	int err;

	*s += n;
	if (start && n >= 2 && (**s == '/' || **s == '\0'))
		return glob_parse_read_tree(r, s);
	/* A whole component is never empty. */
	if (start && (**s == '/' || **s == '\0')) {
		err = glob_parse_push(r, (struct glob_token){ .type = GLOB_ANY });
		if (err < 0)
			return err;
	}
	if (r->n && r->tokens[r->n - 1].type == GLOB_STAR)
		return 0;
	return glob_parse_push(r, (struct glob_token){ .type = GLOB_STAR });
}

/* The component that was just read, if it is literal: "." is dropped, ".." refused. */
static int end_component(struct reader *r)
{
	const struct glob_token *t = r->tokens;
	size_t n = r->n;
	bool dot = n >= 1 && t[n - 1].type == GLOB_BYTE && t[n - 1].byte == '.';
	bool dots = dot && n >= 2 && t[n - 2].type == GLOB_BYTE && t[n - 2].byte == '.';

	if (dots && n >= 3 && (glob_parse_is_slash(&t[n - 3]) || t[n - 3].type == GLOB_TREE))
		return glob_parse_refuse(r, "\"..\"", "write the path that it leads to");
	if (dot && n >= 2 && (glob_parse_is_slash(&t[n - 2]) || t[n - 2].type == GLOB_TREE))
		r->n--;
	return 0;
}

static int read_slash(struct reader *r, const char **s)
{
	int err = end_component(r);

	(*s)++;
	if (err < 0)
		return err;
	if (r->n && at_component(r))
		return 0;
	return glob_parse_push(r, (struct glob_token){ .type = GLOB_BYTE, .byte = '/' });
}

static int read_token(struct reader *r, const char **s)
{
	struct glob_token t = { .type = GLOB_BYTE };

	switch (**s) {
	case '/':
		return read_slash(r, s);
	case '*':
		return read_star(r, s);
	case '[':
		return read_bracket(r, s);
	case '?':
		t.type = GLOB_ANY;
		break;
	case '\\':
		if ((*s)[1] == '\0')
			return glob_parse_refuse(
				r, "a backslash at the end", "write \\\\ for a backslash");
		(*s)++;
		if (**s == '/')
			return read_slash(r, s);
		break;
	case '}':
		return glob_parse_refuse(
			r, "a } without a {", "write \\} for a brace in a file's name");
	default:
		break;
	}
	t.byte = t.type == GLOB_BYTE ? (unsigned char)**s : 0;
	(*s)++;
	return glob_parse_push(r, t);
}

/* What all matches start with, and what kind of pattern this is. */
static int summarize(struct reader *r, struct glob_alternative *ret)
{
	size_t n = 0;
	char *literal;

	while (n < r->n && r->tokens[n].type == GLOB_BYTE)
		n++;
	literal = arena_alloc(r->arena, n + 1);
	if (!literal)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		literal[i] = (char)r->tokens[i].byte;
	ret->tokens = r->tokens;
	ret->n = r->n;
	ret->literal = literal;
	ret->literal_len = n;
	ret->kind = n == r->n                                         ? GLOB_LITERAL
		    : n + 1 == r->n && r->tokens[n].type == GLOB_TAIL ? GLOB_SUBTREE
								      : GLOB_TRUE;
	return 0;
}

/* A slash at the end means all below: "DIR/" is "DIR/**"; "/" alone is the root itself. */
static int glob_parse_finish(struct reader *r, struct glob_alternative *ret)
{
	int err = end_component(r);

	if (err < 0)
		return err;
	if (r->n > 1 && glob_parse_is_slash(&r->tokens[r->n - 1]))
		r->tokens[r->n - 1].type = GLOB_TAIL;
	else if (r->n && r->tokens[r->n - 1].type == GLOB_TREE)
		r->tokens[r->n - 1].type = GLOB_TAIL;
	return summarize(r, ret);
}

static int read_alternative(struct arena *a, const char *text, const struct location *where,
	struct error *e, struct glob_alternative *ret)
{
	struct reader r = { .arena = a, .text = text, .where = where, .error = e };
	const char *s = text;

	if (text[0] != '/' && strncmp(text, "**", 2) != 0)
		return glob_parse_refuse(&r, "no slash at the start",
			"patterns are absolute: start with / or with $WORK_DIR, $HOME, …");
	while (*s) {
		int err = read_token(&r, &s);

		if (err < 0)
			return err;
	}
	/* "**x" has no slash at its start after all. */
	if (r.n && !glob_parse_is_slash(&r.tokens[0]) && r.tokens[0].type != GLOB_TREE &&
		r.tokens[0].type != GLOB_TAIL)
		return glob_parse_refuse(&r, "no slash at the start", "write **/x, or /**/x");
	return glob_parse_finish(&r, ret);
}

int glob_parse(struct glob *ret, struct arena *a, const char *text, const struct location *where,
	struct error *e)
{
	struct glob_alternative *alternatives;
	struct glob_texts texts;
	int r;

	if (strlen(text) > GLOB_LENGTH_MAX)
		return error_set(
			e, -E2BIG, where, "the pattern is longer than %d bytes", GLOB_LENGTH_MAX);
	r = glob_expand(&texts, a, text, where, e);
	if (r < 0)
		return r;
	alternatives = arena_calloc(a, texts.n, sizeof(*alternatives));
	if (!alternatives)
		return -ENOMEM;
	for (size_t i = 0; i < texts.n; i++) {
		r = read_alternative(a, texts.items[i], where, e, &alternatives[i]);
		if (r < 0)
			return r;
	}
	*ret = (struct glob){ .alternatives = alternatives, .n = texts.n };
	return 0;
}

int glob_check(const char *pattern, struct error *e)
{
	auto_arena a = { 0 };
	struct glob g;

	return glob_parse(&g, &a, pattern, NULL, e);
}
