/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is printed, gathered first and written at once: a result is there as a whole or not at all.
 * Colours appear on a terminal only, and not if NO_COLOR is set. Text of foreign origin is added
 * with buffer_add_visible(), through output_foreign().
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "codec/node.h"
#include "policy/operation.h"

enum output_style {
	OUTPUT_PLAIN,
	OUTPUT_BOLD,
	OUTPUT_DIM,
	OUTPUT_RED,
	OUTPUT_GREEN,
	OUTPUT_YELLOW,
};

struct json_writer;

struct output {
	struct buffer text;
	bool colour;
	bool may_colour; /* if fd is a terminal: colour is not known yet */
	int fd;
};

/* Starts an output that will go to fd, which stays what it is until its first text is there. */
struct output output_for(int fd);
bool output_is_coloured(struct output *o);
static inline void output_deinit(struct output *o)
{
	buffer_deinit(&o->text);
}
#define auto_output __attribute__((cleanup(output_deinit))) struct output

void output_styled(struct output *o, enum output_style style, const char *text);
/* "corral: ", as a note begins: something that a person may want to know. */
void output_note(struct output *o);
/* A whole note, with the place that it is about: "corral: FILE:LINE: TEXT". */
void output_note_at(struct output *o, const struct location *where, const char *text);
/* An empty line, and the text in a line of its own. */
void output_heading(struct output *o, const char *text);
void output_foreign(struct output *o, const char *text);
/* The same for a name that a person decides by (buffer_add_name()). */
void output_name(struct output *o, const char *text);
/* A word as a shell reads it, quoted where that is needed: to be pasted. */
void output_shell_word(struct buffer *out, const char *text);
/* Foreign text, its middle cut out with "…" where it has more than `room` characters. */
void output_cut(struct output *o, enum output_style style, const char *text, size_t room);
/* "allow", "ask" or "deny" in its colour. */
void output_verdict(struct output *o, enum verdict v);
/* Words, broken into lines of at most `width` columns; all start at the column of the first. */
void output_wrapped(struct output *o, const char *text, size_t width);
/* What fits on most people's screens: prose, and what is laid out in columns. */
enum { OUTPUT_PROSE = 80, OUTPUT_WIDE = 100 };
/* The same in the wider of them, and a newline. */
void output_line(struct output *o, const char *text);
/* Characters of the last line. */
size_t output_column(const struct output *o);
/* Spaces up to a column, counted from the last line's start in characters; at least one. */
void output_pad(struct output *o, size_t column);

/* Writes all of it. -ENOMEM if gathering it failed, or what write() says. */
int output_write(const struct output *o, int fd, struct error *e);
/* Asks on standard error, and reads a line of standard input: anything but a yes is a no. */
bool output_agrees(const char *question);
/* "corral: …" on standard error, with its hint on a line below. */
void output_error(const struct error *e);
/*
 * The same for a program: {"status": …, "error": {…}, "denied": []} in one line on standard output,
 * so that it is a document by itself and the last of JSON Lines.
 */
void output_error_json(const struct error *e, int status);
/* An error as {"text", "hint", "file", "line", "column"}, or null if there is none. */
void output_put_error(struct json_writer *w, const char *key, const struct error *e);

/*
 * JSON objects as they are built for printing. Running out of memory is remembered and found when
 * the tree is printed, so that building needs no checks.
 */
struct json_tree {
	struct arena *arena;
	bool failed;
};

struct node *tree_map(struct json_tree *t);
/* Each puts a value into a map. Text that is NULL, like a NULL child, is null. */
void tree_put(struct json_tree *t, struct node *map, const char *key, struct node *child);
void tree_put_text(struct json_tree *t, struct node *map, const char *key, const char *text);
void tree_put_buffer(
	struct json_tree *t, struct node *map, const char *key, const struct buffer *text);
void tree_put_flag(struct json_tree *t, struct node *map, const char *key, bool value);
void tree_put_number(struct json_tree *t, struct node *map, const char *key, int64_t value);
/* Empty ones, put into a map or at the end of a list, to be filled. */
struct node *tree_put_map(struct json_tree *t, struct node *map, const char *key);
struct node *tree_put_list(struct json_tree *t, struct node *map, const char *key);
struct node *tree_append_map(struct json_tree *t, struct node *list);
void tree_append_text(struct json_tree *t, struct node *list, const char *text);

/* Prints the tree on standard output, indented, with a newline at the end. */
int tree_print(struct json_tree *t, const struct node *root, struct error *e);
