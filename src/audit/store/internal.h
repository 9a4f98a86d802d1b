/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of a store: store.c has opening and the queue, store/commit.c what becomes durable,
 * store/lock.c whose turn it is, store/resume.c what others wrote.
 */
#include "audit/store/head.h"
#include "audit/store/key.h"
#include "audit/store/sql.h"
#include "audit/store/store.h"
#include "base/buffer.h"

struct audit_store {
	struct audit_store_options options; /* without the names */
	char *path, *head_path;
	int lock;
	unsigned patience_ms; /* how long it waits for the lock */
	struct sql sql;
	sqlite3_stmt *begin, *insert, *commit, *data_version;
	struct key key;

	/* As it was when this one looked, or wrote, last. */
	uint64_t version;   /* of the database: another if others wrote since */
	struct chain chain; /* what is committed */
	struct head head;   /* the last that was signed */
	bool head_saved;    /* in its second file, too */
	uint64_t signed_ms; /* when; by the clock that never goes back */

	struct buffer queue; /* records that wait, one behind the other, without their numbers */
	size_t *ends;        /* where each ends; room for a batch */
	unsigned queued;
	uint64_t queued_ms; /* since when the first of them waits */
};

int store_lock_open(struct audit_store *s, struct error *e);
/* -EBUSY: others have it for longer than this one waits. */
int store_lock(struct audit_store *s, struct error *e);
void store_unlock(struct audit_store *s);

/* All that follow: with the lock. */

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
int store_begin(struct audit_store *s, struct error *e);
/* The same for what others wrote since, if they did. -ENOENT: the file is not there any more. */
int store_catch_up(struct audit_store *s, struct error *e);
