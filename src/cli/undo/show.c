/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run changed, for a person who decides by it, and for programs. Names and content are
 * foreign: no byte of them moves the cursor, and no two names look alike. A folder that was created
 * or removed is one line with its number of files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/diff.h"
#include "cli/output.h"
#include "cli/undo/internal.h"
#include "codec/json-writer.h"

enum { ROWS_MAX = 100, LEFT_MAX = 20, DIFF_LINES = 400, DIFF_BYTES = 256 << 10 };

const char *const undo_what_names[UNDO_WHATS] = { "created", "changed", "removed", "mode", "time" };

static const enum output_style show_styles[UNDO_WHATS] = { OUTPUT_GREEN, OUTPUT_YELLOW, OUTPUT_RED,
	OUTPUT_YELLOW, OUTPUT_DIM };
static const char *const show_kinds[] = { "nothing", "file", "link", "folder", "special file" };

void undo_show_time(struct output *o, int64_t ns)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	char text[64];
	struct tm tm;

	if (localtime_r(&seconds, &tm) &&
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
		buffer_adds(&o->text, text);
}

static bool show_is_below(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* The time of a folder is no news. */
static bool show_is_quiet(const struct undo_change *c)
{
	return undo_what(c) == UNDO_TIME && c->before.kind == UNDO_FOLDER;
}

/* A folder that was created or removed with all that is in it: the last of its changes. */
static size_t show_end(const struct undo_changes *c, size_t at, size_t *files, uint64_t *bytes)
{
	const enum undo_what what = undo_what(&c->items[at]);
	const struct undo_change *top = &c->items[at];
	const bool is_folder = (what == UNDO_CREATED && top->after.kind == UNDO_FOLDER) ||
			       (what == UNDO_REMOVED && top->before.kind == UNDO_FOLDER);
	size_t end = at + 1;

	*files = 0;
	*bytes = 0;
	for (size_t i = at + 1; is_folder && i < c->n; i++) {
		const struct undo_change *x = &c->items[i];
		const struct undo_state *s = what == UNDO_CREATED ? &x->after : &x->before;

		if (!show_is_below(x->path, top->path))
			break;
		*files += s->kind != UNDO_FOLDER;
		*bytes += s->kind == UNDO_FILE ? s->size : 0;
		end = i + 1;
	}
	return end;
}

static void show_details(
	struct output *o, const struct undo_change *c, size_t files, uint64_t bytes)
{
	const enum undo_what what = undo_what(c);
	const struct undo_state *s = what == UNDO_REMOVED ? &c->before : &c->after;

	if (s->kind == UNDO_FOLDER && (what == UNDO_CREATED || what == UNDO_REMOVED)) {
		buffer_adds(&o->text, "/ (");
		undo_print_count(files, &o->text);
		buffer_printf(&o->text, " file%s, ", files == 1 ? "" : "s");
		undo_print_bytes(bytes, &o->text);
		buffer_addc(&o->text, ')');
	} else if (what == UNDO_CHANGED && c->before.kind != c->after.kind) {
		buffer_printf(&o->text, " (%s -> %s)", show_kinds[c->before.kind],
			show_kinds[c->after.kind]);
	}
	if (what == UNDO_CREATED || what == UNDO_REMOVED) {
		if (s->kind == UNDO_FILE) {
			buffer_adds(&o->text, " (");
			undo_print_bytes(s->size, &o->text);
			buffer_addc(&o->text, ')');
		}
	} else if (c->before.mode != c->after.mode && c->before.kind == c->after.kind) {
		buffer_printf(&o->text, " (mode %04o -> %04o)", c->before.mode, c->after.mode);
	}
	if (!undo_attributes_are_same(&c->before, &c->after))
		buffer_adds(&o->text, " (extended attributes)");
	if (s->kind == UNDO_LINK && s->target) {
		buffer_adds(&o->text, " -> ");
		output_name(o, s->target);
	}
	if (what == UNDO_REMOVED && c->before.kind == UNDO_FILE && c->before.nlink > 1)
		buffer_adds(&o->text, " (was a hard link; comes back as a file of its own)");
	if (c->before.kind == UNDO_FILE && c->after.kind == UNDO_FILE && c->after.nlink > 1)
		buffer_printf(&o->text, " (has %u other name%s, which stay%s as it is)",
			c->after.nlink - 1, c->after.nlink == 2 ? "" : "s",
			c->after.nlink == 2 ? "s" : "");
}

static void show_row(struct output *o, const struct undo_change *c, const struct undo_step *s,
	size_t files, uint64_t bytes)
{
	const enum undo_what what = undo_what(c);

	buffer_adds(&o->text, "  ");
	output_styled(o, show_styles[what], undo_what_names[what]);
	buffer_printf(&o->text, "%*s", (int)(9 - strlen(undo_what_names[what])), "");
	output_name(o, c->path);
	show_details(o, c, files, bytes);
	if (s->is == UNDO_DONE)
		buffer_adds(&o->text, "  already as before");
	else if (s->is == UNDO_STAYS)
		buffer_printf(&o->text, "  (%s)", s->why);
	else if (s->is != UNDO_TO_DO) {
		buffer_adds(&o->text, "  ");
		output_styled(o, OUTPUT_RED, s->why);
	}
	buffer_addc(&o->text, '\n');
}

static bool show_is_text(const char *text, size_t len)
{
	return !memchr(text, '\0', len);
}

/* The content of a file now, bounded; nothing of one that is too large or changed. */
static bool show_read_now(const struct undo *u, const struct undo_change *c, struct buffer *ret)
{
	auto_place place = UNDO_PLACE(u->root);
	struct undo_state s;
	const char *name;
	int folder = undo_place_find(&place, c->path, &name);
	auto_fd fd = folder < 0 ? -1 : undo_open_file(folder, name, &s);

	return fd >= 0 && s.size <= DIFF_BYTES && file_read_fd(fd, DIFF_BYTES, ret) == 0 &&
	       show_is_text(buffer_text(ret), ret->len);
}

static bool show_read_before(const struct undo *u, const struct undo_change *c, char **ret)
{
	const size_t size = (size_t)c->before.size;

	*ret = size <= DIFF_BYTES ? malloc(size + 1) : NULL;
	return *ret && pread(u->data, *ret, size, (off_t)c->before.offset) == (ssize_t)size &&
	       show_is_text(*ret, size);
}

static void show_diff(
	struct output *o, const struct undo *u, const struct undo_change *c, size_t *lines)
{
	auto_buffer now = { 0 };
	char *before = NULL;
	int r = -EINVAL;

	if (show_read_now(u, c, &now) && show_read_before(u, c, &before)) {
		buffer_addc(&o->text, '\n');
		output_styled(o, OUTPUT_BOLD, "--- ");
		output_name(o, c->path);
		buffer_addc(&o->text, '\n');
		r = diff_print_short(
			o, before, (size_t)c->before.size, buffer_text(&now), now.len, lines);
		if (r == -E2BIG)
			buffer_adds(&o->text, "  (most lines differ)\n");
	}
	free(before);
}

void undo_show(struct output *o, const struct undo *u, const struct undo_step *steps)
{
	size_t lines = DIFF_LINES, rows = 0, more = 0;

	buffer_printf(&o->text, "Run %u, ", u->number);
	undo_show_time(o, u->started);
	buffer_adds(&o->text, ", in ");
	output_name(o, u->folder);
	buffer_adds(&o->text, ": ");
	output_cut(o, OUTPUT_PLAIN, u->command, 100);
	buffer_addc(&o->text, '\n');
	for (size_t i = 0; i < u->changes.n;) {
		const struct undo_change *c = &u->changes.items[i];
		uint64_t bytes;
		size_t files, end = show_end(&u->changes, i, &files, &bytes);

		if (show_is_quiet(c))
			;
		else if (rows++ < ROWS_MAX)
			show_row(o, c, &steps[i], files, bytes);
		else
			more++;
		i = end;
	}
	if (more)
		buffer_printf(&o->text, "  … and %zu more (--json lists all)\n", more);
	for (size_t i = 0; i < u->changes.n && lines > 0; i++) {
		const struct undo_change *c = &u->changes.items[i];

		if (undo_what(c) == UNDO_CHANGED && steps[i].is == UNDO_TO_DO &&
			c->before.kind == UNDO_FILE && c->after.kind == UNDO_FILE)
			show_diff(o, u, c, &lines);
	}
	if (u->changes.n_lost) {
		buffer_adds(&o->text, "Not kept, and gone or changed by the run; this stays: ");
		output_name(o, u->changes.lost);
		if (u->changes.n_lost > 1)
			buffer_printf(&o->text, " and %zu more", u->changes.n_lost - 1);
		buffer_addc(&o->text, '\n');
	}
	if (u->changes.is_cut)
		buffer_adds(&o->text, "The run left new names that are not recorded, as they are "
				      "too many or cannot be read; those stay.\n");
}

void undo_show_left(struct output *o, const struct undo *u, const struct undo_step *steps)
{
	size_t n = 0;

	for (size_t i = 0; i < u->changes.n; i++) {
		if (steps[i].is == UNDO_DONE || steps[i].is == UNDO_TO_DO ||
			steps[i].is == UNDO_STAYS || n++ >= LEFT_MAX)
			continue;
		buffer_adds(&o->text, "  ");
		output_name(o, u->changes.items[i].path);
		buffer_adds(&o->text, ": ");
		output_foreign(o, steps[i].why);
		buffer_addc(&o->text, '\n');
	}
	if (n > LEFT_MAX)
		buffer_printf(&o->text, "  … and %zu more\n", n - LEFT_MAX);
}

void undo_show_json(struct json_writer *w, const struct undo *u, const struct undo_step *steps)
{
	static const char *const states[] = { "refused", "to_do", "done", "failed", "stays" };

	json_open_list(w, "changes");
	for (size_t i = 0; i < u->changes.n; i++) {
		const struct undo_change *c = &u->changes.items[i];

		if (show_is_quiet(c))
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "path", c->path);
		json_put_text(w, "change", undo_what_names[undo_what(c)]);
		json_put_text(w, "before", show_kinds[c->before.kind]);
		json_put_text(w, "after", show_kinds[c->after.kind]);
		json_put_text(w, "state", states[steps[i].is]);
		json_put_text(w, "why", steps[i].why);
		json_close(w);
	}
	json_close(w);
	json_put_count(w, "lost", u->changes.n_lost);
}
