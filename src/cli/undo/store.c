/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of records (undo.h) in Corral's own state. A record is locked by its run, and by an
 * undo of it; the folder of all while a record is made or looked for, so that two runs see each
 * other. The last UNDO_PER_FOLDER runs of a working folder are kept, UNDO_RUNS_MAX of all, and of
 * those UNDO_TOTAL bytes.
 *
 * A record is removed in an order in which each rest is either whole or none: `before`, `changes`,
 * `data`, `removed`, `run`. One that was taken back has the last two until it is the oldest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/tree.h"
#include "cli/undo/internal.h"
#include "host/state-cache.h"

enum { LOCK_MS = 10 * 1000, FILE_MAX = 256 << 20, NUMBER_TEXT = 16 };

static const char *const store_names[] = { "before", "changes", "data", "run" };
static const char store_removed[] = "removed", store_size[] = "removed-size";
static const char store_last_name[] = "last";

static void store_name(uint32_t number, char out[NUMBER_TEXT])
{
	(void)snprintf(out, NUMBER_TEXT, "%u", number);
}

/* The text of a record's file. -ENOENT: it is not there. */
static int store_read(int record, const char *name, struct buffer *ret)
{
	size_t size;
	auto_fd fd = state_cache_open_file(record, name, FILE_MAX, &size);

	if (fd < 0)
		return faccessat(record, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EINVAL : -ENOENT;
	return file_read_fd(fd, FILE_MAX, ret);
}

static bool store_has(int record, const char *name)
{
	return faccessat(record, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int undo_store_put(const struct undo *u, const char *name, const struct buffer *text)
{
	if (text->failed)
		return -ENOMEM;
	if (text->len > FILE_MAX)
		return -EFBIG;
	return state_cache_put(u->record, name, buffer_text(text), text->len);
}

/* The bytes in `removed`. */
static uint64_t store_read_size(int record)
{
	auto_buffer text = { 0 };

	return store_read(record, store_size, &text) < 0 ? 0
							 : strtoull(buffer_text(&text), NULL, 10);
}

void undo_store_add_removed(const struct undo *u, uint64_t bytes)
{
	auto_buffer text = { 0 };

	if (bytes == 0)
		return;
	buffer_printf(&text, "%" PRIu64 "\n", store_read_size(u->record) + bytes);
	(void)undo_store_put(u, store_size, &text);
}

bool undo_store_removed(int record, uint32_t number, char out[PATH_BYTES])
{
	char store[PATH_BYTES];

	return store_has(record, store_removed) && state_cache_path("undo", store) &&
	       snprintf(out, PATH_BYTES, "%s/%" PRIu32 "/%s", store, number, store_removed) <
		       PATH_BYTES;
}

/* Temporary files of one that was killed. */
static void store_clean(int record)
{
	const struct dirent *d;
	DIR *dir = fdopendir(dup(record));

	if (!dir)
		return;
	rewinddir(dir);
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, "run") != 0 &&
			strcmp(d->d_name, store_size) != 0)
			(void)unlinkat(record, d->d_name, 0);
	(void)closedir(dir);
}

static void store_remove(int store, int record, uint32_t number)
{
	char name[NUMBER_TEXT];

	store_name(number, name);
	for (size_t i = 0; i + 1 < ROWS(store_names); i++)
		(void)unlinkat(record, store_names[i], 0);
	tree_remove(record, store_removed);
	(void)unlinkat(record, store_size, 0);
	(void)unlinkat(record, "run", 0);
	store_clean(record);
	(void)unlinkat(store, name, AT_REMOVEDIR);
}

void undo_store_drop(struct undo *u)
{
	if (u->record >= 0)
		store_remove(u->store, u->record, u->number);
	u->is_kept = false;
}

/* The highest number of a record that is gone: numbers are not used again. */
static uint32_t store_last(int store)
{
	auto_buffer text = { 0 };

	if (store_read(store, store_last_name, &text) < 0)
		return 0;
	return (uint32_t)strtoul(buffer_text(&text), NULL, 10);
}

static void store_set_last(int store, uint32_t number)
{
	auto_buffer text = { 0 };

	buffer_printf(&text, "%u\n", number);
	if (number > store_last(store))
		(void)state_cache_put(store, store_last_name, buffer_text(&text), text.len);
}

void undo_store_retire(struct undo *u)
{
	auto_fd lock = openat(u->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock >= 0)
		(void)file_lock(lock, LOCK_MS);
	store_set_last(u->store, u->number);
	if (!store_has(u->record, store_removed)) {
		undo_store_drop(u);
		return;
	}
	(void)unlinkat(u->record, "before", 0);
	(void)unlinkat(u->record, "changes", 0);
	store_clean(u->record);
	u->is_kept = false;
}

/* Listing */

static uint64_t store_bytes(int record)
{
	struct stat st;
	uint64_t bytes = store_read_size(record);

	for (size_t i = 0; i < ROWS(store_names); i++)
		if (fstatat(record, store_names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += 512 * (uint64_t)st.st_blocks;
	return bytes;
}

static int store_open_record(int store, uint32_t number)
{
	char name[NUMBER_TEXT];
	int fd;

	store_name(number, name);
	fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What a list shows of it. 1: it is the rest of one, and was removed. */
static int store_row(int store, uint32_t number, struct arena *a, struct undo_row *ret)
{
	struct undo u = { .number = number, .store = -1, .record = -1, .root = -1, .data = -1 };
	auto_buffer run = { 0 }, changes = { 0 };
	auto_fd fd = store_open_record(store, number);
	int r;

	if (fd < 0)
		return 1;
	*ret = (struct undo_row){ .number = number, .bytes = store_bytes(fd) };
	ret->is_active = flock(fd, LOCK_EX | LOCK_NB) < 0;
	ret->is_ended = store_has(fd, "changes");
	ret->is_taken_back = !ret->is_active && !ret->is_ended && !store_has(fd, "before") &&
			     store_has(fd, store_removed) && store_has(fd, "run");
	if (!ret->is_active && !ret->is_ended && !ret->is_taken_back && !store_has(fd, "before")) {
		store_remove(store, fd, number);
		return 1;
	}
	r = store_read(fd, "run", &run);
	if (r == 0)
		r = undo_read_run(&u, buffer_text(&run), run.len, &ret->fault);
	if (r == 0 && ret->is_ended)
		r = store_read(fd, "changes", &changes);
	/* The first text has the counts. */
	if (r == 0 && ret->is_ended && changes.len)
		r = undo_read_changes(&u, changes.data, strlen(changes.data) + 1);
	ret->is_readable = r == 0;
	ret->changes = u.changes;
	ret->started = u.started;
	ret->folder = arena_strdup(a, u.folder ? u.folder : "");
	ret->command = arena_strdup(a, u.command ? u.command : "");
	undo_deinit(&u);
	if (r < 0 && !ret->fault.text[0])
		(void)error_set(&ret->fault, r, NULL, "the record of run %u is damaged", number);
	return ret->folder && ret->command ? 0 : -ENOMEM;
}

static int store_compare(const void *a, const void *b)
{
	const struct undo_row *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int store_list(int store, struct arena *a, struct undo_rows *ret)
{
	int copy = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *d;

	if (!dir) {
		fd_close(&copy);
		return -errno;
	}
	while (r >= 0 && (d = readdir(dir))) {
		struct undo_row row;
		char *end;
		unsigned long number = strtoul(d->d_name, &end, 10);

		if (*end || number == 0 || number > UINT32_MAX)
			continue;
		r = store_row(store, (uint32_t)number, a, &row);
		if (r == 0)
			r = ARENA_PUSH(a, ret->items, ret->n, ret->cap, row);
	}
	(void)closedir(dir);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), store_compare);
	return r < 0 ? r : 0;
}

int undo_store_list(struct arena *a, struct undo_rows *ret, struct error *e)
{
	auto_fd store = state_cache_open("undo", false);
	int r = store < 0 ? 0 : file_lock(store, LOCK_MS);

	if (r == 0 && store >= 0)
		r = store_list(store, a, ret);
	return r < 0 ? error_set(e, r, NULL, "cannot read the records of runs: %s", strerror(-r))
		     : 0;
}

/* Making one */

/* Removes the oldest until there is room for one more. */
static void store_trim(const struct undo *u, const struct undo_rows *rows)
{
	size_t n = rows->n + 1, here = 1;
	uint64_t bytes = 0;

	for (size_t i = 0; i < rows->n; i++) {
		here += strcmp(rows->items[i].folder, u->folder) == 0;
		bytes += rows->items[i].bytes;
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct undo_row *row = &rows->items[i];
		bool is_here = strcmp(row->folder, u->folder) == 0;
		auto_fd fd = -1;

		if (row->is_active || !row->is_readable ||
			!(n > UNDO_RUNS_MAX || bytes > UNDO_TOTAL ||
				(is_here && here > UNDO_PER_FOLDER)))
			continue;
		fd = store_open_record(u->store, row->number);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		store_set_last(u->store, row->number);
		store_remove(u->store, fd, row->number);
		n--;
		here -= is_here;
		bytes -= row->bytes;
	}
}

static int store_check_others(const struct undo *u, const struct undo_rows *rows, struct error *e)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct undo_row *row = &rows->items[i];

		if (!row->is_active || !(path_is_below(row->folder, u->folder) ||
					       path_is_below(u->folder, row->folder)))
			continue;
		(void)error_set(e, -EBUSY, NULL,
			"--undo: run %u, also with --undo, is under way in %s: the changes of the "
			"two could not be separated",
			row->number, row->folder);
		error_hint(e, "wait for its end, or run this one without --undo");
		return -EBUSY;
	}
	return 0;
}

static int store_make(struct undo *u, const struct undo_rows *rows)
{
	const uint32_t used = rows->n ? rows->items[rows->n - 1].number : 0,
		       gone = store_last(u->store);
	uint32_t number = used > gone ? used : gone;
	auto_buffer run = { 0 };
	char name[NUMBER_TEXT];
	int r;

	do {
		store_name(++number, name);
		r = mkdirat(u->store, name, 0700) < 0 ? -errno : 0;
	} while (r == -EEXIST && number < UINT32_MAX);
	if (r < 0)
		return r;
	u->number = number;
	u->record = store_open_record(u->store, number);
	if (u->record < 0)
		return u->record;
	if (flock(u->record, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	undo_print_run(u, &run);
	return undo_store_put(u, "run", &run);
}

int undo_store_begin(struct undo *u, struct error *e)
{
	auto_arena arena = { 0 };
	struct undo_rows rows = { 0 };
	auto_fd lock = -1;
	int r = 0;

	u->store = state_cache_open("undo", true);
	lock = u->store < 0 ? -1 : openat(u->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0) {
		(void)error_set(e, -EACCES, NULL,
			"--undo: Corral's state folder cannot be used, and nothing was run");
		error_hint(e,
			"~/.local/state/corral, or corral below XDG_STATE_HOME, must be yours, "
			"and writable by you alone");
		return -EACCES;
	}
	r = file_lock(lock, LOCK_MS);
	if (r == 0)
		r = store_list(u->store, &arena, &rows);
	if (r == 0) {
		r = store_check_others(u, &rows, e);
		if (r < 0)
			return r;
		store_trim(u, &rows);
		r = store_make(u, &rows);
	}
	if (r < 0) {
		(void)error_set(e, r, NULL,
			"--undo: cannot make a record of the run: %s; nothing was run",
			strerror(-r));
		undo_store_drop(u);
	}
	return r;
}

/* Opening one */

static int store_load(struct undo *u, struct error *e)
{
	auto_buffer run = { 0 }, text = { 0 };
	const bool is_ended = store_has(u->record, "changes");
	int r = store_read(u->record, "run", &run);

	if (r == 0)
		r = undo_read_run(u, buffer_text(&run), run.len, e);
	if (r == 0)
		r = store_read(u->record, is_ended ? "changes" : "before", &text);
	if (r == 0)
		r = is_ended ? undo_read_changes(u, buffer_text(&text), text.len)
			     : undo_read_before(u, buffer_text(&text), text.len);
	if (r == 0) {
		u->is_kept = !is_ended;
		u->data = openat(u->record, "data", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		r = u->data < 0 ? -errno : 0;
	}
	if (r < 0 && !e->text[0]) {
		(void)error_set(e, r, NULL, "the record of run %u cannot be read: %s", u->number,
			r == -EINVAL ? "it is damaged" : strerror(-r));
		error_hint(e, "nothing was changed");
	}
	return r;
}

int undo_store_open(struct undo *u, uint32_t number, struct error *e)
{
	char removed[PATH_BYTES];

	u->number = number;
	u->store = state_cache_open("undo", false);
	u->record = u->store < 0 ? -1 : store_open_record(u->store, number);
	if (u->record < 0)
		return error_set(e, -ENOENT, NULL, "there is no record of run %u", number);
	if (flock(u->record, LOCK_EX | LOCK_NB) < 0) {
		(void)error_set(e, -EBUSY, NULL, "run %u is still under way", number);
		error_hint(e, "wait for its end, or stop it");
		return -EBUSY;
	}
	if (!store_has(u->record, "changes") && !store_has(u->record, "before") &&
		undo_store_removed(u->record, number, removed))
		return error_set(e, -ENOENT, NULL,
			"run %u was taken back already; what that removed is in %s", number,
			removed);
	return store_load(u, e);
}

int undo_store_forget(uint32_t number, bool may_lose, struct error *e)
{
	auto_fd store = state_cache_open("undo", false);
	auto_fd record = store < 0 ? -1 : store_open_record(store, number);
	auto_fd lock = store < 0 ? -1 : openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char removed[PATH_BYTES];
	int r;

	if (record < 0)
		return error_set(e, -ENOENT, NULL, "there is no record of run %u", number);
	if (flock(record, LOCK_EX | LOCK_NB) < 0)
		return error_set(e, -EBUSY, NULL, "run %u is still under way", number);
	if (undo_store_removed(record, number, removed) && !may_lose) {
		(void)error_set(e, -EEXIST, NULL,
			"what an undo of run %u removed is in %s, and would be deleted", number,
			removed);
		error_hint(e, "move it elsewhere, or delete it: corral undo --forget --yes %u",
			number);
		return -EEXIST;
	}
	r = lock < 0 ? -EIO : file_lock(lock, LOCK_MS);
	if (r < 0)
		return error_set(
			e, r, NULL, "the records of runs cannot be locked: %s", strerror(-r));
	store_set_last(store, number);
	store_remove(store, record, number);
	return 0;
}
