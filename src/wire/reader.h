/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads a body from its start to its end: a fixed part, then strings that end with a NUL each.
 * There are no lengths or offsets in a body that could point elsewhere.
 */
#include <stdbool.h>
#include <stddef.h>

struct reader {
	const char *data;
	size_t left;
};

/* Copies the next len bytes to out; false (and out untouched) if there are not as many. */
bool reader_bytes(struct reader *r, void *out, size_t len);
/* The next string, which lives in the body; NULL if no NUL ends it. */
const char *reader_string(struct reader *r);
