/* SPDX-License-Identifier: Apache-2.0 */
/* Values of typed fields from text and from nodes. What has frames alone does without. */
#include "codec/schema.h"

#include <errno.h>
#include <string.h>

#include "base/words.h"
#include "codec/json.h"
#include "codec/unit.h"

static int schema_parse_digits(const char *text, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*text)
		return -EINVAL;
	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	for (; *text; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return -ERANGE;
	*ret = number;
	return 0;
}

static bool schema_is_list(const struct schema_field *f, const struct node *n)
{
	const bool is_map = f->type == SCHEMA_PAIRS;

	if (f->type == SCHEMA_MAP)
		return n->type == NODE_MAP;
	if (n->type != (is_map ? NODE_MAP : NODE_LIST) || n->count > SCHEMA_ITEMS_MAX)
		return false;
	node_for_each(item, n) {
		if (item->type != (f->type == SCHEMA_JSON ? NODE_MAP : NODE_STRING))
			return false;
	}
	return true;
}

/* A list as JSON: it is put into records and requests as it is. */
static int schema_parse_list(const struct schema_field *f, const char *text, size_t len)
{
	auto_document d = { 0 };
	int r;

	if (len > schema_max(f))
		return -ERANGE;
	r = json_read(&d, NULL, text, len, NULL);
	if (r == -ENOMEM)
		return r;
	return r == 0 && schema_is_list(f, d.root) ? 0 : -EINVAL;
}

static int schema_parse_amount(const struct schema_field *f, const char *text, uint64_t *ret)
{
	uint64_t number = 0;
	int r = f->type == SCHEMA_SIZE       ? unit_parse_size(text, &number)
		: f->type == SCHEMA_DURATION ? unit_parse_duration(text, &number)
					     : schema_parse_digits(text, &number);

	if (r == 0 && !schema_allows_number(f, number))
		r = -ERANGE;
	if (r == 0)
		*ret = number;
	return r;
}

/* As schema_parse(), but *ret is written in any case. */
static int schema_parse_into(const struct schema_field *f, const char *text, uint64_t *ret)
{
	const size_t len = strlen(text);
	struct rate rate;

	*ret = len;
	switch (f->type) {
	case SCHEMA_NUMBER:
	case SCHEMA_SIZE:
	case SCHEMA_DURATION:
		return schema_parse_amount(f, text, ret);
	case SCHEMA_RATE:
		return unit_parse_rate(text, &rate);
	case SCHEMA_FLAG:
		*ret = strcmp(text, "true") == 0;
		return *ret || strcmp(text, "false") == 0 ? 0 : -EINVAL;
	case SCHEMA_CHOICE:
		*ret = (uint64_t)words_find(f->words, text, len);
		return words_has(f->words, text) ? 0 : -EINVAL;
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
	case SCHEMA_JSON:
	case SCHEMA_MAP:
		return schema_parse_list(f, text, len);
	default:
		if (schema_allows_text(f, text, len))
			return 0;
		return len < f->min || len > schema_max(f) ? -ERANGE : -EINVAL;
	}
}

int schema_parse(const struct schema_field *f, const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = schema_parse_into(f, text, &value);

	if (r == 0)
		*ret = value;
	return r;
}

int schema_parse_node(const struct schema_field *f, const struct node *n, uint64_t *ret)
{
	int64_t number;
	bool flag;

	switch (f->type) {
	case SCHEMA_NUMBER:
		if (node_integer(n, &number) < 0 || number < 0)
			return -EINVAL;
		if (!schema_allows_number(f, (uint64_t)number))
			return -ERANGE;
		*ret = (uint64_t)number;
		return 0;
	case SCHEMA_FLAG:
		if (node_boolean(n, &flag) < 0)
			return -EINVAL;
		*ret = flag;
		return 0;
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
	case SCHEMA_JSON:
	case SCHEMA_MAP:
		if (!schema_is_list(f, n))
			return -EINVAL;
		*ret = n->count;
		return 0;
	default:
		return n->type == NODE_STRING ? schema_parse(f, n->text, ret) : -EINVAL;
	}
}
