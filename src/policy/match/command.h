/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Command patterns: a program, and what may follow it.
 *
 *   git              the program that a trusted PATH finds under this name, any arguments
 *   /usr/bin/git     that file, any arguments
 *   /opt/tools/      any program there (a path is a glob: policy/match/glob.h)
 *   git push:*       git whose arguments start with "push"
 *   git push:        git with exactly the argument "push"; so does `git push` without the colon
 *   git:             git without arguments; `git:*` is the same as `git`
 *   *                any program
 *   glob:rm -rf /*   the command's whole text, where * is any text and ? any byte; for denials only
 *
 * Words are separated by spaces; a backslash takes the next character as it is (\: \  \\ too).
 * Arguments are compared as whole words, never by prefix of a word; `*` inside an argument word is
 * literal. A colon only has a meaning at the very end. A name is literal: in it `* ? [ {` must be
 * escaped, so that `python*` is not taken for a glob. Patterns with arguments hold where Corral
 * itself starts the program.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

struct buffer;

struct command_pattern {
	/*
	 * A name without '/', unescaped; or a path pattern that starts with '/' or a variable, with
	 * its glob syntax (and its escapes) kept.
	 */
	const char *program;
	bool is_name;
	const char **args; /* unescaped */
	size_t n_args;
	bool more; /* further arguments may follow */
	/* glob:TEXT. The program is then any, and the text alone counts. */
	const char *line;
};

#define COMMAND_LINE_PREFIX "glob:"

/* -EINVAL with a sentence if the text is no pattern. *ret lives in the arena; else untouched. */
int command_pattern_parse(struct command_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e);
/* Canonical text; parse → print → parse is the identity. */
void command_pattern_print(const struct command_pattern *p, struct buffer *out);
/* The pattern of just this command, appended. -EINVAL: a relative path is none of a pattern. */
int command_pattern_of(
	const char *program, const char *const *args, size_t n_args, struct buffer *out);
/* True if the pattern says anything about arguments. */
static inline bool command_pattern_is_fine(const struct command_pattern *p)
{
	return p->line || p->n_args > 0 || !p->more;
}
/*
 * The text of a command, as the program is called and by the program's name alone, and with a space
 * at its end ("curl *" is curl without arguments too): one of them matches. A command that is too
 * long to be looked at matches as well, since such patterns only deny.
 */
bool command_line_matches(
	const char *line, const char *program, const char *const *args, size_t n_args);
/* Only the arguments: argv without argv[0]. */
bool command_pattern_matches_args(
	const struct command_pattern *p, const char *const *args, size_t n);
/* The arguments that both accept: 1 with ret's args and more set (program untouched), 0: none. */
int command_pattern_meet_args(const struct command_pattern *a, const struct command_pattern *b,
	struct command_pattern *ret);

/*
 * A command as a path: "/" program "/" argument "/" argument …, each word encoded so that it holds
 * no slash and is never empty. Then "git push:*" is the folder /git/push with all below it, "git
 * push:" is that path alone, "git" is the folder /git, and the set for paths matches commands too,
 * at the same price.
 */
enum { COMMAND_KEY_BYTES = 4096 };

struct command_key {
	char text[COMMAND_KEY_BYTES];
	size_t len;
	bool full; /* a word did not fit; a mark that no pattern has stands in its place */
};

void command_key_start(struct command_key *k, const char *program);
void command_key_add(struct command_key *k, const char *word);
/* The arguments are not known: matches only patterns that take any. */
void command_key_add_unknown(struct command_key *k);
