/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The content lines of an iCalendar object (RFC 5545, 3.1), with their places in the source.
 *
 * Items belong to many programs: each writes properties that the others do not know, or do not
 * accept. So an item is never printed anew. What is changed is changed line by line
 * (services/calendar/edit.h), and every other byte stays as it is. That is why the lines are ours,
 * and libical reads what stands in them: times, durations, rules, time zones.
 *
 * The bytes are foreign. What has more than the bounds below, control characters, no UTF-8, or
 * components that are not closed is refused as a whole.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
	LINES_BYTES_MAX = 256 << 10, /* of the object */
	LINES_MAX = 8192,
	LINES_PARTS_MAX = 512, /* components, nested ones counted */
	LINES_DEPTH_MAX = 4,   /* calendar, event, alarm, and one more */
	LINES_NAME_MAX = 64,   /* of a property or component */
};

/* The object itself is in part 0, VCALENDAR. */
enum { LINES_NO_PART = UINT32_MAX };

struct line {
	size_t at, len;     /* in the source, with all its folded parts and the line break */
	const char *name;   /* in upper case */
	const char *params; /* ";TZID=Europe/Berlin", unfolded, or "" */
	const char *value;  /* unfolded, as written */
	uint32_t part;      /* whose line it is; BEGIN and END belong to the component itself */
};

/* A component: BEGIN:VEVENT … END:VEVENT. */
struct part {
	const char *name;   /* in upper case */
	uint32_t parent;    /* LINES_NO_PART: it is VCALENDAR */
	size_t first, last; /* the lines BEGIN and END */
};

struct lines {
	struct arena arena; /* owns all below */
	const char *source; /* a copy */
	size_t len;
	struct line *items;
	size_t n, cap;
	struct part *parts;
	size_t n_parts, cap_parts;
};

/*
 * Reads one object. *ret need not be initialised; on failure it is empty. -EFBIG: more than the
 * bounds; -EINVAL: no such object; -ENOMEM.
 */
int lines_parse(struct lines *ret, const char *text, size_t len);
void lines_deinit(struct lines *l);
#define auto_lines __attribute__((cleanup(lines_deinit))) struct lines

/* The first line of that name in a part, behind the line `after` (NULL: from its start). */
const struct line *lines_find(
	const struct lines *l, uint32_t part, const char *name, const struct line *after);
/* The value of a parameter without its quotes, in the arena; NULL: it is not there (or no memory).
 */
const char *lines_param(const struct line *line, const char *name, struct arena *a);
