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

enum { TARGET_COLUMN = 11, TARGET_WIDTH_MAX = 48, BELOW_COLUMN = 6, LINE_MAX_COLUMNS = 120 };

/* For people */

/* The advice beside its target, or below it where that would be wider than a screen: whole, so that
 * it can be pasted. The option instead of a policy's line starts a line of its own then. */
static void explain_tell_advice(struct output *o, const char *advice, size_t column)
{
	static const char other[] = ", or use --";
	const char *second = strstr(advice, other);
	const size_t at = output_column(o) + 1;

	if ((at > column ? at : column) + strlen(advice) <= LINE_MAX_COLUMNS) {
		output_pad(o, column);
		output_foreign(o, advice);
		return;
	}
	buffer_printf(&o->text, "\n%*s", BELOW_COLUMN, "");
	if (second && BELOW_COLUMN + strlen(advice) > LINE_MAX_COLUMNS) {
		auto_buffer first = { 0 };

		buffer_add(&first, advice, (size_t)(second - advice));
		output_foreign(o, buffer_text(&first));
		buffer_printf(&o->text, "\n%*s", BELOW_COLUMN, "");
		advice = second + strlen(", ");
	}
	output_foreign(o, advice);
}

static void explain_tell_one(
	const struct run *r, const struct denial *d, size_t width, struct output *o)
{
	auto_words w = { 0 };

	run_explain_words(r, d, &w);
	buffer_printf(
		&o->text, "  %-7s%c ", run_explain_kinds[d->kind].word, d->is_exact ? ' ' : '~');
	output_foreign(o, d->path);
	buffer_adds(&o->text, d->is_folder && d->path[1] ? "/" : "");
	explain_tell_advice(
		o, buffer_text(w.line.len ? &w.line : &w.reason), TARGET_COLUMN + width + 2);
	buffer_addc(&o->text, '\n');
}

/* What is likely to matter: the rest only if there is nothing else. Returns how many. */
static size_t explain_tell_choose_of(const struct run *r, const struct denials *from, int status,
	struct arena *a, struct denials *all)
{
	size_t n = 0;

	(void)run_explain_group(r, from, a, all);
	for (size_t i = 0; i < all->n; i++) {
		const struct denial *d = &all->items[i];

		if (d->is_moot)
			continue;
		if (d->is_quiet ? status == 0 || n : status == 0 && d->is_look)
			continue;
		all->items[n++] = *d;
	}
	return n;
}

static size_t explain_tell_choose(
	const struct run *r, int status, struct arena *a, struct denials *all)
{
	return explain_tell_choose_of(r, run_explain_denials(r), status, a, all);
}

/* What programs do without is no reason. */
bool run_explain_is_denied(const struct run *r, int status)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };
	const size_t n = r->explain ? explain_tell_choose(r, status, &arena, &all) : 0;

	return n > 0 && !all.items[0].is_quiet;
}

/* An option, a line of a policy, or, of a secret, the two options that it takes. */
bool run_explain_is_offered(const struct run *r, int status)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };
	const size_t n = r->explain ? explain_tell_choose(r, status, &arena, &all) : 0;
	bool is = false;

	for (size_t i = 0; !is && i < n && i < GROUPS_SHOWN; i++) {
		auto_words w = { 0 };

		run_explain_words(r, &all.items[i], &w);
		is = w.word.len || strncmp(buffer_text(&w.line), "add ", 4) == 0 ||
		     strstr(buffer_text(&w.line), "--dangerously-allow ");
	}
	return is;
}

void run_explain_tell(const struct run *r, int status, struct output *o)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };
	uint64_t missed = run_explain_missed(r);
	const size_t n = explain_tell_choose(r, status, &arena, &all);
	size_t width = 0;

	for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++) {
		const size_t len = strlen(all.items[i].path) + all.items[i].is_folder;

		if (len > width && len <= TARGET_WIDTH_MAX)
			width = len;
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

/* For the caller of a tool */

void run_explain_tell_since(const struct run *r, uint64_t moment, struct output *o)
{
	auto_arena arena = { 0 };
	struct denials recent = { 0 }, all = { 0 };
	const struct denials *known = r->explain ? run_explain_denials(r) : &recent;
	size_t n;

	for (size_t i = 0; i < known->n; i++)
		if (known->items[i].last > moment &&
			ARENA_PUSH(&arena, recent.items, recent.n, recent.cap, known->items[i]) < 0)
			return;
	n = explain_tell_choose_of(r, &recent, RUN_FAILED, &arena, &all);
	/* What programs do without is no reason why a call failed. */
	for (size_t i = 0; i < n && i < GROUPS_SHOWN && !all.items[i].is_quiet; i++)
		explain_tell_one(r, &all.items[i], 0, o);
}

/* For a question */

static bool explain_tell_is_unreadable(const struct run *r, const char *program)
{
	const struct request request = { .op = OPERATION_EXEC, .target = program };
	struct decision d;

	return policy_decide(r->policy, &request, &d) == 0 && d.why == DECISION_UNREADABLE;
}

size_t run_explain_offers(
	const struct run *r, struct arena *a, struct explain_offer ret[EXPLAIN_OFFERS_MAX])
{
	struct denials all = { 0 };
	size_t n = 0;

	if (!r->explain || run_explain_group(r, run_explain_denials(r), a, &all) < 0)
		return 0;
	for (size_t i = 0; i < all.n && n < EXPLAIN_OFFERS_MAX; i++) {
		struct denial *d = &all.items[i];
		auto_words w = { 0 };

		/* That the program itself was refused is sure. */
		if (d->is_look || (d->is_quiet && !d->is_exact) || d->kind > DENIAL_EXEC)
			continue;
		/* What may be read may run. */
		if (d->kind == DENIAL_EXEC && explain_tell_is_unreadable(r, d->path))
			d->kind = DENIAL_READ;
		run_explain_words(r, d, &w);
		if (!w.word.len || w.real.len || w.word.failed)
			continue;
		ret[n] = (struct explain_offer){ .op = run_explain_kinds[d->kind].op,
			.option = run_explain_kinds[d->kind].option,
			.word = arena_strdup(a, buffer_text(&w.word)),
			.path = arena_strdup(a, d->path),
			.is_folder = d->is_folder };
		n += ret[n].word && ret[n].path;
	}
	return n;
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
