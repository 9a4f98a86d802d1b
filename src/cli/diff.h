/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Two texts as a person compares them: "- " before a line that is gone, "+ " before a new one,
 * three lines around each change. Texts are foreign bytes, and are printed as such.
 */
#include <stddef.h>

struct output;

enum {
	DIFF_COLUMNS = 160, /* bytes of a line that diff_print_short() shows */
};

/*
 * For a person who decides by it: every line that differs, and all of each line. Texts that have
 * little in common are shown as all lines removed and all added. No output: the texts are the same.
 */
void diff_print(struct output *o, const char *indent, const char *old, size_t old_len,
	const char *new, size_t len);
/*
 * For a glance: long lines are cut, and at most *lines lines are printed and subtracted; a last one
 * says that there are more. -E2BIG: the texts have little in common, and nothing was printed.
 * -ENOMEM.
 */
int diff_print_short(struct output *o, const char *old, size_t old_len, const char *new, size_t len,
	size_t *lines);
