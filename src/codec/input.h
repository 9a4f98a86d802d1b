/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The text of a document before anything is parsed: bytes from outside, with the name and the line
 * that messages about them use.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct input {
	const char *file; /* NULL: none given */
	const char *text;
	size_t len;
	uint32_t first_line; /* the line of `file` that the text starts on */
};

/* Length of the UTF-8 byte order mark that the text starts with: 3, or 0. */
size_t input_bom(const char *text, size_t len);
/* -E2BIG: longer than NODE_INPUT_MAX. -EINVAL: holds a NUL, or is no UTF-8. */
int input_check(const struct input *in, struct error *e);
/* Line and column of a byte. Walks the text from its start, so for messages only. */
struct location input_location(const struct input *in, size_t offset);
/* How much of s to quote in a message: at most a few dozen bytes, no character cut in two. */
int input_excerpt(const char *s, size_t len);
