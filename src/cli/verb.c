/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/complete.h"
#include "cli/options.h"
#include "cli/output.h"

/* More verbs than this no group has. */
enum { VERBS_MAX = 24 };

/* Columns for the names of options. */
enum { HELP_LEFT_MAX = 30 };

/* --help, made from what the verb and its options say about themselves. */

/* Lines of text, each after an indentation. */
static void indented(struct output *o, const char *lines, size_t indent)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		if (len)
			buffer_printf(&o->text, "%*s%.*s", (int)indent, "", (int)len, lines);
		buffer_addc(&o->text, '\n');
		lines += len + (lines[len] == '\n');
	}
}

static void usage(struct output *o, const struct call *c)
{
	const char *text = c->verb->description;

	output_styled(o, OUTPUT_BOLD, "Usage:");
	buffer_printf(&o->text, " %s", c->name);
	if (c->verb->synopsis) {
		buffer_addc(&o->text, ' ');
		output_wrapped(o, c->verb->synopsis, OUTPUT_PROSE);
	}
	buffer_addc(&o->text, '\n');
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		auto_buffer paragraph = { 0 };

		len = strcspn(text, "\n");
		buffer_add(&paragraph, text, len);
		buffer_addc(&o->text, '\n');
		output_wrapped(o, buffer_text(&paragraph), OUTPUT_PROSE);
		buffer_addc(&o->text, '\n');
	}
}

/* The left column: "  -p, --policy FILE". */
static void left(const struct options_row *row, char *out, size_t size)
{
	char letter[8] = "    ";

	if (row->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	(void)snprintf(out, size, "  %s--%s%s%s", letter, row->is.name, row->argument ? " " : "",
		row->argument ? row->argument : "");
}

/* A long option has a line of its own, so that there is room for the help of all. */
static void row_help(struct output *o, const struct options_row *row, size_t width)
{
	auto_buffer help = { 0 };
	char text[64];

	left(row, text, sizeof(text));
	buffer_printf(&o->text, "%-*s", (int)width, text);
	if (strlen(text) > width)
		buffer_printf(&o->text, "\n%*s", (int)width, "");
	buffer_adds(&o->text, "  ");
	buffer_adds(&help, row->is.help);
	for (size_t i = 0; i < help.len; i++)
		if (help.data[i] == '\n')
			help.data[i] = ' ';
	output_wrapped(o, buffer_text(&help), OUTPUT_PROSE);
	buffer_addc(&o->text, '\n');
	o->text.failed |= help.failed;
}

int verb_print_help(struct call *c, const struct options_row *rows, size_t n)
{
	const struct options_row help = {
		.is = { "help", SCHEMA_FLAG, .help = "print this help and exit" }, .letter = 'h'
	};
	auto_output o = output_for(STDOUT_FILENO);
	size_t width = 0;

	usage(&o, c);
	for (size_t i = 0; i < n; i++) {
		char text[64];

		left(&rows[i], text, sizeof(text));
		width = strlen(text) > width ? strlen(text) : width;
	}
	width = width < HELP_LEFT_MAX ? width : HELP_LEFT_MAX;
	output_heading(&o, "Options:");
	for (size_t i = 0; i < n; i++)
		row_help(&o, &rows[i], width);
	row_help(&o, &help, width);
	output_heading(&o, "Examples:");
	indented(&o, c->verb->examples, 2);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int help_print_group(struct call *c, int fd)
{
	auto_output o = output_for(fd);

	usage(&o, c);
	output_heading(&o, "Commands:");
	for (const struct verb *const *v = c->verb->verbs; *v; v++) {
		buffer_printf(&o.text, "  %-11s  ", (*v)->name);
		output_wrapped(&o, (*v)->summary, OUTPUT_PROSE);
		buffer_addc(&o.text, '\n');
	}
	output_heading(&o, "Examples:");
	indented(&o, c->verb->examples, 2);
	buffer_printf(
		&o.text, "\nSee `%s COMMAND --help` for the options of a command.\n", c->name);
	return output_write(&o, fd, c->error);
}

static int verb_unknown(struct call *c, const char *word)
{
	const char *names[VERBS_MAX], *near;
	size_t n = 0;

	for (const struct verb *const *v = c->verb->verbs; *v && n < VERBS_MAX; v++)
		names[n++] = (*v)->name;
	options_note_json(c);
	near = suggest(word, names, n);
	(void)options_misused(c, "unknown %s `%s`", word[0] == '-' ? "option" : "command", word);
	if (near)
		error_hint(c->error, "did you mean `%s %s`? `%s --help` lists the commands",
			c->name, near, c->name);
	return -EINVAL;
}

int verb_refuse(struct call *c, bool json, enum status status)
{
	output_error(c->error);
	if (json)
		output_error_json(c->error, status);
	*c->error = (struct error){ 0 };
	return status;
}

/* `help policy check` is `policy check --help`. */
static int help(struct call *c)
{
	static char option[] = "--help";
	struct call inner = *c;
	char **words = arena_calloc(c->arena, c->n + 1, sizeof(char *));

	if (!words)
		return error_no_memory(c->error);
	/* Without "help" itself, and with the option after the rest. */
	words[0] = c->words[0];
	for (size_t i = 2; i < c->n; i++)
		words[i - 1] = c->words[i];
	words[c->n - 1] = option;
	inner.words = words;
	return verb_dispatch(&inner);
}

int verb_dispatch(struct call *c)
{
	const char *word = c->n > 1 ? c->words[1] : NULL;
	const struct verb *const *v = c->verb->verbs;
	struct call inner = *c;

	if (!word && c->completes)
		return complete_group(c);
	if (!word) {
		int r = help_print_group(c, STDERR_FILENO);

		return r < 0 ? r : STATUS_ERROR;
	}
	if (!c->completes && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
		return help_print_group(c, STDOUT_FILENO);
	if (!c->completes && strcmp(word, "help") == 0)
		return help(c);
	while (*v && strcmp((*v)->name, word) != 0)
		v++;
	if (!*v)
		return c->completes ? 0 : verb_unknown(c, word);
	/* Goes on with a verb of the group; its word becomes the first of the call. */
	inner.verb = *v;
	inner.name = arena_printf(c->arena, "%s %s", c->name, word);
	inner.words++;
	inner.n--;
	if (!inner.name)
		return error_no_memory(c->error);
	return inner.verb->run ? inner.verb->run(&inner) : verb_dispatch(&inner);
}
