/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/store/schema.h"
#include "base/array.h"

#include <errno.h>
#include <string.h>

/* "CrAu", and the version of the format. */
#define SETTINGS "PRAGMA application_id=1131561333; PRAGMA user_version=1;"

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
	int r = sql_run(s, SETTINGS, e);

	for (size_t i = 0; i < TABLES && r == 0; i++)
		r = sql_run(s, tables[i], e);
	return r;
}

static int no_log(struct sql *s, struct error *e)
{
	return error_set(e, -EBADMSG, NULL, "%s: it is no audit log of Corral", s->path);
}

int schema_check(struct sql *s, struct error *e)
{
	auto_statement *st = NULL;
	size_t n = 0;
	int r = sql_prepare(s, &st, "SELECT sql FROM sqlite_schema ORDER BY name", e);

	if (r < 0)
		return r;
	while ((r = sql_step(s, st, e)) > 0) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		if (n >= TABLES || !text || strcmp(text, tables[n]) != 0)
			return no_log(s, e);
		n++;
	}
	if (r < 0)
		return r;
	if (n == 0)
		return 1;
	return n == TABLES ? 0 : no_log(s, e);
}
