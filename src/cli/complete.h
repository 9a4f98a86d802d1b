/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral --complete WORD...`, for the completion of shells (completions/): what may come behind
 * these words, from the tables of verbs and options. A line is a word, a tab and its help, or what
 * the shell is to look for itself:
 *
 *     @files, @folders, @programs, @hosts
 *     @command N    word N begins another command, which completes itself; word 0 is "corral"
 *
 * Nothing is parsed, checked or done: a verb whose call completes only gets as far as
 * options_parse(), as with --help.
 */
#include "cli/verb.h"

struct options_row;

int complete_options(struct call *c, const struct options_row *rows, size_t n);
int complete_group(struct call *c);
