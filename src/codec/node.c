/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree itself: looking things up, building by hand, copying, comparing.
 *
 * Children are a singly linked list because documents are read in order and seldom searched; a map
 * is a list whose members have names. Copying and comparing recurse as deep as the tree is: at most
 * NODE_DEPTH_MAX for what a reader made, and as deep as the code that built it for the rest.
 *
 * What a bare word means stands here too: the readers ask to type what they read, the printers to
 * see what they have to quote. That both ask the same functions is why printing and reading cannot
 * disagree.
 */
#include "codec/node.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "codec/internal.h"

#define DECIMAL "0123456789"

const char *node_type_name(enum node_type type)
{
	static const char *const names[] = {
		[NODE_NULL] = "nothing",
		[NODE_BOOL] = "true or false",
		[NODE_NUMBER] = "a number",
		[NODE_STRING] = "text",
		[NODE_LIST] = "a list",
		[NODE_MAP] = "a map",
	};

	return names[type];
}

struct node *node_get(const struct node *map, const char *key)
{
	if (!map || map->type != NODE_MAP)
		return NULL;
	node_for_each(child, map) {
		if (strcmp(child->key, key) == 0)
			return child;
	}
	return NULL;
}

const char *node_text(const struct node *n)
{
	return n ? n->text : NULL;
}

const char *node_get_text(const struct node *map, const char *key)
{
	const char *text = node_text(node_get(map, key));

	return text ? text : "";
}

int node_integer(const struct node *n, int64_t *ret)
{
	const char *digits;
	intmax_t value;
	bool octal;

	if (!n || n->type != NODE_NUMBER || !scalar_is_integer(n->text))
		return -EINVAL;
	/* strtoimax() knows 0x but not 0o, and would take a leading 0 for octal if it chose. */
	octal = n->text[0] == '0' && n->text[1] == 'o';
	digits = octal ? n->text + 2 : n->text;
	errno = 0;
	value = strtoimax(digits, NULL, octal ? 8 : n->text[1] == 'x' ? 16 : 10);
	if (errno)
		return -EINVAL;
	*ret = value;
	return 0;
}

int node_boolean(const struct node *n, bool *ret)
{
	if (!n || n->type != NODE_BOOL)
		return -EINVAL;
	*ret = n->text[0] == 't';
	return 0;
}

struct location node_location(const struct document *d, const struct node *n)
{
	return (struct location){ .file = d->file, .line = n->line, .column = n->column };
}

struct location node_key_location(const struct document *d, const struct node *n)
{
	return (struct location){ .file = d->file, .line = n->key_line, .column = n->key_column };
}

struct node *node_new(struct arena *a, enum node_type type)
{
	struct node *n = arena_alloc(a, sizeof(*n));

	if (n)
		n->type = type;
	return n;
}

/* A scalar around text that is in the arena already, or static; NULL if that failed. */
static struct node *new_scalar(struct arena *a, enum node_type type, const char *text)
{
	struct node *n = text ? node_new(a, type) : NULL;

	if (n)
		n->text = text;
	return n;
}

struct node *node_new_text(struct arena *a, const char *text)
{
	return new_scalar(a, NODE_STRING, arena_strdup(a, text));
}

struct node *node_new_integer(struct arena *a, int64_t value)
{
	return new_scalar(a, NODE_NUMBER, arena_printf(a, "%" PRId64, value));
}

struct node *node_new_boolean(struct arena *a, bool value)
{
	return new_scalar(a, NODE_BOOL, value ? "true" : "false");
}

struct node *node_append(struct node *list, struct node *child)
{
	if (!list || !child)
		return NULL;
	if (list->last)
		list->last->next = child;
	else
		list->first = child;
	list->last = child;
	list->count++;
	return child;
}

struct node *node_put(struct arena *a, struct node *map, const char *key, struct node *child)
{
	const char *name = map && child ? arena_strdup(a, key) : NULL;

	if (!name)
		return NULL;
	child->key = name;
	return node_append(map, child);
}

struct node *node_copy(struct arena *a, const struct node *n)
{
	struct node *copy = node_new(a, n->type);

	if (!copy)
		return NULL;
	copy->line = n->line;
	copy->column = n->column;
	if (n->text) {
		copy->text = arena_strdup(a, n->text);
		if (!copy->text)
			return NULL;
	}
	node_for_each(child, n) {
		struct node *below = node_copy(a, child);
		bool added = child->key ? node_put(a, copy, child->key, below) != NULL
					: node_append(copy, below) != NULL;

		if (!added)
			return NULL;
		below->key_line = child->key_line;
		below->key_column = child->key_column;
	}
	return copy;
}

/* Equal, or both absent. */
static bool node_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool node_equal(const struct node *a, const struct node *b)
{
	const struct node *other = b->first;

	if (a->type != b->type || a->count != b->count || !node_same_text(a->text, b->text))
		return false;
	node_for_each(child, a) {
		if (!node_same_text(child->key, other->key) || !node_equal(child, other))
			return false;
		other = other->next;
	}
	return true;
}

void document_deinit(struct document *d)
{
	arena_deinit(&d->arena);
	*d = (struct document){ 0 };
}

/*
 * Core schema (YAML 1.2, 10.3.2), as regular expressions:
 *
 *   null    "" | ~ | null | Null | NULL
 *   bool    true | True | TRUE | false | False | FALSE
 *   int     [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+
 *   float   [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
 *           [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)
 *
 * and the numbers of JSON (RFC 8259, 6):
 *
 *           -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
 *
 * YAML 1.1's other words (yes, no, on, off), its 1_000, 0755 as octal and 1:30 are not in it.
 */

/* The matchers return the rest after what they match, or NULL. */
static const char *digits(const char *s, const char *which)
{
	size_t n = strspn(s, which);

	return n ? s + n : NULL;
}

static const char *after_sign(const char *s)
{
	return *s == '+' || *s == '-' ? s + 1 : s;
}

static const char *exponent(const char *s)
{
	return s && (*s == 'e' || *s == 'E') ? digits(after_sign(s + 1), DECIMAL) : s;
}

static bool scalar_at_end(const char *rest)
{
	return rest && *rest == '\0';
}

bool scalar_is_integer(const char *text)
{
	if (text[0] == '0' && text[1] == 'o')
		return scalar_at_end(digits(text + 2, "01234567"));
	if (text[0] == '0' && text[1] == 'x')
		return scalar_at_end(digits(text + 2, DECIMAL "abcdefABCDEF"));
	return scalar_at_end(digits(after_sign(text), DECIMAL));
}

static bool is_float(const char *text)
{
	static const char *const infinite[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const undefined[] = { ".nan", ".NaN", ".NAN", NULL };
	const char *s = after_sign(text);

	if (words_has(infinite, s) || words_has(undefined, text))
		return true;
	if (*s == '.')
		return scalar_at_end(exponent(digits(s + 1, DECIMAL)));
	s = digits(s, DECIMAL);
	if (s && *s == '.')
		s += 1 + strspn(s + 1, DECIMAL);
	return scalar_at_end(exponent(s));
}

enum node_type scalar_type(const char *text)
{
	static const char *const null[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const boolean[] = { "true", "True", "TRUE", "false", "False", "FALSE",
		NULL };

	if (words_has(null, text))
		return NODE_NULL;
	if (words_has(boolean, text))
		return NODE_BOOL;
	return scalar_is_integer(text) || is_float(text) ? NODE_NUMBER : NODE_STRING;
}

/* Of text in JSON's grammar. strtod() would take its decimal point from the host's locale. */
static bool is_finite(const char *text)
{
	const size_t sure = 300; /* digits without an exponent stay below 1e308 */
	locale_t c;
	double value;

	if (!strpbrk(text, "eE") && strlen(text) < sure)
		return true;
	c = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c)
		return false;
	value = strtod_l(text, NULL, c);
	freelocale(c);
	return isfinite(value);
}

bool scalar_is_json_number(const char *text)
{
	const char *s = *text == '-' ? text + 1 : text;

	s = *s == '0' ? s + 1 : digits(s, DECIMAL);
	if (s && *s == '.')
		s = digits(s + 1, DECIMAL);
	return scalar_at_end(exponent(s)) && is_finite(text);
}
