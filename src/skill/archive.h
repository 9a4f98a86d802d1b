/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A copy of a skill in a sealed memfd: how a skill that was hashed reaches the sandbox. It is
 * written while the files are hashed (skill/content.h), by a descriptor it goes to the sandbox's
 * first process, and that unpacks it into a file system in memory. It cannot be changed on the way;
 * it has no name, so there is nothing to prepare, to share or to clean up.
 *
 * A head with the skill's path, then a record for each entry, folders before what is in them. What
 * the skill may write is there by its name alone, as something to mount on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "skill/walk.h"
#include "wire/reader.h"

/* Of all files. It is in memory twice, until the sandbox stands. */
enum { SKILL_ARCHIVE_MAX = 256 << 20 };

struct skill_archive_writer {
	int fd; /* -1: not begun, or finished */
	uint64_t size, limit, bytes;
	uint32_t entries;
};

/* path: of the skill's folder, absolute and normal. Ends with skill_archive_abandon(). */
int skill_archive_begin(struct skill_archive_writer *w, const char *path, struct error *e);
/* An entry; its bytes follow by skill_archive_write(). -E2BIG: more than SKILL_ARCHIVE_MAX. */
int skill_archive_add(
	struct skill_archive_writer *w, const struct skill_entry *entry, struct error *e);
int skill_archive_write(struct skill_archive_writer *w, const void *data, size_t len,
	const char *path, struct error *e);
/* The descriptor, sealed, is the caller's. */
int skill_archive_finish(struct skill_archive_writer *w, int *ret, struct error *e);
void skill_archive_abandon(struct skill_archive_writer *w);

struct skill_archive {
	int fd; /* not owned */
	const void *map;
	size_t len;
	const char *path; /* of the skill's folder; absolute and normal */
	uint64_t bytes;   /* of all files */
	uint32_t entries;
	struct reader records;
};

struct skill_archive_entry {
	enum skill_entry_type type;
	const char *path; /* below the skill's folder, with a slash before it: "/run.sh"; normal */
	bool executable, live;
	const void *data; /* a file's content, a link's target (which ends with a NUL) */
	uint64_t size;
	int64_t seconds; /* when it was changed */
	uint32_t nanoseconds;
};

/* Maps it. -EPROTO: no archive, or one that could still be changed. */
int skill_archive_open(struct skill_archive *a, int fd);
/* The same of bytes in memory, which must outlive it. */
int skill_archive_open_bytes(struct skill_archive *a, const void *data, size_t len);
void skill_archive_close(struct skill_archive *a);
/* The next record; *r starts as a copy of a->records. 1; 0: there is no more; -EPROTO. */
int skill_archive_next(struct reader *r, struct skill_archive_entry *ret);
/*
 * The file that a path below the skill's folder ("/run.sh") leads to, by the links of the copy.
 * -ENOENT: none, or one in what is live; -ELOOP; -EPROTO.
 */
int skill_archive_find(
	const struct skill_archive *a, const char *path, struct skill_archive_entry *ret);
/*
 * Makes all of it in an empty folder that no other process knows. Files have mode 644 or 755 and
 * keep their times; owners and extended attributes are not kept.
 */
int skill_archive_unpack(const struct skill_archive *a, int folder);
