/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value is one byte, its type (0: not given), and then
 *
 *     NUMBER, FLAG, CHOICE, TIME   u64
 *     TEXT, PATH, DATA, JSON       u32 length, bytes, NUL
 *     WORDS                        u32 number, then each as a text
 *     PAIRS                        u32 number, then key and text each
 *     FILES                        u32 number, then name, path, u64 kind, u64 size, u64 time each
 *
 * Lengths are compared with what is left before anything is looked at, numbers of items with what
 * they need at least, before anything is allocated.
 */
#include "broker/value.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "wire/reader.h"

enum { TEXT_LEAST = sizeof(uint32_t) + 1, FILE_LEAST = 2 * TEXT_LEAST + 3 * sizeof(uint64_t) };

/* What is allowed */

static bool value_items_are_allowed(const struct schema_field *f, const struct value *v)
{
	size_t total = 0;

	if (v->n > SCHEMA_ITEMS_MAX)
		return false;
	for (size_t i = 0; i < v->n; i++) {
		total += strlen(v->items[i].text);
		total += v->items[i].key ? strlen(v->items[i].key) : 0;
		if (total > schema_max(f))
			return false;
	}
	return true;
}

bool value_is_allowed(const struct schema_field *f, const struct value *v)
{
	if (v->type == SCHEMA_NONE)
		return !f->required;
	if (v->type != f->type)
		return false;
	switch (v->type) {
	case SCHEMA_TEXT:
	case SCHEMA_JSON:
	case SCHEMA_PATH:
	case SCHEMA_DATA:
		return schema_allows_text(f, v->text, v->len);
	case SCHEMA_NUMBER:
	case SCHEMA_FLAG:
	case SCHEMA_CHOICE:
	case SCHEMA_TIME:
		return schema_allows_number(f, v->number);
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
		return value_items_are_allowed(f, v);
	case SCHEMA_FILES:
		return true;
	default:
		return false;
	}
}

/* Writing */

static void value_add_u32(struct buffer *out, size_t n)
{
	const uint32_t u = (uint32_t)n;

	buffer_add(out, &u, sizeof(u));
}

static void value_add_u64(struct buffer *out, uint64_t u)
{
	buffer_add(out, &u, sizeof(u));
}

static void value_add_text(struct buffer *out, const char *text, size_t len)
{
	value_add_u32(out, len);
	buffer_add(out, text, len);
	buffer_addc(out, '\0');
}

static void value_encode(const struct value *v, struct buffer *out)
{
	buffer_addc(out, (char)v->type);
	switch (v->type) {
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
	case SCHEMA_DATA:
	case SCHEMA_JSON:
		value_add_text(out, v->text, v->len);
		break;
	case SCHEMA_NUMBER:
	case SCHEMA_FLAG:
	case SCHEMA_CHOICE:
	case SCHEMA_TIME:
		value_add_u64(out, v->number);
		break;
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
		value_add_u32(out, v->n);
		for (size_t i = 0; i < v->n; i++) {
			if (v->type == SCHEMA_PAIRS)
				value_add_text(out, v->items[i].key, strlen(v->items[i].key));
			value_add_text(out, v->items[i].text, strlen(v->items[i].text));
		}
		break;
	case SCHEMA_FILES:
		value_add_u32(out, v->n);
		for (size_t i = 0; i < v->n; i++) {
			value_add_text(out, v->files[i].name, strlen(v->files[i].name));
			value_add_text(out, v->files[i].path, strlen(v->files[i].path));
			value_add_u64(out, v->files[i].kind);
			value_add_u64(out, v->files[i].size);
			value_add_u64(out, (uint64_t)v->files[i].modified_ns);
		}
		break;
	default:
		break;
	}
}

int values_encode(
	const struct schema_field *fields, const struct values *values, struct buffer *out)
{
	for (size_t i = 0; fields[i].name; i++) {
		if (!value_is_allowed(&fields[i], &values->v[i]))
			return -EINVAL;
		value_encode(&values->v[i], out);
	}
	return out->failed ? -ENOMEM : 0;
}

/* Reading */

static bool value_take_text(struct reader *r, const char **ret, size_t *ret_len)
{
	uint32_t len;

	if (!reader_bytes(r, &len, sizeof(len)) || len >= r->left || r->data[len] != '\0')
		return false;
	*ret = r->data;
	*ret_len = len;
	r->data += len + 1;
	r->left -= len + 1;
	return true;
}

/* A text that is handed on without its length. */
static bool value_take_word(struct reader *r, const char **ret)
{
	size_t len;

	return value_take_text(r, ret, &len) && !memchr(*ret, '\0', len) &&
	       utf8_valid(*ret, len, NULL);
}

/* A number of items that can be there, each of which takes so many bytes at least. */
static bool value_take_count(struct reader *r, size_t least, size_t *ret)
{
	uint32_t n;

	if (!reader_bytes(r, &n, sizeof(n)) || n > r->left / least)
		return false;
	*ret = n;
	return true;
}

static int value_take_items(struct reader *r, struct arena *a, struct value *v)
{
	const bool has_keys = v->type == SCHEMA_PAIRS;
	struct value_item *items;

	if (!value_take_count(r, has_keys ? 2 * TEXT_LEAST : TEXT_LEAST, &v->n) ||
		v->n > SCHEMA_ITEMS_MAX)
		return -EPROTO;
	items = arena_calloc(a, v->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < v->n; i++) {
		if ((has_keys && !value_take_word(r, &items[i].key)) ||
			!value_take_word(r, &items[i].text))
			return -EPROTO;
	}
	v->items = items;
	return 0;
}

static int value_take_files(struct reader *r, struct arena *a, struct value *v)
{
	struct value_file *files;

	if (!value_take_count(r, FILE_LEAST, &v->n))
		return -EPROTO;
	files = arena_calloc(a, v->n + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < v->n; i++) {
		uint64_t kind, time;

		if (!value_take_word(r, &files[i].name) || !value_take_word(r, &files[i].path) ||
			!reader_bytes(r, &kind, sizeof(kind)) || kind > VALUE_KIND_OTHER ||
			!reader_bytes(r, &files[i].size, sizeof(files[i].size)) ||
			!reader_bytes(r, &time, sizeof(time)))
			return -EPROTO;
		files[i].kind = (enum value_file_kind)kind;
		files[i].modified_ns = (int64_t)time;
	}
	v->files = files;
	return 0;
}

static int value_decode(struct reader *r, struct arena *a, enum schema_type type, struct value *v)
{
	v->type = type;
	switch (type) {
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
	case SCHEMA_DATA:
	case SCHEMA_JSON:
		return value_take_text(r, &v->text, &v->len) ? 0 : -EPROTO;
	case SCHEMA_NUMBER:
	case SCHEMA_FLAG:
	case SCHEMA_CHOICE:
	case SCHEMA_TIME:
		return reader_bytes(r, &v->number, sizeof(v->number)) ? 0 : -EPROTO;
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
		return value_take_items(r, a, v);
	case SCHEMA_FILES:
		return value_take_files(r, a, v);
	default:
		break;
	}
	return -EPROTO;
}

int values_decode(const struct schema_field *fields, const void *body, size_t len, struct arena *a,
	struct values *ret)
{
	struct reader r = { body, len };

	*ret = (struct values){ 0 };
	for (size_t i = 0; fields[i].name; i++) {
		unsigned char type;
		int code = 0;

		if (!reader_bytes(&r, &type, 1) || (type != SCHEMA_NONE && type != fields[i].type))
			return -EPROTO;
		if (type != SCHEMA_NONE)
			code = value_decode(&r, a, fields[i].type, &ret->v[i]);
		if (code < 0)
			return code;
		if (!value_is_allowed(&fields[i], &ret->v[i]))
			return -EPROTO;
	}
	return r.left == 0 ? 0 : -EPROTO;
}
