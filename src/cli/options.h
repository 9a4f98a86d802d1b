/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Options as a table. A verb lists its options with the places their values go to; parsing, --help,
 * "was given twice", "is missing" and "did you mean" all follow from the table.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/verb.h"

struct options_row;
/* Puts a value where it belongs. Returns 0, or a negative errno with the call's error filled. */
typedef int options_taker(struct call *c, const struct options_row *row, const char *value);

enum options_use {
	OPTIONS_OPTIONAL,
	OPTIONS_REQUIRED,
	OPTIONS_MANY, /* may be repeated */
};

struct options_row {
	const char *name;     /* without the dashes */
	char letter;          /* of the short form; 0: none */
	const char *argument; /* what its value is called; NULL: it takes none */
	const char *help;     /* lines after the first are indented by the printer */
	options_taker *take;
	void *target;
	enum options_use use;
};

/* Values of an option that may be repeated, or of the operands. */
struct options_list {
	const char **items;
	size_t n, cap;
};

options_taker options_flag; /* bool: sets it */
options_taker options_text; /* const char * */
options_taker options_list; /* struct options_list */

/* The row that every verb has which can print for programs. */
#define OPTIONS_JSON(target)                                                         \
	{                                                                            \
		"json", 0, NULL, "print the result as JSON", options_flag, target, 0 \
	}

/*
 * Parses the words of the call and leaves its operands in them. 1: --help was asked for and
 * printed, there is nothing left to do.
 */
int options_parse(struct call *c, const struct options_row *rows, size_t n);

/* A value that is none of the known words; suggests the nearest. Returns -EINVAL. */
int options_unknown_word(struct call *c, const struct options_row *row, const char *value,
	const char *const *known, size_t n_known);
/* What is wrong with the use of the verb as a whole; points at --help. Returns -EINVAL. */
int options_misused(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Of a command line that could not be parsed: notes whether it asks for JSON. What stands behind --
 * or after the name of a command is that command's matter.
 */
void options_note_json(const struct call *c);

/* --help of a verb with its options, on standard output; in verb.c. */
int verb_print_help(struct call *c, const struct options_row *rows, size_t n);
