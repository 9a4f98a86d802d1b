/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Literal paths, in order, so that a long list of them is asked about one path, or one folder,
 * without going through all of it. All are absolute and normal.
 */
#include <stdbool.h>
#include <stddef.h>

struct late_paths {
	const char **items; /* of the caller's texts; a path comes before all that is below it */
	size_t n;
};

/* -ENOMEM: *ret is untouched. */
int late_paths_new(struct late_paths *ret, const char *const *items, size_t n);
void late_paths_deinit(struct late_paths *p);

/* Is it one of them, or below one? */
bool late_paths_have(const struct late_paths *p, const char *path);
/* Is one of them below it, and not it itself? */
bool late_paths_reach(const struct late_paths *p, const char *path);

typedef int late_paths_child(void *data, const char *name, size_t len);

/* The names in a folder that paths below it begin with, each once. A negative return ends it. */
int late_paths_children(
	const struct late_paths *p, const char *folder, late_paths_child *one, void *data);
