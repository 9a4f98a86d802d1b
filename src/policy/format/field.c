/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/format/field.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/suggest.h"
#include "codec/unit.h"

enum { NAME_BYTES = 160 };

struct field field_child(const struct field *up, const struct node *node)
{
	return (struct field){
		.document = up->document,
		.error = up->error,
		.up = up,
		.node = node,
	};
}

struct location field_location(const struct field *f)
{
	return node_location(f->document, f->node);
}

/* The keys from the top down to f; items of lists have none of their own. */
static void field_add_name(const struct field *f, struct buffer *out)
{
	if (f->up)
		field_add_name(f->up, out);
	if (!f->node->key)
		return;
	if (out->len)
		buffer_addc(out, '.');
	buffer_adds(out, f->node->key);
}

/* The dotted name in quotes. */
static void field_print_name(const struct field *f, char name[NAME_BYTES])
{
	auto_buffer dotted = { 0 };

	field_add_name(f, &dotted);
	if (dotted.len)
		(void)snprintf(name, NAME_BYTES, "`%s`", buffer_text(&dotted));
	else
		(void)snprintf(name, NAME_BYTES, "the document");
}

int field_fail(const struct field *f, const char *format, ...)
{
	struct location where = field_location(f);
	char name[NAME_BYTES], text[384];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	field_print_name(f, name);
	return error_set(f->error, -EINVAL, &where, "%s: %s", name, text);
}

int field_expected(const struct field *f, const char *what)
{
	struct location where = field_location(f);
	char name[NAME_BYTES];

	field_print_name(f, name);
	return error_set(f->error, -EINVAL, &where, "%s must be %s, not %s", name, what,
		node_type_name(f->node->type));
}

int field_result(const struct field *f, int code)
{
	struct location where = field_location(f);

	if (code == -ENOMEM)
		return error_set(f->error, code, &where, "out of memory");
	return code;
}

int field_unknown(const struct field *f, const struct field_table *table)
{
	struct location where = node_key_location(f->document, f->node);
	struct schema_names names = { .n = 0 };
	const char *near;
	auto_buffer dotted = { 0 };

	for (size_t i = 0; i < table->n; i++)
		schema_names_add(&names, table->keys[i].is.name);
	near = schema_names_near(&names, f->node->key);
	field_add_name(f->up, &dotted);
	if (dotted.len)
		buffer_addc(&dotted, '.');
	if (near)
		return error_set(f->error, -EINVAL, &where,
			"unknown key `%s%s`; did you mean `%s%s`?", buffer_text(&dotted),
			f->node->key, buffer_text(&dotted), near);
	(void)error_set(f->error, -EINVAL, &where, "unknown key `%s%s`", buffer_text(&dotted),
		f->node->key);
	schema_names_hint(&names, f->node->key, "valid keys: ", f->error);
	return -EINVAL;
}

const struct field_key *field_find_key(const struct field_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++) {
		if (strcmp(table->keys[i].is.name, name) == 0)
			return &table->keys[i];
	}
	return NULL;
}

int field_read_list(const struct field *f, field_reader *read, void *into)
{
	int r = 0;

	if (f->node->type != NODE_LIST) {
		r = field_expected(f, "a list");
		/* A single value where a list is wanted is the commonest slip: say how to write it.
		 */
		if (node_text(f->node) && f->node->key)
			error_hint(
				f->error, "write `%s: [\"%s\"]`", f->node->key, node_text(f->node));
		else if (f->node->type == NODE_NULL)
			error_hint(f->error, "write [] for an empty list, or leave the key out");
		return r;
	}
	for (const struct node *n = f->node->first; r == 0 && n; n = n->next) {
		struct field item = field_child(f, n);

		item.how = f->how;
		r = read(&item, into);
	}
	return r;
}

int field_ignore(const struct field *f, void *into)
{
	(void)f;
	(void)into;
	return 0;
}

int field_text(const struct field *f, const char **ret)
{
	const char *text = node_text(f->node);

	if (!text)
		return field_expected(f, "text");
	*ret = text;
	return 0;
}

int field_boolean(const struct field *f, bool *ret)
{
	return node_boolean(f->node, ret) < 0 ? field_expected(f, "true or false") : 0;
}

int field_integer(const struct field *f, int64_t min, int64_t max, int64_t *ret)
{
	int64_t value;

	if (f->node->type != NODE_NUMBER)
		return field_expected(f, "a whole number");
	if (node_integer(f->node, &value) < 0)
		return field_fail(f, "`%s` is not a valid whole number", f->node->text);
	if (value < min || value > max)
		return field_fail(f, "%lld is not between %lld and %lld", (long long)value,
			(long long)min, (long long)max);
	*ret = value;
	return 0;
}

/* The text of an amount; NULL if it is neither a number nor a string. */
static const char *amount_text(const struct field *f)
{
	return f->node->type == NODE_NUMBER || f->node->type == NODE_STRING ? f->node->text : NULL;
}

static int amount_result(const struct field *f, int code, const char *what)
{
	if (!amount_text(f))
		return field_expected(f, what);
	if (code == -ERANGE)
		return field_fail(f, "`%s` is too large", f->node->text);
	return code < 0 ? field_fail(f, "`%s` is not %s", f->node->text, what) : 0;
}

int field_size(const struct field *f, uint64_t *ret)
{
	const char *text = amount_text(f);

	return amount_result(
		f, text ? unit_parse_size(text, ret) : 0, "a size such as 512K, 64M or 2G");
}

int field_duration(const struct field *f, uint64_t *ret_ms)
{
	const char *text = amount_text(f);

	return amount_result(f, text ? unit_parse_duration(text, ret_ms) : 0,
		"a duration such as 500ms, 30s, 5m or 2h");
}

static void *field_member(const struct field *f, void *into)
{
	return (char *)into + *(const size_t *)f->how;
}

int field_rate(const struct field *f, void *ret)
{
	const char *text = amount_text(f);

	return amount_result(
		f, text ? unit_parse_rate(text, ret) : 0, "a rate such as 10/min, 5/s or 10/30s");
}

int field_store_disabled(const struct field *f, void *into)
{
	bool enabled = true;
	int r = field_boolean(f, &enabled);

	*(bool *)field_member(f, into) = !enabled;
	return r;
}

/* Text that is not empty, as it stands in the document. */
static int field_store_text(const struct field *f, const char **ret)
{
	const char *text = "";
	int r = field_text(f, &text);

	if (r == 0 && *text == '\0')
		return field_fail(f, "is empty");
	if (r == 0)
		*ret = text;
	return r;
}

static int field_store_count(const struct field *f, uint64_t *ret)
{
	int64_t count = 0;
	int r = field_integer(f, 0, INT64_MAX, &count);

	if (r == 0)
		*ret = (uint64_t)count;
	return r;
}

static int field_store(const struct field *f, enum schema_type type, void *into)
{
	void *member = field_member(f, into);

	switch (type) {
	case SCHEMA_SIZE:
		return field_size(f, member);
	case SCHEMA_DURATION:
		return field_duration(f, member);
	case SCHEMA_RATE:
		return field_rate(f, member);
	case SCHEMA_NUMBER:
		return field_store_count(f, member);
	case SCHEMA_TEXT:
		return field_store_text(f, member);
	default:
		return field_fail(f, "cannot be read");
	}
}

static int field_read(const struct field *f, const struct field_key *key, void *into)
{
	if (key->map)
		return field_read_map(f, key->map, into);
	if (key->each)
		return field_read_list(f, key->each, into);
	return key->read ? key->read(f, into) : field_store(f, key->is.type, into);
}

int field_read_map(const struct field *f, const struct field_table *table, void *into)
{
	int r = 0;

	if (f->node->type != NODE_MAP)
		return field_expected(f, "a map");
	for (const struct node *n = f->node->first; r == 0 && n; n = n->next) {
		const struct field_key *key = field_find_key(table, n->key);
		struct field child = field_child(f, n);

		child.how = key ? key->how : NULL;
		if (key)
			r = field_read(&child, key, into);
		else
			r = table->other ? table->other(&child, into)
					 : field_unknown(&child, table);
	}
	/* Last: what is missing may be there, misspelt. */
	for (size_t i = 0; r == 0 && i < table->n; i++) {
		if (table->keys[i].is.required && !node_get(f->node, table->keys[i].is.name))
			r = field_fail(f, "the key `%s` is missing", table->keys[i].is.name);
	}
	return r;
}

int field_word(const struct field *f, const char *const *words, size_t n, size_t *ret)
{
	const char *word = "", *near;
	auto_buffer list = { 0 };
	int r = field_text(f, &word);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i], word) == 0) {
			*ret = i;
			return 0;
		}
		buffer_printf(&list, "%s%s", i ? ", " : "", words[i]);
	}
	r = field_fail(f, "`%s` is not one of %s", word, buffer_text(&list));
	near = suggest(word, words, n);
	if (near)
		error_hint(f->error, "did you mean `%s`?", near);
	return r;
}

int field_verdict(const struct field *f, const char *const words[VERDICT_COUNT], enum verdict *ret)
{
	size_t word = VERDICT_DENY;
	int r = field_word(f, words, VERDICT_COUNT, &word);

	if (r == 0)
		*ret = (enum verdict)word;
	return r;
}

int field_mode(const struct field *f, enum mode *ret)
{
	size_t word = MODE_ENFORCE;
	int r = field_word(f, mode_names, MODE_COUNT, &word);

	if (r == 0)
		*ret = (enum mode)word;
	return r;
}
