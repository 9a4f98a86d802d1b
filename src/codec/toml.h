/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * TOML 1.0, read into the tree of node.h. Tables are maps. Dates and times are text, as they were
 * written; whole numbers are decimal, however they were written; inf and nan are spelled as YAML
 * spells them. Text without NUL, as everywhere in this folder: "\u0000" is refused.
 */
#include <stddef.h>

#include "codec/node.h"

/* Keys of a table are found one after the other, so there are fewer of them than in JSON. */
enum { TOML_COUNT_MAX = 20000 };

/* *d need not be initialised; on failure it is empty. file may be NULL. */
int toml_read(struct document *d, const char *file, const char *text, size_t len, struct error *e);
