/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One pattern of any list, by the operation it grants: is it well formed, and how is it spelt
 * canonically? */
#include "base/arena.h"
#include "base/error.h"
#include "policy/operation.h"

/*
 * Checks text and gives its canonical spelling in the arena (`ret` may be NULL): a path pattern
 * without doubled or trailing slashes ("DIR/" is "DIR/**"), "~/" as "$HOME/"; a host in lower case
 * and A-labels; a command with single spaces. The error points at `where`.
 */
int pattern_canonical(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e);
/* The same for network.private: only names, and none that means this machine. */
int pattern_private(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e);
