/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The services that can be granted, as data: the accesses that each has, and the keys ("scopes")
 * that narrow it. A key that a service does not have is an unknown key, and so is a service that is
 * not in the table: a grant that nothing would ever check is worse than an error.
 *
 * A scope is a list of words (struct service_scope: match/service.c compares them, algebra/meet.c
 * intersects them) or a bound, an amount in struct service of which the lesser is the narrower. To
 * add a service or a scope: its row, and how a value is read and printed.
 */
#include "policy/operation.h"
#include "policy/permissions.h"

struct field;

enum { SERVICE_SCOPES_MAX = 4 };

struct service_scope_row {
	const char *key;        /* NULL behind the last */
	operation_spell *spell; /* words: checks one, and gives its canonical spelling */
	/* Else a bound: its offset in struct service (uint64_t, 0: no bound), and its two ways. */
	size_t bound;
	int (*read)(const struct field *f, uint64_t *ret);
	void (*print)(uint64_t value, struct buffer *out);
};

struct service_row {
	const char *name;
	unsigned access; /* all that this service can do: a set of service_access */
	struct service_scope_row scopes[SERVICE_SCOPES_MAX];
};

enum { SERVICE_COUNT = 7 };
extern const struct service_row service_rows[SERVICE_COUNT];

/* NULL: there is no such service. */
const struct service_row *service_row_find(const char *name, size_t len);
/* The bound in s, or in any other service, that a row describes. */
static inline uint64_t *service_bound(const struct service *s, const struct service_scope_row *row)
{
	return (void *)((char *)s + row->bound);
}

/* SERVICE[.ACCESS][:VALUE] or "*", as rules write it. */
operation_spell service_spell;
