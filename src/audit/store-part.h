/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The parts of a store: store.c has opening and the queue, store-commit.c what becomes durable. */
#include "audit/head.h"
#include "audit/key.h"
#include "audit/sql.h"
#include "audit/store.h"
#include "base/buffer.h"

struct audit_store {
	struct audit_store_options options; /* without the names */
	char *path, *head_path;
	int lock;
	struct sql sql;
	sqlite3_stmt *begin, *insert, *commit;
	struct key key;

	struct chain chain; /* what is committed */
	struct head head;   /* the last that was signed */
	bool head_saved;    /* in its second file, too */
	uint64_t signed_ms; /* when; by the clock that never goes back */

	struct buffer queue; /* records that wait, one behind the other */
	size_t *ends;        /* where each ends; room for a batch */
	unsigned queued;
	uint64_t queued_ms; /* since when the first of them waits */
};

uint64_t store_now_ms(void);

/* The first head, of a log without records, together with its tables. */
int store_create(struct audit_store *s, struct error *e);
/* What waits, and a head if asked for. Nothing has changed if it fails. */
enum store_seal { STORE_PLAIN, STORE_SEALED };
int store_write(struct audit_store *s, enum store_seal seal, struct error *e);
/* The last head into its second file, unless it is there. */
int store_save_head(struct audit_store *s, struct error *e);

/*
 * Takes up an existing log where it ends. What was signed is trusted by its signature and by the
 * second file; records after that are read and must fit. -EBADMSG.
 */
int store_resume(struct audit_store *s, struct error *e);
