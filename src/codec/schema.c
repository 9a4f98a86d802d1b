/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schema.h"

#include <string.h>

#include "base/utf8.h"
#include "base/words.h"

/* Rows */

size_t schema_count(const struct schema_field *rows)
{
	size_t n = 0;

	while (rows[n].name)
		n++;
	return n;
}

const struct schema_field *schema_find(const struct schema_field *rows, const char *name)
{
	for (; rows->name; rows++)
		if (strcmp(rows->name, name) == 0)
			return rows;
	return NULL;
}

static bool schema_is_amount(enum schema_type type)
{
	return type == SCHEMA_NUMBER || type == SCHEMA_SIZE || type == SCHEMA_DURATION ||
	       type == SCHEMA_TIME;
}

uint64_t schema_max(const struct schema_field *f)
{
	if (f->max)
		return f->max;
	return schema_is_amount(f->type) ? UINT64_MAX : SCHEMA_TEXT_MAX;
}

/* Checks */

bool schema_allows_text(const struct schema_field *f, const char *text, size_t len)
{
	if (len < f->min || len > schema_max(f))
		return false;
	if (f->type == SCHEMA_DATA)
		return true;
	if (memchr(text, '\0', len) || !utf8_valid(text, len, NULL))
		return false;
	switch (f->type) {
	case SCHEMA_TEXT:
	case SCHEMA_JSON:
		return true;
	case SCHEMA_PATH:
	case SCHEMA_FILE:
		return len > 0;
	case SCHEMA_LINE:
		return len > 0 && !memchr(text, '\n', len) && !memchr(text, '\r', len);
	case SCHEMA_CHOICE:
		return words_find(f->words, text, len) >= 0;
	default:
		return false;
	}
}

bool schema_allows_number(const struct schema_field *f, uint64_t number)
{
	size_t n = 0;

	if (f->type == SCHEMA_FLAG)
		return number <= 1;
	if (f->type == SCHEMA_CHOICE) {
		while (n < number && f->words[n])
			n++;
		return f->words[n] != NULL;
	}
	return schema_is_amount(f->type) && number >= f->min && number <= schema_max(f);
}
