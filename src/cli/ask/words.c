/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a question says. All of it is ours but the name, and that is written whole: the user decides
 * about what they see. Nothing that the command said of itself is in it: not its name, no reason.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "cli/ask/ask.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "policy/operation.h"

const char *ask_words_of(uint32_t op)
{
	return operation_rows[op < OPERATION_COUNT ? op : OPERATION_SERVICE].verb;
}

void ask_words_name(struct output *o, const char *name)
{
	bool is_ascii = true;

	for (const char *p = name; *p; p++)
		is_ascii = is_ascii && !(*p & 0x80);
	output_name(o, name);
	if (is_ascii)
		return;
	buffer_adds(&o->text, "\n    not all of it is ASCII: ");
	for (const char *p = name; *p; p++) {
		if (*p >= ' ' && *p < 0x7f && *p != '\\')
			buffer_addc(&o->text, *p);
		else
			buffer_printf(&o->text, "\\x%02x", (unsigned)(unsigned char)*p);
	}
}

void ask_words(const struct question *q, bool can_always, struct output *o)
{
	buffer_adds(&o->text, "\n");
	output_styled(o, OUTPUT_BOLD, "corral asks");
	buffer_printf(
		&o->text, ", and the command waits: may it %s this?\n    ", ask_words_of(q->op));
	ask_words_name(o, q->target);
	buffer_adds(&o->text, "\n  once  this time");
	if (q->n_scopes > 0) {
		buffer_adds(&o->text, "\n  run   until the command ends: ");
		output_name(o, q->scopes[0]);
	}
	if (q->n_scopes > 0 && can_always) {
		buffer_adds(&o->text, "\n  always  for this project: ");
		output_name(o, q->scopes[0]);
	}
	buffer_printf(&o->text, "\n  no    it stays denied, also without an answer in %us\n",
		(unsigned)((q->wait_ms + 999) / 1000));
}

void ask_words_later(
	const struct explain_offer *offer, const char *folder, bool can_always, struct output *o)
{
	buffer_adds(&o->text, "\n");
	output_styled(o, OUTPUT_BOLD, "corral asks");
	buffer_printf(&o->text,
		": the command failed. It was denied this; may later runs %s it?\n    ",
		ask_words_of(offer->op));
	ask_words_name(o, offer->path);
	buffer_adds(&o->text, offer->is_folder ? "\n    and all that is in it" : "");
	buffer_adds(&o->text, "\n  once  the next run with --ask-denied in ");
	output_name(o, folder);
	buffer_adds(&o->text, "\n  day   all such runs, until tomorrow");
	buffer_adds(&o->text, can_always ? "\n  always  for this project" : "");
	buffer_adds(&o->text, "\n  no    it stays denied\n");
}

enum ask_word ask_words_read(const char *line)
{
	static const struct {
		const char *text;
		enum ask_word word;
	} rows[] = {
		{ "y", ASK_WORD_ONCE },
		{ "yes", ASK_WORD_ONCE },
		{ "o", ASK_WORD_ONCE },
		{ "once", ASK_WORD_ONCE },
		{ "d", ASK_WORD_DAY },
		{ "day", ASK_WORD_DAY },
		{ "r", ASK_WORD_RUN },
		{ "run", ASK_WORD_RUN },
		{ "always", ASK_WORD_ALWAYS },
		{ "n", ASK_WORD_NO },
		{ "no", ASK_WORD_NO },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		if (strcasecmp(rows[i].text, line) == 0)
			return rows[i].word;
	return ASK_WORD_NONE;
}
