/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *array_grow(void *items, size_t n, size_t *cap, size_t item_size)
{
	size_t more = *cap ? *cap * 2 : 8;
	void *grown;

	if (n < *cap)
		return items;
	if (*cap > SIZE_MAX / 2)
		return NULL;
	grown = reallocarray(items, more, item_size);
	if (grown)
		*cap = more;
	return grown;
}

int array_compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int array_compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
