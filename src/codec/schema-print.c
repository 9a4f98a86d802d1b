/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about typed fields: sentences of errors, and documents. */
#include "codec/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/suggest.h"
#include "codec/json-writer.h"

/* A value of more bytes is not repeated in a message. */
enum { FOUND_MAX = 64 };

/* By type: what documents call it, what a sentence calls it, and JSON Schema's type. */
static const struct {
	const char *name, *expected, *json;
} schema_types[SCHEMA_TYPE_COUNT] = {
	[SCHEMA_NONE] = { "nothing", "nothing", "null" },
	[SCHEMA_TEXT] = { "text", "text", "string" },
	[SCHEMA_PATH] = { "path", "a path", "string" },
	[SCHEMA_DATA] = { "data", "text", "string" },
	[SCHEMA_NUMBER] = { "number", "a whole number", "integer" },
	[SCHEMA_FLAG] = { "flag", "true or false", "boolean" },
	[SCHEMA_CHOICE] = { "choice", "one of", "string" },
	[SCHEMA_TIME] = { "time", "a time", "string" },
	[SCHEMA_WORDS] = { "list", "a list of texts", "array" },
	[SCHEMA_PAIRS] = { "map", "a map of texts", "object" },
	[SCHEMA_JSON] = { "json", "a list of maps", "array" },
	[SCHEMA_FILES] = { "files", "a list of files", "array" },
	[SCHEMA_LINE] = { "text", "one line of text", "string" },
	[SCHEMA_FILE] = { "path", "an absolute path, or begin with ~/", "string" },
	[SCHEMA_SIGNED] = { "number", "a whole number", "integer" },
	[SCHEMA_HASH] = { "hash", "a hash", "string" },
	[SCHEMA_SIZE] = { "size", "a size such as 64K, 512M or 2G", "string" },
	[SCHEMA_DURATION] = { "duration", "a duration such as 500ms, 30s or 5m", "string" },
	[SCHEMA_RATE] = { "rate", "a rate such as 10/min, 5/s or 10/30s", "string" },
	[SCHEMA_MAP] = { "map", "a map", "object" },
	[SCHEMA_LIST] = { "list", "a list", "array" },
	[SCHEMA_OTHER] = { "any", "another value", "string" },
};

const char *schema_type_name(enum schema_type type)
{
	return schema_types[type].name;
}

/* Sentences */

static void schema_print_range(const struct schema_field *f, struct buffer *out)
{
	const uint64_t max = schema_max(f);

	switch (f->type) {
	case SCHEMA_NUMBER:
		if (max < INT64_MAX)
			buffer_printf(out, " from %" PRIu32 " to %" PRIu64, f->min, max);
		else if (f->min)
			buffer_printf(out, " of at least %" PRIu32, f->min);
		break;
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
	case SCHEMA_DATA:
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
	case SCHEMA_JSON:
		if (f->min)
			buffer_printf(out, " of %" PRIu32 " to %" PRIu64 " bytes", f->min, max);
		else
			buffer_printf(out, " of at most %" PRIu64 " bytes", max);
		break;
	default:
		break;
	}
}

void schema_print_expected(const struct schema_field *f, struct buffer *out)
{
	buffer_adds(out, schema_types[f->type].expected);
	for (size_t i = 0; f->type == SCHEMA_CHOICE && f->words[i]; i++)
		buffer_printf(out, "%s %s", i ? "," : "", f->words[i]);
	schema_print_range(f, out);
}

int schema_refuse(const struct schema_field *f, const char *what, const char *found,
	const struct location *where, struct error *e)
{
	const size_t len = found ? strlen(found) : 0;
	auto_buffer expected = { 0 };
	char quoted[FOUND_MAX + 16] = "";
	const char *near = NULL;

	schema_print_expected(f, &expected);
	if (found && f->is_secret)
		found = NULL;
	if (found && len > FOUND_MAX)
		(void)snprintf(quoted, sizeof(quoted), ", not %zu bytes", len);
	else if (found)
		(void)snprintf(quoted, sizeof(quoted), ", not `%s`", found);
	(void)error_set(e, -EINVAL, where, "%s must be %s%s", what, buffer_text(&expected), quoted);
	if (found && f->type == SCHEMA_CHOICE) {
		struct schema_names names = { .n = 0 };

		for (size_t i = 0; f->words[i]; i++)
			schema_names_add(&names, f->words[i]);
		near = schema_names_near(&names, found);
	}
	if (near)
		error_hint(e, "did you mean `%s`?", near);
	return -EINVAL;
}

int schema_refuse_node(const struct schema_field *f, const char *what, const struct node *n,
	const struct location *where, struct error *e)
{
	const bool is_number = f->type == SCHEMA_NUMBER || f->type == SCHEMA_SIGNED;
	auto_buffer expected = { 0 };

	if (n->type == (is_number ? NODE_NUMBER : NODE_STRING) && f->type != SCHEMA_FLAG)
		return schema_refuse(f, what, node_text(n), where, e);
	schema_print_expected(f, &expected);
	return error_set(e, -EINVAL, where, "%s must be %s, not %s", what, buffer_text(&expected),
		node_type_name(n->type));
}

void schema_names_add(struct schema_names *s, const char *name)
{
	if (s->n < SCHEMA_NAMES_MAX)
		s->v[s->n++] = name;
}

const char *schema_names_near(const struct schema_names *s, const char *word)
{
	return suggest(word, s->v, s->n);
}

void schema_names_hint(
	const struct schema_names *s, const char *word, const char *otherwise, struct error *e)
{
	const char *near = schema_names_near(s, word);
	auto_buffer all = { 0 };

	if (near) {
		error_hint(e, "did you mean `%s`?", near);
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		buffer_printf(&all, "%s%s", i ? ", " : "", s->v[i]);
	if (*otherwise && s->n)
		error_hint(e, "%s%s", otherwise, buffer_text(&all));
}

/* Documents */

static void schema_print_members(const struct schema_field *f, struct json_writer *w)
{
	json_put_text(w, "type", schema_types[f->type].json);
	switch (f->type) {
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
	case SCHEMA_DATA:
		json_put_count(w, "minLength", f->min);
		json_put_count(w, "maxLength", schema_max(f));
		break;
	case SCHEMA_WORDS:
		json_put_count(w, "maxItems", SCHEMA_ITEMS_MAX);
		json_open_map(w, "items");
		json_put_text(w, "type", "string");
		json_close(w);
		break;
	case SCHEMA_NUMBER:
		json_put_count(w, "minimum", f->min);
		json_put_count(w, "maximum", schema_max(f));
		break;
	case SCHEMA_CHOICE:
		json_open_list(w, "enum");
		for (size_t i = 0; f->words[i]; i++)
			json_put_text(w, NULL, f->words[i]);
		json_close(w);
		break;
	default:
		break;
	}
}

void schema_print_json(const struct schema_field *f, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	schema_print_members(f, w);
	json_close(w);
}

void schema_print_property(const struct schema_field *f, struct json_writer *w)
{
	json_open_map(w, f->name);
	if (*f->help)
		json_put_text(w, "description", f->help);
	schema_print_members(f, w);
	json_close(w);
}
