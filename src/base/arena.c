/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first is small, as most arenas are for one pattern or one path. */
enum { CHUNK_LEAST = 1024, CHUNK_MOST = 1 << 20 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *a, size_t budget)
{
	*a = (struct arena){ .budget = budget };
}

void arena_deinit(struct arena *a)
{
	struct arena_chunk *c = a->chunks;

	while (c) {
		struct arena_chunk *next = c->next;
		free(c);
		c = next;
	}
	*a = (struct arena){ .budget = a->budget };
}

static struct arena_chunk *chunk_add(struct arena *a, size_t at_least)
{
	size_t size = CHUNK_LEAST;
	struct arena_chunk *c;

	/* Chunks grow with the arena, so that large ones cost few mallocs. */
	while (size < at_least || (size < a->used / 2 && size < CHUNK_MOST))
		size *= 2;
	/* Not zeroed: what is never handed out is never touched, and costs no page. */
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	c->used = 0;
	c->next = a->chunks;
	a->chunks = c;
	return c;
}

/* As malloc() does it: for who writes all of it. */
static void *arena_take(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *c = a->chunks;
	void *p;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = (size + align - 1) & ~(align - 1);
	if (a->budget && size > a->budget - (a->used < a->budget ? a->used : a->budget))
		return NULL;
	if (!c || c->size - c->used < size)
		c = chunk_add(a, size);
	if (!c)
		return NULL;
	p = c->bytes + c->used;
	c->used += size;
	a->used += size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = arena_take(a, size);

	return p ? memset(p, 0, size) : NULL;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return arena_alloc(a, total);
}

void *arena_room(struct arena *a, size_t n, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(n, size, &total) ? NULL : arena_take(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = len < SIZE_MAX ? arena_take(a, len + 1) : NULL;

	if (p && len)
		memcpy(p, s, len);
	if (p)
		p[len] = '\0';
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	char *p;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	p = n < 0 ? NULL : arena_take(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(p, (size_t)n + 1, format, args);
	va_end(args);
	return p;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_size)
{
	size_t more = *cap ? *cap * 2 : 4, bytes;
	void *moved;

	if (n < *cap)
		return items;
	moved = __builtin_mul_overflow(more, item_size, &bytes) ? NULL : arena_take(a, bytes);
	if (!moved)
		return NULL;
	if (n)
		memcpy(moved, items, n * item_size);
	*cap = more;
	return moved;
}
