/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A scratch folder for bench-cold, removed at the end whatever happens: a workspace with so many
 * names of files and folders, and a home for each user that runs there.
 */
#include <stddef.h>
#include <sys/types.h>

enum { COLD_PLACE_NAMES_MAX = 1000000, PATH_BYTES = 256 };

struct cold_place {
	size_t names;
	char folder[64], work[96];
	char home[96], other_home[96]; /* of the user that made it; of the other one */
	pid_t maker;
};

extern struct cold_place cold_place;

/* One at a time. The other user may write its own home and the workspace's top folder. */
void cold_place_make(size_t names, uid_t other);
void cold_place_remove(void);
const char *cold_place_home(const struct cold_place *p, uid_t user);
