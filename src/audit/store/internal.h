/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the parts of this folder share: SQLite in the words of this project (sql.c), the table of
 * signed heads (head.c), a log that is read (log.c) and a store that is written to (store.c, and
 * resume.c for what others wrote).
 */
#include <sqlite3.h>

#include "audit/batch.h"
#include "audit/store/head.h"
#include "audit/store/log.h"
#include "audit/store/store.h"
#include "base/buffer.h"

/*
 * sql.c: negative errnos, errors that a person can read, statements that go when their owner does.
 * A file that it opens may have been made by an enemy: nothing that a schema could run (views,
 * triggers, functions) is trusted, and what it may hold is bounded.
 */
struct sql {
	sqlite3 *db;
	const char *path; /* for messages; lives as long as this does */
};

enum sql_mode { SQL_READ, SQL_WRITE };

/* SQL_READ also opens a file in a folder that we may not write to, if no process writes to it.
 * -EBADMSG: it is no database. */
int sql_open(struct sql *ret, const char *path, enum sql_mode mode, struct error *e);
void sql_close(struct sql *s);
/* How long a statement waits for others who have the file locked, in the ways of SQLite. */
void sql_patience(struct sql *s, unsigned ms);

int sql_prepare(struct sql *s, sqlite3_stmt **ret, const char *text, struct error *e);
/* The same, with a number for its first parameter. */
int sql_prepare_for(
	struct sql *s, sqlite3_stmt **ret, const char *text, uint64_t number, struct error *e);
/* Without parameters, without an answer. */
int sql_run(struct sql *s, const char *text, struct error *e);
/* 1: there is a row; 0: that was the last. */
int sql_step(struct sql *s, sqlite3_stmt *st, struct error *e);
/* Runs it to its end and makes it ready for the next time. */
int sql_finish(struct sql *s, sqlite3_stmt *st, struct error *e);
/* The text that a statement answers is this one: 1 or 0. */
int sql_answers(struct sql *s, const char *text, const char *wanted, struct error *e);

/* A column that must be a blob of max bytes at most; NULL if it is not. */
const uint8_t *sql_blob(sqlite3_stmt *st, int column, size_t max, size_t *ret_len);
static inline uint64_t sql_number(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}
static inline void sql_bind_blob(sqlite3_stmt *st, int i, const void *data, size_t len)
{
	(void)sqlite3_bind_blob64(st, i, data, len, SQLITE_STATIC);
}
static inline void sql_bind_number(sqlite3_stmt *st, int i, uint64_t n)
{
	(void)sqlite3_bind_int64(st, i, (sqlite3_int64)n);
}
static inline void sql_finalizep(sqlite3_stmt **st)
{
	(void)sqlite3_finalize(*st);
}
#define auto_statement __attribute__((cleanup(sql_finalizep))) sqlite3_stmt

/*
 * The tables of a log. There are two, and nothing else may be in the file: no index, no trigger, no
 * view that could stand in for a table. A record's event is the bytes that were hashed; no column
 * repeats a field of it, because no hash would cover the copy.
 */
/* Inside a transaction of the caller. */
int schema_create(struct sql *s, struct error *e);
/* 1: there is nothing in the file yet. -EBADMSG: it is no log of this format. */
int schema_check(struct sql *s, struct error *e);

/*
 * head.c: the signed heads of a log, in its table. With each lies the frontier of the tree at that
 * point: it is not signed itself, but its root is, so a frontier is right if and only if its root
 * is the head's. The first head is where the log begins (0, or where retention has cut it), the
 * last how far it is signed.
 */
struct heads_row {
	struct head head;
	struct chain chain; /* what the log comes to there, to go on with */
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

/* log.c: how a log is opened, what a row of it looks like. */
enum { LOG_RECORD_MAX = CHAIN_NUMBER_BYTES + AUDIT_EVENT_MAX };

struct audit_log {
	struct sql sql;
	char *path;
};

/* A row as it lies there, as long as its statement is not stepped on. */
struct log_record {
	uint64_t number;
	const uint8_t *data; /* the number, the encoded event: what was hashed */
	size_t len;
	struct hash hash;
};

#define LOG_RECORDS "SELECT number, event, hash FROM record "
/* -EBADMSG: it has not the form of one (ret->number is filled). */
int log_record_read(sqlite3_stmt *st, struct log_record *ret);
/* The event of it; -EBADMSG. */
int log_record_decode(const struct log_record *r, struct audit_event *ret);
/* The number that the record itself says it has. */
static inline uint64_t log_record_claim(const struct log_record *r)
{
	return chain_get_number(r->data);
}

/* Several questions about the same moment. */
static inline int log_freeze(struct audit_log *l, struct error *e)
{
	return sql_run(&l->sql, "BEGIN", e);
}
static inline void log_thaw(struct audit_log *l)
{
	(void)sql_run(&l->sql, "ROLLBACK", NULL);
}

enum { STORE_BEGIN, STORE_INSERT, STORE_COMMIT, STORE_VERSION, STORE_STATEMENTS };

struct audit_store {
	struct audit_store_options options; /* without the names */
	char *path, *head_path;
	int lock;
	unsigned patience_ms; /* how long it waits for the lock */
	struct sql sql;
	sqlite3_stmt *statements[STORE_STATEMENTS];
	struct key key;

	/* As it was when this one looked, or wrote, last. */
	uint64_t version;   /* of the database: another if others wrote since */
	struct chain chain; /* what is committed */
	struct head head;   /* the last that was signed */
	bool head_saved;    /* in its second file, too */
	uint64_t signed_ms; /* when; by the clock that never goes back */

	struct buffer queue; /* records that wait, one after the other, without their numbers */
	size_t *ends;        /* where each ends; room for a batch */
	unsigned queued;
	struct audit_batch batch; /* when they are due */
};

/* With the lock between processes. */

/*
 * Takes up an existing log where it ends. What was signed is trusted by its signature and by the
 * second file; records after that are read and must fit. -EBADMSG.
 */
int store_begin(struct audit_store *s, struct error *e);
/* The same for what others wrote since, if they did. -ENOENT: the file is not there any more. */
int store_catch_up(struct audit_store *s, struct error *e);
