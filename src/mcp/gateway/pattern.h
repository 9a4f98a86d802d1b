/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `pattern` of JSON Schema, without what costs more than one pass: characters, `.`, classes ([a-z],
 * [^/], \d \w \s and their opposites), each with `*`, `+` or `?`, and `^` and `$` at the ends. No
 * groups, no alternatives, no references back. A text of n characters and a pattern of m take n * m
 * steps, whatever they are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATTERN_ATOMS_MAX = 256, PATTERN_RANGES_MAX = 512 };

struct pattern_range {
	uint32_t first, last;
};

struct pattern_atom {
	uint16_t ranges, n; /* the first of its ranges, and how many */
	bool is_negated;    /* any character but these */
	char repeat;        /* '*', '+', '?', or 0: once */
};

struct pattern {
	struct pattern_atom atoms[PATTERN_ATOMS_MAX];
	size_t n;
	struct pattern_range ranges[PATTERN_RANGES_MAX];
	size_t n_ranges;
	bool from_start, to_end;
};

/* NULL, or what is wrong with it, as a part of a sentence. text: UTF-8. */
const char *pattern_read(struct pattern *p, const char *text);
/* Whether a part of the text, which is UTF-8, matches. */
bool pattern_matches(const struct pattern *p, const char *text);
