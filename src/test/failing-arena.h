/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An arena that fails on request (failing.h): for tests with arena_wrap in their 'wrap'. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "test/failing.h"

FAILING(void *, arena_alloc, (struct arena * a, size_t size), a, size)
FAILING(void *, arena_calloc, (struct arena * a, size_t n, size_t size), a, n, size)
FAILING(char *, arena_strdup, (struct arena * a, const char *s), a, s)
FAILING(char *, arena_strndup, (struct arena * a, const char *s, size_t len), a, s, len)
FAILING(void *, arena_grow, (struct arena * a, void *items, size_t n, size_t *cap, size_t size), a,
	items, n, cap, size)

char *__real_arena_printf(struct arena *a, const char *format, ...);
char *__wrap_arena_printf(struct arena *a, const char *format, ...);

__attribute__((format(printf, 2, 0))) char *__wrap_arena_printf(
	struct arena *a, const char *format, ...)
{
	char *text, *copy;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	copy = failing_now() ? NULL : __real_arena_printf(a, "%s", text);
	free(text);
	return copy;
}
