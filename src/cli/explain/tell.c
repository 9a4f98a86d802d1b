/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table, and the list for programs. Where the command succeeded, looks that led nowhere are
 * left out of the table, as programs live by them; the list has them, marked.
 */
#include <string.h>

#include "base/utf8.h"
#include "cli/explain/internal.h"
#include "cli/run/run.h"
#include "codec/json-writer.h"

enum { TARGET_COLUMN = 11, TARGET_WIDTH_MAX = 48 };

/* For people */

static void explain_tell_one(
	const struct run *r, const struct denial *d, size_t width, struct output *o)
{
	auto_words w = { 0 };

	run_explain_words(r, d, &w);
	buffer_printf(
		&o->text, "  %-7s%c ", run_explain_kinds[d->kind].word, d->is_exact ? ' ' : '~');
	output_foreign(o, d->path);
	buffer_adds(&o->text, d->is_folder && d->path[1] ? "/" : "");
	output_pad(o, TARGET_COLUMN + width + 2);
	output_foreign(o, w.line.len ? buffer_text(&w.line) : buffer_text(&w.reason));
	buffer_addc(&o->text, '\n');
}

void run_explain_tell(const struct run *r, int status, struct output *o)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };
	uint64_t missed = run_explain_missed(r);
	size_t n = 0, width = 0;

	(void)run_explain_group(r, run_explain_denials(r), &arena, &all);
	/* What is likely to matter: the rest only if there is nothing else. */
	for (size_t i = 0; i < all.n; i++) {
		const struct denial *d = &all.items[i];
		const size_t len = strlen(d->path) + d->is_folder;

		if (d->is_quiet ? status == 0 || n : status == 0 && d->is_look)
			continue;
		if (n < GROUPS_SHOWN && len > width && len <= TARGET_WIDTH_MAX)
			width = len;
		all.items[n++] = *d;
	}
	if (n == 0)
		return;
	output_note(o);
	buffer_adds(&o->text, "denied, and what would allow it (~ means inferred):\n");
	for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
		explain_tell_one(r, &all.items[i], width, o);
	if (n > GROUPS_SHOWN || missed) {
		missed += n > GROUPS_SHOWN ? n - GROUPS_SHOWN : 0;
		buffer_printf(&o->text, "  and %llu more%s\n", (unsigned long long)missed,
			r->options.json ? "" : " (--json lists them)");
	}
}

/* For programs */

static void put_foreign(struct json_writer *w, const char *key, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	json_put_buffer(w, key, &visible);
}

static void explain_tell_put_option(const struct denial_words *words, struct json_writer *w)
{
	if (!words->word.len) {
		json_put_null(w, "option");
		return;
	}
	json_open_list(w, "option");
	if (words->real.len) {
		json_put_buffer(w, NULL, &words->option);
		json_put_buffer(w, NULL, &words->real);
	}
	json_put_buffer(w, NULL, &words->option);
	json_put_buffer(w, NULL, &words->word);
	json_close(w);
}

static void explain_tell_print_one(
	const struct run *r, const struct denial *d, struct json_writer *w)
{
	const struct denial_row *row = &run_explain_kinds[d->kind];
	auto_words words = { 0 };

	run_explain_words(r, d, &words);
	json_open_map(w, NULL);
	json_put_text(w, "action", row->action_name ? row->action_name : operation_name(row->op));
	put_foreign(w, "target", d->path);
	json_put_flag(w, "folder", d->is_folder);
	json_put_flag(w, "exact", d->is_exact);
	json_put_flag(w, "look", d->is_look);
	json_put_flag(w, "quiet", d->is_quiet);
	put_foreign(w, "program", d->program);
	json_put_buffer(w, "reason", &words.reason);
	json_put_buffer(w, "rule", &words.rule);
	put_foreign(w, "line", buffer_text(&words.line));
	explain_tell_put_option(&words, w);
	json_put_count(w, "count", d->count);
	json_close(w);
}

void run_explain_print(const struct run *r, struct json_writer *w)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };

	(void)run_explain_group(r, run_explain_denials(r), &arena, &all);
	w->style = JSON_PRETTY;
	json_open_list(w, "denied");
	w->style = JSON_SPACED;
	for (size_t i = 0; i < all.n; i++)
		explain_tell_print_one(r, &all.items[i], w);
	json_close(w);
	json_put_count(w, "denied_missed", run_explain_missed(r));
}

/*
 * With --explain, what the command was denied of files and programs: seen by the witness, so not
 * exact. Hosts that the relay denied are recorded when it happens. They are reported at the end, as
 * each is counted; there is a bound on them (explain/internal.h).
 */

void run_explain_audit(struct run *r)
{
	const struct denials *all;
	uint64_t missed;

	if (!r->audit.trail || !r->explain)
		return;
	all = run_explain_denials(r);
	missed = run_explain_missed(r);
	for (size_t i = 0; i < all->n; i++) {
		const struct denial *d = &all->items[i];
		auto_words words = { 0 };

		if (d->is_exact)
			continue;
		run_explain_words(r, d, &words);
		run_audit_add(r, &(struct audit_event){ .action = run_explain_kinds[d->kind].action,
					 .target = d->path,
					 .decision = AUDIT_DENIED,
					 .program = *d->program ? d->program : NULL,
					 .rule = buffer_text(&words.rule),
					 .reason = buffer_text(&words.reason),
					 .count = d->count });
	}
	if (missed)
		run_audit_own(r, (struct audit_event){ .action = AUDIT_STORE,
					 .target = "files",
					 .reason = "denials were left out",
					 .count = missed });
}
