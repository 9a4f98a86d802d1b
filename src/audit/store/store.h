/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The durable log, for those who write it: a file of SQLite in WAL mode, any number of processes
 * that write, by turns, and of readers (log.h). Records have numbers from 1 without a gap, the
 * encoded event, and a hash that chains each to the one before (chain.h). At intervals (records,
 * seconds, and at close) a head is signed (head.h) and kept in the store and in a second file, so
 * that a log that was cut off is found out. docs/audit.md has the format and says what it proves,
 * and against whom.
 *
 * Acknowledged means committed: audit_store_commit() returned 0, or audit_store_committed() says
 * so. It survives the end of the process at any point. With AUDIT_SYNC_FULL it survives a loss of
 * power, too; with AUDIT_SYNC_NORMAL a loss of power may take what came after the last signed head.
 *
 * Records wait in memory until a batch is full or its time is over. There is no thread behind this
 * and no lock between threads: one thread at a time. Whoever has a loop asks audit_store_wait_ms()
 * how long it may sleep and calls audit_store_tick(). All that commits takes the lock between
 * processes (flock() on path + ".lock"), waits for it as audit_store_patience() says, and may wait
 * for the disk. A commit that fails (a full disk) loses nothing: its records go on waiting,
 * and later commits try again; while a batch is full, new ones are not taken.
 *
 * Retention removes whole segments (from one head to another) from the old end; the head that was
 * signed there stays, so the rest can still be verified from it.
 *
 * SQLite does not survive fork(): open a store in the process that writes to it.
 */
#include <stdint.h>

#include "audit/event.h"
#include "base/error.h"

struct audit_store;

enum audit_sync { AUDIT_SYNC_NORMAL, AUDIT_SYNC_FULL };

struct audit_store_options {
	const char *path;
	const char *key_path; /* of the signing key, made if it is not there; NULL: path + ".key" */
	const char *head_path; /* the last signed head; NULL: path + ".head" */
	enum audit_sync sync;
	unsigned batch;        /* records in a commit, at most; 0: 64 */
	unsigned batch_ms;     /* how long one may wait for others; 0: 20 */
	uint64_t sign_records; /* 0: 16384 */
	uint64_t sign_seconds; /* 0: 10 */
	/* Retention: a segment goes when so many records came after it, or when it is so old,
	 * whichever is first. 0: never. */
	uint64_t keep_records, keep_seconds;
	unsigned patience_ms; /* as audit_store_patience(), for opening, too; 0: 5 seconds */
};

/*
 * For writing; makes what is not there, with mode 0600. All that write to a log have the same key.
 * -EBUSY: another process has it and does not let go, as for all calls that write. -EBADMSG: it is
 * no log, or its end is not what was signed. -EPERM: the key (key.h).
 */
int audit_store_open(
	struct audit_store **ret, const struct audit_store_options *o, struct error *e);
/* Commits and signs what is left; frees it, also if that fails. NULL is fine. */
int audit_store_close(struct audit_store *s, struct error *e);

/*
 * Takes a record, which waits for its commit; if that makes a batch full, or the first of them has
 * waited long enough, commits. Its number is not known before, because others write, too. Negative,
 * and it was not taken: -EINVAL: no event; or the commit failed.
 */
int audit_store_add(struct audit_store *s, const struct audit_event *event);
/* All that was added is committed when this returns 0. Signs, too, when the interval is over. */
int audit_store_commit(struct audit_store *s, struct error *e);
/* Commits and signs now; with the head in its second file, when this returns 0. */
int audit_store_sign(struct audit_store *s, struct error *e);

/* Commits if the batch's time is over, signs if the interval is. */
int audit_store_tick(struct audit_store *s, struct error *e);
/* How long until there is something for audit_store_tick(), for poll(); -1: nothing waits. */
int audit_store_wait_ms(struct audit_store *s);
/* How long a call waits for others who write; 5 seconds unless set. A commit takes a millisecond,
 * or as long as the disk. */
void audit_store_patience(struct audit_store *s, unsigned ms);
/* The number of the last record that was committed, as this one knows. */
uint64_t audit_store_committed(const struct audit_store *s);
