/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Arrays: how many rows a table has, and arrays on the heap that grow (in an arena: ARENA_PUSH). */
#include <errno.h>
#include <stddef.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Makes room for one more item in an array of `n` items with room for `*cap`, by doubling. Returns
 * the array (moved or not), or NULL, and the array stays as it is. Use through ARRAY_PUSH.
 */
void *array_grow(void *items, size_t n, size_t *cap, size_t item_size);

/* Order uint32_t, and pointers to text, for qsort() and bsearch(). */
int array_compare_u32(const void *a, const void *b);
int array_compare_text(const void *a, const void *b);

/*
 * Sorts n pointers as qsort() does, where the first of them often stand in order already: those are
 * compared with their neighbours only. room: for n
 * pointers.
 */
void array_sort_pointers(const void **items, size_t n, const void **room,
	int (*compare)(const void *a, const void *b));

/* Appends *item* to (items, n, cap); evaluates to 0 or -ENOMEM. */
#define ARRAY_PUSH(items, n, cap, item)                                                    \
	({                                                                                 \
		__typeof__(items) grown_ = array_grow(items, n, &(cap), sizeof(*(items))); \
		if (grown_) {                                                              \
			(items) = grown_;                                                  \
			(items)[n] = (item);                                               \
			(n)++;                                                             \
		}                                                                          \
		grown_ ? 0 : -ENOMEM;                                                      \
	})
