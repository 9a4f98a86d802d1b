/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* --help, made from what the verb and its options say about themselves. */
#include "cli/options.h"

/* A verb with its options, on standard output. */
int help_print(struct call *c, const struct options_row *rows, size_t n);
/* A group of verbs, on fd. */
int help_print_group(struct call *c, int fd);
