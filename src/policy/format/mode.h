/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * omega's modes for a whole agent. sandbox and rx let the system be read and confine writes to the
 * data directory, the temp folder, ~/.claude and extra folders; rwx confines nothing. The
 * difference between sandbox and rx is what the agent is asked to do: see agent_mode_prompt().
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/permissions.h"

enum agent_mode { AGENT_MODE_SANDBOX, AGENT_MODE_RX, AGENT_MODE_RWX };

/* -EINVAL if the word is not one of these. */
int agent_mode_parse(const char *word, enum agent_mode *ret);
/* "sandbox", "rx", "rwx". */
const char *agent_mode_name(enum agent_mode mode);
/* Whether a data directory can be part of a prompt: UTF-8, no control characters. */
bool agent_mode_is_printable(const char *data_dir);
/* Omega's own folder, .omega, has a folder in which its agents work: its path, in the arena. NULL:
 * it is another folder, or out of memory. */
const char *agent_mode_workspace(const char *data_dir, struct arena *a);
/*
 * The text to put into the agent's prompt, in the arena. NULL for rwx, where there is nothing to
 * say, and when out of memory.
 */
const char *agent_mode_prompt(enum agent_mode mode, const char *data_dir, struct arena *a);
/*
 * Fills an empty p. data_dir and the extra folders are absolute paths, taken literally whatever
 * characters they hold; "/" is refused, as nothing would be confined.
 */
int agent_mode_permissions(enum agent_mode mode, const char *data_dir, const char *const *extra,
	size_t n_extra, struct permissions *p, struct error *e);
