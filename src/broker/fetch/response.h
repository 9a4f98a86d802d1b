/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The head of a response, line by line as a server sends it: texts become UTF-8 without control
 * characters, names get small letters, fields of one name are joined. Bounded in all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "broker/value.h"

enum { RESPONSE_FIELDS_MAX = 512 };

struct response {
	struct arena arena;
	uint64_t status;
	const char *status_text;
	struct value_item fields[RESPONSE_FIELDS_MAX];
	size_t n, bytes;
};

/*
 * One line, with or without its end. A status line starts anew: responses before the last one
 * (100, 103) do not count. 1: it was the empty line, the head of a response is complete. 0: go on.
 * -E2BIG: there are too many fields, or bytes of them. -EINVAL: it is none, or has two lengths.
 * -ENOMEM.
 */
int response_add_line(struct response *r, const char *line, size_t len);
/* The value of a field; NULL: there is none. The name has small letters. */
const char *response_field(const struct response *r, const char *name);
/* Whether its status names another place to ask. */
bool response_is_redirect(uint64_t status);
void response_deinit(struct response *r);
