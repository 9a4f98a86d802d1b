/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single files of the home that may be written, and that programs replace: ~/.claude.json,
 * ~/.gitconfig. A new file is written beside the old one and renamed over it, under a lock of a
 * third name. A mount can be written, but neither renamed over nor removed; and the home of the
 * user never becomes writable. So a copy stands in for the file, in the private home, where
 * temporary files and locks are private, too (plan_entry.stands_in). When all processes of the
 * command are dead, a copy that has another text is put in the file's place (host/replace.h), if
 * that still is the file which was granted. A file that was granted and was not there is made the
 * same way.
 *
 *   the copy is a link, a folder, a pipe, too large    the host's file stays, and a line says so
 *   it was removed                                     the same
 *   the host's file was changed meanwhile              both are kept: the copy as NAME.corral-1
 *
 * By then no process can change the copy, and it is read by a descriptor, without following a link.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"
#include "host/links.h"
#include "holder/record.h"
#include "policy/baseline.h"

/* Before */

static int run_replaced_add(struct run *r, const char *path, const struct replace *host)
{
	struct run_replaced *x = &r->replaced;

	if (x->n == RUN_REPLACED_MAX)
		return -E2BIG;
	x->items[x->n++] = (struct run_replaced_file){ .path = path, .host = *host };
	return 0;
}

static int run_replaced_add_entry(struct run *r, const struct plan_entry *e)
{
	struct replace host = REPLACE_NONE;
	int ret = replace_open(&host, e->path);

	if (ret == 0 &&
		(!host.exists || host.before.st_dev != e->dev || host.before.st_ino != e->ino))
		ret = -ESTALE;
	if (ret == 0)
		ret = run_replaced_add(r, e->path, &host);
	if (ret < 0)
		replace_close(&host);
	return ret == 0 ? 0
			: error_set(r->call->error, ret, NULL,
				  "%s was replaced while it was being set up", e->path);
}

/* A file that --write names and that is not there: where it would be made is private. */
static void run_replaced_add_missing(struct run *r, const char *named)
{
	struct replace host = REPLACE_NONE;
	const struct plan_entry *around;
	char real[PATH_BYTES];
	const char *path;

	if (links_follow(named, NULL, NULL, real) < 0 || !path_is_below(real, r->plan->home_real) ||
		!policy_allows(
			r->policy, &(struct request){ .op = OPERATION_FS_WRITE, .target = real }))
		return;
	around = plan_find(r->plan, real);
	path = arena_strdup(r->call->arena, real);
	if (!around || around->kind != PLAN_TMP || !path || replace_open(&host, path) < 0)
		return;
	if (host.exists || run_replaced_add(r, path, &host) < 0)
		replace_close(&host);
}

int run_replaced_begin(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->plan->n; i++)
		if (r->plan->entries[i].stands_in)
			ret = run_replaced_add_entry(r, &r->plan->entries[i]);
	for (size_t i = 0; ret == 0 && i < r->missing.n; i++)
		run_replaced_add_missing(r, r->missing.items[i]);
	return ret;
}

/* After */

/* The private folder that a path lies in: the number of its entry. */
static const struct plan_entry *run_replaced_around(
	const struct plan *plan, const char *path, size_t *ret)
{
	const struct plan_entry *found = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *e = &plan->entries[i];

		if (e->kind == PLAN_TMP && path_is_below(path, e->path)) {
			found = e;
			*ret = i;
		}
	}
	return found;
}

/* Opens the copy; 0 with its text, or why there is none. */
static enum run_replaced_end run_replaced_read(
	struct run *r, struct run_replaced_file *f, struct buffer *text, struct stat *st)
{
	size_t i = 0;
	const struct plan_entry *around = run_replaced_around(r->plan, f->path, &i);
	char number[24];
	auto_fd fd = -1;

	(void)snprintf(number, sizeof(number), "%zu", i);
	if (around)
		fd = run_private_open(r->private.own, number, f->path + strlen(around->path) + 1,
			O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (!around || fd == -ENOENT || fd == -ENOTDIR)
		return RUN_REPLACED_GONE;
	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return RUN_REPLACED_STRANGE;
	if (st->st_size > REPLACE_BYTES_MAX)
		return RUN_REPLACED_LARGE;
	f->error = file_read_fd(fd, REPLACE_BYTES_MAX, text);
	return f->error < 0 ? RUN_REPLACED_FAILED : RUN_REPLACED_PUT;
}

/* Has the host's file this text already? */
static bool run_replaced_is_text(const struct replace *host, const struct buffer *text)
{
	auto_fd fd = openat(host->folder, host->name,
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	auto_buffer old = { 0 };
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (size_t)st.st_size == text->len && file_read_fd(fd, REPLACE_BYTES_MAX, &old) == 0 &&
	       old.len == text->len && memcmp(buffer_text(&old), buffer_text(text), text->len) == 0;
}

/*
 * Has another text than the host's file, which was changed since it was copied: does the copy still
 * have the time that it was made with? Of a file that was not changed the texts alone decide, as
 * programs set times, too.
 */
static bool run_replaced_is_untouched(const struct replace *host, const struct stat *copy)
{
	const struct timespec made = plan_stand_in_time(host->before.st_mtim);

	return host->exists && !replace_is_same(host) && copy->st_size == host->before.st_size &&
	       copy->st_mtim.tv_sec == made.tv_sec && copy->st_mtim.tv_nsec == made.tv_nsec;
}

static enum run_replaced_end run_replaced_put(struct run *r, struct run_replaced_file *f,
	const struct buffer *text, const struct stat *st)
{
	char beside[NAME_MAX + 1];

	if (run_replaced_is_text(&f->host, text) || run_replaced_is_untouched(&f->host, st))
		return RUN_REPLACED_SAME;
	f->error = replace_put(&f->host, buffer_text(text), text->len, st->st_mode);
	if (f->error == 0)
		return RUN_REPLACED_PUT;
	if (replace_put_beside(&f->host, buffer_text(text), text->len, st->st_mode, beside) < 0)
		return RUN_REPLACED_FAILED;
	f->beside = arena_strdup(r->call->arena, beside);
	return RUN_REPLACED_BOTH;
}

void run_replaced_finish(struct run *r)
{
	for (size_t i = 0; r->private.own >= 0 && i < r->replaced.n; i++) {
		struct run_replaced_file *f = &r->replaced.items[i];
		auto_buffer text = { 0 };
		struct stat st;

		f->end = run_replaced_read(r, f, &text, &st);
		if (f->end == RUN_REPLACED_PUT)
			f->end = run_replaced_put(r, f, &text, &st);
		/* Of a file that was never there, and is not wanted now. */
		if (f->end == RUN_REPLACED_GONE && !f->host.exists)
			f->end = RUN_REPLACED_SAME;
	}
}

/* For people and programs */

/* Why a change of it is to be looked at; NULL: it need not be. */
static const char *run_replaced_why(const struct run *r, const struct run_replaced_file *f)
{
	const struct baseline_home home = baseline_paths_home(r->plan->home_real);
	const struct baseline_path *row =
		f->end == RUN_REPLACED_PUT
			? baseline_paths_match(&home, true, f->path, strlen(f->path))
			: NULL;

	return row ? baseline_path_why(row) : NULL;
}

void run_replaced_tell(const struct run *r, struct output *o)
{
	static const char *const texts[] = {
		[RUN_REPLACED_GONE] = " was removed by the command: yours is kept",
		[RUN_REPLACED_STRANGE] = " became no regular file inside: yours is kept",
		[RUN_REPLACED_LARGE] = " became larger than 8 MiB: yours is kept as it was",
		[RUN_REPLACED_BOTH] = " was changed by another program: the command's is in ",
		[RUN_REPLACED_FAILED] = " cannot be replaced, so the change is gone: ",
	};

	for (size_t i = 0; i < r->replaced.n; i++) {
		const struct run_replaced_file *f = &r->replaced.items[i];
		const char *why = run_replaced_why(r, f);

		if (why) {
			output_note(o);
			buffer_adds(&o->text, "the command changed ");
			output_foreign(o, f->path);
			buffer_printf(&o->text, " (%s): review it first\n", why);
		}
		if ((size_t)f->end >= ROWS(texts) || !texts[f->end])
			continue;
		output_note(o);
		output_foreign(o, f->path);
		buffer_adds(&o->text, texts[f->end]);
		if (f->end == RUN_REPLACED_BOTH)
			output_foreign(o, f->beside ? f->beside : "");
		if (f->end == RUN_REPLACED_FAILED)
			buffer_adds(&o->text, strerror(f->error < 0 ? -f->error : EIO));
		buffer_addc(&o->text, '\n');
	}
}

void run_replaced_print(const struct run *r, struct json_writer *w)
{
	static const char *const names[] = {
		[RUN_REPLACED_PUT] = "replaced",
		[RUN_REPLACED_GONE] = "removed",
		[RUN_REPLACED_STRANGE] = "not_regular",
		[RUN_REPLACED_LARGE] = "too_large",
		[RUN_REPLACED_BOTH] = "both_kept",
		[RUN_REPLACED_FAILED] = "failed",
	};

	json_open_list(w, "replaced");
	for (size_t i = 0; i < r->replaced.n; i++) {
		const struct run_replaced_file *f = &r->replaced.items[i];

		if ((size_t)f->end >= ROWS(names) || !names[f->end])
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "path", f->path);
		json_put_text(w, "result", names[f->end]);
		if (f->beside)
			json_put_text(w, "beside", f->beside);
		else
			json_put_null(w, "beside");
		json_close(w);
	}
	json_close(w);
}

/* Of those that other programs run; for the list of all that run later. */
void run_replaced_print_later(const struct run *r, struct json_writer *w)
{
	for (size_t i = 0; i < r->replaced.n; i++)
		if (run_replaced_why(r, &r->replaced.items[i]))
			json_put_text(w, NULL, r->replaced.items[i].path);
}

void run_replaced_record(const struct run *r, const struct holder_record *to)
{
	for (size_t i = 0; i < r->replaced.n; i++) {
		const struct run_replaced_file *f = &r->replaced.items[i];

		if (f->end == RUN_REPLACED_PUT || f->end == RUN_REPLACED_BOTH)
			holder_record_files(to, AUDIT_ALLOWED, f->path,
				f->end == RUN_REPLACED_PUT
					? "replaced by what the command left in its place"
					: "changed by another program meanwhile: both are kept",
				1);
	}
}

void run_replaced_end(struct run *r)
{
	for (size_t i = 0; i < r->replaced.n; i++)
		replace_close(&r->replaced.items[i].host);
}
