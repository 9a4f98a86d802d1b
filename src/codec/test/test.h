/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of this folder share. */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A text that may hold NULs, with its length. */
#define TEXT(literal) (literal), sizeof(literal) - 1

/* A text that must be refused: how, where, and with which words (a part of them; NULL: none). */
struct refusal {
	const char *text;
	size_t len;
	int code;
	unsigned line, column;
	const char *says, *hint;
};

/* Compares, and shows the text in question when they differ. */
static inline void check_refusal(const struct refusal *row, int code, const struct error *e)
{
	bool same = code == row->code && e->line == row->line && e->column == row->column &&
		    strstr(e->text, row->says) &&
		    (row->hint ? strstr(e->hint, row->hint) != NULL : e->hint[0] == '\0');

	if (!same)
		fail_msg("<%s>: %d at %u:%u \"%s\" (%s), want %d at %u:%u \"%s\" (%s)", row->text,
			code, e->line, e->column, e->text, e->hint, row->code, row->line,
			row->column, row->says, row->hint ? row->hint : "");
}
