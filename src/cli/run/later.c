/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command leaves behind for other programs to run (profile/runs-later.h): which folders are
 * looked at, and what is reported in the end.
 *
 * Folders that a built-in profile or an agent mode lets be written are looked at, and those that
 * --write names: the working folder; in an agent mode the agent's folders, and ~/.claude, where the
 * settings are by which the agent runs the next time, perhaps without a sandbox. A policy from a
 * file means what it says, and nothing is added to it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"
#include "host/links.h"
#include "policy/variable.h"

/* Lines for a person; --json has as many as there is room for (profile/news.h). */
enum { TOLD_MAX = 200 };

static int run_later_add(struct run *r, const char *folder)
{
	struct run_later *l = &r->later;
	char real[PATH_BYTES];
	const char *path;
	struct stat st;
	int ret;

	if (links_follow(folder, NULL, NULL, real) < 0 || stat(real, &st) < 0 ||
		!S_ISDIR(st.st_mode))
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		if (path_is_below(real, l->items[i].folder))
			return 0;
	}
	if (l->n == RUN_LATER_MAX)
		return error_set(r->call->error, -E2BIG, NULL,
			"more than %d folders are granted for writing", RUN_LATER_MAX);
	path = arena_strdup(r->call->arena, real);
	if (!path)
		return error_no_memory(r->call->error);
	ret = runs_later_open(&l->items[l->n], path);
	if (ret == -ENOMEM)
		return error_no_memory(r->call->error);
	if (ret < 0)
		return error_set(r->call->error, ret, NULL, "%s: %s", path, strerror(-ret));
	l->n++;
	return 0;
}

static int run_later_add_mode(struct run *r)
{
	const struct agent *a = &r->options.agent;
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *claude = home ? arena_printf(r->call->arena, "%s/.claude", home) : NULL;
	int ret = run_later_add(r, a->data_dir);

	for (size_t i = 0; ret == 0 && i < a->extra.n; i++)
		ret = run_later_add(r, a->extra.items[i]);
	return ret == 0 && claude ? run_later_add(r, claude) : ret;
}

/* The folder that --write names, perhaps with two stars; ~ and $HOME are the home. NULL: none. */
static const char *run_later_folder_of(struct run *r, const char *text, int *ret)
{
	const char *home = r->load.variables.values[VARIABLE_HOME], *path;
	const bool is_home =
		home && (strncmp(text, "~/", 2) == 0 || strncmp(text, "$HOME/", 6) == 0);
	const char *rest = is_home ? strchr(text, '/') : text;
	const size_t len = strcspn(rest, "*?[]{}\\$~");

	/* Other patterns are refused for writing. */
	if (!len || (rest[len] && (strcmp(rest + len, "**") != 0 || rest[len - 1] != '/')))
		return NULL;
	path = arena_printf(r->call->arena, "%s%.*s", is_home ? home : "", (int)len, rest);
	*ret = path ? load_absolute(r->call, path, &path) : error_no_memory(r->call->error);
	return *ret < 0 ? NULL : path;
}

static int run_later_add_granted(struct run *r)
{
	const struct options_list *write = &r->options.write;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < write->n; i++) {
		const char *path = run_later_folder_of(r, write->items[i], &ret);

		if (path)
			ret = run_later_add(r, path);
	}
	return ret;
}

/* What an agent's preset shares with its bare runs; files have their own way. */
static int run_later_add_shared(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->presets.n_shared; i++)
		ret = run_later_add(r, r->presets.shared[i]);
	return ret;
}

/* By a look at names: most runs grant the working folder alone, and nobody works in ~/.codex. */
static bool run_later_may_have(const struct run *r, const char *path)
{
	const char *work = r->load.variables.values[VARIABLE_WORK_DIR];

	for (size_t i = 0; i < r->later.n; i++) {
		const char *folder = r->later.items[i].folder;

		if (!work || strcmp(folder, work) != 0 || path_is_below(path, folder))
			return true;
	}
	return false;
}

/* A preset_runs_later: what bare runs of agents execute, where a folder that is granted has it. */
static int run_later_add_agents(void *data, const char *path, const char *what, bool is_protected)
{
	struct run *r = data;
	char folder[PATH_BYTES], real[PATH_BYTES];
	int ret = 0;

	if (!run_later_may_have(r, path))
		return 0;
	/* By its folder without links: it may be one itself, which is a place, too. */
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (links_follow(folder, NULL, NULL, real) < 0 ||
		snprintf(folder, sizeof(folder), "%s%s", real, strrchr(path, '/')) >=
			(int)sizeof(folder))
		return 0;
	for (size_t i = 0; ret == 0 && i < r->later.n; i++) {
		struct runs_later *d = &r->later.items[i];
		const size_t len = strlen(d->folder);

		if (path_is_below(folder, d->folder) && folder[len])
			ret = runs_later_add_path(d, folder + len + 1, what, is_protected);
	}
	return ret;
}

/* What a file that extends the profile grants by name, as --write would. */
static int run_later_allow_written(struct run *r)
{
	struct permissions *p = r->later.to;
	const size_t n = p->fs_write.n;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < n; i++) {
		const struct grant *g = &p->fs_write.items[i];
		const char *pattern = NULL;

		if (g->n != 1 || profile_is_origin(g->where.file) ||
			variable_expand(&r->load.variables, g->all[0], r->call->arena, &pattern,
				NULL, NULL) < 0)
			continue;
		ret = run_later_allow(r, p, pattern);
	}
	return ret < 0 ? error_no_memory(r->call->error) : 0;
}

/* Links from one folder into another. */
static int run_later_meet(struct run *r)
{
	struct run_later *l = &r->later;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < l->n * l->n; i++)
		ret = runs_later_meet(&l->items[i / l->n], &l->items[i % l->n]);
	return ret < 0 ? error_no_memory(r->call->error) : 0;
}

int run_later_begin(struct run *r)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	bool is_builtin = r->builtin.name;
	int ret = 0;

	r->later.to = is_builtin ? r->builtin.permissions : r->mode;
	if (!r->later.to)
		return 0;
	if (is_builtin && r->builtin.permissions->fs_write.n)
		ret = run_later_add(r, r->load.variables.values[VARIABLE_WORK_DIR]);
	if (ret == 0 && r->mode)
		ret = run_later_add_mode(r);
	if (ret == 0)
		ret = run_later_add_granted(r);
	if (ret == 0)
		ret = run_later_add_shared(r);
	if (ret == 0 && home && preset_runs_later_each(home, run_later_add_agents, r) < 0)
		ret = error_no_memory(r->call->error);
	if (ret == 0)
		ret = run_later_meet(r);
	for (size_t i = 0; ret == 0 && i < r->later.n; i++)
		ret = runs_later_deny(&r->later.items[i], r->later.to) < 0
			      ? error_no_memory(r->call->error)
			      : 0;
	return ret == 0 && is_builtin ? run_later_allow_written(r) : ret;
}

int run_later_allow(struct run *r, struct permissions *p, const char *pattern)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && p == r->later.to && i < r->later.n; i++)
		ret = runs_later_allow(&r->later.items[i], p, pattern);
	return ret;
}

bool run_later_idle(struct run *r)
{
	for (size_t i = 0; i < r->later.n; i++) {
		if (runs_later_idle(&r->later.items[i]))
			return true;
	}
	return false;
}

bool run_later_has(const struct run *r, const char *path)
{
	for (size_t i = 0; i < r->later.n; i++) {
		if (path_is_below(path, r->later.items[i].folder))
			return true;
	}
	return false;
}

void run_later_end(struct run *r)
{
	for (size_t i = 0; i < r->later.n; i++)
		runs_later_close(&r->later.items[i]);
	r->later.n = 0;
}

/* Below the working folder a path is reported as it is there, elsewhere as a whole. */
static void run_later_put_path(
	const struct run *r, const struct runs_later *d, const char *path, struct buffer *out)
{
	const char *work_dir = r->load.variables.values[VARIABLE_WORK_DIR];

	if (!work_dir || strcmp(d->folder, work_dir) != 0)
		buffer_printf(out, "%s/", d->folder);
	buffer_adds(out, path);
}

/* What is reported of all folders, the most harmful first. */
struct run_later_report {
	struct run_later_one {
		const struct runs_later *folder;
		const struct runs_later_news *news;
	} * items;
	size_t n, cap;
	size_t left; /* that are in no list */
	bool is_cut;
	size_t created, changed; /* files */
	bool is_least;           /* there may be more of these */
};

static int run_later_compare(const void *a, const void *b)
{
	const struct run_later_one *x = a, *y = b;
	const int r = news_compare(x->news, y->news);

	return r ? r : (x->folder > y->folder) - (x->folder < y->folder);
}

/* The project's file, which an answer of the user's changed while the command ran. */
static bool run_later_is_ours(const struct run *r, const struct run_later_one *x)
{
	auto_buffer path = { 0 };

	if (!r->project.is_written)
		return false;
	buffer_printf(&path, "%s/%s", x->folder->folder, x->news->path);
	return strcmp(buffer_text(&path), r->project.path) == 0;
}

static struct run_later_report run_later_make_report(const struct run *r)
{
	struct run_later_report report = { 0 };

	for (size_t i = 0; i < r->later.n; i++) {
		const struct runs_later *d = &r->later.items[i];
		const struct runs_later_miss *missed;
		const struct runs_later_news *news;
		const size_t n = runs_later_check(d, &news);
		size_t created, changed;

		for (size_t k = 0; k < n; k++) {
			const struct run_later_one one = { d, &news[k] };

			if (run_later_is_ours(r, &one))
				continue;
			if (ARENA_PUSH(r->call->arena, report.items, report.n, report.cap, one) < 0)
				report.left++;
		}
		report.is_least = runs_later_count(d, &created, &changed) || report.is_least;
		report.created += created;
		report.changed += changed;
		report.left += runs_later_left(d);
		report.is_cut = report.is_cut || runs_later_is_cut(d) || runs_later_is_closed(d) ||
				runs_later_missed(d, &missed) > 0;
	}
	if (report.n)
		qsort(report.items, report.n, sizeof(report.items[0]), run_later_compare);
	return report;
}

void run_later_look(struct run *r)
{
	struct run_later_report *report = arena_alloc(r->call->arena, sizeof(*report));

	if (!report)
		return;
	*report = run_later_make_report(r);
	r->later.report = report;
}

static struct run_later_report run_later_report(const struct run *r)
{
	return r->later.report ? *r->later.report : run_later_make_report(r);
}

size_t run_later_put_count(const struct run *r, struct buffer *out)
{
	const struct run_later_report *report = r->later.report;
	const size_t n = report ? report->created + report->changed : 0;

	if (n == 0)
		return 0;
	buffer_adds(out, report->is_least ? "at least: " : "");
	if (report->created)
		buffer_printf(out, "created %zu%s", report->created, report->changed ? ", " : "");
	if (report->changed)
		buffer_printf(out, "changed %zu", report->changed);
	buffer_adds(out,
		(report->changed ? report->changed : report->created) == 1 ? " file" : " files");
	return n;
}

/* For whoever looks at a whole session of an agent. */
static void run_later_tell_count(const struct run *r, struct output *o)
{
	bool is_wanted = r->mode;
	auto_buffer count = { 0 };

	for (size_t i = 0; i < r->presets.n; i++)
		is_wanted = is_wanted || preset_is_agent(r->presets.items[i].preset);
	if (!is_wanted || run_later_put_count(r, &count) == 0)
		return;
	output_note(o);
	buffer_printf(
		&o->text, "the command %s in folders that it may write\n", buffer_text(&count));
}

static void run_later_tell_one(const struct run *r, const struct run_later_one *x, struct output *o)
{
	auto_buffer path = { 0 };

	run_later_put_path(r, x->folder, x->news->path, &path);
	output_note(o);
	buffer_printf(&o->text, "%s %s ", r->serve ? "a tool" : "the command",
		x->news->is_new ? "created" : "changed");
	output_foreign(o, buffer_text(&path));
	buffer_printf(&o->text, " (%s): review it first\n", x->news->who);
}

/* What was not looked at, and so is neither protected nor reported. */
static void run_later_tell_missed(const struct runs_later *d, struct output *o)
{
	const struct runs_later_miss *missed;
	size_t n = runs_later_missed(d, &missed);

	for (size_t i = 0; i < n; i++) {
		output_note(o);
		output_foreign(o, missed[i].path);
		buffer_printf(&o->text, " %s\n", missed[i].why);
	}
}

void run_later_tell(const struct run *r, struct output *o)
{
	const struct run_later_report report = run_later_report(r);
	const size_t shown = report.n < TOLD_MAX ? report.n : TOLD_MAX;

	run_later_tell_count(r, o);
	for (size_t i = 0; i < r->later.n; i++)
		run_later_tell_missed(&r->later.items[i], o);
	for (size_t i = 0; i < shown; i++)
		run_later_tell_one(r, &report.items[i], o);
	if (report.n > shown) {
		output_note(o);
		buffer_printf(&o->text, "and %zu more such files; `corral run --json` lists them\n",
			report.n - shown);
	}
	if (report.left) {
		output_note(o);
		buffer_printf(&o->text,
			"and %zu more that are in no list, since %d of a kind are listed: do not "
			"use the folder before you have looked through it\n",
			report.left, NEWS_MAX);
	}
	for (size_t i = 0; i < r->later.n; i++) {
		if (!runs_later_is_cut(&r->later.items[i]))
			continue;
		output_note(o);
		output_foreign(o, r->later.items[i].folder);
		buffer_adds(&o->text,
			" has too many folders to look through all of them for new files that "
			"other programs run, such as git hooks and .envrc: look at what the "
			"command made in it, or grant a smaller folder\n");
	}
}

void run_later_serve(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);

	run_later_look(r);
	run_later_tell(r, &o);
	if (o.text.len)
		(void)output_write(&o, STDERR_FILENO, NULL);
}

void run_later_print(const struct run *r, struct json_writer *w)
{
	const struct run_later_report report = run_later_report(r);

	json_open_map(w, "workspace");
	json_put_count(w, "created", report.created);
	json_put_count(w, "changed", report.changed);
	json_put_flag(w, "complete", !report.is_least);
	json_close(w);
	json_open_list(w, "runs_later");
	for (size_t i = 0; i < report.n; i++) {
		auto_buffer path = { 0 };

		run_later_put_path(r, report.items[i].folder, report.items[i].news->path, &path);
		json_put_buffer(w, NULL, &path);
	}
	if (run_claude_is_changed(r))
		json_put_text(w, NULL, r->claude.path);
	run_replaced_print_later(r, w);
	json_close(w);
	json_put_count(w, "runs_later_omitted", report.left);
	json_put_flag(w, "runs_later_complete", !report.is_cut);
}
