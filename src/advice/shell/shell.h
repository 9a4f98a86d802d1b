/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a shell command line would run, for explaining: the simple commands in it, wherever they
 * stand (lists, pipes, subshells, substitutions, bodies of loops, functions, here-documents), with
 * quotes removed. Nothing is enforced with this: the kernel does that. What cannot be known before
 * running (expansions) is marked, never guessed.
 *
 * The language is POSIX sh with the common parts of bash. Where the two read a text differently,
 * bash's reading counts.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum { SHELL_INPUT_MAX = 128 << 10, SHELL_DEPTH_MAX = 32, SHELL_COMMANDS_MAX = 4096 };

struct shell_word {
	const char *text; /* quotes removed; expansions left as they are written */
	size_t offset;    /* where it starts in the (outermost) text */
	bool dynamic;     /* depends on an expansion ($x, $(…), a glob, ~ …) */
};

struct shell_redirect {
	const char *op; /* ">", "<", ">>", "<>", ">|", "&>" … */
	const char *fd; /* "2", "{log}" as written before it; "" where nothing is */
	struct shell_word target;
	bool is_write; /* may change a file; not so for >&2 */
};

struct shell_command {
	/*
	 * The command's name first; assignments before it are left out. Empty for a bare assignment
	 * and for the redirections of a compound command, as in `{ …; } > log`.
	 */
	struct shell_word *words;
	size_t n_words;
	struct shell_word *assignments;
	size_t n_assignments;
	struct shell_redirect *redirects;
	size_t n_redirects;
	/*
	 * 0: top level; more inside $(…), `…`, <(…), (…), in strings handed to sh -c or eval, and
	 * for the command that another one (env, sudo, xargs …) starts.
	 */
	unsigned depth;
	bool is_builtin; /* cd, echo, export, test …, or no name at all: runs no program */
	size_t offset;   /* where it starts in the (outermost) text */
	char before[3];  /* the operator that precedes it: "|", "|&", "&&", "||", ";", "&", "" */
};

/* In the order in which they are written; what stands inside a command follows it. */
struct shell_script {
	struct shell_command *commands;
	size_t n_commands;
};

/*
 * -EINVAL with line and column if the text is no shell (unbalanced quotes …); -E2BIG past the
 * bounds. *ret lives in the arena, and is untouched on failure.
 */
int shell_parse(
	struct shell_script *ret, struct arena *a, const char *text, size_t len, struct error *e);
