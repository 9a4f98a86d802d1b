/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * SQLite, in the words of this project: negative errnos, errors that a person can read, statements
 * that go when their owner does. A file that it opens may have been made by an enemy: nothing that
 * a schema could run (views, triggers, functions) is trusted, and what it may hold is bounded.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sql {
	sqlite3 *db;
	const char *path; /* for messages; lives as long as this does */
};

enum sql_mode { SQL_READ, SQL_WRITE };

/* SQL_READ also opens a file in a folder that we may not write to, if nobody is writing to it.
 * -EBADMSG: it is no database. */
int sql_open(struct sql *ret, const char *path, enum sql_mode mode, struct error *e);
void sql_close(struct sql *s);
/* What went wrong last, as an errno, with *e filled. */
int sql_fail(struct sql *s, struct error *e);

int sql_prepare(struct sql *s, sqlite3_stmt **ret, const char *text, struct error *e);
/* Without parameters, without an answer. */
int sql_run(struct sql *s, const char *text, struct error *e);
/* 1: there is a row; 0: that was the last. */
int sql_step(struct sql *s, sqlite3_stmt *st, struct error *e);
/* Runs it to its end and makes it ready for the next time. */
int sql_finish(struct sql *s, sqlite3_stmt *st, struct error *e);

/* A column that must be a blob of len bytes at most; NULL if it is not. */
const uint8_t *sql_blob(sqlite3_stmt *st, int column, size_t max, size_t *ret_len);
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
