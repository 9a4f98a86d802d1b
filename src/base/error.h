/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What went wrong, for a person: where (file, line, column), what was expected, and what to do.
 * A fixed-size value, so that reporting an error cannot fail. Every function that takes a
 * `struct error *` accepts NULL. Text that came from outside is made visible (no control bytes).
 */
#include <stdint.h>

struct buffer;

/* A place in a file that was read. Lines and columns count from 1; 0 means unknown. */
struct location {
	const char *file; /* NULL: made by code */
	uint32_t line, column;
};

struct error {
	char file[256];
	uint32_t line, column;
	char text[512]; /* what happened and what was expected */
	char hint[256]; /* what to do; "" where there is nothing to say */
	int cause;      /* an errno value, if the machine is the reason: a full disk …; else 0 */
};

/* Fills *e and returns code unchanged: `return error_set(e, -EINVAL, &loc, "…");` loc may be NULL.
 */
int error_set(struct error *e, int code, const struct location *loc, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* "out of memory"; returns -ENOMEM. */
int error_no_memory(struct error *e);
void error_hint(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "file:3:7: text\n  hint", without a newline at the end. */
void error_print(const struct error *e, struct buffer *out);
