/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The manifest in the folder of a skill, and what it says about running it. */
#include "base/arena.h"
#include "base/error.h"
#include "policy/format/manifest.h"

/*
 * Reads the manifest of that name, or of the skill in that folder. *ret_folder (PATH_BYTES long) is
 * the folder that it lies in, without links.
 */
int skill_entry_manifest(struct manifest *ret, const char *path, char *ret_folder, struct error *e);
/*
 * The file of an entry in a skill's folder: below it, links followed. entry NULL: the manifest's,
 * and *ret_runtime is its runtime, or NULL. Both in the arena.
 */
int skill_entry_find(const char *folder, const char *entry, struct arena *a, const char **ret_path,
	const char **ret_runtime, struct error *e);
