/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/shape.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/schema.h"
#include "mcp/gateway/pattern.h"

/* What stands behind a keyword. */
enum shape_operand {
	SHAPE_ANYTHING,
	SHAPE_TEXT,   /* says nothing */
	SHAPE_TYPES,  /* a name, or a list of them */
	SHAPE_VALUES, /* a list */
	SHAPE_NAMES,  /* a list of texts */
	SHAPE_NUMBER,
	SHAPE_COUNT, /* a number, whole and not negative */
	SHAPE_PATTERN,
	SHAPE_SCHEMA,
	SHAPE_SCHEMAS, /* a list of them, not empty */
	SHAPE_NAMED,   /* a map of them */
};

typedef bool shape_test(
	const struct node *schema, const struct node *operand, const struct node *v);

static bool is_true(const struct node *n)
{
	bool value = false;

	return node_boolean(n, &value) == 0 && value;
}

/* Values */

static long double shape_number(const struct node *n)
{
	return strtold(n->text, NULL);
}

static size_t shape_length(const struct node *v)
{
	size_t n = 0;

	/* Bytes that go on with a character are not counted. */
	for (const char *at = v->text; *at; at++)
		n += ((unsigned char)*at & 0xc0) != 0x80;
	return n;
}

/* As JSON Schema has it: 1 is 1.0, and keys have no order. */
static bool shape_equal(const struct node *a, const struct node *b)
{
	const struct node *y = b->first;

	if (a->type != b->type)
		return false;
	switch (a->type) {
	case NODE_NULL:
		return true;
	case NODE_NUMBER:
		return shape_number(a) == shape_number(b);
	case NODE_LIST:
	case NODE_MAP:
		if (a->count != b->count)
			return false;
		node_for_each(x, a) {
			const struct node *other = a->type == NODE_MAP ? node_get(b, x->key) : y;

			if (!other || !shape_equal(x, other))
				return false;
			y = y->next;
		}
		return true;
	default:
		return strcmp(a->text, b->text) == 0;
	}
}

static const char *const type_names[] = { "null", "boolean", "number", "string", "array", "object",
	"integer", NULL };
_Static_assert(NODE_NULL == 0 && NODE_BOOL == 1 && NODE_NUMBER == 2 && NODE_STRING == 3 &&
		       NODE_LIST == 4 && NODE_MAP == 5,
	"type_names has their order");

static bool shape_has_type(const struct node *v, const char *name)
{
	if (strcmp(name, "integer") != 0)
		return strcmp(type_names[v->type], name) == 0;
	if (v->type != NODE_NUMBER)
		return false;
	/* As of 2020-12 also 1.0. What is beyond the range is none that a rule can be about. */
	return shape_number(v) >= -0x1p62L && shape_number(v) <= 0x1p62L &&
	       (long double)(int64_t)shape_number(v) == shape_number(v);
}

/* Keywords. What a keyword is not about fits. */

static bool fits_type(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	if (o->type == NODE_STRING)
		return shape_has_type(v, o->text);
	node_for_each(name, o) {
		if (shape_has_type(v, name->text))
			return true;
	}
	return false;
}

static bool fits_const(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	return shape_equal(o, v);
}

static bool fits_enum(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	node_for_each(one, o) {
		if (shape_equal(one, v))
			return true;
	}
	return false;
}

#define FITS_NUMBER(name, comparison)                                                        \
	static bool fits_##name(                                                             \
		const struct node *schema, const struct node *o, const struct node *v)       \
	{                                                                                    \
		(void)schema;                                                                \
		return v->type != NODE_NUMBER || shape_number(v) comparison shape_number(o); \
	}
FITS_NUMBER(minimum, >=)
FITS_NUMBER(maximum, <=)
FITS_NUMBER(exclusive_minimum, >)
FITS_NUMBER(exclusive_maximum, <)

#define FITS_COUNT(name, kind, count, comparison)                                           \
	static bool fits_##name(                                                            \
		const struct node *schema, const struct node *o, const struct node *v)      \
	{                                                                                   \
		(void)schema;                                                               \
		return v->type != (kind) || (long double)(count)comparison shape_number(o); \
	}
FITS_COUNT(min_length, NODE_STRING, shape_length(v), >=)
FITS_COUNT(max_length, NODE_STRING, shape_length(v), <=)
FITS_COUNT(min_items, NODE_LIST, v->count, >=)
FITS_COUNT(max_items, NODE_LIST, v->count, <=)
FITS_COUNT(min_properties, NODE_MAP, v->count, >=)
FITS_COUNT(max_properties, NODE_MAP, v->count, <=)

static bool fits_pattern(const struct node *schema, const struct node *o, const struct node *v)
{
	struct pattern p;

	(void)schema;
	return v->type != NODE_STRING ||
	       (!pattern_read(&p, o->text) && pattern_matches(&p, v->text));
}

static bool fits_items(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	if (v->type != NODE_LIST)
		return true;
	node_for_each(item, v) {
		if (!shape_fits(o, item))
			return false;
	}
	return true;
}

static bool fits_properties(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	node_for_each(one, o) {
		const struct node *value = node_get(v, one->key);

		if (value && !shape_fits(one, value))
			return false;
	}
	return true;
}

static bool fits_required(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	if (v->type != NODE_MAP)
		return true;
	node_for_each(name, o) {
		if (!node_get(v, name->text))
			return false;
	}
	return true;
}

static bool fits_additional(const struct node *schema, const struct node *o, const struct node *v)
{
	const struct node *known = node_get(schema, "properties");

	if (v->type != NODE_MAP)
		return true;
	node_for_each(value, v) {
		if (!node_get(known, value->key) && !shape_fits(o, value))
			return false;
	}
	return true;
}

static size_t shape_count_fits(const struct node *schemas, const struct node *v)
{
	size_t n = 0;

	node_for_each(one, schemas)
		n += shape_fits(one, v);
	return n;
}

static bool fits_all(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	return shape_count_fits(o, v) == o->count;
}

static bool fits_any(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	return shape_count_fits(o, v) > 0;
}

static bool fits_one(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	return shape_count_fits(o, v) == 1;
}

static bool fits_not(const struct node *schema, const struct node *o, const struct node *v)
{
	(void)schema;
	return !shape_fits(o, v);
}

static const struct {
	const char *name;
	enum shape_operand operand;
	shape_test *fits; /* NULL: it says nothing */
} keywords[] = {
	{ "type", SHAPE_TYPES, fits_type },
	{ "const", SHAPE_ANYTHING, fits_const },
	{ "enum", SHAPE_VALUES, fits_enum },
	{ "minimum", SHAPE_NUMBER, fits_minimum },
	{ "maximum", SHAPE_NUMBER, fits_maximum },
	{ "exclusiveMinimum", SHAPE_NUMBER, fits_exclusive_minimum },
	{ "exclusiveMaximum", SHAPE_NUMBER, fits_exclusive_maximum },
	{ "minLength", SHAPE_COUNT, fits_min_length },
	{ "maxLength", SHAPE_COUNT, fits_max_length },
	{ "pattern", SHAPE_PATTERN, fits_pattern },
	{ "items", SHAPE_SCHEMA, fits_items },
	{ "minItems", SHAPE_COUNT, fits_min_items },
	{ "maxItems", SHAPE_COUNT, fits_max_items },
	{ "properties", SHAPE_NAMED, fits_properties },
	{ "required", SHAPE_NAMES, fits_required },
	{ "additionalProperties", SHAPE_SCHEMA, fits_additional },
	{ "minProperties", SHAPE_COUNT, fits_min_properties },
	{ "maxProperties", SHAPE_COUNT, fits_max_properties },
	{ "allOf", SHAPE_SCHEMAS, fits_all },
	{ "anyOf", SHAPE_SCHEMAS, fits_any },
	{ "oneOf", SHAPE_SCHEMAS, fits_one },
	{ "not", SHAPE_SCHEMA, fits_not },
	{ "title", SHAPE_TEXT, NULL },
	{ "description", SHAPE_TEXT, NULL },
	{ "$comment", SHAPE_TEXT, NULL },
};

bool shape_fits(const struct node *schema, const struct node *value)
{
	if (schema->type != NODE_MAP)
		return is_true(schema);
	for (size_t i = 0; i < ROWS(keywords); i++) {
		const struct node *operand =
			keywords[i].fits ? node_get(schema, keywords[i].name) : NULL;

		if (operand && !keywords[i].fits(schema, operand, value))
			return false;
	}
	return true;
}

/* The schema itself */

static bool shape_is_type(const struct node *n)
{
	for (size_t i = 0; n->type == NODE_STRING && type_names[i]; i++)
		if (strcmp(type_names[i], n->text) == 0)
			return true;
	return false;
}

static bool shape_are_names(const struct node *n, bool are_types)
{
	if (n->type != NODE_LIST || (are_types && n->count == 0))
		return false;
	node_for_each(name, n) {
		if (are_types ? !shape_is_type(name) : name->type != NODE_STRING)
			return false;
	}
	return true;
}

/* YAML has numbers that are none here. */
static bool shape_is_number(const struct node *n)
{
	char *end = NULL;

	if (n->type != NODE_NUMBER)
		return false;
	(void)strtold(n->text, &end);
	return end != n->text && !*end;
}

static int shape_check_pattern(const struct node *n, const struct document *d, struct error *e)
{
	const struct location where = node_location(d, n);
	struct pattern p;
	const char *why = n->type == NODE_STRING ? pattern_read(&p, n->text) : "it is no text";

	return why ? error_set(e, -EINVAL, &where, "this pattern cannot be used: %s", why) : 0;
}

static int shape_check_each(const struct node *n, const struct document *d, struct error *e)
{
	int r = 0;

	for (const struct node *one = n->first; one && r == 0; one = one->next)
		r = shape_check(one, d, e);
	return r;
}

/* 1: its schemas were looked at, or there is an error already. */
static int shape_check_operand(
	enum shape_operand operand, const struct node *n, const struct document *d, struct error *e)
{
	int64_t count;

	switch (operand) {
	case SHAPE_ANYTHING:
		return 0;
	case SHAPE_TEXT:
		return n->type == NODE_STRING ? 0 : 1;
	case SHAPE_TYPES:
		return !shape_is_type(n) && !shape_are_names(n, true);
	case SHAPE_VALUES:
		return n->type != NODE_LIST || n->count == 0;
	case SHAPE_NAMES:
		return !shape_are_names(n, false);
	case SHAPE_NUMBER:
		return !shape_is_number(n);
	case SHAPE_COUNT:
		return node_integer(n, &count) < 0 || count < 0;
	case SHAPE_PATTERN:
		return shape_check_pattern(n, d, e);
	case SHAPE_SCHEMA:
		return shape_check(n, d, e);
	case SHAPE_SCHEMAS:
		return n->type != NODE_LIST || n->count == 0 ? 1 : shape_check_each(n, d, e);
	case SHAPE_NAMED:
		return n->type != NODE_MAP ? 1 : shape_check_each(n, d, e);
	}
	return 1;
}

static int shape_unknown(const struct node *n, const struct document *d, struct error *e)
{
	const struct location where = node_key_location(d, n);
	struct schema_names names = { .n = 0 };

	(void)error_set(
		e, -EINVAL, &where, "`%s` is no keyword of the schemas that rules have", n->key);
	for (size_t i = 0; i < ROWS(keywords); i++)
		schema_names_add(&names, keywords[i].name);
	schema_names_hint(&names, n->key, "these are: ", e);
	return -EINVAL;
}

int shape_check(const struct node *schema, const struct document *d, struct error *e)
{
	const struct location where = node_location(d, schema);

	if (schema->type == NODE_BOOL)
		return 0;
	if (schema->type != NODE_MAP)
		return error_set(e, -EINVAL, &where, "a schema is a map, true or false, not %s",
			node_type_name(schema->type));
	/* JSON Schema lets values of other types pass it: in a rule, a list with the text in it. */
	if (node_get(schema, "pattern") && strcmp(node_get_text(schema, "type"), "string") != 0)
		return error_set(e, -EINVAL, &where, "`pattern` needs `type: string` beside it");
	node_for_each(n, schema) {
		const struct location place = node_location(d, n);
		size_t i = 0;
		int r;

		while (i < ROWS(keywords) && strcmp(keywords[i].name, n->key) != 0)
			i++;
		if (i == ROWS(keywords))
			return shape_unknown(n, d, e);
		r = shape_check_operand(keywords[i].operand, n, d, e);
		if (r > 0)
			return error_set(e, -EINVAL, &place,
				"`%s` of a schema cannot be this; docs/mcp-gateway.md has what it "
				"takes",
				n->key);
		if (r < 0)
			return r;
	}
	return 0;
}
