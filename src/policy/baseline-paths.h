/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The baseline's files (baseline.h), matched. There is nothing to compile: the tables are made
 * when Corral is built. */
#include <stdbool.h>
#include <stddef.h>

#include "policy/baseline.h"

/* The user's home folder, which counts beside /root, /home/… and /Users/…; {0}: none. */
struct baseline_home {
	const char *path;
	size_t len;
};

/* `home` may be NULL. What is no normal path, or is "/", counts as none. Points into `home`. */
struct baseline_home baseline_paths_home(const char *home);
/*
 * The first entry (in the order of the data file, where all secrets stand before what is the
 * system's) that forbids reading or writing a normal path, or NULL. Neither allocates nor locks.
 */
const struct baseline_path *baseline_paths_match(
	const struct baseline_home *home, bool write, const char *path, size_t len);
