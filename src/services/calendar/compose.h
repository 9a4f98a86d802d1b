/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a caller wants an event or a reminder to be, made into an object, or into a change of one.
 * Nothing of the caller's text becomes a line of its own; what is not named stays as it is.
 */
#include "base/error.h"
#include "services/calendar/expand.h"
#include "services/calendar/item.h"

/* NULL, or not set: it is not there, or stays as it is. "" takes it away. */
struct composition {
	enum item_kind kind;
	const char *title, *notes, *location;
	const char *rule;         /* RRULE, checked by expand_check_rule() */
	const char *priority;     /* "0" to "9" */
	struct moment start, end; /* of an event */
	struct moment due;        /* of a reminder */
	bool no_due;              /* it has none any more */
	int64_t now;              /* seconds since 1970 */
};

enum { COMPOSE_UID = 37 };

/* An id that no one else has. */
int compose_uid(char ret[COMPOSE_UID]);
/* Appends a new object. -ENOMEM. */
int compose_new(const struct composition *c, const char *uid, struct buffer *out);
/*
 * Appends the object of an item with these changes. -EINVAL, with a sentence: times that do not go
 * together; -EOPNOTSUPP: new times for an event of which single occurrences were changed. -ENOMEM.
 */
int compose_change(
	struct item *i, const struct composition *c, struct buffer *out, struct error *e);
/*
 * The same for one occurrence (expand_find()): it gets a component of its own, unless it has one;
 * all others stay as they are. The composition has no rule.
 */
int compose_change_one(struct item *i, const struct occurrence *o, const struct composition *c,
	struct buffer *out, struct error *e);
/* Appends the object without one occurrence. -ENODATA: nothing would be left; -ENOMEM. */
int compose_remove_one(struct item *i, const struct occurrence *o, int64_t now, struct buffer *out);
/*
 * Appends the object of a reminder that is done. One that recurs is due again: *ret_next is when;
 * not set: it is done for good.
 */
int compose_completed(struct item *i, int64_t now, struct buffer *out, struct moment *ret_next);
