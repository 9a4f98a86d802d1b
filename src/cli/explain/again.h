/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The next run of a command that failed here is watched, as with --explain. A run that fails leaves
 * a small file, `failed/HASH` in Corral's state folder, which no command sees; the hash is of the
 * folder and the words of the command. The next run of these words in that folder finds it:
 *
 *   it was                 and now                        then
 *   no record              fails                          the next run is watched
 *   watched                fails, something was denied    the next run is watched, too
 *   watched                fails, nothing was denied      no run is, until one succeeds, is denied
 * a host, or a day has passed any                    succeeds                       the record is
 * removed
 *
 * A run without a record pays one open() of a file that is not there. There are 256 records, the
 * oldest goes first; one that is no record, of another version, or not the user's own is none. What
 * a command can bring about is that its own next run is watched, by failing.
 */
#include <stdbool.h>
#include <stddef.h>

enum again {
	AGAIN_NONE,
	AGAIN_WATCH,   /* the next run is watched */
	AGAIN_IN_VAIN, /* it was, and nothing was denied */
};

/* The name of the record of a command in a folder. */
enum { AGAIN_NAME = 17 };
void again_name(const char *folder, const char *const *words, size_t n, char ret[AGAIN_NAME]);

/* A text of foreign bytes: what a record says. */
enum again again_parse(const void *text, size_t len);
/* By the table above. is_denied: a host, or, of a watched run, anything. */
enum again again_next(enum again was, bool is_watched, bool has_failed, bool is_denied);
/* Some programs answer "no" with 1: grep, diff, test. */
bool again_is_answer(const char *program, int exit_code);

/* What the record of that name says. */
enum again again_read(const char *name);
/* Replaces the record, or removes it for AGAIN_NONE. What cannot be kept is not. */
void again_keep(const char *name, enum again now);
