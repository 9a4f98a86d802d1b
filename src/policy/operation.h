/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Operations and lists, as data: one row per operation says how its targets and patterns are read,
 * printed, compared and explained, and one row per list of struct permissions says what is in it.
 * (A service has a row of its own: service-table.h.)
 *
 * To add an operation: CONTRIBUTING.md ("Adding to a table") has the files. Where operations
 * differ by what their targets are, code asks for the `target` of the row, not which operation it
 * is. Layers above have at most one array of their own, indexed by the operation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/verdict.h"

struct arena;
struct buffer;
struct compiler;
struct decision;
struct error;
struct grant;
struct grant_list;
struct location;
struct permissions;
struct request;
struct subset_compare;

enum operation {
	OPERATION_FS_READ,
	OPERATION_FS_WRITE,
	OPERATION_NET_CONNECT,
	OPERATION_EXEC,
	OPERATION_ENV,
	OPERATION_SERVICE,
	OPERATION_SECRET,
};
enum { OPERATION_COUNT = 7 };

/* What a target of an operation is. Patterns of one kind mean the same in all its operations. */
enum operation_target {
	TARGET_PATH,
	TARGET_HOST,
	TARGET_COMMAND,
	TARGET_NAME, /* a name; of variables NAME=value, too */
	TARGET_SERVICE,
	TARGET_SECRET, /* a secret, a host and a place: no pattern */
};

/* The lists of struct permissions. */
enum permission_list {
	LIST_FS_READ,
	LIST_FS_WRITE,
	LIST_FS_DENY,
	LIST_DANGEROUSLY_ALLOW,
	LIST_NETWORK_ALLOW,
	LIST_NETWORK_PRIVATE,
	LIST_NETWORK_DENY,
	LIST_METHODS,
	LIST_LISTEN,
	LIST_INSPECT,
	LIST_EXEC,
	LIST_ENV,
	LIST_SECRETS,
	LIST_COUNT,
	LIST_NONE = LIST_COUNT,
};

/*
 * Checks one pattern and gives its canonical spelling in the arena. `ret` may be NULL; the error
 * points at `where`, which may be NULL too.
 */
typedef int operation_spell(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e);

struct list_row {
	const char *name;       /* as it is written: "fs.read", "network.deny" … */
	size_t offset;          /* in struct permissions: see permissions_list() */
	enum operation op;      /* what its entries are patterns of */
	bool words;             /* its entries are no patterns (ports, methods) */
	operation_spell *spell; /* of its entries; NULL: the operation's */
	/* What its entries say, and of which operations (a set of 1 << operation; 0: of none). */
	enum verdict verdict;
	unsigned decides;
};

extern const struct list_row list_rows[LIST_COUNT];

/* How what two patterns match lies to each other: enum relation (algebra/relation.h) or negative.
 */
typedef int operation_relate(const char *a, const char *b, size_t *effort);
/* Appends what both grants cover, exactly, to one of p's lists (algebra/meet.h). */
typedef int operation_meet(struct permissions *p, struct grant_list *to, const struct grant *a,
	const struct grant *b, size_t *effort);
/* Looks for a target that A allows and B does not: 1 if found or too complex (algebra/subset.h). */
typedef int operation_subset(struct subset_compare *c, enum operation op);
/* Puts one source, by its rank, into the set that matches the operation (layer.h). */
typedef int operation_compile(struct compiler *c, enum operation op, uint32_t rank);
/* Prints the line of permissions that would allow the request, or nothing (explain.h). */
typedef void operation_line(const struct request *r, const struct decision *d, struct buffer *out);

struct operation_row {
	enum operation_target target;
	enum permission_list allow, deny; /* LIST_NONE: it has none */
	const char *granted_in;           /* "fs.read or fs.write": where a grant would stand */
	/* The section about it, and what a grant lets a program do: "run". */
	const char *title, *verb;
	const char *expected; /* "expected a path": what a malformed target is not */
	operation_spell *spell;
	operation_relate *relate; /* NULL: entries are never compared */
	operation_meet *meet;     /* NULL: pattern by pattern, by their relation */
	operation_subset *subset;
	operation_compile *compile; /* NULL: few and matched one by one (service.h) */
	operation_line *line;
};

extern const struct operation_row operation_rows[OPERATION_COUNT];

/* As operation-names.h has it: "fs.read" … */
const char *operation_name(enum operation op);
/* -EINVAL if the word is not one of these. */
int operation_parse(const char *word, enum operation *ret);
