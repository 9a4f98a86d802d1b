/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Questions about files and programs that are kept (ask/kept.h), for `corral questions`: a command
 * failed where there was no terminal to ask in. The dashboard uses the same by `--json`.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/ask/ask.h"
#include "cli/verb.h"

struct output;

/* Whether it is the id of one of them: those of sandboxes have a dot. */
bool ask_elsewhere_is_id(const char *id);
/* Appends all of them, for people; *ret_n: how many. */
int ask_elsewhere_show(struct call *c, struct output *o, size_t *ret_n);
/* Prints all of them for a program. */
int ask_elsewhere_print(struct call *c);
/*
 * Answers one: NO, ONCE, DAY, or ALWAYS, which is a line of the project's file. Returns a status.
 * ABSENT: there is no such question; CHANGED: what it was about, or the project's file, is not what
 * it was, and nothing was allowed.
 */
int ask_elsewhere_answer(struct call *c, const char *id, enum ask_word word, bool json);
