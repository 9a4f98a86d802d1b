/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * YAML through libyaml's events: one document, the core schema's null, true/false and numbers for
 * plain scalars, unique keys that are scalars, aliases as copies that count against the bound, no
 * tags but the core ones. JSON files may be given too (JSON is YAML), but json.h is stricter and
 * points better.
 *
 * Refused because two readers, or a reader and a person, could see different things: merge keys
 * (`<<`), anchors and aliases as keys, line breaks that only YAML 1.1 knows (U+0085, U+2028,
 * U+2029) and a lone carriage return.
 */
#include <stddef.h>

#include "codec/node.h"

struct buffer;

/*
 * *d need not be initialised; file may be NULL. first_line: the line that the text starts on in its
 * file (1, or more inside frontmatter).
 */
int yaml_read(struct document *d, const char *file, unsigned first_line, const char *text,
	size_t len, struct error *e);

/*
 * Canonical block style, two spaces, lists of scalars in block style too, quotes only where needed,
 * a newline at the end. Reading it gives an equal tree.
 */
void yaml_print(struct buffer *out, const struct node *n);
