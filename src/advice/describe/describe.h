/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions in plain words, for the person who is asked to approve them, and how much could go
 * wrong. The words are exact or say more than is granted; they never say less. Foreign text in them
 * is made visible, and values of variables are left out, because they may be secrets.
 *
 * The rating is about what the permissions make possible, whoever uses them; what a skill's files
 * look like (scan.h) can only raise it.
 */
#include <stddef.h>

#include "base/arena.h"
#include "policy/permissions.h"
#include "policy/variable.h"
#include "advice/scan/scan.h"

enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_CRITICAL };

struct description_lines {
	const char **items;
	size_t n, cap;
};

struct description_section {
	const char *title;              /* "What it could read" */
	struct description_lines lines; /* "read everything in its own folder"; never empty */
};

struct description {
	/* In a fixed order; of several layers first all those of the first one. */
	struct description_section *sections;
	size_t n, cap;
	enum risk risk;     /* of the permissions, and with describe_rate() of the files too */
	enum risk confined; /* with describe_confine(): of what the permissions do not stop */
	enum risk permitted;
	unsigned denies; /* enum skill_stop: what the permissions do not allow at all */
	struct description_lines reasons; /* the worst first; never empty */
};

/*
 * vars: values of variables, as far as they are known; NULL: none is. All lives in the arena.
 * -ENOMEM, and *ret is untouched.
 */
int describe_permissions(const struct permissions *p, const struct variables *vars, struct arena *a,
	struct description *ret);

/*
 * Of permissions that could not be read: what they are is not known, so the rating is high, and
 * nothing counts as denied. -ENOMEM.
 */
int describe_unknown(struct description *d, struct arena *a);

/* Raises the rating by the number of findings of each skill_severity. */
int describe_rate(struct description *d, const size_t counts[SKILL_HIGH + 1], struct arena *a);

/* The rating where these permissions are enforced: counts are of the findings that they do not
 * stop. */
void describe_confine(struct description *d, const size_t counts[SKILL_HIGH + 1]);

/* "low", "medium", "high", "critical". */
const char *describe_risk_name(enum risk risk);
