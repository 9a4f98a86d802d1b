/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which skills there are: those that were approved, wherever they lie, and each folder with a
 * manifest in one of these:
 *
 *     corral/skills in XDG_DATA_HOME and in each of XDG_DATA_DIRS
 *     ~/.claude/skills, ~/.codex/skills … where agents keep theirs
 *     the folders that `skills` in daemon.json (or .yaml) names
 *
 * A skill is called by its id: the SHA-256 of its real path, which also names its approval.
 */
#include <stdbool.h>

#include "cli/verb.h"
#include "skill/approval.h"

enum { CATALOG_SKILLS_MAX = 256, CATALOG_FOLDER_MAX = 1000 };

struct catalog_item {
	char id[SKILL_DIGEST_HEX];
	const char *path;               /* real, absolute */
	bool is_gone;                   /* it was approved, and there is no folder any more */
	struct approval_record *record; /* NULL: it was never approved */
};

struct catalog {
	const char *approvals; /* their folder */
	const char **folders;  /* that were looked at and are there */
	size_t n_folders, cap_folders;
	struct catalog_item *items; /* sorted by path */
	size_t n, cap;
	bool more; /* than CATALOG_SKILLS_MAX */
};

/* All of them, without reading any. config: the file of the daemon; NULL: the user's. */
int catalog_open(struct catalog *ret, struct call *c, const char *config);
/* One by its id, or by its folder, which need not be in the catalog. 1: there is none. */
int catalog_find(struct call *c, const char *config, const char *word, struct catalog *all,
	struct catalog_item *ret);
