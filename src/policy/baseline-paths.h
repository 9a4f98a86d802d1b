/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The baseline's files (baseline.h), compiled. */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/baseline.h"

struct baseline_paths;

/* home: the user's home folder, which counts beside /root, /home/… and /Users/…; may be NULL. */
int baseline_paths_new(struct baseline_paths **ret, const char *home, struct error *e);
void baseline_paths_free(struct baseline_paths *b);
/* The entry that forbids reading (or writing) a normal path, or NULL. */
const struct baseline_path *baseline_paths_match(
	const struct baseline_paths *b, bool write, const char *path, size_t len);
