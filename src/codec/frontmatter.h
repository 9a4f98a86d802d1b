/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Markdown that may start with a YAML block between two lines of "---" (the second may be "...").
 * A byte order mark, CRLF line ends and blanks after the dashes are accepted. A block that is
 * never closed is an error, not a document without one. Messages give the lines of the whole text.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/node.h"

struct frontmatter {
	struct document meta; /* a NODE_NULL root if the text has no frontmatter */
	bool present;
	size_t body; /* offset of the Markdown after it, or after the byte order mark */
};

/* *f need not be initialised; on failure it is empty. file may be NULL. */
int frontmatter_read(
	struct frontmatter *f, const char *file, const char *text, size_t len, struct error *e);
void frontmatter_deinit(struct frontmatter *f);
#define auto_frontmatter __attribute__((cleanup(frontmatter_deinit))) struct frontmatter
