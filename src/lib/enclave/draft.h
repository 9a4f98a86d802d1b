/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A file that is written beside the one whose place it takes. */
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { DRAFT_NAME = 40, DRAFT_MODE_BITS = 0777 };

struct draft {
	int folder; /* not its own */
	int fd;
	char name[DRAFT_NAME];   /* that cannot be guessed; "": it has none yet */
	char part[NAME_MAX + 1]; /* that the next save finds; "": it has none */
};

/* Closes it; without a part's name it is gone. */
void draft_deinit(struct draft *d);
#define auto_draft __attribute__((cleanup(draft_deinit))) struct draft

/* A new one in d->folder, to read and write; d->fd must be -1. */
int draft_make(struct draft *d, mode_t mode);
/* True if d->part still is a name of this file. */
bool draft_has_part(const struct draft *d);
/* Puts it in the place of `name`, synced. old: what is there, whose owner and mode it gets; or
 * NULL. */
int draft_put(struct draft *d, const char *name, const struct stat *old);
