/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The occurrences of an event within a window of time. The work is bounded whatever the rules say:
 * libical begins near the window and ends behind it, so that rules that match nothing
 * stop there; what must be counted from the start (COUNT) has a budget of steps; rules that recur
 * within a day are computed, and not walked through.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "services/calendar/item.h"

enum {
	EXPAND_MAX = 1000,    /* occurrences of one event in one window */
	EXPAND_STEPS = 20000, /* of one rule */
	EXPAND_DATES = 2000,  /* of RDATE and EXDATE together */
	EXPAND_RULES = 4,
	EXPAND_RULE_BYTES = 1024,
};

/* Seconds since 1970; `to` is not in it. */
struct window {
	int64_t from, to;
};

struct occurrence {
	struct moment start, end;
	uint32_t part;    /* the component that describes it */
	struct moment id; /* of one of several: when the rules have it; else not set */
};

struct occurrences {
	struct occurrence *items; /* in the arena; in no order */
	size_t n, cap;
};

/*
 * Appends those that overlap the window. 1: there are more than EXPAND_MAX, or than could be
 * counted. -EOPNOTSUPP: a rule that is not supported: RSCALE, BYSETPOS with BYWEEKNO, or one within
 * a day with BY parts. -EINVAL, -ENOENT: times that cannot be read; -EFBIG, -ENOMEM.
 */
int expand(struct item *i, const struct window *w, struct arena *a, struct occurrences *ret);
/* The occurrence that the rules have at that time, wherever it was moved. -ENOENT: none; as above.
 */
int expand_find(struct item *i, const struct moment *id, struct occurrence *ret);
/* Whether all of it lies in the window, whenever it recurs. 1, 0, or as above. */
int expand_is_within(struct item *i, const struct window *w);
/* When a recurring reminder is due next, behind the given time. 1; 0: not any more; as above. */
int expand_next(struct item *i, const struct moment *after, struct moment *ret);
/* Whether a rule is one that could be expanded: for what a caller wants to add. */
int expand_check_rule(const char *rule);
