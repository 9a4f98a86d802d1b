/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * All entries of a skill's folder, each exactly once, opened so that no process can put another
 * file in their place meanwhile. A skill holds files, folders, and symbolic links that stay inside
 * it; any other thing, or one that changes while it is read, ends the walk with an error that names
 * it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

enum { SKILL_ENTRIES_MAX = 20000, SKILL_DEPTH_MAX = 64, SKILL_BYTES_MAX = 1 << 30 };

enum skill_entry_type { SKILL_FILE, SKILL_FOLDER, SKILL_LINK };

struct skill_entry {
	enum skill_entry_type type;
	const char *path;   /* relative to the skill's folder; any bytes */
	bool executable;    /* files only */
	int fd;             /* files only: open for reading; else -1 */
	uint64_t size;      /* files only */
	const char *target; /* links only */
	bool live;          /* the manifest grants it for writing: it is no part of the skill */
	const struct stat *st;
};

/*
 * What a skill's manifest grants for writing inside its folder. Where there is a folder with all
 * below it, or a file, at such a path, that is visited as `live`, and not opened. Anything else
 * there, a link above all, is an entry like any other.
 */
struct skill_live {
	const char *path; /* relative to the skill's folder */
	bool subtree;     /* a folder with all below it; else a file */
};

struct skill_lives {
	const struct skill_live *items;
	size_t n;
};

/* A negative return value ends the walk. The entry and its strings last for the call only. */
typedef int skill_visit(void *data, const struct skill_entry *entry, struct error *e);

/*
 * Visits every entry below dirfd (which may be O_PATH), a folder before what is in it, else in no
 * particular order. lives: NULL for none.
 * -EPERM: an entry that no skill may hold; -E2BIG: past the bounds; -ESTALE: changed meanwhile.
 */
int skill_walk(int dirfd, const struct skill_lives *lives, skill_visit *visit, void *data,
	struct error *e);
