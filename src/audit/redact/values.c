/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/redact/values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 4, NO_VALUE = 0 };

static uint32_t redact_values_filter_bit(const char *bytes)
{
	uint32_t prefix;

	memcpy(&prefix, bytes, PREFIX);
	return prefix * 0x9e3779b1u >> 18;
}
_Static_assert(REDACT_VALUES_FILTER == 1 << (32 - 18), "as many bits as the hash has values");

static bool may_begin(const struct redact_values *v, const char *bytes)
{
	uint32_t bit = redact_values_filter_bit(bytes);

	return v->filter[bit / 64] >> bit % 64 & 1;
}

/* As strcmp(), but a value that the text begins with counts as smaller. */
static int redact_values_compare(const struct redact_value *value, const char *text, size_t len)
{
	size_t both = value->len < len ? value->len : len;
	int c = memcmp(value->bytes, text, both);

	return c ? c : value->len > len;
}

/* How many values are smaller than the text, or its beginning. */
static size_t count_below(const struct redact_values *v, const char *text, size_t len)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (redact_values_compare(&v->items[middle], text, len) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool begins_with(const char *text, size_t len, const struct redact_value *value)
{
	return value->len <= len && memcmp(text, value->bytes, value->len) == 0;
}

/*
 * 1 + the longest value that the text begins with, or 0. It is the greatest that is not above the
 * text, or that one begins with it: whatever lies between a beginning and the whole has it, too.
 */
static size_t longest(const struct redact_values *v, const char *text, size_t len)
{
	size_t i = count_below(v, text, len);

	while (i != NO_VALUE && !begins_with(text, len, &v->items[i - 1]))
		i = v->items[i - 1].shorter;
	return i;
}

static int redact_values_grow(struct redact_values *v)
{
	size_t cap = v->cap ? 2 * v->cap : 16;
	struct redact_value *items;

	if (v->n < v->cap)
		return 0;
	items = reallocarray(v->items, cap, sizeof(*items));
	if (!items)
		return -ENOMEM;
	v->items = items;
	v->cap = cap;
	return 0;
}

/* Those in front of an item are done. */
static void find_shorter(struct redact_values *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct redact_value *item = &v->items[i];
		size_t other = i;

		while (other != NO_VALUE &&
			!begins_with(item->bytes, item->len, &v->items[other - 1]))
			other = v->items[other - 1].shorter;
		item->shorter = other;
	}
}

static bool redact_values_is_at(
	const struct redact_values *v, size_t at, const char *bytes, size_t len)
{
	return at > 0 && v->items[at - 1].len == len && begins_with(bytes, len, &v->items[at - 1]);
}

bool redact_values_has(const struct redact_values *v, const char *bytes, size_t len)
{
	return redact_values_is_at(v, count_below(v, bytes, len), bytes, len);
}

int redact_values_add(
	struct redact_values *v, const char *bytes, size_t len, size_t max_n, size_t max_bytes)
{
	size_t at = count_below(v, bytes, len);
	char *copy;

	if (redact_values_is_at(v, at, bytes, len))
		return 0;
	if (v->n >= max_n || len > max_bytes - v->bytes)
		return -E2BIG;
	if (redact_values_grow(v) < 0)
		return -ENOMEM;
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, len);
	memmove(v->items + at + 1, v->items + at, (v->n - at) * sizeof(*v->items));
	v->items[at] = (struct redact_value){ .bytes = copy, .len = len };
	v->n++;
	v->bytes += len;
	v->filter[redact_values_filter_bit(bytes) / 64] |= UINT64_C(1)
							   << redact_values_filter_bit(bytes) % 64;
	find_shorter(v);
	return 0;
}

void redact_values_deinit(struct redact_values *v)
{
	for (size_t i = 0; i < v->n; i++) {
		explicit_bzero(v->items[i].bytes, v->items[i].len);
		free(v->items[i].bytes);
	}
	free(v->items);
	*v = (struct redact_values){ 0 };
}

void redact_values_mark(const struct redact_values *v, const char *text, size_t len, char *hidden)
{
	size_t done = 0;

	for (size_t i = 0; i + PREFIX <= len; i++) {
		size_t found, from = i > done ? i : done;

		if (!may_begin(v, text + i))
			continue;
		found = longest(v, text + i, len - i);
		if (found == NO_VALUE || i + v->items[found - 1].len <= from)
			continue;
		done = i + v->items[found - 1].len;
		memset(hidden + from, 1, done - from);
	}
}
