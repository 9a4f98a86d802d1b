/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a skill is made of, read once: a list of its entries with the hash of each file, the digest
 * of all, and on request a copy (skill/archive.h). What was hashed and what was copied are the same
 * bytes, whatever happens to the folder meanwhile; questions about an entry are answered by the
 * list, not by the folder.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/error.h"
#include "skill/digest.h"
#include "skill/walk.h"

struct skill_archive_writer;

/* Tells one state of a file from another: whatever changes a file changes its ctime. */
struct skill_stamp {
	uint64_t dev, ino, size;
	uint32_t mode;
	struct timespec mtime, ctime;
};

struct skill_item {
	const char *path; /* relative to the skill's folder */
	enum skill_entry_type type;
	bool executable, live;
	uint64_t size;                          /* files only */
	unsigned char hash[SKILL_DIGEST_BYTES]; /* files only */
	const char *target;                     /* links only */
	struct skill_stamp stamp;
};

struct skill_content {
	struct arena arena;
	struct skill_item *items; /* sorted by the bytes of their paths */
	size_t n, cap;
	struct skill_stamp top; /* of the folder itself */
	struct skill_digest digest;
};

/*
 * Reads all of the folder; dirfd may be O_PATH. *c is zeroed by the caller, and is the caller's
 * also on failure. copy: gets all of it as well; may be NULL. Errors as of skill_walk() and
 * skill_archive_add().
 */
int skill_content_read(struct skill_content *c, int dirfd, const struct skill_lives *lives,
	struct skill_archive_writer *copy, struct error *e);
void skill_content_deinit(struct skill_content *c);
/*
 * Whether the folder is still as it was read, by inode numbers and times alone: for looks at it
 * that must have seen what was read. -ESTALE: it is not.
 */
int skill_content_check(const struct skill_content *c, int dirfd, struct error *e);
/*
 * What a path in the skill leads to, its links followed as the kernel would follow them. Below what
 * is live, the live entry itself. -ENOENT: nothing; -EXDEV: it leads out of the folder; -EISDIR: it
 * is the folder itself; -ELOOP.
 */
int skill_content_find(
	const struct skill_content *c, const char *path, const struct skill_item **ret);
