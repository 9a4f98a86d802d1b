/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to tokens. First brace expansion, as a work list: take a text, split its first group,
 * put the results back. Each text that holds no group is a result. The number of results and of
 * texts waiting is bounded, so {a,b}{a,b}{a,b}… ends with a sentence instead of 2^n strings.
 * Quoting and brackets hide braces and commas.
 *
 * After that every alternative is a plain sequence, read once from left to right. Slashes are the
 * only structure: a "**" component swallows the slash before it and becomes GLOB_TREE or, at the
 * end, GLOB_TAIL, so that matching needs no notion of components.
 *
 * What could never match a normal path is refused, because a grant that silently grants nothing is
 * a mistake that is reported: "..", [/], an unclosed bracket, a backslash at the end.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/glob.h"

/* Expansion */

/* Length of the [...] that starts at s, brackets included; 0 if it is never closed. */
static size_t bracket_length(const char *s)
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
	n = bracket_length(s);
	return n ? n : 1;
}

/* From just after a '{' to the next ',' or '}' of the same group; 0 if the text ends first. */
static size_t group_item(const char *s, bool *ret_closed)
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

/* Puts one text for each item of the group that opens at `open` onto the stack, last item first. */
static int group_split(
	struct glob_texts *stack, struct arena *a, const char *text, size_t open, size_t end)
{
	size_t first = stack->n, i = open + 1;
	bool closed = false;

	while (!closed) {
		size_t n = group_item(text + i, &closed);
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
	size_t open = 0, end, n;
	bool closed = false;

	while (text[open] && text[open] != '{')
		open += unit_length(text + open);
	if (text[open] == '\0')
		return ret->n >= GLOB_ALTERNATIVES_MAX
			       ? -E2BIG
			       : ARENA_PUSH(a, ret->items, ret->n, ret->cap, text);
	for (end = open + 1; !closed; end += n) {
		n = group_item(text + end, &closed);
		if (n == 0) {
			error_set(e, -EINVAL, where, "a { is never closed by a }");
			error_hint(e, "write \\{ for a brace in a file name");
			return -EINVAL;
		}
	}
	return group_split(stack, a, text, open, end);
}

int glob_expand(struct glob_texts *ret, struct arena *a, const char *text,
	const struct location *where, struct error *e)
{
	struct glob_texts stack = { 0 };
	int r;

	*ret = (struct glob_texts){ 0 };
	/* Most have none. */
	if (!strchr(text, '{'))
		return ARENA_PUSH(a, ret->items, ret->n, ret->cap, text);
	r = ARENA_PUSH(a, stack.items, stack.n, stack.cap, text);
	while (r == 0 && stack.n > 0)
		r = expand_one(ret, &stack, a, stack.items[--stack.n], where, e);
	if (r == -E2BIG) {
		error_set(e, r, where, "the pattern expands to more than %d patterns",
			GLOB_ALTERNATIVES_MAX);
		error_hint(e, "use several patterns with fewer {…} groups");
	}
	return r;
}

/* Tokens */

/* The alternative being read. */
struct glob_reader {
	struct arena *arena;
	const char *text;
	const struct location *where;
	struct error *error;
	struct glob_token *tokens; /* room for as many as the text can have */
	size_t n;
};

static int push_token(struct glob_reader *r, struct glob_token t)
{
	r->tokens[r->n++] = t;
	return 0;
}

static int push_type(struct glob_reader *r, enum glob_type type)
{
	return push_token(r, (struct glob_token){ .type = type });
}

/* One for each byte; a star that is a whole component makes two. */
static size_t token_count(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '*' ? 2 : 1;
	return n;
}

static bool is_byte(const struct glob_token *t, unsigned char b)
{
	return t->type == GLOB_BYTE && t->byte == b;
}

/* A component starts after token n: after a slash, or a "**" that took its slash along. */
static bool starts_component(const struct glob_token *tokens, size_t n)
{
	return n == 0 || is_byte(&tokens[n - 1], '/') || tokens[n - 1].type == GLOB_TREE;
}

static int glob_refuse(struct glob_reader *r, const char *what, const char *hint)
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

/* Adds [:name:] at s (after "[:"); returns the length of "name:]", 0 if there is no such set. */
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
static int class_read(struct glob_reader *r, struct glob_class *c, const char *s, const char *end)
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
			return glob_refuse(r, "an unknown character class",
				"valid classes: [:alnum:] [:alpha:] [:blank:] [:cntrl:] "
				"[:digit:] [:graph:] [:lower:] [:print:] [:punct:] [:space:] "
				"[:upper:] [:xdigit:]");
		s += member(s, &lo);
		hi = lo;
		if (s[0] == '-' && s + 1 < end)
			s += 1 + member(s + 1, &hi);
		if (lo >= 0x80 || hi >= 0x80)
			return glob_refuse(r, "a character outside ASCII in […]",
				"brackets match single bytes; write {é,è} instead of [éè]");
		class_add(c, lo, hi);
	}
	return 0;
}

/* A set as a token: one byte is that byte. -EINVAL if nothing is left. */
static int class_token(struct glob_reader *r, const struct glob_class *c)
{
	struct glob_token t = { .type = GLOB_BYTE };
	struct glob_class *copy;
	unsigned count = 0;

	for (size_t i = 0; i < 4; i++)
		count += (unsigned)__builtin_popcountll(c->bits[i]);
	if (count == 0)
		return glob_refuse(
			r, "a […] that can match nothing", "brackets never match a slash");
	if (count == 1) {
		while (!glob_class_has(c, t.byte))
			t.byte++;
		return push_token(r, t);
	}
	/* All but the slash (and the NUL, which no path holds) is what ? says. */
	if (count == 254)
		return push_type(r, GLOB_ANY);
	copy = arena_alloc(r->arena, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *c;
	return push_token(r, (struct glob_token){ .type = GLOB_CLASS, .class = copy });
}

static int read_bracket(struct glob_reader *r, const char **s)
{
	size_t len = bracket_length(*s);
	const char *at = *s + 1, *end = *s + len - 1;
	struct glob_class c = { 0 };
	bool negated;
	int err;

	if (len == 0)
		return glob_refuse(
			r, "a [ that is never closed", "write \\[ for a bracket in a file name");
	negated = at[0] == '!' || at[0] == '^';
	err = class_read(r, &c, at + negated, end);
	if (err < 0)
		return err;
	for (size_t i = 0; negated && i < 4; i++)
		c.bits[i] = ~c.bits[i];
	/* No path holds a NUL, and brackets never match a slash. */
	c.bits[0] &= ~((uint64_t)1 << 0 | (uint64_t)1 << '/');
	*s += len;
	return class_token(r, &c);
}

/* Stars and slashes */

static int read_star(struct glob_reader *r, const char **s)
{
	size_t n = strspn(*s, "*");
	bool last = (*s)[n] == '\0';
	bool whole = starts_component(r->tokens, r->n) && (last || (*s)[n] == '/');

	*s += n;
	/* "**" as a whole component takes the place of the slash before it. */
	if (whole && n >= 2) {
		const enum glob_type type = last ? GLOB_TAIL : GLOB_TREE;

		*s += !last;
		if (r->n == 0)
			return push_type(r, type);
		r->tokens[r->n - 1].type = type;
		return 0;
	}
	/* A whole component is never empty. */
	if (whole)
		(void)push_type(r, GLOB_ANY);
	if (r->n && r->tokens[r->n - 1].type == GLOB_STAR)
		return 0;
	return push_type(r, GLOB_STAR);
}

/* The component that was just read, if it is literal: "." is dropped, ".." refused. */
static int end_component(struct glob_reader *r)
{
	const struct glob_token *t = r->tokens;
	size_t n = r->n;
	bool dot = n >= 2 && is_byte(&t[n - 1], '.');

	if (dot && n >= 3 && is_byte(&t[n - 2], '.') && starts_component(t, n - 2))
		return glob_refuse(r, "\"..\"", "write the path without . and ..");
	if (dot && starts_component(t, n - 1))
		r->n--;
	return 0;
}

static int read_slash(struct glob_reader *r, const char **s)
{
	int err = end_component(r);

	(*s)++;
	if (err < 0)
		return err;
	if (r->n && starts_component(r->tokens, r->n))
		return 0;
	return push_token(r, (struct glob_token){ .type = GLOB_BYTE, .byte = '/' });
}

static int read_token(struct glob_reader *r, const char **s)
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
			return glob_refuse(
				r, "a backslash at the end", "write \\\\ for a backslash");
		(*s)++;
		if (**s == '/')
			return read_slash(r, s);
		break;
	case '}':
		return glob_refuse(r, "a } without a {", "write \\} for a brace in a file name");
	default:
		break;
	}
	t.byte = t.type == GLOB_BYTE ? (unsigned char)**s : 0;
	(*s)++;
	return push_token(r, t);
}

/* What all matches start with, and what kind of pattern this is. */
static int summarize(struct glob_reader *r, struct glob_alternative *ret)
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

static int read_alternative(struct arena *a, const char *text, const struct location *where,
	struct error *e, struct glob_alternative *ret)
{
	struct glob_reader r = { .arena = a, .text = text, .where = where, .error = e };
	struct glob_token *last;
	const char *s = text;
	int err;

	if (text[0] != '/' && strncmp(text, "**", 2) != 0)
		return glob_refuse(&r, "no slash at the start",
			"patterns must be absolute: start with / or with $WORK_DIR, $HOME, …");
	r.tokens = arena_calloc(a, token_count(text), sizeof(*r.tokens));
	if (!r.tokens)
		return -ENOMEM;
	while (*s) {
		/* Most bytes stand for themselves; a token of zeros is a GLOB_BYTE. */
		for (const char *end = s + strcspn(s, "/*[?\\}"); s < end; s++)
			r.tokens[r.n++].byte = (unsigned char)*s;
		err = *s ? read_token(&r, &s) : 0;
		if (err < 0)
			return err;
	}
	/* "**x" has no slash at its start after all. */
	if (r.n && !is_byte(&r.tokens[0], '/') && r.tokens[0].type != GLOB_TREE &&
		r.tokens[0].type != GLOB_TAIL)
		return glob_refuse(&r, "no slash at the start", "write **/x, or /**/x");
	err = end_component(&r);
	if (err < 0)
		return err;
	/* A slash at the end means all below: "DIR/" is "DIR/**"; "/" alone is the root itself. */
	last = r.n ? &r.tokens[r.n - 1] : NULL;
	if (last && (last->type == GLOB_TREE || (r.n > 1 && is_byte(last, '/'))))
		last->type = GLOB_TAIL;
	return summarize(&r, ret);
}

bool glob_plain_after(const char *text, size_t known, size_t *ret_len, enum glob_kind *ret_kind)
{
	static const bool special[UCHAR_MAX + 1] = { [0] = true,
		[GLOB_FREE_BYTE] = true,
		['/'] = true,
		['*'] = true,
		['?'] = true,
		['['] = true,
		['\\'] = true,
		['{'] = true,
		['}'] = true,
		[']'] = true,
		['$'] = true };
	const unsigned char *s = (const unsigned char *)text + known, *start;

	do {
		if (*s != '/')
			return false;
		start = ++s;
		while (!special[*s])
			s++;
		if (s == start && strcmp(text + (s - (const unsigned char *)text), "**") == 0) {
			*ret_kind = GLOB_SUBTREE;
			*ret_len = (size_t)(start - (const unsigned char *)text) - 1;
			return *ret_len + 3 <= GLOB_LENGTH_MAX;
		}
		/* Neither "", "." nor "..". */
		if (s == start || (start[0] == '.' &&
					  (s - start == 1 || (s - start == 2 && start[1] == '.'))))
			return false;
	} while (*s);
	*ret_kind = GLOB_LITERAL;
	*ret_len = (size_t)(s - (const unsigned char *)text);
	return *ret_len <= GLOB_LENGTH_MAX;
}

bool glob_plain(const char *text, size_t *ret_len, enum glob_kind *ret_kind)
{
	if (strcmp(text, "/") == 0) {
		*ret_len = 1;
		*ret_kind = GLOB_LITERAL;
		return true;
	}
	return glob_plain_after(text, 0, ret_len, ret_kind);
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
