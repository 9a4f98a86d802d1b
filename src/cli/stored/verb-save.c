/* SPDX-License-Identifier: Apache-2.0 */
/* `corral policy save`, `remove` and `undo`: each checks, writes as a whole, and notes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/stored/internal.h"
#include "codec/json.h"
#include "codec/yaml.h"

struct save_options {
	bool json, system;
	const char *etag, *version;
	struct stored_place place;
};

#define SAVE_ETAG(o)                                                                               \
	{                                                                                          \
		{ "etag", SCHEMA_TEXT,                                                             \
			.help = "only if the policy still has this etag; empty: only if there is " \
				"none" },                                                          \
			0, "ETAG", .target = &(o)->etag                                            \
	}

static int save_parse(
	struct call *c, struct save_options *o, const struct options_row *rows, size_t n)
{
	int r = options_parse(c, rows, n);

	return r != 0 ? r : stored_open_place(c, o->system, &o->place);
}

/* Positive: a status, that it is not. */
static int save_check_etag(struct call *c, const struct save_options *o, const char *name,
	const struct buffer *now, bool is_there)
{
	char etag[STORED_ETAG] = "";

	if (is_there)
		stored_etag(buffer_text(now), now->len, etag);
	if (!o->etag || strcmp(o->etag, etag) == 0)
		return 0;
	if (!is_there)
		(void)error_set(
			c->error, -ESTALE, NULL, "the policy `%s` was removed meanwhile", name);
	else if (!*o->etag)
		(void)error_set(c->error, -ESTALE, NULL, "there is a policy `%s` already", name);
	else
		(void)error_set(
			c->error, -ESTALE, NULL, "the policy `%s` was changed meanwhile", name);
	error_hint(c->error, "read it again, and make your change to what it says now");
	return verb_refuse(c, o->json, STATUS_CHANGED);
}

static int save_print(struct call *c, const struct save_options *o, const char *name,
	const char *etag, const char *done)
{
	auto_output out = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	if (!o->json) {
		output_foreign(&out, name);
		buffer_printf(&out.text, ": %s\n", done);
		return output_write(&out, STDOUT_FILENO, c->error);
	}
	tree_put_text(&t, root, "name", name);
	if (etag)
		tree_put_text(&t, root, "etag", etag);
	else
		tree_put_flag(&t, root, "removed", true);
	return tree_print(&t, root, c->error);
}

/* The folder of a file, with those above it. */
static int save_make_folder(const struct stored_file *f, unsigned mode)
{
	char folder[PATH_BYTES];

	if (snprintf(folder, sizeof(folder), "%s", f->path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	*strrchr(folder, '/') = '\0';
	return history_make_folders(folder, mode & 044 ? 0755 : 0700);
}

/* What is no regular file is not replaced. */
int save_read_now(struct call *c, const struct stored_file *f, struct buffer *ret)
{
	struct stat st;
	int r;

	if (lstat(f->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 1
			       : stored_fail(c, "read", f->path, -errno);
	r = stored_read(f, false, ret, &st, c->error);
	/* One that is too large can be replaced. */
	if (r == -EFBIG) {
		*c->error = (struct error){ 0 };
		return 0;
	}
	return r;
}

/* Of a file that was changed by hand, the text is noted before it goes. */
static int save_note_old(struct call *c, const struct stored_place *p, const struct stored_file *f,
	const struct buffer *now, struct history *h)
{
	struct error quiet = { 0 };

	if (history_is_latest(h, f->past, now) || stored_check(c, f, now, NULL, NULL, &quiet) < 0)
		return 0;
	return history_add(h, f->past, now, HISTORY_FILE, stored_mode(p));
}

/* Users who could read the file still can; only its owner may write it. */
static unsigned save_mode(const char *path, unsigned mode)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_mode & 0644 : mode;
}

/* First in the history, which may be on another disk: what cannot be noted is not done. */
int save_write(struct call *c, const struct stored_place *p, const struct save_text *s)
{
	const unsigned mode = stored_mode(p);
	bool is_added = false;
	struct history h;
	int r = history_open(&h, s->file->past);

	if (r == 0 && s->now)
		r = save_note_old(c, p, s->file, s->now, &h);
	if (r == 0 && !history_is_latest(&h, s->file->past, s->text)) {
		r = history_add(&h, s->file->past, s->text, s->by, mode);
		is_added = r == 0;
	}
	if (r < 0)
		return stored_fail(c, "write", s->file->past, r);
	r = save_make_folder(s->file, mode);
	if (r == 0)
		r = file_replace(s->file->path, buffer_text(s->text), s->text->len,
			save_mode(s->file->path, mode));
	if (r < 0 && is_added)
		history_drop(&h, s->file->past);
	return r < 0 ? stored_fail(c, "write", s->file->path, r) : 0;
}

/* save */

int save_read_input(struct call *c, const char *path, struct buffer *ret)
{
	struct location where = { .file = path };
	int r = file_read(path, STORED_BYTES_MAX, ret);

	if (r == -EFBIG)
		return error_set(c->error, r, &where, "is larger than %d MiB, the maximum here",
			STORED_BYTES_MAX >> 20);
	return r < 0 ? error_set(c->error, r, &where, "cannot be read: %s", strerror(-r)) : 0;
}

static bool save_is_json(const struct buffer *text)
{
	const char *s = buffer_text(text);

	return s[strspn(s, " \t\r\n")] == '{';
}

/* It would grant nothing, so nothing would run: no one stores that on purpose. Text that cannot be
 * read is refused elsewhere, with its place. */
static int save_check_empty(struct call *c, const struct stored_file *f, const struct buffer *text)
{
	auto_document d = { 0 };
	struct error quiet = { 0 };
	int r = save_is_json(text) ? json_read(&d, NULL, buffer_text(text), text->len, &quiet)
				   : yaml_read(&d, NULL, 1, buffer_text(text), text->len, &quiet);

	if (r < 0 || (d.root->type != NODE_NULL && !(d.root->type == NODE_MAP && !d.root->first)))
		return 0;
	(void)error_set(c->error, -EINVAL, &(struct location){ .file = f->path },
		"is empty: stored, it would stop every run");
	error_hint(c->error, "to remove the policy, use `corral policy remove %s`", f->name);
	return -EINVAL;
}

/* Who stores grants here expects more, and gets less. */
static void save_note_limits(struct call *c, const struct save_options *o,
	const struct stored_file *f, const struct buffer *text)
{
	auto_output out = output_for(STDERR_FILENO);

	if (o->json)
		return;
	output_note(&out);
	buffer_adds(&out.text, "a policy here limits every run; anything it does not list is "
			       "forbidden everywhere\n");
	if (stored_stops_all(c, f, text)) {
		output_note(&out);
		output_foreign(&out, f->name);
		buffer_adds(&out.text, " stops every run: it does not allow reading the system's "
				       "programs. Add fs: {read: [\"/**\"]}, or take it back with "
				       "`corral policy undo`\n");
	}
	(void)output_write(&out, STDERR_FILENO, NULL);
}

/* Positive: a status. */
static int save_run(
	struct call *c, const struct save_options *o, const char *name, const struct buffer *text)
{
	auto_buffer now = { 0 };
	auto_fd lock = -1;
	char etag[STORED_ETAG];
	struct stored_file f;
	int r = stored_find(c, &o->place, name, &f), is_absent;

	if (r == 1)
		r = stored_name_new(c, &o->place, name, save_is_json(text), &f);
	if (r == 0)
		r = save_check_empty(c, &f, text);
	if (r == 0)
		r = stored_check(c, &f, text, NULL, NULL, c->error);
	if (r < 0)
		return r == -ENOMEM ? r : verb_refuse(c, o->json, STATUS_NO);
	r = history_lock(o->place.history, stored_mode(&o->place), &lock);
	if (r < 0)
		return stored_fail(c, "lock", o->place.history, r);
	is_absent = save_read_now(c, &f, &now);
	if (is_absent < 0)
		return verb_refuse(c, o->json, STATUS_NO);
	r = save_check_etag(c, o, f.name, &now, !is_absent);
	if (r != 0)
		return r;
	r = save_write(c, &o->place,
		&(struct save_text){ &f, is_absent ? NULL : &now, text, HISTORY_SAVE });
	stored_etag(buffer_text(text), text->len, etag);
	if (r == 0)
		save_note_limits(c, o, &f, text);
	return r < 0 ? r
		     : save_print(
			       c, o, f.name, etag, "saved, and in force for every run from now on");
}

static int verb_stored_save_run(struct call *c)
{
	struct save_options o = { 0 };
	const struct options_row rows[] = { SAVE_ETAG(&o), STORED_SYSTEM(&o.system),
		OPTIONS_JSON(&o.json) };
	auto_buffer text = { 0 };
	int r = save_parse(c, &o, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = save_read_input(c, c->words[1], &text);
	return r < 0 ? r : save_run(c, &o, c->words[0], &text);
}

const struct verb verb_stored_save = {
	.name = "save",
	.synopsis = "[OPTION]... NAME FILE",
	.summary = "store a policy that binds every run",
	.description =
		"Checks FILE (- is standard input) and stores it as a policy of policy.d: rules in "
		"JSON as default or custom/NAME, a policy in YAML as NAME. What was there stays in "
		"the history. The file is replaced as a whole, or not at all.\n"
		"Exit status: 0 saved, 1 it is not a policy, 4 it was changed meanwhile (--etag), "
		"2 "
		"an error.",
	.examples = "corral policy save team team.yaml\n"
		    "corral policy save default rules.json\n",
	.operand = "NAME FILE",
	.min = 2,
	.max = 2,
	.run = verb_stored_save_run,
};

/* remove */

static int save_remove(struct call *c, const struct save_options *o, const struct stored_file *f)
{
	auto_buffer now = { 0 };
	struct history h;
	bool is_added = false;
	/* A link is removed as such. */
	const int read = save_read_now(c, f, &now);
	int r = read == 1 ? 0 : save_check_etag(c, o, f->name, &now, true);

	*c->error = (struct error){ 0 };
	if (r != 0)
		return r;
	r = f->past ? history_open(&h, f->past) : 0;
	if (r == 0 && f->past && read == 0)
		r = save_note_old(c, &o->place, f, &now, &h);
	if (r == 0 && f->past && history_latest(&h)) {
		r = history_add(&h, f->past, NULL, HISTORY_REMOVED, stored_mode(&o->place));
		is_added = r == 0;
	}
	if (r < 0)
		return stored_fail(c, "write", f->past, r);
	if (unlink(f->path) < 0) {
		r = -errno;
		if (is_added)
			history_drop(&h, f->past);
		return stored_fail(c, "remove", f->path, r);
	}
	return save_print(c, o, f->name, NULL, "removed; its history stays");
}

static int verb_stored_remove_run(struct call *c)
{
	struct save_options o = { 0 };
	const struct options_row rows[] = { SAVE_ETAG(&o), STORED_SYSTEM(&o.system),
		OPTIONS_JSON(&o.json) };
	struct stored_file f;
	auto_fd lock = -1;
	int r = save_parse(c, &o, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = stored_find(c, &o.place, c->words[0], &f);
	if (r != 0)
		return r < 0 ? r : stored_refuse_absent(c, o.json, c->words[0]);
	r = history_lock(o.place.history, stored_mode(&o.place), &lock);
	return r < 0 ? stored_fail(c, "lock", o.place.history, r) : save_remove(c, &o, &f);
}

const struct verb verb_stored_remove = {
	.name = "remove",
	.synopsis = "[OPTION]... NAME",
	.summary = "remove a stored policy",
	.description =
		"Removes a stored policy: it binds no run from now on. Its history stays, so "
		"`corral policy undo` brings it back.\n"
		"Exit status: 0 removed, 4 it was changed meanwhile (--etag), 5 there is none "
		"of that name, 2 an error.",
	.examples = "corral policy remove team\n",
	.operand = "NAME",
	.min = 1,
	.max = 1,
	.run = verb_stored_remove_run,
};

/* undo */

/* The version to go back to: the latest that does not say what the file says. */
static const struct history_version *save_find_earlier(const struct history *h,
	const struct stored_file *f, const struct buffer *now, bool is_there)
{
	for (size_t i = h->n; i-- > 0;) {
		const struct history_version *v = &h->items[i];
		auto_buffer was = { 0 };

		if (v->by == HISTORY_REMOVED) {
			if (is_there)
				return v;
			continue;
		}
		if (history_read(h, f->past, v->number, &was) < 0)
			continue;
		if (!is_there || was.len != now->len ||
			memcmp(buffer_text(&was), buffer_text(now), was.len) != 0)
			return v;
	}
	return NULL;
}

static const struct history_version *save_find_version(const struct history *h, const char *version)
{
	const bool is_number =
		strspn(version, "0123456789") == strlen(version) && strlen(version) <= 8;

	for (size_t i = 0; is_number && i < h->n; i++)
		if (h->items[i].number == strtoul(version, NULL, 10))
			return &h->items[i];
	return NULL;
}

static int save_undo(struct call *c, struct save_options *o, const struct stored_file *f,
	const struct history *h)
{
	auto_buffer now = { 0 }, text = { 0 };
	const int read = save_read_now(c, f, &now);
	const struct history_version *to;
	char etag[STORED_ETAG];
	int r;

	if (read < 0)
		return verb_refuse(c, o->json, STATUS_NO);
	to = o->version ? save_find_version(h, o->version)
			: save_find_earlier(h, f, &now, read == 0);
	if (!to) {
		(void)error_set(c->error, -ENOENT, NULL, "`%s` has no %s", f->name,
			o->version ? "such version" : "earlier version");
		error_hint(c->error, "`corral policy history %s` lists its versions", f->name);
		return verb_refuse(c, o->json, STATUS_CHANGED);
	}
	r = save_check_etag(c, o, f->name, &now, read == 0);
	if (r != 0)
		return r;
	if (to->by == HISTORY_REMOVED)
		return read == 1 ? save_print(c, o, f->name, NULL, "removed; its history stays")
				 : save_remove(c, o, f);
	r = history_read(h, f->past, to->number, &text);
	if (r < 0)
		return stored_fail(c, "read a version of", f->path, r);
	r = stored_check(c, f, &text, NULL, NULL, c->error);
	if (r < 0)
		return verb_refuse(c, o->json, STATUS_NO);
	r = save_write(c, &o->place,
		&(struct save_text){ f, read == 0 ? &now : NULL, &text, HISTORY_UNDO });
	stored_etag(buffer_text(&text), text.len, etag);
	return r < 0 ? r : save_print(c, o, f->name, etag, "an earlier version is in force again");
}

static int verb_stored_undo_run(struct call *c)
{
	struct save_options o = { 0 };
	const struct options_row rows[] = {
		{ { "version", SCHEMA_TEXT,
			  .help = "go back to this version, not to the one before" },
			0, "N", .target = &o.version },
		SAVE_ETAG(&o),
		STORED_SYSTEM(&o.system),
		OPTIONS_JSON(&o.json),
	};
	struct stored_file f;
	struct history h = { .n = 0 };
	auto_fd lock = -1;
	int r = save_parse(c, &o, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = stored_find_past(c, &o.place, c->words[0], &f, &h);
	if (r != 0)
		return r < 0 ? r : stored_refuse_absent(c, o.json, c->words[0]);
	r = history_lock(o.place.history, stored_mode(&o.place), &lock);
	if (r == 0)
		r = history_open(&h, f.past);
	return r < 0 ? stored_fail(c, "lock", o.place.history, r) : save_undo(c, &o, &f, &h);
}

const struct verb verb_stored_undo = {
	.name = "undo",
	.synopsis = "[OPTION]... NAME",
	.summary = "bring an earlier version of a stored policy back",
	.description =
		"Puts the latest version in force that differs from what the file says now: what "
		"was there before the last change, the last good version of a broken file, or a "
		"policy that was removed. Doing it twice brings the change back.\n"
		"Exit status: 0 done, 1 that version is no policy any more, 4 there is no earlier "
		"version, or it was changed meanwhile (--etag), 5 there is none of that name, 2 an "
		"error.",
	.examples = "corral policy undo default\n"
		    "corral policy undo --version 3 custom/team\n",
	.operand = "NAME",
	.min = 1,
	.max = 1,
	.run = verb_stored_undo_run,
};
