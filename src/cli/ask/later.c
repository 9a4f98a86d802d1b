/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that runs keeps the files and programs that it started with. So the user is asked about
 * them when it has failed, and the answer is an option of later runs in the same folder: those of
 * --ask-denied alone, which say what they got that way. It takes the way of all options: no answer
 * opens what a policy or the baseline denies, or what a link leads to that a command may have left.
 *
 * Without a terminal the questions are kept (ask/kept.h), and answered elsewhere.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/ask/ask.h"
#include "cli/ask/kept.h"
#include "cli/ask/notify.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/run/stdio.h"

static const char *later_folder(const struct run *r)
{
	return r->load.variables.values[VARIABLE_WORK_DIR];
}

/* The next run */

static void later_note(struct output *o, const struct ask_kept *k, const char *says)
{
	output_note(o);
	buffer_printf(&o->text, "answered before (%s)%s: %s ",
		k->word == ASK_WORD_ONCE ? "once" : "for a day", says, k->option);
	output_shell_word(&o->text, k->value);
}

static int later_give(struct run *r, const struct ask_kept *k, struct output *o)
{
	const struct ask_subject now = ask_subject_look(r->call->arena, k->option, k->value);
	const struct {
		const char *option;
		struct options_list *list;
	} rows[] = { { "--read", &r->options.read }, { "--write", &r->options.write },
		{ "--exec", &r->options.exec } };

	if (!ask_subject_is_same(&k->about, &now)) {
		later_note(o, k, ", and not given");
		buffer_printf(&o->text, " (%s)\n",
			ask_subject_difference(r->call->arena, &k->about, &now));
		return 0;
	}
	for (size_t i = 0; i < ROWS(rows); i++)
		if (strcmp(rows[i].option, k->option) == 0 &&
			ARENA_PUSH(r->call->arena, rows[i].list->items, rows[i].list->n,
				rows[i].list->cap, k->value) < 0)
			return error_no_memory(r->call->error);
	later_note(o, k, "");
	buffer_addc(&o->text, '\n');
	return 0;
}

int ask_later_begin(struct run *r)
{
	struct ask_kept all[ASK_KEPT_MAX];
	auto_output o = output_for(STDERR_FILENO);
	size_t n = 0;
	int ret = 0;

	if (!r->options.ask_denied)
		return 0;
	/* What cannot be taken out would be given again. */
	if (ask_kept_take(r->call, later_folder(r), all, &n) < 0)
		return error_set(r->call->error, -EIO, NULL,
			"the answer `once` of an earlier run cannot be taken out of Corral's "
			"state");
	for (size_t i = 0; ret == 0 && i < n; i++)
		if (all[i].word == ASK_WORD_ONCE || all[i].word == ASK_WORD_DAY)
			ret = later_give(r, &all[i], &o);
	if (o.text.len && !r->options.json)
		(void)output_write(&o, STDERR_FILENO, NULL);
	return ret;
}

/* Asking */

/* It was answered, and not asked anew. */
static bool later_is_known(const struct ask_kept *all, size_t n, const struct ask_kept *k)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].word != ASK_WORD_NONE && strcmp(all[i].option, k->option) == 0 &&
			strcmp(all[i].value, k->value) == 0 &&
			ask_subject_is_same(&all[i].about, &k->about))
			return true;
	return false;
}

/* What is asked, with what the user is shown of it. False: one that is not asked. */
static bool later_question(struct run *r, struct explain_offer *offer, struct ask_kept *ret)
{
	*ret = (struct ask_kept){ .option = offer->option,
		.value = offer->word,
		.about = ask_subject_look(r->call->arena, offer->option, offer->word) };
	if (r->always.add)
		ask_digest(&r->project.path, 1, ret->project);
	offer->is_folder = ret->about.kind == ASK_KIND_FOLDER;
	return ret->about.kind != ASK_KIND_NONE && ask_kept_is_plain(offer->word);
}

/* One rate for all that asks. */
static bool later_may_ask(struct run *r, const struct explain_offer *offer)
{
	const struct question q = { .op = offer->op, .target = offer->path, .rule = "" };

	return holder_asking_admit(&r->live.live.asking, &q, clock_ms(CLOCK_MONOTONIC)) ==
	       ANSWER_BY_USER;
}

static enum ask_word later_ask_one(struct run *r, struct run_stdio *s,
	const struct explain_offer *offer, const struct ask_kept *k)
{
	auto_output o = output_for(STDERR_FILENO);
	struct error e = { 0 };
	const char *pattern = ask_kept_pattern(k, r->call->arena);
	enum ask_word word;

	ask_words_later(offer, later_folder(r), r->always.add, &o);
	(void)output_write(&o, STDERR_FILENO, NULL);
	word = ask_prompt_wait(s, r->options.ask_ms);
	if (word != ASK_WORD_ALWAYS)
		return word;
	if (pattern && r->always.add &&
		r->always.add(r->always.context, offer->op, pattern, &e) >= 0)
		return word;
	if (e.text[0])
		output_error(&e);
	return ASK_WORD_NO;
}

static void later_say(const struct run *r, const char *text)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	buffer_adds(&o.text, text);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* On the terminal. */
static void later_ask_here(
	struct run *r, struct run_stdio *s, struct explain_offer *offers, size_t n_offers)
{
	struct ask_kept all[ASK_KEPT_MAX];
	const size_t n = ask_kept_load(r->call, later_folder(r), all);
	int ret = 0;

	for (size_t i = 0; i < n_offers; i++) {
		struct ask_kept k;

		if (!later_question(r, &offers[i], &k) || later_is_known(all, n, &k) ||
			!later_may_ask(r, &offers[i]))
			continue;
		k.word = later_ask_one(r, s, &offers[i], &k);
		if (k.word != ASK_WORD_ALWAYS && ask_kept_put(r->call, later_folder(r), &k) < 0)
			ret = -EIO;
	}
	if (ret < 0)
		later_say(r, "the answers cannot be kept in Corral's state\n");
}

/* There is no terminal: whoever looks later finds it. */
static void later_ask_elsewhere(struct run *r, struct explain_offer *offers, size_t n_offers)
{
	bool is_new = false;

	for (size_t i = 0; i < n_offers; i++) {
		struct ask_kept k;

		if (!later_question(r, &offers[i], &k) || !later_may_ask(r, &offers[i]) ||
			ask_kept_put(r->call, later_folder(r), &k) != 0)
			continue;
		ask_notify(r, offers[i].op, offers[i].path, true);
		is_new = true;
	}
	if (is_new)
		later_say(r,
			"what it was denied can be allowed for the next run: `corral questions "
			"list`, or on the dashboard\n");
}

void ask_later(struct run *r, struct run_stdio *s)
{
	struct explain_offer offers[EXPLAIN_OFFERS_MAX];
	const char *folder = later_folder(r);
	size_t n;

	if (!r->options.ask_denied || !folder || !ask_kept_is_plain(folder))
		return;
	n = run_explain_offers(r, r->call->arena, offers);
	if (ask_has_terminal(r) && s->is_terminal)
		later_ask_here(r, s, offers, n);
	else
		later_ask_elsewhere(r, offers, n);
}
