/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The signed heads of a log, in its table. With each lies the frontier of the tree at that point:
 * it is not signed itself, but its root is, so a frontier is right if and only if its root is the
 * head's. The first head is where the log begins (0, or where retention has cut it), the last how
 * far it is signed.
 */
#include "audit/store/head.h"
#include "audit/store/sql.h"

/* What a log comes to at a head, as something that can be gone on with. */
struct heads_row {
	struct head head;
	struct chain chain;
};

enum heads_which { HEADS_FIRST, HEADS_LAST };

/* All of them, by number; step with sql_step(), read with heads_read(). */
int heads_all(struct sql *s, sqlite3_stmt **ret, struct error *e);
/* The row that st is at. -EBADMSG, and *e untouched: it is not what a head looks like, or its
 * frontier is not its own. */
int heads_read(sqlite3_stmt *st, struct heads_row *ret);

/* -ENOENT, and *e untouched: there is none. -EBADMSG as above. */
int heads_get(struct sql *s, enum heads_which which, struct heads_row *ret, struct error *e);
/* The same of the head at this number. */
int heads_at(struct sql *s, uint64_t number, struct heads_row *ret, struct error *e);
/* Adds one, or replaces the one at its number. */
int heads_put(struct sql *s, const struct head *h, const struct merkle *frontier, struct error *e);
