/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The presets as tables, made from data/presets by tools/gen-profiles.py; what its files share. */
#include <stddef.h>
#include <stdint.h>

#include "cli/preset/preset.h"

/* Without pointers: they are relocated at each start, also of what uses no preset. */
struct preset_row {
	uint16_t key, text; /* where it starts in preset_texts */
};

struct preset_data {
	uint16_t name, first, n; /* rows of preset_rows */
};

extern const char preset_texts[];
extern const struct preset_row preset_rows[];
extern const struct preset_data preset_data[]; /* by name */
extern const size_t preset_data_count;

/* Makes what is missing below the first `from` bytes of a path. 1: the last of them was made. */
int preset_make_folders(const char *path, size_t from);

/*
 * Locks the states of all agents until this process ends; keep: the folder of one of them. No
 * sandbox sees the folder that is locked, so none can lock it. -EBUSY: another run has it.
 */
int preset_lock_states(const char *keep, struct error *e);
