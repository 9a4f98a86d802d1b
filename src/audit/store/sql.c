/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/store/sql.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"

enum { BUSY_MS = 2000, VALUE_MAX = 1 << 20 };

static int code_of(sqlite3 *db, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* a table that is not there */
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
		return db && sqlite3_system_errno(db) > 0 ? -sqlite3_system_errno(db) : -ENOENT;
	default:
		return -EIO;
	}
}

int sql_fail(struct sql *s, struct error *e)
{
	const int rc = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
	const char *text = s->db ? sqlite3_errmsg(s->db) : "out of memory";

	return error_set(e, code_of(s->db, rc), NULL, "%s: %s", s->path, text);
}

/* Nothing in the file may run anything, and nothing in it is larger than what we write. */
static int harden(struct sql *s)
{
	(void)sqlite3_extended_result_codes(s->db, 1);
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	(void)sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	(void)sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	return sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

static int open_as(struct sql *s, const char *name, int flags)
{
	int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = harden(s);
	/* Opening is lazy: only a question tells whether it works. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, "PRAGMA cell_size_check=ON; PRAGMA schema_version;", NULL,
			NULL, NULL);
	return rc;
}

/* "file:/a%20b?immutable=1" */
static void print_immutable(const char *path, struct buffer *out)
{
	buffer_adds(out, "file:");
	for (; *path; path++) {
		if (strchr("%?#", *path) || (unsigned char)*path <= ' ')
			buffer_printf(out, "%%%02X", (unsigned char)*path);
		else
			buffer_addc(out, *path);
	}
	buffer_adds(out, "?immutable=1");
}

static bool is_missing(const char *path, const char *suffix, bool or_empty)
{
	auto_buffer name = { 0 };
	struct stat st;

	buffer_printf(&name, "%s%s", path, suffix);
	if (name.failed)
		return false;
	return lstat(name.data, &st) < 0 ? errno == ENOENT : or_empty && st.st_size == 0;
}

/*
 * A log at rest in a folder that we may not write to: SQLite has no place for its index of the
 * write-ahead log there. If there is no such log, the file itself is all.
 */
static bool is_at_rest(const char *path, int rc)
{
	if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
		return false;
	if (access(path, R_OK) < 0)
		return false;
	/* A reader leaves an empty one behind; whoever writes has the index, too. */
	return is_missing(path, "-wal", false) ||
	       (is_missing(path, "-wal", true) && is_missing(path, "-shm", false));
}

static int open_immutable(struct sql *s)
{
	auto_buffer name = { 0 };

	sql_close(s);
	print_immutable(s->path, &name);
	if (name.failed)
		return SQLITE_NOMEM;
	return open_as(s, name.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

int sql_open(struct sql *ret, const char *path, enum sql_mode mode, struct error *e)
{
	struct sql s = { .path = path };
	int r, rc = open_as(
		       &s, path, mode == SQL_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);

	if (rc != SQLITE_OK && mode == SQL_READ && is_at_rest(path, rc))
		rc = open_immutable(&s);
	if (rc == SQLITE_OK) {
		*ret = s;
		return 0;
	}
	r = sql_fail(&s, e);
	sql_close(&s);
	return r;
}

void sql_close(struct sql *s)
{
	(void)sqlite3_close(s->db);
	s->db = NULL;
}

int sql_prepare(struct sql *s, sqlite3_stmt **ret, const char *text, struct error *e)
{
	if (sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
		return sql_fail(s, e);
	return 0;
}

int sql_run(struct sql *s, const char *text, struct error *e)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(s, e);
}

int sql_step(struct sql *s, sqlite3_stmt *st, struct error *e)
{
	switch (sqlite3_step(st)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return sql_fail(s, e);
	}
}

int sql_finish(struct sql *s, sqlite3_stmt *st, struct error *e)
{
	int r;

	do
		r = sql_step(s, st, e);
	while (r > 0);
	(void)sqlite3_reset(st);
	return r;
}

const uint8_t *sql_blob(sqlite3_stmt *st, int column, size_t max, size_t *ret_len)
{
	int len;

	if (sqlite3_column_type(st, column) != SQLITE_BLOB)
		return NULL;
	len = sqlite3_column_bytes(st, column);
	if (len < 0 || (size_t)len > max)
		return NULL;
	*ret_len = (size_t)len;
	return len ? sqlite3_column_blob(st, column) : (const uint8_t *)"";
}
