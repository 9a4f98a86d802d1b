/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* libyaml's complaints, for the person who wrote the file. */
#include <stddef.h>

#include <yaml.h>

#include "base/error.h"

/*
 * Fills *e from a parser that failed. `at` and `since` are its problem_mark and its context_mark;
 * `line` starts the line that the problem is in. Returns -EINVAL, or -ENOMEM.
 */
int yaml_error_explain(struct error *e, const yaml_parser_t *p, const struct location *at,
	const struct location *since, const char *line, size_t len);
