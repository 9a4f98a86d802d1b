/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen, beside the line that covers it or the reason why there is none. */
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/learn/internal.h"
#include "codec/json-writer.h"

enum { SHOWN_MAX = 40, TARGET_COLUMN = 11, TARGET_WIDTH_MAX = 48 };

static const char *const words[] = { [DENIAL_READ] = "read",
	[DENIAL_WRITE] = "write",
	[DENIAL_EXEC] = "run",
	[DENIAL_CONNECT] = "connect",
	[DENIAL_SANDBOX] = "sandbox" };

const struct denial *learn_covering(const struct learn *l, const struct denial *d)
{
	for (size_t i = 0; i < l->lines.n; i++) {
		const struct denial *line = &l->lines.items[i];
		const bool fits = line->kind == d->kind ||
				  (line->kind == DENIAL_WRITE && d->kind == DENIAL_READ);

		if (fits && (strcmp(line->path, d->path) == 0 ||
				    (line->is_folder && path_is_below(d->path, line->path))))
			return line;
	}
	return NULL;
}

const char *learn_why_not(const struct learn_sight *s)
{
	static const char *const states[] = { [DENIAL_UNKNOWN] = "no line would allow it",
		[DENIAL_OPEN] = "not needed",
		[DENIAL_SECRET] = "a secret: never learnt",
		[DENIAL_NEVER] = "never allowed",
		[DENIAL_OWN] = "Corral's own state: never learnt",
		[DENIAL_BROAD] = "too broad: never learnt",
		[DENIAL_RULE] = "a rule of the policy forbids it",
		[DENIAL_CEILING] = "your own or the system's policy does not allow it",
		[DENIAL_LATER] = "other programs run it later: --write, by its name",
		[DENIAL_LINKED] = "by a link that a command could have made: --read, by its target",
		[DENIAL_UNNAMED] = "no policy can name it" };
	const struct denial *d = &s->denial;

	if (!s->is_refused)
		return states[d->state];
	if (d->kind == DENIAL_CONNECT)
		return "not agreed to: --net";
	return d->kind == DENIAL_WRITE ? "writes outside the project: --write"
				       : "not agreed to: --read";
}

/* Of what was asked for and done without, only what was opened or connected to. */
static bool show_is_shown(const struct learn_sight *s)
{
	const struct denial *d = &s->denial;

	return s->is_accepted || s->is_refused || d->state == DENIAL_SECRET ||
	       d->state == DENIAL_OWN || (!d->is_quiet && !(d->is_look && d->state == DENIAL_OPEN));
}

static void show_one(
	const struct learn *l, const struct learn_sight *s, size_t width, struct output *o)
{
	const struct denial *d = &s->denial, *line = learn_covering(l, d);
	auto_buffer pattern = { 0 };

	buffer_printf(&o->text, "  %-7s  ", words[d->kind]);
	output_foreign(o, d->path);
	buffer_adds(&o->text, d->is_folder && d->path[1] ? "/" : "");
	output_pad(o, TARGET_COLUMN + width + 2);
	if (line) {
		learn_text_pattern(l, line, &pattern);
		output_foreign(o, buffer_text(&pattern));
	} else {
		output_styled(o, OUTPUT_DIM, learn_why_not(s));
	}
	buffer_addc(&o->text, '\n');
}

void learn_show(const struct learn *l, struct output *o)
{
	size_t n = 0, width = 0;

	for (size_t i = 0; i < l->n; i++) {
		const size_t len = strlen(l->sights[i].denial.path) + 1;

		n += show_is_shown(&l->sights[i]);
		if (show_is_shown(&l->sights[i]) && len > width && len <= TARGET_WIDTH_MAX)
			width = len;
	}
	if (n == 0)
		return;
	output_note(o);
	buffer_adds(&o->text, "seen beyond the profile, and the line that covers it:\n");
	for (size_t i = 0, shown = 0; i < l->n && shown < SHOWN_MAX; i++) {
		if (!show_is_shown(&l->sights[i]))
			continue;
		show_one(l, &l->sights[i], width, o);
		shown++;
	}
	if (n > SHOWN_MAX || l->missed)
		buffer_printf(&o->text, "  and %zu more%s\n",
			(size_t)l->missed + (n > SHOWN_MAX ? n - SHOWN_MAX : 0),
			l->json ? "" : " (--json lists them)");
}

static void show_put_one(const struct learn *l, const struct learn_sight *s, struct json_writer *w)
{
	const struct denial *d = &s->denial, *line = learn_covering(l, d);
	auto_buffer text = { 0 };

	json_open_map(w, NULL);
	json_put_text(w, "action", words[d->kind]);
	buffer_add_visible(&text, d->path, strlen(d->path));
	json_put_buffer(w, "target", &text);
	json_put_flag(w, "folder", d->is_folder);
	json_put_flag(w, "look", d->is_look);
	json_put_flag(w, "quiet", d->is_quiet);
	json_put_text(w, "program", d->program);
	json_put_count(w, "count", d->count);
	buffer_clear(&text);
	if (line)
		learn_text_pattern(l, line, &text);
	if (line)
		json_put_buffer(w, "line", &text);
	else
		json_put_null(w, "line");
	json_put_text(w, "not_granted", line ? NULL : learn_why_not(s));
	json_close(w);
}

int learn_print_json(struct learn *l, bool is_written)
{
	auto_output o = { 0 };
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };

	json_open_map(&w, NULL);
	w.style = JSON_SPACED;
	json_put_flag(&w, "passed", l->is_passed);
	json_put_flag(&w, "proven", l->is_proven);
	json_put_flag(&w, "written", is_written);
	json_put_number(&w, "status", l->last_status);
	json_put_count(&w, "rounds", l->n_rounds);
	json_put_count(&w, "runs", l->n_runs);
	json_put_buffer(&w, "policy", &l->text);
	w.style = JSON_PRETTY;
	json_open_list(&w, "seen");
	w.style = JSON_SPACED;
	for (size_t i = 0; i < l->n; i++)
		show_put_one(l, &l->sights[i], &w);
	json_close(&w);
	json_put_count(&w, "seen_missed", l->missed);
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, l->call->error);
}
