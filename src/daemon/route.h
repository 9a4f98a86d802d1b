/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The one table of what the daemon's HTTP API has: method, path, parameters with their place, kind
 * and bounds, a sentence. corrald-http reads requests by it, corrald reads the calls that come out
 * of that by the same rows once more, and the OpenAPI document is printed from it (openapi.h).
 *
 * corrald-http may be taken over by what it parses. So a call has no names: it is the number of a
 * row and that row's values, and nothing in it chooses what it is read as.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/schema.h"

struct buffer;

enum { ROUTE_SECONDS_MAX = 366 * 24 * 3600 };
enum {
	ROUTE_FIELDS_MAX = 12,
	ROUTE_TEXT_MAX = 4096,
	ROUTE_POLICY_MAX = 1 << 20,
	ROUTE_LIST_MAX = 256 << 10,
	ROUTE_PLACES_MAX = 2, /* {…} in a path */
};

/* Where a field is: `place` of its row. A list is a JSON array, for who uses it to read. */
enum route_place { ROUTE_IN_PATH, ROUTE_IN_QUERY, ROUTE_IN_BODY };
enum route_id {
	ROUTE_HEALTH,
	ROUTE_STATUS,
	ROUTE_CONFIG,
	ROUTE_CONFIG_PUT,
	ROUTE_AUDIT,
	ROUTE_AUDIT_SUMMARY,
	ROUTE_AUDIT_EXPORT,
	ROUTE_AUDIT_VERIFY,
	ROUTE_POLICY_CHECK,
	ROUTE_POLICY_LINT,
	ROUTE_POLICIES,
	ROUTE_POLICY_GET,
	ROUTE_POLICY_PUT,
	ROUTE_POLICY_REMOVE,
	ROUTE_POLICY_VERSION,
	ROUTE_POLICY_UNDO,
	ROUTE_RULES,
	ROUTE_RULE,
	ROUTE_RULE_ADD,
	ROUTE_RULE_PUT,
	ROUTE_RULE_CHANGE,
	ROUTE_RULE_REMOVE,
	ROUTE_DOCTOR,
	ROUTE_SANDBOXES,
	ROUTE_SANDBOX,
	ROUTE_SANDBOX_END,
	ROUTE_SANDBOX_GRANT,
	ROUTE_QUESTIONS,
	ROUTE_ANSWER,
	ROUTE_LATER,
	ROUTE_LATER_ANSWER,
	ROUTE_GRANTS,
	ROUTE_REVOKE,
	ROUTE_LOGIN,
	ROUTE_LOGIN_CODE,
	ROUTE_FS_READ,
	ROUTE_FS_WRITE,
	ROUTE_FS_LIST,
	ROUTE_SHELL_EXEC,
	ROUTE_GET_POLICY,
	ROUTE_SET_POLICY,
	ROUTE_GET_AUDIT_LOG,
	ROUTE_EXPORT_AUDIT_LOG,
	ROUTE_SECURITY,
	ROUTE_WRAPPERS,
	ROUTE_SKILLS,
	ROUTE_SKILL,
	ROUTE_SKILL_CHANGES,
	ROUTE_SKILL_APPROVE,
	ROUTE_VAULT,
	ROUTE_VAULT_LOCK,
	ROUTE_VAULT_UNLOCK,
	ROUTE_METRICS,
	ROUTE_OPENAPI,
	ROUTE_EVENTS,
	ROUTE_COUNT,
};

/*
 * What a call does. The record of a change is committed before it is answered. One that grants
 * something, or may, or that acts on the host, is in the log before it is made; if the log cannot
 * be written, it is not made. What takes away is made in any case. A row without one is never
 * called.
 */
enum route_effect {
	ROUTE_EFFECT_UNKNOWN,
	ROUTE_EFFECT_READS,
	ROUTE_EFFECT_TAKES,
	ROUTE_EFFECT_GRANTS,
};

struct route {
	const char *method, *path; /* "/api/sandboxes/{id}" */
	enum route_effect effect;
	bool is_open;   /* no token is needed */
	bool is_stream; /* of events */
	bool is_local;  /* corrald-http answers itself */
	bool is_text;   /* what it answers is plain text, for Prometheus */
	const char *summary;
	struct schema_field fields[ROUTE_FIELDS_MAX + 1];
};

extern const struct route routes[ROUTE_COUNT];
/* By enum answer_kind. */
extern const char *const route_answers[];
/* Whether the fields of a row have one in that place. */
bool route_has(const struct route *r, enum route_place place);
/* Whether a request may have a body, and whether it must: a field in it is required. */
bool route_takes_body(const struct route *r);
bool route_needs_body(const struct route *r);

/* What stands in the places of {…}, as it was sent. The first fields of a row are those. */
struct route_places {
	const char *values[ROUTE_PLACES_MAX];
	size_t lens[ROUTE_PLACES_MAX], n;
};

/* The row of a path. NULL: there is no such path (*ret_known false), or not with this method. */
const struct route *route_find(
	const char *method, const char *path, struct route_places *ret, bool *ret_known);
/* The methods that a path has: "GET, PUT". */
void route_methods(const char *path, struct buffer *out);

/* Whether a value is one that its row allows. */
bool route_allows(const struct schema_field *f, const char *value);

/* A call as it goes from corrald-http to corrald. */
enum { ROUTE_BY_UNIX = 1 << 0, ROUTE_CALL_FLAGS = 1 };
struct route_call {
	const struct route *route;
	uint32_t flags;
	const char *values[ROUTE_FIELDS_MAX]; /* NULL: not given */
};

/* Appends it. -EINVAL: a value that its row does not allow, or one that is missing; -ENOMEM. */
int route_call_encode(const struct route_call *c, struct buffer *out);
/* Reads it; texts point into the body. -EPROTO: what route_call_encode() would not have written. */
int route_call_decode(struct route_call *ret, const void *body, size_t len);
/*
 * Appends what was given as a JSON object, for the log: {"id":"a","enabled":false}. Contents of
 * files and policies, and what is longer than ROUTE_PRINTED_MAX, are only "N bytes".
 */
enum { ROUTE_PRINTED_MAX = 1024 };
void route_call_print(const struct route_call *c, struct buffer *out);
/* The value of a field by its name; NULL: not given. */
const char *route_value(const struct route_call *c, const char *name);
