/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Scratch folders of a test: made empty, removed with all that is in them. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static inline int scratch_remove_entry(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Never follows a link. */
static inline int scratch_remove(const char *folder)
{
	return nftw(folder, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new folder in place of the XXXXXX that `template` ends with; its real name in `ret`, which has
 * room for PATH_MAX. */
static inline int scratch_make(char *template, char *ret)
{
	return mkdtemp(template) && realpath(template, ret) ? 0 : -1;
}
