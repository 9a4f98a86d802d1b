/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/undo/internal.h"
#include "cli/verb.h"
#include "codec/json-writer.h"

struct undo_settings {
	bool list, yes, rest, forget, json;
};

/* Choosing a run */

static int verb_undo_list_json(struct call *c, const struct undo_rows *rows)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };

	json_open_map(&w, NULL);
	json_open_list(&w, "runs");
	w.style = JSON_SPACED;
	for (size_t i = 0; i < rows->n; i++) {
		const struct undo_row *r = &rows->items[i];

		json_open_map(&w, NULL);
		json_put_count(&w, "run", r->number);
		json_put_text(&w, "state",
			!r->is_readable    ? "unreadable"
			: r->is_active     ? "running"
			: r->is_ended      ? "ended"
			: r->is_taken_back ? "taken_back"
					   : "killed");
		json_put_number(&w, "started_ms", r->started / 1000000);
		json_put_text(&w, "folder", r->folder);
		json_put_text(&w, "command", r->command);
		json_put_count(&w, "bytes", r->bytes);
		for (size_t k = 0; k < UNDO_WHATS; k++)
			json_put_count(&w, undo_what_names[k], r->changes.count[k]);
		json_close(&w);
	}
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static void verb_undo_list_row(struct output *o, const struct undo_row *r)
{
	buffer_printf(&o->text, "%5u  ", r->number);
	if (!r->is_readable) {
		output_foreign(o, r->fault.text);
		buffer_addc(&o->text, '\n');
		return;
	}
	undo_show_time(o, r->started);
	if (r->is_active)
		buffer_adds(&o->text, "  under way");
	else if (r->is_taken_back)
		buffer_adds(&o->text, "  was taken back");
	else if (!r->is_ended)
		buffer_adds(&o->text, "  was killed");
	else {
		buffer_adds(&o->text, "  ");
		undo_print_changed(&r->changes, &o->text);
	}
	buffer_adds(&o->text, "  ");
	output_name(o, r->folder);
	buffer_adds(&o->text, "  ");
	output_cut(o, OUTPUT_PLAIN, r->command, 60);
	buffer_addc(&o->text, '\n');
}

static int verb_undo_list(struct call *c, const struct undo_settings *s)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct undo_rows rows = { 0 };
	int r = undo_store_list(c->arena, &rows, c->error);

	if (r < 0)
		return r;
	if (s->json)
		return verb_undo_list_json(c, &rows);
	for (size_t i = rows.n; i-- > 0;)
		verb_undo_list_row(&o, &rows.items[i]);
	if (rows.n == 0)
		buffer_adds(&o.text, "no runs to take back (corral run --undo keeps them)\n");
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_undo_number(struct call *c, uint32_t *ret)
{
	char *end;
	unsigned long n = strtoul(c->words[0], &end, 10);

	if (*end || end == c->words[0] || c->words[0][0] == '-' || n == 0 || n > UINT32_MAX)
		return options_misused(
			c, "`%s` is not the number of a run (see corral undo --list)", c->words[0]);
	*ret = (uint32_t)n;
	return 0;
}

/* The last run of the folder that we are in. 1: there is none. */
static int verb_undo_last(struct call *c, uint32_t *ret)
{
	struct undo_rows rows = { 0 };
	int r = undo_store_list(c->arena, &rows, c->error);
	char *here = r < 0 ? NULL : realpath(".", NULL);
	uint32_t found = 0;

	for (size_t i = 0; here && i < rows.n; i++)
		if (rows.items[i].folder[0] && !rows.items[i].is_taken_back &&
			path_is_below(here, rows.items[i].folder))
			found = rows.items[i].number;
	if (r == 0 && !found) {
		(void)error_set(c->error, -ENOENT, NULL,
			"no run with --undo in %s can be taken back", here ? here : "this folder");
		error_hint(c->error, rows.n ? "corral undo --list lists those of other folders"
					    : "corral run --undo keeps what a run changes");
		r = 1;
	}
	free(here);
	*ret = found;
	return r;
}

/* Numbers, for a shell (cli/complete.h). */
static void verb_undo_offer(struct call *c, struct buffer *out)
{
	struct undo_rows rows = { 0 };
	struct error none = { 0 };

	if (undo_store_list(c->arena, &rows, &none) < 0)
		return;
	for (size_t i = rows.n; i-- > 0;) {
		buffer_printf(out, "%u\t", rows.items[i].number);
		buffer_add_visible(out, rows.items[i].command, strlen(rows.items[i].command));
		buffer_addc(out, '\n');
	}
}

/* Taking it back */

struct undo_counts {
	size_t n[UNDO_JUDGEMENTS];
	size_t lossy; /* of those to do */
};

static struct undo_counts verb_undo_count(const struct undo *u, const struct undo_step *steps)
{
	struct undo_counts c = { 0 };

	for (size_t i = 0; i < u->changes.n; i++)
		if (u->changes.items[i].before.kind != UNDO_FOLDER ||
			undo_what(&u->changes.items[i]) != UNDO_TIME)
			c.n[steps[i].is]++;
	for (size_t i = 0; i < u->changes.n; i++)
		c.lossy += steps[i].is == UNDO_TO_DO && steps[i].is_lossy;
	return c;
}

/* Its changes were not recorded at its end: some of those shown may be the user's. */
static bool verb_undo_was_killed(const struct undo *u)
{
	return u->changes.ended == 0;
}

/* What is not taken back without a question, unless --rest is given. 0: nothing. A status. */
static int verb_undo_refuse(struct call *c, const struct undo_settings *s, const struct undo *u,
	const struct undo_counts *n)
{
	const size_t kept = n->n[UNDO_CHANGED_SINCE];

	if (!s->yes || s->rest)
		return 0;
	if (verb_undo_was_killed(u)) {
		(void)error_set(c->error, -ESTALE, NULL,
			"run %u was killed, so files that you made or changed since look like its "
			"own, and nothing was taken back",
			u->number);
		error_hint(c->error,
			"corral undo %u asks; --yes --rest takes back all that is shown",
			u->number);
		return verb_refuse(c, s->json, STATUS_CHANGED);
	}
	if (n->lossy > 0) {
		(void)error_set(c->error, -EFBIG, NULL,
			"%zu of the files that would be removed or replaced are too large to be "
			"kept, so nothing was taken back",
			n->lossy);
		error_hint(c->error, "corral undo %u asks; --yes --rest removes them for ever",
			u->number);
		return verb_refuse(c, s->json, STATUS_CHANGED);
	}
	if (kept > 0) {
		(void)error_set(c->error, -ESTALE, NULL,
			"%zu of %zu changes cannot be taken back, so nothing was", kept,
			kept + n->n[UNDO_TO_DO]);
		error_hint(c->error, "--yes --rest takes back the other %zu", n->n[UNDO_TO_DO]);
		return verb_refuse(c, s->json, STATUS_CHANGED);
	}
	return 0;
}

/* 0: yes. A status: no. */
static int verb_undo_ask(struct call *c, const struct undo_settings *s, const struct undo *u,
	const struct undo_counts *n)
{
	const size_t kept = n->n[UNDO_CHANGED_SINCE];
	auto_buffer question = { 0 };
	int r = verb_undo_refuse(c, s, u, n);

	if (s->yes)
		return r;
	if (!isatty(STDIN_FILENO)) {
		r = error_set(c->error, -ENOTTY, NULL,
			"cannot ask for confirmation without a terminal; nothing was taken back");
		error_hint(c->error, "corral undo --yes takes it back without asking");
		return r;
	}
	if (verb_undo_was_killed(u))
		buffer_adds(
			&question, "Files that you made or changed since are taken back, too. ");
	if (n->lossy)
		buffer_printf(&question,
			n->lossy == 1 ? "%zu file that is removed or replaced is too large to be "
					"kept: it is lost. "
				      : "%zu files that are removed or replaced are too large to "
					"be kept: they are lost. ",
			n->lossy);
	if (kept)
		buffer_printf(&question,
			kept == 1 ? "%zu change stays as it is. Take back the other %zu? [y/N] "
				  : "%zu changes stay as they are. Take back the other %zu? [y/N] ",
			kept, n->n[UNDO_TO_DO]);
	else
		buffer_printf(&question, "Take this back (%zu change%s)? [y/N] ", n->n[UNDO_TO_DO],
			n->n[UNDO_TO_DO] == 1 ? "" : "s");
	if (question.failed)
		return error_no_memory(c->error);
	return output_agrees(question.data) ? 0 : STATUS_NO;
}

/* "3 changes taken back, 1 not". */
static void verb_undo_add_result(struct buffer *out, size_t done, size_t left)
{
	if (done || !left)
		buffer_printf(out, "%zu change%s taken back", done, done == 1 ? "" : "s");
	else
		buffer_adds(out, "nothing was taken back");
	if (left && done)
		buffer_printf(out, ", %zu not", left);
}

static int verb_undo_report(struct call *c, const struct undo_settings *s, const struct undo *u,
	const struct undo_step *steps, bool is_done)
{
	const struct undo_counts n = verb_undo_count(u, steps);
	const size_t left = n.n[UNDO_CHANGED_SINCE] + n.n[UNDO_FAILED];
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };
	char removed[PATH_BYTES];
	const bool has_removed = is_done && undo_store_removed(u->record, u->number, removed);
	int r;

	if (s->json) {
		json_open_map(&w, NULL);
		w.style = JSON_SPACED;
		json_put_count(&w, "run", u->number);
		json_put_text(&w, "folder", u->folder);
		json_put_flag(&w, "taken_back", is_done && left == 0);
		if (has_removed)
			json_put_text(&w, "removed_to", removed);
		undo_show_json(&w, u, steps);
		json_end_line(&w);
	} else if (is_done) {
		buffer_printf(&o.text, "run %u: ", u->number);
		verb_undo_add_result(&o.text, n.n[UNDO_DONE], left);
		buffer_adds(&o.text, left ? ":\n" : "\n");
		undo_show_left(&o, u, steps);
		if (left && n.n[UNDO_DONE] == 0)
			buffer_printf(
				&o.text, "`corral undo --forget %u` forgets the run\n", u->number);
		if (has_removed) {
			buffer_adds(&o.text, "what was removed or replaced is in ");
			output_name(&o, removed);
			buffer_addc(&o.text, '\n');
		}
	}
	r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : !is_done ? STATUS_NO : left ? STATUS_CHANGED : STATUS_YES;
}

/* A run that was killed has no list of changes: what differs from its start is one. */
static int verb_undo_complete(struct call *c, struct undo *u, struct undo_step **ret)
{
	int r = 0;

	if (u->is_kept) {
		struct undo_step none;

		/* Opens and checks the folder. */
		r = undo_judge(u, &none, c->error);
		if (r == 0)
			r = undo_finish(u, c->error);
	}
	if (r < 0)
		return r;
	if (verb_undo_was_killed(u)) {
		auto_output o = output_for(STDERR_FILENO);

		output_note(&o);
		buffer_printf(&o.text,
			"run %u was killed: all that differs from its start is shown, whoever "
			"changed it\n",
			u->number);
		(void)output_write(&o, STDERR_FILENO, NULL);
	}
	*ret = arena_calloc(c->arena, u->changes.n + 1, sizeof(**ret));
	return *ret ? undo_judge(u, *ret, c->error) : error_no_memory(c->error);
}

static int verb_undo_take_back(struct call *c, const struct undo_settings *s, struct undo *u)
{
	struct undo_step *steps = NULL;
	auto_output o = output_for(s->json ? STDERR_FILENO : STDOUT_FILENO);
	auto_buffer result = { 0 };
	struct undo_counts n;
	int r = verb_undo_complete(c, u, &steps);

	if (r < 0)
		return r;
	n = verb_undo_count(u, steps);
	if (!s->json || !s->yes) {
		undo_show(&o, u, steps);
		r = output_write(&o, s->json ? STDERR_FILENO : STDOUT_FILENO, c->error);
	}
	if (r == 0 && n.n[UNDO_TO_DO] > 0)
		r = verb_undo_ask(c, s, u, &n);
	if (r != 0)
		return r == STATUS_NO ? verb_undo_report(c, s, u, steps, false) : r;
	undo_restore(u, steps, s->rest);
	n = verb_undo_count(u, steps);
	verb_undo_add_result(&result, n.n[UNDO_DONE], n.n[UNDO_CHANGED_SINCE] + n.n[UNDO_FAILED]);
	undo_audit(u->number, u->folder, buffer_text(&result), n.n[UNDO_DONE] > 0);
	if (n.n[UNDO_CHANGED_SINCE] + n.n[UNDO_FAILED] == 0)
		undo_store_retire(u);
	return verb_undo_report(c, s, u, steps, true);
}

/* The folder of a run. A record that cannot be read has none. */
static const char *verb_undo_folder(struct call *c, uint32_t number)
{
	struct undo_rows rows = { 0 };
	struct error none = { 0 };
	const char *folder = NULL;

	if (undo_store_list(c->arena, &rows, &none) < 0)
		rows.n = 0;
	for (size_t i = 0; i < rows.n; i++)
		if (rows.items[i].number == number)
			folder = rows.items[i].folder;
	return folder && folder[0] ? folder : "a folder that is not known";
}

/* What an undo removed may be the last copy. */
static int verb_undo_forget(struct call *c, const struct undo_settings *s)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };
	const char *folder = NULL;
	uint32_t number = 0;
	int r = verb_undo_number(c, &number);

	if (r == 0)
		folder = verb_undo_folder(c, number);
	if (r == 0)
		r = undo_store_forget(number, s->yes, c->error);
	if (r == -ENOENT)
		return verb_refuse(c, s->json, STATUS_ABSENT);
	if (r < 0)
		return r;
	undo_audit(number, folder, "forgotten, its changes stay", true);
	if (s->json) {
		json_open_map(&w, NULL);
		json_put_count(&w, "run", number);
		json_put_flag(&w, "forgotten", true);
		json_end_line(&w);
	} else {
		buffer_printf(&o.text, "run %u is forgotten; its changes stay\n", number);
	}
	r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : STATUS_YES;
}

static int verb_undo_run(struct call *c)
{
	struct undo_settings s = { 0 };
	const struct options_row rows[] = {
		{ { "list", SCHEMA_FLAG, .help = "list the runs that can be taken back" },
			.target = &s.list },
		{ { "yes", SCHEMA_FLAG,
			  .help = "do not ask; nothing is done if a file was changed since" },
			'y', .target = &s.yes },
		{ { "rest", SCHEMA_FLAG,
			  .help = "with --yes: take back the rest, where some files were changed "
				  "since" },
			.target = &s.rest },
		{ { "forget", SCHEMA_FLAG,
			  .help = "forget RUN, and what is kept of it, without taking it back" },
			.target = &s.forget },
		OPTIONS_JSON(&s.json),
	};
	struct undo u = UNDO_EMPTY;
	uint32_t number = 0;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (s.list && (s.yes || s.rest || c->n))
		return options_misused(c, "--list takes no other option but --json, and no run");
	if (s.rest && !s.yes)
		return options_misused(c, "--rest requires --yes");
	if (s.forget && (s.list || s.rest || !c->n))
		return options_misused(c, "--forget requires the number of a run, and takes no "
					  "other option but --yes and --json");
	if (s.list)
		return verb_undo_list(c, &s);
	if (s.forget)
		return verb_undo_forget(c, &s);
	r = c->n ? verb_undo_number(c, &number) : verb_undo_last(c, &number);
	if (r == 0)
		r = undo_store_open(&u, number, c->error);
	if (r == 1 || r == -ENOENT)
		return verb_refuse(c, s.json, STATUS_ABSENT);
	if (r == 0)
		r = verb_undo_take_back(c, &s, &u);
	undo_deinit(&u);
	return r;
}

const struct verb verb_undo = {
	.name = "undo",
	.synopsis = "[OPTION]... [RUN]",
	.summary = "take back what a run changed in its working folder",
	.description =
		"Takes back the last run with --undo in this folder, or RUN: shows what it "
		"created, changed and removed, asks, and puts files, folders and links back as "
		"they were, with their modes and times. What was changed since the run is named "
		"and stays. A run that was taken back is forgotten, so the next `corral undo` "
		"takes back the one before it; --forget leaves one out.\n"
		"Exit status: 0 taken back, 1 not (the answer was no), 4 files were changed since "
		"or could not be put back, 5 there is no such run, 2 an error.",
	.examples = "corral run --undo -- ./migrate.sh\n"
		    "corral undo\n"
		    "corral undo --list\n"
		    "corral undo --yes 7\n"
		    "corral undo --forget 7\n",
	.operand = "RUN",
	.offer = verb_undo_offer,
	.min = 0,
	.max = 1,
	.run = verb_undo_run,
};
