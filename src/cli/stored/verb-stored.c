/* SPDX-License-Identifier: Apache-2.0 */
/* `corral policy list`, `history` and `record`: what is stored, what was, and what has changed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/stored/internal.h"
#include "codec/json-writer.h"

int stored_refuse_absent(struct call *c, bool json, const char *name)
{
	(void)error_set(c->error, -ENOENT, NULL, "there is no policy `%.80s`", name);
	error_hint(c->error, "`corral policy list` shows those that there are");
	return verb_refuse(c, json, STATUS_ABSENT);
}

int stored_fail(struct call *c, const char *what, const char *path, int r)
{
	(void)error_set(c->error, r, NULL, "cannot %s %s: %s", what, path, strerror(-r));
	if (r == -ENOSPC || r == -EDQUOT)
		error_hint(c->error, "nothing was changed; make room on the disk of that path");
	c->error->cause = -r;
	return r;
}

/* A file as it is now. */
struct stored_state {
	struct stored_file file;
	struct buffer text;
	struct stat st;
	int read, checked; /* negative: it cannot be read; it is none that can be compiled */
	size_t rules;
	const char *format;
	struct error why;
	uint32_t instead; /* the version that is in force in its place; 0: none */
};

static void stored_state_deinit(struct stored_state *s)
{
	buffer_deinit(&s->text);
}
#define auto_stored_state __attribute__((cleanup(stored_state_deinit))) struct stored_state

static void stored_look(struct call *c, const struct stored_file *f, struct stored_state *ret)
{
	*ret = (struct stored_state){ .file = *f };
	ret->read = ret->checked = stored_read(f, true, &ret->text, &ret->st, &ret->why);
	if (ret->read == 0)
		ret->checked = stored_check(c, f, &ret->text, &ret->rules, &ret->format, &ret->why);
	if (ret->checked < 0)
		ret->instead = history_instead(f->past, &ret->st);
}

static uint64_t stored_modified_ms(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000;
}

static void stored_put_error(
	struct json_tree *t, struct node *to, const struct error *e, bool is_broken)
{
	struct node *n;

	if (!is_broken) {
		tree_put(t, to, "error", NULL);
		return;
	}
	n = tree_put_map(t, to, "error");
	tree_put_number(t, n, "line", e->line);
	tree_put_number(t, n, "column", e->column);
	tree_put_text(t, n, "text", e->text);
	tree_put_text(t, n, "hint", e->hint[0] ? e->hint : NULL);
}

static bool stored_is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 || !S_ISREG(st.st_mode);
}

/* list */

static void stored_put(struct json_tree *t, struct node *list, const struct stored_state *s)
{
	struct node *n = tree_append_map(t, list);

	tree_put_text(t, n, "name", s->file.name);
	tree_put_text(t, n, "path", s->file.path);
	tree_put_text(t, n, "format", s->format);
	tree_put_number(t, n, "rules", (int64_t)s->rules);
	tree_put_number(t, n, "modified_ms", (int64_t)stored_modified_ms(&s->st));
	tree_put_flag(t, n, "in_force", s->checked == 0);
	if (s->instead)
		tree_put_number(t, n, "last_good", s->instead);
	else
		tree_put(t, n, "last_good", NULL);
	stored_put_error(t, n, &s->why, s->checked < 0);
	tree_put_flag(t, n, "is_writable",
		s->file.past && !stored_is_link(s->file.path) && access(s->file.path, W_OK) == 0);
}

static void stored_print(struct output *o, const struct stored_state *s)
{
	enum { STATE_COLUMN = 24 };

	output_foreign(o, s->file.name);
	output_pad(o, STATE_COLUMN);
	if (s->checked == 0) {
		output_styled(o, OUTPUT_GREEN, "in force");
		buffer_printf(
			&o->text, "  %zu %s\n", s->rules, s->rules == 1 ? "entry" : "entries");
		return;
	}
	output_styled(o, OUTPUT_RED, "broken");
	buffer_adds(&o->text, "  ");
	output_foreign(o, s->file.path);
	if (s->why.line)
		buffer_printf(&o->text, ":%u", s->why.line);
	buffer_adds(&o->text, ": ");
	output_foreign(o, s->why.text);
	if (s->instead)
		buffer_printf(&o->text, "; version %" PRIu32 " is in force\n", s->instead);
	else
		buffer_adds(&o->text, "; no run starts until it is mended\n");
}

/* Files that look like policies and are not read: their author may rely on them. */
static int stored_print_ignored(struct call *c, const struct stored_place *p, struct output *o,
	struct json_tree *t, struct node *list, bool *is_good)
{
	struct stored_files all;
	int r = stored_list_ignored(c, p, &all);

	*is_good = *is_good && all.n == 0;
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		const char *path = all.items[i].path,
			   *to = stored_name_ignored(c, p, &all.items[i]);
		struct node *n = tree_append_map(t, list);
		auto_buffer hint = { 0 };

		buffer_adds(&hint, "mv ");
		output_shell_word(&hint, path);
		buffer_addc(&hint, ' ');
		output_shell_word(&hint, to);
		tree_put_text(t, n, "path", path);
		tree_put_text(t, n, "hint", buffer_text(&hint));
		output_foreign(o, path);
		buffer_printf(&o->text, " is not read, and stops every run: %s; ",
			stored_why_ignored(p, &all.items[i]));
		output_foreign(o, buffer_text(&hint));
		buffer_addc(&o->text, '\n');
	}
	return r;
}

static int stored_begin(struct call *c, const struct options_row *rows, size_t n,
	const bool *system, struct stored_place *ret)
{
	int r = options_parse(c, rows, n);

	return r != 0 ? r : stored_open_place(c, *system, ret);
}

static int verb_stored_list_run(struct call *c)
{
	bool json = false, system = false;
	const struct options_row rows[] = { STORED_SYSTEM(&system), OPTIONS_JSON(&json) };
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list;
	struct stored_place p;
	struct stored_files all = { 0 };
	bool is_good = true;
	enum mode mode;
	int r = stored_begin(c, rows, ROWS(rows), &system, &p);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = stored_list(c, &p, &all);
	tree_put_text(&t, root, "folder", p.folder);
	(void)stored_read_mode(&p, &mode);
	tree_put_text(&t, root, "mode", mode_names[mode]);
	list = tree_put_list(&t, root, "policies");
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		auto_stored_state s = { 0 };

		stored_look(c, &all.items[i], &s);
		is_good = is_good && s.checked == 0;
		if (json)
			stored_put(&t, list, &s);
		else
			stored_print(&o, &s);
	}
	if (r == 0)
		r = stored_print_ignored(
			c, &p, &o, &t, tree_put_list(&t, root, "ignored"), &is_good);
	if (r == 0 && all.n == 0) {
		buffer_adds(&o.text, "no policy is stored in ");
		output_foreign(&o, p.folder);
		buffer_addc(&o.text, '\n');
	}
	if (r == 0)
		r = json ? tree_print(&t, root, c->error)
			 : output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : is_good ? STATUS_YES : STATUS_NO;
}

const struct verb verb_stored_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "show the stored policies, which bind every run",
	.description =
		"Lists the policies in policy.d of your configuration (~/.config/corral), or of "
		"the system: default.json and custom/*.json with rules, and policies in YAML. Each "
		"binds every `corral run`. A broken one is shown with its error; its last good "
		"version stays in force if corrald saw the change.\n"
		"Exit status: 0 all are in force, 1 one is broken or ignored by its name, 2 an "
		"error.",
	.examples = "corral policy list\n"
		    "corral policy list --system --json\n",
	.run = verb_stored_list_run,
};

/* history */

static void stored_put_versions(struct json_tree *t, struct node *root, const struct history *h)
{
	struct node *list = tree_put_list(t, root, "history");

	for (size_t i = 0; i < h->n; i++) {
		const struct history_version *v = &h->items[i];
		struct node *n = tree_append_map(t, list);

		tree_put_number(t, n, "version", v->number);
		tree_put_number(t, n, "saved_ms", (int64_t)v->saved_ms);
		tree_put_number(t, n, "bytes", (int64_t)v->bytes);
		tree_put_text(t, n, "by", history_by_names[v->by]);
	}
}

static int stored_print_history(
	struct call *c, const struct stored_file *f, const struct history *h, bool json)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	auto_stored_state s = { 0 };
	auto_buffer own = { 0 };
	char etag[STORED_ETAG] = "";
	struct stat st;

	for (size_t i = 0; !json && i < h->n; i++) {
		const time_t at = (time_t)(h->items[i].saved_ms / 1000);
		char when[32] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		buffer_printf(&o.text, "%8" PRIu32 "  %s  %-8s%8" PRIu64 " bytes\n",
			h->items[i].number, when, history_by_names[h->items[i].by],
			h->items[i].bytes);
	}
	if (!json)
		return output_write(&o, STDOUT_FILENO, c->error);
	stored_look(c, f, &s);
	/* Links are not followed for texts that leave this machine's files. */
	if (s.read == 0 && stored_read(f, false, &own, &st, &s.why) < 0) {
		s.read = s.checked = -ELOOP;
		buffer_clear(&s.text);
	}
	if (s.read == 0)
		stored_etag(buffer_text(&s.text), s.text.len, etag);
	tree_put_text(&t, root, "name", f->name);
	tree_put_text(&t, root, "path", f->path);
	tree_put_text(&t, root, "text", s.read == 0 ? buffer_text(&s.text) : NULL);
	tree_put_text(&t, root, "etag", etag);
	tree_put_text(&t, root, "format", s.format);
	stored_put_error(&t, root, &s.why, s.checked < 0);
	stored_put_versions(&t, root, h);
	return tree_print(&t, root, c->error);
}

static int stored_print_version(struct call *c, const struct stored_file *f,
	const struct history *h, const char *version, bool json)
{
	const bool is_number =
		strspn(version, "0123456789") == strlen(version) && strlen(version) <= 8;
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	auto_output o = output_for(STDOUT_FILENO);
	auto_buffer text = { 0 };
	int r = is_number ? history_read(h, f->past, (uint32_t)strtoul(version, NULL, 10), &text)
			  : -ENOENT;

	if (r == -ENOENT) {
		(void)error_set(c->error, r, NULL, "`%s` has no version %.16s", f->name, version);
		error_hint(
			c->error, "`corral policy history %s` lists those that there are", f->name);
		return verb_refuse(c, json, STATUS_ABSENT);
	}
	if (r < 0)
		return stored_fail(c, "read a version of", f->path, r);
	if (json) {
		tree_put_text(&t, root, "text", buffer_text(&text));
		return tree_print(&t, root, c->error);
	}
	buffer_add(&o.text, buffer_text(&text), text.len);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_stored_history_run(struct call *c)
{
	bool json = false, system = false;
	const char *version = NULL;
	const struct options_row rows[] = {
		{ { "version", SCHEMA_TEXT, .help = "print the text of this version" }, 0, "N",
			.target = &version },
		STORED_SYSTEM(&system),
		OPTIONS_JSON(&json),
	};
	struct stored_place p;
	struct stored_file f;
	struct history h = { .n = 0 };
	int r = stored_begin(c, rows, ROWS(rows), &system, &p);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = stored_find_past(c, &p, c->words[0], &f, &h);
	if (r != 0)
		return r < 0 ? r : stored_refuse_absent(c, json, c->words[0]);
	r = version ? stored_print_version(c, &f, &h, version, json)
		    : stored_print_history(c, &f, &h, json);
	return r;
}

const struct verb verb_stored_history = {
	.name = "history",
	.synopsis = "[OPTION]... NAME",
	.summary = "list the versions of a stored policy, or print one",
	.description = "Lists the versions of a stored policy that were good, also of one that was "
		       "removed; the latest 50 are kept. With --json, its text and etag as well.\n"
		       "Exit status: 0 done, 5 there is none of that name or number, 2 an error.",
	.examples = "corral policy history default\n"
		    "corral policy history --version 3 custom/team\n",
	.operand = "NAME",
	.min = 1,
	.max = 1,
	.run = verb_stored_history_run,
};

/* record */

/* One line for each state that is new: the daemon makes an event of it. */
static void stored_tell(struct output *o, bool json, const struct stored_file *f, const char *state,
	const struct error *e)
{
	struct json_writer w = { .out = &o->text };

	if (!json) {
		output_foreign(o, f->name);
		buffer_printf(&o->text, ": %s", state);
		if (e && e->line)
			buffer_printf(&o->text, ", line %u", e->line);
		if (e) {
			buffer_adds(&o->text, ": ");
			output_foreign(o, e->text);
		}
		buffer_addc(&o->text, '\n');
		return;
	}
	json_open_map(&w, NULL);
	json_put_text(&w, "name", f->name);
	json_put_text(&w, "state", state);
	if (e) {
		json_open_map(&w, "error");
		json_put_count(&w, "line", e->line);
		json_put_count(&w, "column", e->column);
		json_put_text(&w, "text", e->text);
		json_close(&w);
	} else {
		json_put_null(&w, "error");
	}
	json_end_line(&w);
}

static int stored_record_one(struct call *c, const struct stored_place *p,
	const struct stored_file *f, struct output *o, bool json)
{
	char was[HISTORY_SEEN], now[HISTORY_SEEN], etag[STORED_ETAG];
	auto_stored_state s = { 0 };
	struct history h;
	int r = history_open(&h, f->past);

	stored_look(c, f, &s);
	history_seen(f->past, was);
	if (s.checked == 0) {
		stored_etag(buffer_text(&s.text), s.text.len, etag);
		(void)snprintf(now, sizeof(now), "good %s", etag);
		if (r == 0 && !history_is_latest(&h, f->past, &s.text))
			r = history_add(&h, f->past, &s.text, HISTORY_FILE, stored_mode(p));
	} else {
		const struct history_version *latest = history_latest(&h);

		history_print_broken(&s.st, latest ? latest->number : 0, now);
	}
	if (r == 0 && strcmp(was, now) == 0)
		return 0;
	if (r == 0)
		r = history_set_seen(f->past, now, stored_mode(p));
	if (r == 0)
		stored_tell(o, json, f, s.checked == 0 ? "in force" : "broken",
			s.checked == 0 ? NULL : &s.why);
	return r < 0 ? stored_fail(c, "write the history of", f->path, r) : 0;
}

/* Those of the history whose file is gone. */
static int stored_record_removed(
	struct call *c, const struct stored_place *p, struct output *o, bool json)
{
	struct stored_files past = { 0 };
	int r = stored_list_past(c, p, &past);

	for (size_t i = 0; r == 0 && i < past.n; i++) {
		const struct stored_file *f = &past.items[i];
		char was[HISTORY_SEEN];
		struct history h;

		history_seen(f->past, was);
		if (access(f->path, F_OK) == 0 || strcmp(was, "removed") == 0)
			continue;
		r = history_open(&h, f->past);
		if (r == 0 && history_latest(&h))
			r = history_add(&h, f->past, NULL, HISTORY_REMOVED, stored_mode(p));
		if (r == 0)
			r = history_set_seen(f->past, "removed", stored_mode(p));
		if (r < 0)
			return stored_fail(c, "write the history of", f->path, r);
		stored_tell(o, json, f, "removed", NULL);
	}
	return r;
}

static int verb_stored_record_run(struct call *c)
{
	bool json = false, system = false;
	const struct options_row rows[] = { STORED_SYSTEM(&system), OPTIONS_JSON(&json) };
	auto_output o = output_for(STDOUT_FILENO);
	struct stored_place p;
	struct stored_files all = { 0 };
	auto_fd lock = -1;
	int r = stored_begin(c, rows, ROWS(rows), &system, &p);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = stored_list(c, &p, &all);
	/* Who has no policies and had none gets no folder for them. */
	if (r == 0 && (all.n || (p.history && access(p.history, F_OK) == 0))) {
		r = history_lock(p.history, stored_mode(&p), &lock);
		if (r < 0)
			return stored_fail(c, "lock", p.history, r);
	}
	for (size_t i = 0; r == 0 && i < all.n; i++)
		if (all.items[i].past)
			r = stored_record_one(c, &p, &all.items[i], &o, json);
	if (r == 0 && lock >= 0)
		r = stored_record_removed(c, &p, &o, json);
	if (r == 0)
		r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_stored_record = {
	.name = "record",
	.synopsis = "[OPTION]...",
	.summary = "note the stored policies in their history, and report what changed",
	.description =
		"Notes each stored policy that is good in its history, and that a broken one is "
		"replaced by its last good version until it is mended. Prints a line for each that "
		"came into force, broke or was removed since the last time (with --json, JSON "
		"Lines). corrald does this whenever a file changes.",
	.examples = "corral policy record\n",
	.run = verb_stored_record_run,
};
