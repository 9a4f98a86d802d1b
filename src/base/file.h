/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whole files, bounded. */
#include <stddef.h>

struct buffer;
struct stat;

/* Appends all of fd to out. -EFBIG past max bytes. */
int file_read_fd(int fd, size_t max, struct buffer *out);
/* The same by name; regular files, pipes and terminals; "-" is standard input. */
int file_read(const char *path, size_t max, struct buffer *out);
/*
 * The same of a regular file alone, for what other programs may have put there: a pipe or a device
 * is not waited for. -EINVAL: it is another kind of file.
 */
int file_read_regular(const char *path, size_t max, struct buffer *out);
/* Why others than the user and root could have put something there; NULL: they could not. */
const char *file_distrust(const struct stat *st);
/* What went wrong in file_read_regular(), in words. */
const char *file_words(int r);
/* Writes all of it, in as many pieces as it takes. */
int file_write_all(int fd, const void *data, size_t len);
/*
 * Replaces path by the given bytes: a new file with the given mode beside it, synced, renamed over
 * it. Nothing is left behind on failure.
 */
int file_replace(const char *path, const void *data, size_t len, unsigned mode);
/*
 * flock() for writing that waits so long at most: whoever may read a file or a folder may lock it,
 * commands in sandboxes too. -EBUSY: another process has it.
 */
int file_lock(int fd, unsigned most_ms);

/* Makes the folders of an absolute path that are missing, for the user alone (0700). -errno; what
 * was made before a failure stays. */
int file_make_folders(const char *path);
