/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON as RFC 8259 has it, strict: one value, unique keys, no comments, numbers as they are
 * written. Refused though the RFC lets a reader take it: a byte order mark, duplicate keys, NUL
 * characters, lone surrogates, numbers that are no finite double.
 */
#include <stddef.h>

#include "codec/node.h"

struct buffer;

/* *d need not be initialised; on failure it is empty. file may be NULL. */
int json_read(struct document *d, const char *file, const char *text, size_t len, struct error *e);

/* The same for messages that carry contents of files. */
int json_read_within(struct document *d, const char *file, const char *text, size_t len,
	const struct node_bounds *bounds, struct error *e);

/* {"a":1,"b":2}; {"a": 1, "b": 2}; each value in a line of its own. */
enum json_style { JSON_COMPACT, JSON_SPACED, JSON_PRETTY };
/*
 * Prints a tree; no newline at the end. A number that JSON cannot write (0x1F, .inf, 1e999: YAML
 * can) becomes a string. Characters that would lie on a screen are escaped. Equal trees print equal
 * bytes. A tree too deep for a writer (json-writer.h) sets out->failed.
 */
void json_print(struct buffer *out, const struct node *n, enum json_style style);
/* One JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void json_print_string(struct buffer *out, const char *s, size_t len);
