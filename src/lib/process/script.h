/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How a script is run: by the runtime that the caller names, else by its #! line. (A program that
 * needs no interpreter is run as it is.) The script itself
 * is an argument of its interpreter, so it need not be executable, and lists of programs speak of
 * the interpreter.
 */
#include "base/arena.h"
#include "base/error.h"

/*
 * *ret is the whole command, in the arena, for a script (absolute path) with its arguments (may be
 * NULL). runtime may be NULL. -ENOENT: no such script; -ENOEXEC: it does not say what runs it.
 */
int script_command(const char *path, const char *runtime, const char *const *args, struct arena *a,
	const char *const **ret, struct error *e);
