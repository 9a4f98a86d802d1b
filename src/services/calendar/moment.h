/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A date, or a point in time as a local clock shows it. Years outside of MOMENT_YEAR_* are
 * refused: no calendar needs them, and counting recurrences from there takes long.
 */
#include <libical/ical.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "services/calendar/lines.h"
#include "services/calendar/zone.h"

enum { MOMENT_YEAR_FIRST = 1900, MOMENT_YEAR_LAST = 2200 };
enum { MOMENT_DAY = 24 * 60 * 60 };

/* Zeroed: none. */
struct moment {
	bool is_set, is_date;
	int64_t at; /* seconds since 1970; of a date: its midnight in the user's zone */
	struct icaltimetype clock; /* what the clock of the zone shows */
	icaltimezone *zone;        /* not NULL where is_set */
};

/* What the clock of a zone shows, as a moment. -EINVAL: no such time, or a year that is refused. */
int moment_make(struct moment *ret, struct icaltimetype clock, icaltimezone *zone);
/* The same for a point in time. */
int moment_from_seconds(struct moment *ret, int64_t at, icaltimezone *zone);
/* The value of a property such as DTSTART. -EINVAL; -ENOENT: its zone is unknown; -ENOMEM. */
int moment_read(struct moment *ret, const struct line *line, struct zones *z);
/* One of the comma-separated values of such a property, of len bytes. */
int moment_read_value(struct moment *ret, const struct line *line, const char *value, size_t len,
	struct zones *z);
/*
 * What a caller writes: 2026-11-16, 2026-11-16T09:00:00Z, with an offset, or without one: then it
 * is a time of the zone (NULL: the user's). A time with an offset is shown by the clock of the zone
 * if one is named, else in UTC. -EINVAL.
 */
int moment_parse(struct moment *ret, const char *text, icaltimezone *zone);
/* Appends 2026-11-16, or 2026-11-16T09:00:00+01:00. */
void moment_print(const struct moment *m, struct buffer *out);
/* Appends a content line. The zone must be UTC or one of the system's. */
void moment_add_line(const struct moment *m, const char *name, struct buffer *out);
