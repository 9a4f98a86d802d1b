/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a shell command line would run, for explaining: the simple commands in it, wherever they stand (lists, pipes,
 * subshells, substitutions, bodies of loops, functions, here-documents), with quotes removed. Nothing is enforced with this:
 * the kernel does that. What cannot be known before running (expansions) is marked, never guessed.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum { SHELL_INPUT_MAX = 128 << 10, SHELL_DEPTH_MAX = 32, SHELL_COMMANDS_MAX = 4096 };

struct shell_word {
	const char *text; /* quotes removed; expansions left as they are written */
	bool dynamic;     /* depends on an expansion ($x, $(…), a glob, ~ …) */
};

struct shell_redirect {
	const char *op; /* ">", "<", ">>", "<>", ">|", "&>" … */
	struct shell_word target;
	bool is_write;
};

struct shell_command {
	struct shell_word *words; /* command name first; assignments before it are left out */
	size_t n_words;
	struct shell_word *assignments;
	size_t n_assignments;
	struct shell_redirect *redirects;
	size_t n_redirects;
	unsigned depth;   /* 0: top level; more inside $(…), `…`, (…), and strings handed to sh -c / eval */
	bool is_builtin;  /* cd, echo, export, test …: runs no program */
	size_t offset;    /* where it starts in the (outermost) text */
	char before[3];   /* the operator that precedes it: "|", "&&", "||", ";", "&", "" */
};

struct shell_script {
	struct shell_command *commands;
	size_t n_commands;
};

/* -EINVAL with the offset as column if the text is no shell (unbalanced quotes …), -E2BIG past the bounds. */
int shell_parse(struct shell_script *ret, struct arena *a, const char *text, size_t len,
	struct error *e);
