/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Markdown that may start with a YAML block between two lines of "---". A byte order mark and CRLF
 * line ends are accepted; a block that is never closed is an error, not a document without one.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/node.h"

struct frontmatter {
	struct document meta; /* a NODE_NULL root if the text has no frontmatter */
	bool present;
	size_t body; /* offset of the Markdown behind it */
};

int frontmatter_read(struct frontmatter *f, const char *file, const char *text, size_t len,
	struct error *e);
void frontmatter_deinit(struct frontmatter *f);
#define auto_frontmatter __attribute__((cleanup(frontmatter_deinit))) struct frontmatter
