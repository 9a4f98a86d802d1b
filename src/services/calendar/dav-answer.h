/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a CalDAV server answers (RFC 4918, 4791): a multistatus, read response by response. The
 * server may lie. A document with a DTD is refused before the parser sees it, so there are no
 * entities but the five of XML, nothing is loaded, and nothing grows; depth, number and length of
 * what is taken are bounded, and the tree is never built.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum {
	DAV_ANSWER_BYTES = 16 << 20,
	DAV_ANSWER_DEPTH = 32,
	DAV_ANSWER_RESPONSES = 40000,
	DAV_ANSWER_TEXT = 8 << 10, /* of anything but an object */
};

/* Of one response. Texts are NULL where the server has none, and live until the next. */
struct dav_response {
	const char *href;
	const char *name;             /* displayname */
	const char *tag;              /* getetag */
	const char *object;           /* calendar-data */
	const char *principal, *home; /* paths: current-user-principal, calendar-home-set */
	bool is_calendar;
	/* supported-calendar-component-set: none at all means any. */
	bool has_components, has_events, has_todos;
};

/* 0: go on; else it ends with that. */
typedef int dav_each(void *context, const struct dav_response *r);

/* -EBADMSG: it is no such document, or more than the bounds; -ENOMEM. Else what `each` returned. */
int dav_answer_read(const char *text, size_t len, dav_each *each, void *context);

/*
 * The path of an href on the server itself: "https://host:443/a/b" or "/a/b" -> "/a/b". origin:
 * "https://host:443". NULL: it leads to another server, or is not a plain path (".", "..",
 * escaped slashes and dots, control characters); or no memory.
 */
const char *dav_answer_path(const char *href, const char *origin, struct arena *a);
