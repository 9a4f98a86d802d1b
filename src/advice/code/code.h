/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Python and JavaScript as tokens, for the scan: names, strings, comments, and where statements
 * end. It is no parser: what is no program still gives tokens, and nothing is enforced with this.
 *
 * Every byte is looked at a fixed number of times, so time is linear in the length of the text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum code_language { CODE_PYTHON, CODE_JAVASCRIPT };

enum code_kind {
	CODE_NAME,
	CODE_STRING,  /* start and len are of what is between the quotes */
	CODE_COMMENT, /* likewise without "#", "//" or "/ *" */
	CODE_NUMBER,
	CODE_MARK, /* one character that is none of these */
	CODE_END,  /* of a statement: a newline or ';' outside of brackets, or a brace of a block */
};

/* Past these, the rest of a text is not read, and code_tokens.cut is set. */
enum { CODE_TOKENS_MAX = 200000, CODE_NESTING_MAX = 64 };

struct code_token {
	enum code_kind kind;
	uint32_t start, len;
	uint32_t line; /* from 1 */
};

struct code_tokens {
	struct code_token *items;
	size_t n, cap;
	bool cut;
};

/*
 * Names inside of f"{…}" and `${…}` follow the string as tokens of their own. *ret lives in the
 * arena. -ENOMEM, and *ret is untouched.
 */
int code_read(struct code_tokens *ret, struct arena *a, enum code_language language,
	const char *text, size_t len);
