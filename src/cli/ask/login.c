/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question whether the vault keeps the tokens of a login inside (--login). It is asked on the
 * terminal of the run and nowhere else: who typed the option is the one who logs in. All names in
 * it are the user's own, from the command line; nothing that the command or the host said is there.
 */
#include "base/clock.h"
#include "cli/ask/ask.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/run/stdio.h"
#include "wire/lend.h"

void ask_login_begin(struct run *r, const struct lend_consent *c)
{
	struct arena *a = r->call->arena;
	struct ask_login *l = &r->login;

	if (!run_stdio_is_interactive(r)) {
		run_secrets_agree(r, c->number,
			"no token of a login is kept without the user's consent, and there is no "
			"terminal to ask on: run it in a terminal");
		return;
	}
	*l = (struct ask_login){ .number = c->number,
		.until_ms = clock_ms(CLOCK_MONOTONIC) + r->options.ask_ms,
		.replaces = c->replaces,
		.name = arena_strdup(a, c->login),
		.place = arena_strdup(a, c->place),
		.hosts = arena_strdup(a, c->hosts),
		.principal = arena_strdup(a, c->principal) };
	if (!l->name || !l->place || !l->hosts || !l->principal)
		ask_login_answer(r, ASK_WORD_NO);
}

void ask_login_words(const struct ask_login *l, struct output *o)
{
	buffer_adds(&o->text, "\n");
	output_styled(o, OUTPUT_BOLD, "corral asks");
	buffer_adds(&o->text, ", and the command waits: it has logged in at\n    ");
	ask_words_name(o, l->place);
	buffer_adds(&o->text, "\n  May the vault keep the tokens as ");
	ask_words_name(o, l->name);
	buffer_adds(&o->text, "? The command gets placeholders.\n  They may go to: ");
	ask_words_name(o, l->hosts);
	buffer_adds(&o->text, "\n  and from this sandbox alone: ");
	ask_words_name(o, l->principal);
	if (l->replaces)
		buffer_adds(&o->text,
			"\n  What the vault has by that name is replaced: later runs use this "
			"login.");
	buffer_adds(&o->text, "\n  yes  if it was you who logged in just now\n"
			      "  no   no token is kept, and the command gets none\n");
}

void ask_login_answer(struct run *r, enum ask_word word)
{
	const uint64_t number = r->login.number;

	r->login.number = 0;
	if (number > 0)
		run_secrets_agree(r, number,
			word == ASK_WORD_ONCE ? "" : "the user did not agree to keep its tokens");
}

bool ask_login_is_late(struct run *r)
{
	if (r->login.number == 0 || clock_ms(CLOCK_MONOTONIC) < r->login.until_ms)
		return false;
	ask_login_answer(r, ASK_WORD_NO);
	return true;
}
