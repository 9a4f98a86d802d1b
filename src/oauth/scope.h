/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Scopes (RFC 6749, 3.3): words with blanks between them. Pure. Which ones a login asks for, and
 * how it gets more than those that it has.
 */
#include <stdbool.h>

#include "base/buffer.h"

/* Appends those of `words` that are not there yet; NULL: none. */
void oauth_scope_add(struct buffer *out, const char *words);
/* Whether each of `words` is one of `scope`. */
bool oauth_scope_covers(const char *scope, const char *words);
/* Not empty, short, and the same in a command between quotes: a server's text may be shown so. */
bool oauth_scope_is_plain(const char *scope);
