/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Command patterns: a program, and what may follow it.
 *
 *   git              the program that a trusted PATH finds under this name, any arguments
 *   /usr/bin/git     that file, any arguments         /opt/tools/**   any program there (a glob)
 *   git push:*       git whose arguments start with "push"
 *   git push:        git with exactly the argument "push"     git:   git without arguments
 *
 * Words are separated by spaces; a backslash takes the next character as it is (\: \  \\ too). Arguments are compared as
 * whole words, never by prefix of a word; `*` inside an argument word is literal. A colon only has a meaning
 * at the very end. Patterns with arguments hold where Corral itself starts the program.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

struct buffer;

struct command_pattern {
	const char *program; /* a name without '/', or a path pattern that starts with '/' (glob syntax kept) or with a variable */
	bool is_name;
	const char **args;
	size_t n_args;
	bool more; /* further arguments may follow */
};

int command_pattern_parse(struct command_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e);
/* Canonical text; parse → print → parse is the identity. */
void command_pattern_print(const struct command_pattern *p, struct buffer *out);
/* True if the pattern says anything about arguments. */
static inline bool command_pattern_is_fine(const struct command_pattern *p)
{
	return p->n_args > 0 || !p->more;
}
/* Only the arguments: argv without argv[0]. */
bool command_pattern_matches_args(const struct command_pattern *p, const char *const *args, size_t n);
/* The arguments that both accept: 1 with *ret's args and more set (program untouched), 0 if none. */
int command_pattern_meet_args(const struct command_pattern *a, const struct command_pattern *b,
	struct command_pattern *ret);
