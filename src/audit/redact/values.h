/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A set of values that is looked for in texts. What a text costs does not depend on how many there
 * are, but for a logarithm where one of them may begin: the first four bytes of all are in a small
 * filter, and behind it they are sorted, so that the longest that begins at a place is found by
 * halving.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REDACT_VALUES_FILTER = 1 << 14 };

struct redact_value {
	char *bytes;
	size_t len;
	size_t shorter; /* 1 + the longest other that this one begins with; 0: none */
};

struct redact_values {
	struct redact_value *items; /* sorted by their bytes */
	size_t n, cap, bytes;
	uint64_t filter[REDACT_VALUES_FILTER / 64];
};

/* The value is copied; len is at least 4. -E2BIG past max_bytes for all, -ENOMEM. */
int redact_values_add(
	struct redact_values *v, const char *bytes, size_t len, size_t max_n, size_t max_bytes);
/* Whether just this is one of them. */
bool redact_values_has(const struct redact_values *v, const char *bytes, size_t len);
void redact_values_deinit(struct redact_values *v);
/* Sets hidden[i] for each byte of a text that belongs to one of them, overlapping or not. */
void redact_values_mark(const struct redact_values *v, const char *text, size_t len, char *hidden);
