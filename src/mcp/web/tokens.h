/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tokens that clients show. Each line of the file is one, and a principal of its own: what one
 * made, such as a session or a sandbox, no other reaches. The file is the user's, and no other can
 * read it (mode 0600).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "serve/request.h"

enum {
	WEB_TOKENS_MAX = 16,
	WEB_TOKEN_MIN = 32, /* of one that a user chose; 128 bits as hex */
	WEB_TOKEN_MAX = 256,
};

struct web_tokens {
	char items[WEB_TOKENS_MAX][WEB_TOKEN_MAX + 1];
	size_t n;
};

/* Reads the file; where there is none, one of a random token is made. *ret_made: it was. Negative
 * errno, with a sentence. */
int web_tokens_open(struct web_tokens *t, const char *path, bool *ret_made, struct error *e);
/* One random token, in a file that is made anew. */
int web_tokens_make(struct web_tokens *t, const char *path, struct error *e);
/* Whose token the request shows: its place; negative: of none. All are compared, in constant time.
 */
int web_tokens_find(const struct web_tokens *t, const struct serve_request *r);
void web_tokens_deinit(struct web_tokens *t);
