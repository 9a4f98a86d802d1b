/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table, and the list for programs. Where the command succeeded, looks that led nowhere are
 * left out of the table, as programs live by them; the list has them, marked.
 */
#include <string.h>

#include "base/utf8.h"
#include "cli/explain/internal.h"
#include "cli/run/run.h"
#include "codec/json.h"

enum { TARGET_COLUMN = 11, TARGET_WIDTH_MAX = 48 };

/* For people */

/* What is likely to matter: the rest only if there is nothing else. */
static size_t select_shown(struct denials *l, int status)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct denial *d = &l->items[i];

		if (d->is_quiet ? status != 0 && n == 0 : status != 0 || !d->is_look)
			l->items[n++] = *d;
	}
	return n;
}

static size_t explain_tell_width_of(const struct denials *l, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(l->items[i].path) + l->items[i].is_folder;

		if (len > width && len <= TARGET_WIDTH_MAX)
			width = len;
	}
	return width;
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
	output_pad(o, TARGET_COLUMN + width + 2);
	output_foreign(o, w.line.len ? buffer_text(&w.line) : buffer_text(&w.reason));
	buffer_addc(&o->text, '\n');
}

void run_explain_tell(const struct run *r, int status, struct output *o)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };
	uint64_t missed = run_explain_missed(r);
	size_t n, width;

	(void)run_explain_group(r, run_explain_denials(r), &arena, &all);
	n = select_shown(&all, status);
	if (n == 0)
		return;
	output_note(o);
	buffer_adds(&o->text, "denied, and what would allow it (~ as far as could be seen):\n");
	width = explain_tell_width_of(&all, n < GROUPS_SHOWN ? n : GROUPS_SHOWN);
	for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
		explain_tell_one(r, &all.items[i], width, o);
	if (n > GROUPS_SHOWN || missed) {
		missed += n > GROUPS_SHOWN ? n - GROUPS_SHOWN : 0;
		buffer_printf(&o->text, "  and %llu more%s\n", (unsigned long long)missed,
			r->options.json ? "" : " (--json lists them)");
	}
}

/* For programs */

static void explain_tell_put_text(struct buffer *out, const char *key, const struct buffer *text)
{
	buffer_printf(out, ", \"%s\": ", key);
	json_print_string(out, buffer_text(text), text->len);
	out->failed = out->failed || text->failed;
}

static void put_foreign(struct buffer *out, const char *key, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	explain_tell_put_text(out, key, &visible);
}

static void put_option(struct buffer *out, const struct denial_words *w)
{
	if (!w->word.len) {
		buffer_adds(out, ", \"option\": null");
		return;
	}
	buffer_printf(out, ", \"option\": [\"%s\", ", buffer_text(&w->option));
	json_print_string(out, buffer_text(&w->word), w->word.len);
	buffer_addc(out, ']');
}

static const char *explain_tell_word(bool value)
{
	return value ? "true" : "false";
}

static void explain_tell_print_one(const struct run *r, const struct denial *d, struct buffer *out)
{
	auto_words w = { 0 };

	run_explain_words(r, d, &w);
	buffer_printf(out, "{\"action\": \"%s\"", operation_name(run_explain_kinds[d->kind].op));
	put_foreign(out, "target", d->path);
	buffer_printf(out, ", \"folder\": %s, \"exact\": %s, \"look\": %s, \"quiet\": %s",
		explain_tell_word(d->is_folder), explain_tell_word(d->is_exact),
		explain_tell_word(d->is_look), explain_tell_word(d->is_quiet));
	put_foreign(out, "program", d->program);
	explain_tell_put_text(out, "reason", &w.reason);
	explain_tell_put_text(out, "rule", &w.rule);
	put_foreign(out, "line", buffer_text(&w.line));
	put_option(out, &w);
	buffer_printf(out, ", \"count\": %llu}", (unsigned long long)d->count);
}

void run_explain_print(const struct run *r, struct buffer *out)
{
	auto_arena arena = { 0 };
	struct denials all = { 0 };

	(void)run_explain_group(r, run_explain_denials(r), &arena, &all);
	buffer_addc(out, '[');
	for (size_t i = 0; i < all.n; i++) {
		buffer_adds(out, i ? ",\n    " : "\n    ");
		explain_tell_print_one(r, &all.items[i], out);
	}
	buffer_printf(out, "%s],\n  \"denied_missed\": %llu", all.n ? "\n  " : "",
		(unsigned long long)run_explain_missed(r));
}

/*
 * With --explain, what the command was denied of files and programs: seen by the witness, so not
 * exact. Hosts that the relay denied are recorded when it happens. They are told at the end, as
 * each is counted; there is a bound on them (explain/internal.h).
 */

static void explain_tell_log(struct run *r, const struct denial *d)
{
	auto_words words = { 0 };

	run_explain_words(r, d, &words);
	run_audit_add(r, &(struct audit_event){ .action = run_explain_kinds[d->kind].action,
				 .target = d->path,
				 .decision = AUDIT_DENIED,
				 .program = *d->program ? d->program : NULL,
				 .rule = buffer_text(&words.rule),
				 .reason = buffer_text(&words.reason),
				 .count = d->count });
}

void run_explain_audit(struct run *r)
{
	const struct denials *all;
	uint64_t missed;

	if (!r->audit.trail || !r->explain)
		return;
	all = run_explain_denials(r);
	missed = run_explain_missed(r);
	for (size_t i = 0; i < all->n; i++) {
		if (!all->items[i].is_exact)
			explain_tell_log(r, &all->items[i]);
	}
	if (missed)
		run_audit_own(r, (struct audit_event){ .action = AUDIT_STORE,
					 .target = "files",
					 .reason = "so many denials were left out",
					 .count = missed });
}
