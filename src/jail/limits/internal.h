/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What cgroup.c, cgroup-home.c and their tests share, and what tally.c and objects.c do. Everything
 * is done below an open folder.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "jail/limits/cgroup.h"

enum { CGROUP_TEXT_MAX = 4096, CGROUP_NAME_MAX = 48 };

struct cgroup_home {
	int fd;       /* the folder in which cgroups are made */
	bool moved;   /* we left it for a leaf */
	bool enabled; /* we turned the controllers on, and turn them off again */
	char leaf[CGROUP_NAME_MAX];
};

struct cgroup {
	int home; /* borrowed */
	int fd;
	char name[CGROUP_NAME_MAX];
};

/* Writes text into an existing file. */
int cgroup_write(int folder, const char *file, const char *text);
/* Reads a file, NUL-terminated; -EFBIG if it does not fit. Returns its length. */
int cgroup_load(int folder, const char *file, char *text, size_t size);
/* Is the word in a list separated by spaces and newlines? */
bool cgroup_has_word(const char *text, const char *word);
/* The number after "key " at the start of a line; 0 if there is none. */
uint64_t cgroup_key(const char *text, const char *key);
/* Writes the limits into the files of a cgroup. */
int cgroup_limit(int folder, const struct cgroup_limits *l, struct error *e);
/* A new child folder with an unused name of ours; opens it. */
int cgroup_make(int home, char name[CGROUP_NAME_MAX], int *ret_fd);
/* Removes a child folder; waits a little for the dead in it to go. */
int cgroup_remove(int home, const char *name);
/*
 * Where our own cgroup's folder in the cgroup2 hierarchy is, from the text of /proc/self/cgroup and
 * /proc/self/mountinfo; appends it to ret. -ENOENT: no cgroup2 hierarchy, or none is mounted.
 * -EXDEV: it is mounted, but our cgroup is not below what the mount shows. -ESTALE: our cgroup was
 * removed under our feet. -EINVAL: not such files.
 */
int cgroup_find(const char *cgroups, const char *mounts, struct buffer *ret);

/* For the tally: /proc, read without an allocation. */

/* false: that was enough. The text ends at the first TALLY_LINE_MAX bytes of a longer line. */
typedef bool tally_line(const char *line, void *context);
/* Negative: ends the walk, which returns it. */
typedef int tally_entry(int folder, const char *name, void *context);

enum { TALLY_LINE_MAX = 192 };

int tally_read_lines(int folder, const char *path, tally_line *take, void *context);
/* All entries of a folder, from its start, but no more than 1 << 17: -EOVERFLOW. */
int tally_walk(int folder, tally_entry *take, void *context);
/* "PID/FILE"; both are short. */
void tally_path(char ret[32], const char *pid, const char *file);
uint64_t tally_number(const char *s);
/* A number in hexadecimal; *s is behind it then. */
uint64_t tally_hex(const char **s);
