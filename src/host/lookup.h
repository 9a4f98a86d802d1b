/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How processes of ours that run outside of every sandbox find programs, and what of the user's
 * environment their children get. PATH often leads into a folder that commands may write: .venv/bin
 * of an activated environment, node_modules/.bin. A program that a command left there must not run
 * outside, neither by our look-up nor by that of a child, as xdg-open looks for dbus-send.
 *
 * So a folder of such a list is kept only if it is out of reach of all commands of this user
 * (host/planted.h), whatever they were granted before. Nothing has to be remembered for that
 * (docs/decisions/0095-look-ups-outside.md).
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/path.h"

/* Of a list like PATH what is out of reach, in its order, each folder once, without links. Other
 * entries, empty and relative ones among them, are left out; so is all behind the first 256. */
void lookup_filter(const char *list, struct buffer *out);
/*
 * A program by its name in the folders of such a list that are out of reach; NULL or "": the usual
 * ones. The program itself, with its links, is out of reach too. -ENOENT.
 */
int lookup_find(const char *list, const char *name, char out[PATH_BYTES]);
/* A list of no folders: "" would be the current one. Only root could make it. */
#define LOOKUP_NOWHERE "/nonexistent"
/* Whether the variable is a list of folders that leads to programs. */
bool lookup_is_list(const char *name);
/*
 * The value that a child outside gets of a variable, in the arena: of PATH and other lists of
 * folders what is out of reach, never "", as that means the current folder; of BROWSER those
 * programs. Others as they are. *ret is NULL: it does not get the variable. value may be NULL.
 */
int lookup_value(struct arena *a, const char *name, const char *value, const char **ret);
/*
 * A whole environment (NAME=value, ends with NULL) for a program of ours: PATH and BROWSER by that
 * rule, and without the variables that make programs load code or read other files than they expect
 * (policy/match/env-name.h).
 */
int lookup_environment(struct arena *a, const char *const *env, const char *const **ret);
