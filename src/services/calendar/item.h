/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An event or a reminder (VTODO): one object with one UID. An event that recurs may have further
 * components with that UID, each for an occurrence that was changed. What has two UIDs, both
 * kinds, or two components for the same thing is refused, since programs do not agree on what it
 * means.
 */
#include <stddef.h>
#include <stdint.h>

#include "services/calendar/lines.h"
#include "services/calendar/moment.h"
#include "services/calendar/zone.h"

enum {
	ITEM_CHANGED_MAX = 256, /* occurrences that differ */
	ITEM_UID_MAX = 1024,
	ITEM_TITLE_MAX = 4 << 10,
	ITEM_NOTES_MAX = 16 << 10,
};

enum item_kind { ITEM_EVENT, ITEM_TODO };

struct item {
	struct lines lines;
	struct zones zones;
	enum item_kind kind;
	const char *uid;
	uint32_t master; /* the part; LINES_NO_PART: only changed occurrences are there */
	uint32_t changed[ITEM_CHANGED_MAX];
	size_t n_changed;
};

/*
 * -EINVAL: it is none; -ENOENT: it is something else, such as a journal; -EFBIG: more than the
 * bounds; -ENOMEM. The caller frees *ret.
 */
int item_parse(struct item **ret, const char *text, size_t len);
void item_drop(struct item *i);
static inline void item_dropp(struct item **i)
{
	item_drop(*i);
}
#define auto_item __attribute__((cleanup(item_dropp))) struct item *

/* The part that speaks for all of it: the master, or else the first. */
static inline uint32_t item_part(const struct item *i)
{
	return i->master != LINES_NO_PART ? i->master : i->changed[0];
}
/* A TEXT without its escapes, in the arena, cut to max bytes; NULL: not there (or no memory). */
const char *item_text(
	const struct item *i, uint32_t part, const char *name, size_t max, struct arena *a);
/* The time of a property. 1; 0: it is not there; -EINVAL, -ENOENT (unknown zone), -ENOMEM. */
int item_moment(struct item *i, uint32_t part, const char *name, struct moment *ret);
/* When an event's component begins and ends. -EINVAL: it does not begin; else as above. */
int item_span(struct item *i, uint32_t part, struct moment *ret_start, struct moment *ret_end);
/* Whether its master has rules or dates by which it recurs. */
bool item_recurs(const struct item *i);
/* PRIORITY, 0 (none) to 9. */
unsigned item_priority(const struct item *i);
/* STATUS:COMPLETED, or a COMPLETED time. */
bool item_is_completed(const struct item *i);
