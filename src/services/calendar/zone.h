/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Time zones. One that the system knows by its name (Europe/Berlin) is the system's, whatever the
 * object says of it: rules change, and what stands in an object is foreign. One that it does not
 * know (names of other systems) is read from the object's VTIMEZONE, if that is within bounds.
 */
#include <libical/ical.h>

#include "services/calendar/lines.h"

enum {
	ZONE_KNOWN_MAX = 256, /* of the system, in one process */
	ZONE_NAME_MAX = 128,
	ZONE_OWN_MAX = 4,   /* of one object */
	ZONE_OWN_RULES = 8, /* recurrence rules in one of these */
	ZONE_OWN_BYTES = 16 << 10,
};

struct buffer;

/* Those of one object. Zeroed: none was looked for yet. */
struct zones {
	const struct lines *lines; /* NULL: there is no object */
	struct {
		const char *name; /* in the object */
		icaltimezone *zone;
	} own[ZONE_OWN_MAX];
	size_t n_own;
};

/* The zone of times without one; a name of the system's, or NULL for UTC. Call it once. */
void zone_set_local(const char *name);
icaltimezone *zone_local(void);
/* A zone of the system's. NULL: it knows none of that name. */
icaltimezone *zone_find(const char *name);
/* The zone that an object means by a name. NULL: it cannot be had. */
icaltimezone *zone_resolve(struct zones *z, const char *name);
/* The name under which the system knows a zone; NULL: it does not, or it is UTC. */
const char *zone_name(const icaltimezone *zone);
/* Appends its VTIMEZONE, for an object of ours. */
int zone_print(icaltimezone *zone, struct buffer *out);
void zone_deinit(struct zones *z);
