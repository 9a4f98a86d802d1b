/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changing an object line by line, and writing lines: escaped and folded as RFC 5545 has it. What
 * an edit does not name stays byte for byte.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "services/calendar/lines.h"

/* Appends "NAME;PARAMS:value" and its break; value is written as it is. params: ";A=B" or "". */
void edit_add_raw(struct buffer *out, const char *name, const char *params, const char *value);
/* The same for a TEXT: escaped, and without control characters. */
void edit_add_text(struct buffer *out, const char *name, const char *text);
/* Appends what an escaped TEXT means. */
void edit_unescape(const char *value, struct buffer *out);

struct edit {
	const struct lines *lines;
	struct edit_change {
		size_t at, len;   /* what goes, in the source */
		const char *text; /* what comes */
	} * changes;
	size_t n, cap;
	struct arena arena;
};

/*
 * All lines of that name in the part go; `line` (written by the calls above) comes where the first
 * was, or at the part's end. line NULL: none comes. A name is edited once. -ENOMEM.
 */
int edit_set(struct edit *e, uint32_t part, const char *name, const char *line);
/* Lines that come at a part's end, beside others of their name. */
int edit_append(struct edit *e, uint32_t part, const char *text);
/* Text that comes before a part. */
int edit_insert(struct edit *e, uint32_t part, const char *text);
/* The part with all that is in it goes. */
int edit_remove_part(struct edit *e, uint32_t part);
/* Appends the object as it is now. */
void edit_print(struct edit *e, struct buffer *out);
void edit_deinit(struct edit *e);
#define auto_edit __attribute__((cleanup(edit_deinit))) struct edit
