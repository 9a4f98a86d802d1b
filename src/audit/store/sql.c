/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/store/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/formats.h"
#include "codec/encoding.h"

enum { BUSY_MS = 2000, VALUE_MAX = 1 << 20 };

/* Bytes of the file are not what SQLite wrote: a disk, a copy that was cut, or another program. */
static int sql_fail_damaged(const struct sql *s, struct error *e)
{
	(void)error_set(
		e, -EBADMSG, NULL, "%s: the log is damaged: %s", s->path, sqlite3_errmsg(s->db));
	error_hint(e, "to start a new log, move this file and those with its name and -wal, -shm "
		      "and .head to another folder; `corral audit verify` there says what can "
		      "still be read");
	return -EBADMSG;
}

/* What went wrong last, as an errno, with *e filled. */
static int sql_fail(struct sql *s, struct error *e)
{
	static const struct {
		int rc, code;
	} codes[] = { { SQLITE_NOMEM, -ENOMEM }, { SQLITE_FULL, -ENOSPC }, { SQLITE_BUSY, -EBUSY },
		{ SQLITE_LOCKED, -EBUSY }, { SQLITE_READONLY, -EROFS }, { SQLITE_PERM, -EROFS },
		/* A table that is not there. */
		{ SQLITE_ERROR, -EBADMSG }, { SQLITE_CONSTRAINT, -EBADMSG },
		{ SQLITE_MISMATCH, -EBADMSG }, { SQLITE_TOOBIG, -EBADMSG },
		{ SQLITE_CANTOPEN, -ENOENT } };
	const int rc = (s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM) & 0xff;
	int code = -EIO;

	if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB)
		return sql_fail_damaged(s, e);
	for (size_t i = 0; i < ROWS(codes); i++)
		code = codes[i].rc == rc ? codes[i].code : code;
	if (rc == SQLITE_CANTOPEN && s->db && sqlite3_system_errno(s->db) > 0)
		code = -sqlite3_system_errno(s->db);
	return error_set(
		e, code, NULL, "%s: %s", s->path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
}

static int sql_open_as(struct sql *s, const char *name, int flags)
{
	int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		return rc;
	/* Nothing in the file may run anything, and nothing in it is larger than what we write. */
	(void)sqlite3_extended_result_codes(s->db, 1);
	sql_patience(s, BUSY_MS);
	(void)sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	(void)sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	/* Opening is lazy: only a question tells whether it works. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, "PRAGMA cell_size_check=ON; PRAGMA schema_version;", NULL,
			NULL, NULL);
	return rc;
}

static bool sql_is_missing(const char *path, const char *suffix, bool or_empty)
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
static bool sql_is_at_rest(const char *path, int rc)
{
	if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
		return false;
	if (access(path, R_OK) < 0)
		return false;
	/* A reader leaves an empty one behind; whoever writes has the index, too. */
	return sql_is_missing(path, "-wal", false) ||
	       (sql_is_missing(path, "-wal", true) && sql_is_missing(path, "-shm", false));
}

/* As "file:/a%20b?immutable=1". */
static int sql_open_immutable(struct sql *s)
{
	auto_buffer name = { 0 };

	sql_close(s);
	buffer_adds(&name, "file:");
	encoding_percent(s->path, strlen(s->path), "/._-", &name);
	buffer_adds(&name, "?immutable=1");
	if (name.failed)
		return SQLITE_NOMEM;
	return sql_open_as(s, name.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

int sql_open(struct sql *ret, const char *path, enum sql_mode mode, struct error *e)
{
	struct sql s = { .path = path };
	int r, rc = sql_open_as(
		       &s, path, mode == SQL_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);

	if (rc != SQLITE_OK && mode == SQL_READ && sql_is_at_rest(path, rc))
		rc = sql_open_immutable(&s);
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

void sql_patience(struct sql *s, unsigned ms)
{
	(void)sqlite3_busy_timeout(s->db, ms < BUSY_MS ? (int)ms : BUSY_MS);
}

int sql_prepare(struct sql *s, sqlite3_stmt **ret, const char *text, struct error *e)
{
	if (sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
		return sql_fail(s, e);
	return 0;
}

int sql_prepare_for(
	struct sql *s, sqlite3_stmt **ret, const char *text, uint64_t number, struct error *e)
{
	int r = sql_prepare(s, ret, text, e);

	if (r == 0)
		sql_bind_number(*ret, 1, number);
	return r;
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

int sql_answers(struct sql *s, const char *text, const char *wanted, struct error *e)
{
	auto_statement *st = NULL;
	const char *answer;
	int r = sql_prepare(s, &st, text, e);

	if (r == 0)
		r = sql_step(s, st, e);
	if (r < 0)
		return r;
	answer = r > 0 ? (const char *)sqlite3_column_text(st, 0) : NULL;
	return answer && strcmp(answer, wanted) == 0;
}

/* "CrAu" */
#define APPLICATION "1131561333"

/* As SQLite keeps them, in the order of their names. */
static const char *const tables[] = {
	"CREATE TABLE head (number INTEGER PRIMARY KEY, head BLOB NOT NULL, "
	"signature BLOB NOT NULL, frontier BLOB NOT NULL)",
	"CREATE TABLE record (number INTEGER PRIMARY KEY, event BLOB NOT NULL, "
	"hash BLOB NOT NULL)",
};

enum { TABLES = ROWS(tables) };

int schema_create(struct sql *s, struct error *e)
{
	char settings[96];
	int r;

	(void)snprintf(settings, sizeof(settings),
		"PRAGMA application_id=" APPLICATION "; PRAGMA user_version=%" PRIu32 ";",
		formats_rows[FORMAT_AUDIT_LOG].version);
	r = sql_run(s, settings, e);
	for (size_t i = 0; i < TABLES && r == 0; i++)
		r = sql_run(s, tables[i], e);
	return r;
}

static int schema_refuse(struct sql *s, struct error *e)
{
	return error_set(e, -EBADMSG, NULL, "%s: not an audit log of Corral", s->path);
}

/* A log of a newer version may have other tables, or the same with another meaning. */
static int schema_check_version(struct sql *s, struct error *e)
{
	auto_statement *st = NULL;
	int64_t version;
	int r = sql_answers(s, "PRAGMA application_id", APPLICATION, e);

	if (r <= 0)
		return r;
	r = sql_prepare(s, &st, "PRAGMA user_version", e);
	if (r == 0)
		r = sql_step(s, st, e);
	if (r < 0)
		return r;
	version = r > 0 ? sqlite3_column_int64(st, 0) : 0;
	r = formats_check(
		FORMAT_AUDIT_LOG, version < 0 ? UINT64_MAX : (uint64_t)version, s->path, e);
	return r < 0 ? r : 0;
}

int schema_check(struct sql *s, struct error *e)
{
	auto_statement *st = NULL;
	size_t n = 0;
	int r = schema_check_version(s, e);

	if (r == 0)
		r = sql_prepare(s, &st, "SELECT sql FROM sqlite_schema ORDER BY name", e);
	if (r < 0)
		return r;
	while ((r = sql_step(s, st, e)) > 0) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		if (n >= TABLES || !text || strcmp(text, tables[n]) != 0)
			return schema_refuse(s, e);
		n++;
	}
	if (r < 0)
		return r;
	if (n == 0)
		return 1;
	return n == TABLES ? 0 : schema_refuse(s, e);
}
