/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets of the vault, as permissions name them: "NAME=HOST:PORT,PLACE", one host that NAME may go
 * to and one place in requests to it. PLACE may be left out where one is asked about or added; then
 * it is `header`. "NAME=HOST:PORT,PLACE,/usr/bin/gh" is the same for connections of this program
 * alone. There are no patterns, so of two entries one lies within the other, because it has a
 * program, or they are equal or have nothing in common.
 *
 * Permissions name secrets. Where a value comes from, and where it may go at all, is said in the
 * vault alone.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/path.h"
#include "policy/network/host.h"
#include "policy/operation.h"

/* As the vault's grants have them (vault/format.h), by the same words. */
enum { SECRET_PLACES = 5 };
extern const char *const secret_place_names[SECRET_PLACES];

enum { SECRET_NAME_MAX = 128 };

/* A canonical entry; it points into the text. */
struct secret_entry {
	const char *name, *host; /* HOST:PORT */
	size_t name_len, host_len;
	unsigned place;
	const char *program; /* an absolute path; "": any */
};

/* Letters, digits, `_ . -`, not first a `-` or `.`; as the vault takes it. */
bool secret_name_is_valid(const char *name, size_t len);
/* Checks an entry, and gives its canonical spelling. */
operation_spell secret_spell;
/* Of what secret_spell() gave. */
void secret_split(const char *entry, struct secret_entry *ret);

/* Whether the canonical entry b is a, but for its program, which a has not. Equal ones are not. */
bool secret_contains(const char *a, const char *b);
/* Whether they have the same name, host and place. */
bool secret_is_same_place(const struct secret_entry *a, const struct secret_entry *b);

/* What is asked about. Made without allocation; texts point into the target. */
struct secret_request {
	const char *name;
	size_t name_len;
	unsigned place;
	const char *program; /* "": whatever program it is */
	struct host_request host;
};

/* -EINVAL: it is no NAME=HOST:PORT with or without ",PLACE" and ",PROGRAM"; or as
 * host_request_parse(). */
int secret_request_parse(struct secret_request *ret, const char *target);
/* Whether a canonical entry is just that, or that for any program. */
bool secret_covers(const char *entry, const struct secret_request *r);
