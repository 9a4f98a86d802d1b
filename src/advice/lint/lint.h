/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Advice about permissions as they are written: grants that are wider than they look, and lines
 * that have no effect. docs/lint.md has a line for each check. No finding changes a decision.
 *
 * Pure, and bounded whatever the permissions hold: where comparing all entries with each other
 * would take too long, the finding `not-compared` says so.
 */
#include <stdarg.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/permissions.h"
#include "policy/variable.h"

/*
 * An error makes the rest of the policy pointless, or cannot be meant; a warning is risky, or
 * cannot do what it seems to; a note is worth knowing.
 */
enum lint_severity { LINT_NOTE, LINT_WARNING, LINT_ERROR };

struct lint_finding {
	enum lint_severity severity;
	const char *id;        /* "write-home": the same forever */
	struct location where; /* file NULL: made by code; line 0: the layer as a whole */
	const char *pattern; /* what it is about, as written (a secret is left out); "" if no entry
				is */
	const char *text;    /* what it means */
	const char *hint;    /* what to do */
};

struct lint_findings {
	struct lint_finding *items;
	size_t n, cap;
};

/*
 * Looks at p, or at each layer of its all_of. The findings and their texts live in the arena,
 * without control characters. -ENOMEM, and *ret is untouched.
 */
int lint_permissions(const struct permissions *p, struct arena *a, struct lint_findings *ret);
/*
 * The same where variables have values: "$WORK_DIR/**" is then judged as the folder that it is. A
 * variable without a value, or with one that is no normal path, stands for a folder of its own.
 */
int lint_permissions_with(const struct permissions *p, const struct variables *vars,
	struct arena *a, struct lint_findings *ret);

/* A sentence in the arena, in which foreign text is made visible; NULL: out of memory. */
const char *lint_sentence(struct arena *a, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* "note", "warning", "error". */
const char *lint_severity_name(enum lint_severity s);

struct lint_about {
	const char *id;
	enum lint_severity severity;
	const char *about;
};

/* The checks, in the order in which they are made; NULL behind the last. */
const struct lint_about *lint_about(size_t i);
