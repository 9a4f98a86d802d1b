/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The presets as tables, made from data/presets by tools/gen-profiles.py. */
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
