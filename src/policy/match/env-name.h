/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a variable of the environment does is known from its name alone: words, maybe with `*`. */
#include <stdbool.h>
#include <stddef.h>

#include "base/path.h"

/* Bytes of NAME or NAME=value that a pattern or a request may have: both are matched as a path. */
enum { ENV_NAME_ITEM_MAX = PATH_BYTES - 2 };

/* Those that make programs load or run other code than their own. */
extern const char *const env_name_code_words[];
extern const size_t env_name_n_code_words;

/*
 * One of those, or one that sends programs and the C library to other files than they expect (what
 * glibc takes from programs that change their user). A pattern is not enough to mean such a one.
 */
bool env_name_is_unsafe(const char *name, size_t len);
