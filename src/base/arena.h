/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An arena owns many small objects with one lifetime: a parsed document, a set of permissions, a
 * compiled policy. Nothing in it is freed alone; arena_deinit() frees all. A budget bounds what
 * hostile input can make us hold: past it every allocation fails with NULL, as out of memory does.
 *
 * A zeroed struct arena is ready for use and unbounded.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	size_t used;   /* bytes handed out in total */
	size_t budget; /* 0: no bound */
};

void arena_init(struct arena *a, size_t budget);
void arena_deinit(struct arena *a);

/* Zeroed memory, aligned for any type; NULL when out of memory or over budget. */
void *arena_alloc(struct arena *a, size_t size);
/* The same for n objects; NULL on overflow too. */
void *arena_calloc(struct arena *a, size_t n, size_t size);
/* The same with any bytes in it, for who writes all of it; of no objects, it is not NULL either. */
void *arena_room(struct arena *a, size_t n, size_t size);
/* A NUL-terminated copy of len bytes. */
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes room for one more item in an array of `n` items with room for `*cap`, by doubling. Returns
 * the array (moved or not), or NULL; the old block stays in the arena. Use through ARENA_PUSH.
 */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_size);

/* Appends *item* to (items, n, cap); evaluates to 0 or -ENOMEM. */
#define ARENA_PUSH(a, items, n, cap, item)                                                    \
	({                                                                                    \
		__typeof__(items) grown_ = arena_grow(a, items, n, &(cap), sizeof(*(items))); \
		if (grown_) {                                                                 \
			(items) = grown_;                                                     \
			(items)[n] = (item);                                                  \
			(n)++;                                                                \
		}                                                                             \
		grown_ ? 0 : -ENOMEM;                                                         \
	})

static inline void arena_deinitp(struct arena *a)
{
	arena_deinit(a);
}
#define auto_arena __attribute__((cleanup(arena_deinitp))) struct arena
