/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Options as a table. A verb lists its options with the places their values go to; parsing, --help,
 * "was given twice", "is missing" and "did you mean" all follow from the table.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/verb.h"
#include "codec/schema.h"

struct buffer;
struct options_row;
/* Puts a value where it belongs. Returns 0, or a negative errno with the call's error filled. */
typedef int options_taker(struct call *c, const struct options_row *row, const char *value);

/*
 * The typed field says name, type, bounds, words and help (its lines after the first are indented
 * by the printer), whether it must be there (`required`) and may be repeated (`many`). The value
 * goes to *target, by its type:
 *
 *     FLAG                     bool; such an option has no argument, and sets it
 *     TEXT                     const char *; with `many`: struct options_list
 *     NUMBER, SIZE, DURATION   uint64_t, in bytes and ms
 *     CHOICE                   int: the place of the word
 *     OTHER                    what `take` makes of it
 */
struct options_row {
	struct schema_field is;
	char letter;          /* of the short form; 0: none */
	const char *argument; /* what its value is called; NULL: it takes none */
	void *target;
	options_taker *take; /* NULL: as above; else it may use options_store() */
	/* Appends values that are not among the words, as verb.h has it. NULL: none. */
	void (*offer)(struct call *c, struct buffer *out);
};

/* Values of an option that may be repeated, or of the operands. */
struct options_list {
	const char **items;
	size_t n, cap;
};

/* Checks a value by the row's type, and puts it where it belongs. */
options_taker options_store;
/* The same for a text, and for one of a list, whatever the row's type. */
options_taker options_text, options_list;

/* The row that every verb has which can print for programs. */
#define OPTIONS_JSON(flag)                                                                  \
	{                                                                                   \
		{ "json", SCHEMA_FLAG, .help = "print the result as JSON" }, .target = flag \
	}

/*
 * Parses the words of the call and leaves its operands in them. 1: --help was asked for and
 * printed, there is nothing left to do.
 */
int options_parse(struct call *c, const struct options_row *rows, size_t n);

/* "invalid value for --memory: `lots` (expected …)"; of words, the nearest. Returns -EINVAL. */
int options_refuse(struct call *c, const struct options_row *row, const char *value, int why);
/* The same for words that are not in the row. */
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
