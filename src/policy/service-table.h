/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The services that can be granted, as data: the accesses that each has, and the keys ("scopes")
 * that narrow it. A key that a service does not have is an unknown key, and so is a service that is
 * not in the table: a grant that nothing would ever check is worse than an error.
 *
 * A scope is a list of words (struct service_scope: match/service.c compares them, algebra/meet.c
 * intersects them) or a bound, an amount in struct service_bounds. To add a service or a scope: its
 * row, and how a value is read and printed.
 */
#include "base/path.h"
#include "policy/match/service.h"
#include "policy/operation.h"
#include "policy/permissions.h"

struct field;
struct host_request;

/* The last one is empty. */
enum { SERVICE_SCOPES_MAX = 5 };

/* A kind of amount. All zeros are no bound. */
struct service_bound {
	size_t size; /* bytes in struct service_bounds */
	int (*read)(const struct field *f, void *ret);
	void (*print)(const void *value, struct buffer *out);
	/* What a lets pass, b does. */
	bool (*within)(const void *a, const void *b);
	/* What both let pass; neither lies within the other. */
	void (*meet)(const void *a, const void *b, void *ret);
	const char *before, *after; /* its text, for people */
};

struct service_scope_row {
	const char *key;        /* NULL after the last */
	operation_spell *spell; /* words: checks one, and gives its canonical spelling */
	/*
	 * What a request names, in the spelling that words have; NULL: as it is. *ret_host is
	 * written, and *ret_is_host set, if it is a host. -EINVAL: it is no such thing.
	 */
	int (*normal)(const char *value, char out[PATH_BYTES], struct host_request *ret_host,
		bool *ret_is_host);
	/* Else a bound, and where it is in struct service_bounds. */
	const struct service_bound *bound;
	size_t offset;
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
/* The bound of a service that a row describes. */
static inline void *service_bound_at(const struct service *s, const struct service_scope_row *row)
{
	return (char *)&s->bounds + row->offset;
}
/* Two of struct rate; see service_bound.within. */
bool service_rate_within(const void *a, const void *b);
bool service_bound_is_set(const struct service *s, const struct service_scope_row *row);
/*
 * Makes the request's value, if it has one, what the service means by it: a host, or a text in the
 * spelling that scopes have. It lives in *out and *host then. -EINVAL: it is no such thing.
 */
int service_value_normal(
	struct service_request *r, char out[PATH_BYTES], struct host_request *host);

/* SERVICE[.ACCESS][:VALUE] or "*", as rules write it. */
operation_spell service_spell;
