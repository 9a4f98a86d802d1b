/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of hosts share. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

/* A text that may hold NULs, with its length. */
#define TEXT(literal) (literal), sizeof(literal) - 1

/* Compares two texts, and says which row of a table it was about. */
static inline void check_text(const char *row, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("<%s>: got <%s>, want <%s>", row, got, want);
}

static inline void check_code(const char *row, int got, int want)
{
	if (got != want)
		fail_msg("<%s>: got %d, want %d", row, got, want);
}

static inline void check_yes(const char *row, const char *of, bool got, bool want)
{
	if (got != want)
		fail_msg("<%s> and <%s>: got %s", row, of, got ? "yes" : "no");
}
