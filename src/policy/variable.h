/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * $SKILL_DIR $WORK_DIR $DATA_DIR $SHARED_DIR $HOME $TEMP at the start of a path pattern ("~/" is
 * "$HOME/", "${HOME}" is "$HOME"). They are replaced once, when a policy is compiled, by values the
 * caller gives; a value is taken literally, whatever glob characters it holds.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum variable {
	VARIABLE_SKILL_DIR,
	VARIABLE_WORK_DIR,
	VARIABLE_DATA_DIR,
	VARIABLE_SHARED_DIR,
	VARIABLE_HOME,
	VARIABLE_TEMP,
	VARIABLE_COUNT,
};

struct variables {
	const char *values[VARIABLE_COUNT]; /* absolute paths; NULL: not known */
};

/* "SKILL_DIR" … without the dollar. */
const char *variable_name(enum variable v);
int variable_parse(const char *name, size_t len, enum variable *ret);
/*
 * Splits a pattern into its variable and the rest: 1 and both outputs set, 0 if it starts with
 * none, -EINVAL for an unknown variable or one in the middle (with a suggestion in e).
 */
int variable_split(const char *pattern, enum variable *ret, const char **ret_rest,
	const struct location *where, struct error *e);
/* The pattern with its variable replaced (escaped as a literal); -ENOENT with a sentence if the
 * value is unknown. */
int variable_expand(const struct variables *vars, const char *pattern, struct arena *a,
	const char **ret, const struct location *where, struct error *e);
