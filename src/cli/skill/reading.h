/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A skill of the catalog, read by a process that can read nothing but its folder and the approvals
 * (cli/skill/confined.h). What comes back is JSON, which is parsed like any other text of a
 * stranger.
 */
#include "cli/output.h"
#include "cli/skill/catalog.h"
#include "codec/node.h"

enum reading_kind {
	READING_ENTRY,   /* what the list of all skills shows of it */
	READING_WHOLE,   /* what `corral inspect --json` says */
	READING_TEXT,    /* and without --json, in *ret_rest; the document is empty */
	READING_CHANGES, /* what is not as it was approved (cli/skill/changes.h) */
	READING_APPROVE, /* what an approval keeps; *ret_rest is the stream of the digest */
};

enum { READING_MS = 10 * 1000, READING_LISTS_MS = 20 * 1000 };

struct reading {
	enum reading_kind kind;
	const struct catalog *catalog;
	const struct catalog_item *item;
	uint64_t ms; /* at most READING_MS */
	bool colour; /* of READING_TEXT */
};

/*
 * Reads it. *ret need not be initialised and is the caller's, also on failure. -errno with the
 * call's error: it cannot be read, and why.
 */
int reading_run(
	struct call *c, const struct reading *r, struct document *ret, struct buffer *ret_rest);

/* "new", "approved", "changed", "gone"; "unreadable" where there is no document. */
const char *reading_state(const struct catalog_item *item, const struct document *d);
/* id, path, state, approved_digest and approved_ms, in front of what was read. */
void reading_put_head(struct json_tree *t, struct node *map, const struct catalog_item *item,
	const struct document *d);
/* All values of the document but those that the map has already. */
void reading_put_rest(struct json_tree *t, struct node *map, const struct document *d);
