/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a record as bytes: texts that each end with a NUL, since a name has any other byte.
 *
 *     run       "corral undo 1\n" FOLDER COMMAND "NUMBER INO LIMIT STARTED BOOT"
 *     before    for each name: PATH STATE TARGET WHY
 *     changes   "ENDED CUT CREATED CHANGED REMOVED MODE TIME", then for each:
 *               PATH FOREIGN STATE TARGET STATE TARGET
 *     TARGET    of a link; of a file, its attributes, "-" for none, or "" if they are not known
 *     STATE     "KIND MODE UID GID NLINK INO SIZE OFFSET MTIME CTIME BTIME HASH", HASH is - or hex
 *
 * They are Corral's own, and read like a stranger's: a path is relative, without "..", and every
 * number has its bounds.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/formats.h"
#include "cli/undo/internal.h"

static const char manifest_first[] = "corral undo ";
static const char manifest_none[] = "-";

/* Printing */

static void manifest_text(struct buffer *out, const char *text)
{
	buffer_add(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void manifest_state(struct buffer *out, const struct undo_state *s)
{
	char hex[2 * UNDO_HASH + 1] = "-";

	if (s->hash)
		(void)sodium_bin2hex(hex, sizeof(hex), s->hash, UNDO_HASH);
	buffer_printf(out,
		"%d %" PRIo32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %s",
		(int)s->kind, s->mode, s->uid, s->gid, s->nlink, s->ino, s->size, s->offset,
		s->mtime, s->ctime, s->btime, hex);
	buffer_addc(out, '\0');
	if (s->kind == UNDO_FILE && s->attributes)
		manifest_text(out, *s->attributes ? s->attributes : manifest_none);
	else
		manifest_text(out, s->target);
}

void undo_print_run(const struct undo *u, struct buffer *out)
{
	buffer_printf(out, "%s%" PRIu32 "\n", manifest_first, formats_rows[FORMAT_UNDO].version);
	manifest_text(out, u->folder);
	manifest_text(out, u->command);
	buffer_printf(out, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRId64 " %s", u->number,
		u->root_ino, u->limit, u->started, u->boot[0] ? u->boot : "-");
	buffer_addc(out, '\0');
}

void undo_print_before(const struct undo *u, struct buffer *out)
{
	for (size_t i = 0; i < u->before.n; i++) {
		manifest_text(out, u->before.items[i].path);
		manifest_state(out, &u->before.items[i].is);
		manifest_text(out, u->before.items[i].why);
	}
}

void undo_print_changes(const struct undo *u, struct buffer *out)
{
	const struct undo_changes *c = &u->changes;

	buffer_printf(out, "%" PRId64 " %d", c->ended, c->is_cut);
	for (size_t i = 0; i < UNDO_WHATS; i++)
		buffer_printf(out, " %zu", c->count[i]);
	/* Records of earlier versions do not have it, and those ignore it. */
	buffer_printf(out, " %zu %s", c->n_lost, c->lost ? c->lost : "");
	buffer_addc(out, '\0');
	for (size_t i = 0; i < c->n; i++) {
		manifest_text(out, c->items[i].path);
		manifest_text(out, c->items[i].is_foreign ? "1" : "0");
		manifest_state(out, &c->items[i].before);
		manifest_state(out, &c->items[i].after);
	}
}

/* Reading */

struct manifest_reader {
	const char *at, *end;
	struct arena *arena;
};

/* NULL: there is no further text that has its end. */
static const char *manifest_next(struct manifest_reader *r)
{
	const char *text = r->at;
	size_t len = strnlen(text, (size_t)(r->end - text));

	if (text + len == r->end)
		return NULL;
	r->at = text + len + 1;
	return text;
}

static bool manifest_number(const char **at, int base, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, base);
	if (errno || *ret > max || (*end && *end != ' '))
		return false;
	*at = end + (*end == ' ');
	return true;
}

/* Times before 1970 are there, too. */
static bool manifest_time(const char **at, int64_t *ret)
{
	const bool is_negative = **at == '-';
	uint64_t n;

	*at += is_negative;
	if (!manifest_number(at, 10, INT64_MAX, &n))
		return false;
	*ret = is_negative ? -(int64_t)n : (int64_t)n;
	return true;
}

static bool manifest_is_path(const char *path)
{
	char full[PATH_BYTES];

	if (path && strcmp(path, UNDO_ROOT) == 0)
		return true;
	return path && *path && snprintf(full, sizeof(full), "/%s", path) < (int)sizeof(full) &&
	       path_is_normal(full, strlen(full));
}

static int manifest_hash(struct manifest_reader *r, const char *hex, const unsigned char **ret)
{
	unsigned char *hash;
	size_t len;

	if (strcmp(hex, "-") == 0)
		return 0;
	hash = arena_alloc(r->arena, UNDO_HASH);
	if (!hash)
		return -ENOMEM;
	if (strlen(hex) != 2 * UNDO_HASH ||
		sodium_hex2bin(hash, UNDO_HASH, hex, 2 * UNDO_HASH, NULL, &len, NULL) < 0 ||
		len != UNDO_HASH)
		return -EINVAL;
	*ret = hash;
	return 0;
}

/* Records of earlier versions do not have them. */
static int manifest_attributes(struct manifest_reader *r, const char *text, struct undo_state *ret)
{
	if (!*text)
		return 0;
	if (strcmp(text, manifest_none) == 0)
		text = "";
	if (!undo_attributes_are_valid(text))
		return -EINVAL;
	ret->attributes = arena_strdup(r->arena, text);
	return ret->attributes ? 0 : -ENOMEM;
}

static int manifest_read_state(struct manifest_reader *r, struct undo_state *ret)
{
	const char *at = manifest_next(r), *target = manifest_next(r);
	uint64_t n[8];
	int err;

	*ret = (struct undo_state){ 0 };
	if (!at || !target)
		return -EINVAL;
	if (!manifest_number(&at, 10, UNDO_OTHER, &n[0]) ||
		!manifest_number(&at, 8, 07777, &n[1]) ||
		!manifest_number(&at, 10, UINT32_MAX, &n[2]) ||
		!manifest_number(&at, 10, UINT32_MAX, &n[3]) ||
		!manifest_number(&at, 10, UINT32_MAX, &n[4]) ||
		!manifest_number(&at, 10, UINT64_MAX, &n[5]) ||
		!manifest_number(&at, 10, INT64_MAX / 4, &n[6]) ||
		!manifest_number(&at, 10, INT64_MAX / 4, &n[7]) ||
		!manifest_time(&at, &ret->mtime) || !manifest_time(&at, &ret->ctime) ||
		!manifest_time(&at, &ret->btime))
		return -EINVAL;
	ret->kind = (enum undo_kind)n[0];
	ret->mode = (uint32_t)n[1];
	ret->uid = (uint32_t)n[2];
	ret->gid = (uint32_t)n[3];
	ret->nlink = (uint32_t)n[4];
	ret->ino = n[5];
	ret->size = n[6];
	ret->offset = n[7];
	err = manifest_hash(r, at, &ret->hash);
	if (err == 0 && ret->kind == UNDO_FILE)
		return manifest_attributes(r, target, ret);
	if (err < 0 || ret->kind != UNDO_LINK)
		return err;
	ret->target = arena_strdup(r->arena, target);
	return !ret->target ? -ENOMEM : *target ? 0 : -EINVAL;
}

/* The line with the version comes before all else. */
static int manifest_read_version(struct manifest_reader *r, uint64_t *ret)
{
	const size_t len = strlen(manifest_first);
	const char *line = r->at;
	uint64_t n = 0;

	if ((size_t)(r->end - line) <= len || memcmp(line, manifest_first, len) != 0)
		return -EINVAL;
	for (line += len; line < r->end && isdigit((unsigned char)*line); line++) {
		if (n > UINT32_MAX)
			return -EINVAL;
		n = 10 * n + (uint64_t)(*line - '0');
	}
	if (line == r->end || *line != '\n')
		return -EINVAL;
	r->at = line + 1;
	*ret = n;
	return 0;
}

int undo_read_run(struct undo *u, const char *data, size_t len, struct error *e)
{
	struct manifest_reader r = { data, data + len, &u->arena };
	uint64_t version = 0, number, ino, limit;
	const char *folder, *command, *at;
	char path[32];
	int err = manifest_read_version(&r, &version);

	(void)snprintf(path, sizeof(path), "undo/%" PRIu32 "/run", u->number);
	if (err == 0)
		err = formats_check(FORMAT_UNDO, version, path, e);
	if (err < 0)
		return err;
	folder = manifest_next(&r);
	command = folder ? manifest_next(&r) : NULL;
	at = command ? manifest_next(&r) : NULL;
	if (!at || !path_is_normal(folder, strlen(folder)) ||
		!manifest_number(&at, 10, UINT32_MAX, &number) ||
		!manifest_number(&at, 10, UINT64_MAX, &ino) ||
		!manifest_number(&at, 10, UINT64_MAX, &limit) || !manifest_time(&at, &u->started) ||
		strlen(at) >= sizeof(u->boot))
		return -EINVAL;
	memcpy(u->boot, at, strlen(at) + 1);
	u->root_ino = ino;
	u->limit = limit;
	u->folder = arena_strdup(&u->arena, folder);
	u->command = arena_strdup(&u->arena, command);
	return u->folder && u->command ? 0 : -ENOMEM;
}

int undo_read_before(struct undo *u, const char *data, size_t len)
{
	struct manifest_reader r = { data, data + len, &u->arena };

	while (r.at < r.end) {
		struct undo_entry e = { .path = manifest_next(&r) };
		const char *why;
		int err = manifest_is_path(e.path) ? manifest_read_state(&r, &e.is) : -EINVAL;

		why = err == 0 ? manifest_next(&r) : NULL;
		if (err < 0)
			return err;
		if (!why || u->before.n >= 2 * UNDO_NAMES_MAX)
			return -EINVAL;
		e.path = arena_strdup(&u->arena, e.path);
		e.why = *why ? arena_strdup(&u->arena, why) : NULL;
		if (!e.path || (*why && !e.why) ||
			ARRAY_PUSH(u->before.items, u->before.n, u->before.cap, e) < 0)
			return -ENOMEM;
	}
	return undo_list_index(&u->before);
}

static int manifest_read_change(struct manifest_reader *r, struct undo_change *c)
{
	const char *path = manifest_next(r), *foreign = path ? manifest_next(r) : NULL;
	int err;

	if (!foreign || !manifest_is_path(path))
		return -EINVAL;
	c->is_foreign = strcmp(foreign, "0") != 0;
	err = manifest_read_state(r, &c->before);
	if (err == 0)
		err = manifest_read_state(r, &c->after);
	c->path = arena_strdup(r->arena, path);
	return err < 0 ? err : c->path ? 0 : -ENOMEM;
}

/* "N PATH", of what was not kept and is gone or changed. */
static bool manifest_read_lost(
	const struct manifest_reader *r, const char *at, struct undo_changes *c)
{
	uint64_t n;

	if (!manifest_number(&at, 10, UINT32_MAX, &n))
		return false;
	c->n_lost = (size_t)n;
	c->lost = n ? arena_strdup(r->arena, at) : NULL;
	return !n || (c->lost && manifest_is_path(c->lost));
}

int undo_read_changes(struct undo *u, const char *data, size_t len)
{
	struct manifest_reader r = { data, data + len, &u->arena };
	struct undo_changes *c = &u->changes;
	const char *at = manifest_next(&r);
	uint64_t n;

	if (!at || !manifest_time(&at, &c->ended) || !manifest_number(&at, 10, 1, &n))
		return -EINVAL;
	c->is_cut = n;
	for (size_t i = 0; i < UNDO_WHATS; i++) {
		if (!manifest_number(&at, 10, UINT32_MAX, &n))
			return -EINVAL;
		c->count[i] = (size_t)n;
	}
	if (*at && !manifest_read_lost(&r, at, c))
		return -EINVAL;
	while (r.at < r.end) {
		struct undo_change change = { 0 };
		int err = manifest_read_change(&r, &change);

		if (err == 0 && c->n >= 3 * (size_t)UNDO_NAMES_MAX)
			err = -EINVAL;
		if (err == 0)
			err = ARRAY_PUSH(c->items, c->n, c->cap, change);
		if (err < 0)
			return err;
	}
	return 0;
}
