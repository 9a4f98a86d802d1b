/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Text of a sandbox that a person is going to read on the desktop. It cannot pretend to be more
 * than text: no control characters, nothing that turns the direction of writing or has no width, no
 * markup.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Appends at most max characters of one line: line breaks and tabs become spaces. … marks the end
 * of what was cut. */
void text_add_line(struct buffer *out, const char *text, size_t len, size_t max);
/* The same for several lines: at most so many. with_markup: whoever shows it reads markup, so & <
 * and > are escaped. */
void text_add_lines(struct buffer *out, const char *text, size_t len, size_t max, size_t lines,
	bool with_markup);
