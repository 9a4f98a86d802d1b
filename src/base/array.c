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

void array_sort_pointers(
	const void **items, size_t n, const void **room, int (*compare)(const void *, const void *))
{
	size_t sorted = n > 0, at = 0;

	while (sorted < n && compare(&items[sorted - 1], &items[sorted]) <= 0)
		sorted++;
	if (sorted == n)
		return;
	qsort(items + sorted, n - sorted, sizeof(*items), compare);
	/* The first part goes out of the way; what is left of the second is in its place. */
	memcpy(room, items, sorted * sizeof(*items));
	for (size_t i = 0, k = sorted; i < sorted; at++) {
		if (k < n && compare(&items[k], &room[i]) < 0)
			items[at] = items[k++];
		else
			items[at] = room[i++];
	}
}
