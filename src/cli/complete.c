/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/complete.h"

#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/options.h"
#include "cli/output.h"

/* A word and the first line of its help. */
static void complete_word(struct output *o, const char *before, const char *word, const char *help)
{
	buffer_printf(&o->text, "%s%s\t%.*s\n", before, word, (int)strcspn(help, "\n"), help);
}

/* What a shell is to look for itself, by what the argument is called in --help. */
static void complete_kind(struct output *o, const char *argument)
{
	static const struct {
		const char *argument, *kind;
	} rows[] = {
		{ "FILE", "@files" },
		{ "GLOB", "@files" },
		{ "NAME FILE", "@files" },
		{ "PATH", "@files" },
		{ "PROOF", "@files" },
		{ "TARGET", "@files" },
		{ "DIR", "@folders" },
		{ "SKILL", "@folders" },
		{ "CMD", "@programs" },
		{ "HOST:PORT", "@hosts" },
		{ "NAME:PORT", "@hosts" },
	};

	for (size_t i = 0; argument && i < ROWS(rows); i++)
		if (strcmp(rows[i].argument, argument) == 0)
			buffer_printf(&o->text, "%s\n", rows[i].kind);
}

/* Usual values of options that take any number or time. By the option, and
 * by what its argument is called. */
static void complete_examples(struct output *o, const struct options_row *row)
{
	static const struct {
		const char *name, *argument;
		const char *words[5];
	} rows[] = {
		{ "since", "TIME", { "10m", "1h", "1d", "1w" } },
		{ "until", "TIME", { "10m", "1h", "1d", "1w" } },
		{ "timeout", "TIME", { "30s", "5m", "1h" } },
		{ "memory", "SIZE", { "512M", "1G", "4G" } },
		{ "max-output", "SIZE", { "64K", "1M", "16M" } },
		{ "pids", "N", { "64", "256" } },
		{ "tier", "N", { "1", "3" } },
		{ "in", "PLACES", { "header", "query", "body", "form" } },
		{ "key", "KIND", { "systemd-creds", "secret-service" } },
		{ "from", "SOURCE", { "file:", "env:", "cmd:", "secret-service:" } },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t k = 0; strcmp(rows[i].name, row->is.name) == 0 &&
				   strcmp(rows[i].argument, row->argument) == 0 && rows[i].words[k];
			k++)
			complete_word(o, "", rows[i].words[k], "");
}

static void complete_value(struct call *c, struct output *o, const struct options_row *row)
{
	for (size_t i = 0; row->is.words && row->is.words[i]; i++)
		complete_word(o, "", row->is.words[i], "");
	if (row->offer)
		row->offer(c, &o->text);
	complete_examples(o, row);
	complete_kind(o, row->argument);
}

/* The row of a word that is an option and ends there; NULL: it is none, or has its value in it. */
static const struct options_row *complete_find(
	const char *word, const struct options_row *rows, size_t n)
{
	for (size_t i = 0; word[0] == '-' && i < n; i++)
		if (word[1] == '-' ? strcmp(rows[i].is.name, word + 2) == 0
				   : rows[i].letter && word[1] == rows[i].letter && !word[2])
			return &rows[i];
	return NULL;
}

int complete_options(struct call *c, const struct options_row *rows, size_t n)
{
	const struct options_row *row = NULL;
	auto_output o = { 0 };
	bool has_ended = false;

	for (size_t i = 1; i < c->n; i++) {
		const char *word = c->words[i];
		const bool is_value = row && row->argument;

		row = is_value || has_ended ? NULL : complete_find(word, rows, n);
		if (is_value || (word[0] == '-' && !has_ended && strcmp(word, "--") != 0))
			continue;
		/* The command that this one runs completes itself. */
		if (c->verb->is_prefix && (word[0] != '-' || has_ended)) {
			buffer_printf(
				&o.text, "@command %zu\n", (size_t)(&c->words[i] - c->completes));
			return output_write(&o, STDOUT_FILENO, c->error);
		}
		has_ended = has_ended || strcmp(word, "--") == 0;
	}
	if (row && row->argument) {
		complete_value(c, &o, row);
		return output_write(&o, STDOUT_FILENO, c->error);
	}
	for (size_t i = 0; !has_ended && i < n; i++)
		complete_word(&o, "--", rows[i].is.name, rows[i].is.help);
	if (!has_ended)
		complete_word(&o, "--", "help", "print this help and exit");
	if (c->verb->offer)
		c->verb->offer(c, &o.text);
	complete_kind(&o, c->verb->operand);
	return output_write(&o, STDOUT_FILENO, c->error);
}

int complete_group(struct call *c)
{
	auto_output o = { 0 };

	for (const struct verb *const *v = c->verb->verbs; *v; v++)
		complete_word(&o, "", (*v)->name, (*v)->summary);
	complete_word(&o, "--", "help", "print this help and exit");
	return output_write(&o, STDOUT_FILENO, c->error);
}
