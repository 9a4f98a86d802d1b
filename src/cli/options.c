/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/suggest.h"
#include "cli/complete.h"

/* No verb has more options than this. */
enum { ROWS_MAX = 64 };
_Static_assert(ROWS_MAX <= 64, "call.given has a bit for each");

/* What getopt_long() returns for the row with this index; letters are below it. */
enum { ROW_BASE = 256 };

struct parser {
	struct call *call;
	const struct options_row *rows;
	size_t n;
	struct option longs[ROWS_MAX + 2];
	char shorts[2 * ROWS_MAX + 5];
	bool seen[ROWS_MAX];
};

/* Takers */

int options_text(struct call *c, const struct options_row *row, const char *value)
{
	(void)c;
	*(const char **)row->target = value;
	return 0;
}

int options_list(struct call *c, const struct options_row *row, const char *value)
{
	struct options_list *list = row->target;

	if (ARENA_PUSH(c->arena, list->items, list->n, list->cap, value) < 0)
		return error_no_memory(c->error);
	return 0;
}

int options_store(struct call *c, const struct options_row *row, const char *value)
{
	uint64_t number = 0;
	int r;

	if (row->is.type == SCHEMA_FLAG) {
		*(bool *)row->target = true;
		return 0;
	}
	if (row->is.type == SCHEMA_TEXT)
		return row->is.many ? options_list(c, row, value) : options_text(c, row, value);
	r = schema_parse(&row->is, value, &number);
	if (r < 0)
		return options_refuse(c, row, value, r);
	if (row->is.type == SCHEMA_CHOICE)
		*(int *)row->target = (int)number;
	else
		*(uint64_t *)row->target = number;
	return 0;
}

/* Complaints */

int options_misused(struct call *c, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)error_set(c->error, -EINVAL, NULL, "%s", text);
	error_hint(c->error, "see `%s --help`", c->name);
	return -EINVAL;
}

int options_unknown_word(struct call *c, const struct options_row *row, const char *value,
	const char *const *known, size_t n_known)
{
	const char *near = suggest(value, known, n_known);
	char words[192] = "";

	(void)error_set(
		c->error, -EINVAL, NULL, "invalid value for --%s: `%s`", row->is.name, value);
	for (size_t i = 0; i < n_known; i++) {
		size_t len = strlen(words);

		(void)snprintf(words + len, sizeof(words) - len, "%s%s", i ? ", " : "", known[i]);
	}
	if (near)
		error_hint(c->error, "did you mean %s? Valid values: %s", near, words);
	else
		error_hint(c->error, "valid values: %s", words);
	return -EINVAL;
}

int options_refuse(struct call *c, const struct options_row *row, const char *value, int why)
{
	auto_buffer expected = { 0 };
	size_t n = 0;

	while (row->is.type == SCHEMA_CHOICE && row->is.words[n])
		n++;
	if (n)
		return options_unknown_word(c, row, value, row->is.words, n);
	if (why == -ERANGE && !row->is.min)
		return options_misused(
			c, "invalid value for --%s: %s is too large", row->is.name, value);
	schema_print_expected(&row->is, &expected);
	return options_misused(c, "invalid value for --%s: `%s` (expected %s)", row->is.name, value,
		buffer_text(&expected));
}

/* `word` as it was typed: "--polcy=x", "--json=x", or a cluster with the letter optopt in it. */
static int bad_option(struct parser *p, const char *word)
{
	struct schema_names names = { .n = 0 };
	char name[64];
	const char *near;

	if (optopt >= ROW_BASE)
		return options_misused(
			p->call, "--%s takes no value", p->rows[optopt - ROW_BASE].is.name);
	if (optopt)
		return options_misused(p->call, "unknown option -%c", optopt);
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	schema_names_add(&names, "help");
	for (size_t i = 0; i < p->n; i++)
		schema_names_add(&names, p->rows[i].is.name);
	near = schema_names_near(&names, name);
	(void)options_misused(p->call, "unknown option --%s", name);
	if (near)
		error_hint(p->call->error, "did you mean --%s? `%s --help` lists the options", near,
			p->call->name);
	return -EINVAL;
}

static int missing_value(struct parser *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct options_row *row = &p->rows[i];

		if (optopt == ROW_BASE + (int)i || (row->letter && optopt == row->letter))
			return options_misused(
				p->call, "--%s needs a value: %s", row->is.name, row->argument);
	}
	return options_misused(p->call, "an option needs a value");
}

void options_note_json(const struct call *c)
{
	bool is_value = true; /* this word may be the value of the one before it */

	for (size_t i = 1; c->json && i < c->n; i++) {
		const char *word = c->words[i];

		if (strcmp(word, "--") == 0 || (word[0] != '-' && c->verb->is_prefix && !is_value))
			return;
		is_value = word[0] == '-';
		*c->json = *c->json || strcmp(word, "--json") == 0;
	}
}

/* The table in the shape that getopt_long() wants. */
static void options_prepare(struct parser *p)
{
	char *shorts = p->shorts;

	if (p->call->verb->is_prefix)
		*shorts++ = '+';
	*shorts++ = ':';
	*shorts++ = 'h';
	for (size_t i = 0; i < p->n; i++) {
		const struct options_row *row = &p->rows[i];

		p->longs[i] = (struct option){ row->is.name,
			row->argument ? required_argument : no_argument, NULL, ROW_BASE + (int)i };
		if (row->letter)
			*shorts++ = row->letter;
		if (row->letter && row->argument)
			*shorts++ = ':';
	}
	p->longs[p->n] = (struct option){ "help", no_argument, NULL, 'h' };
}

static int options_take(struct parser *p, int found)
{
	size_t i = 0;

	while (found != ROW_BASE + (int)i && found != p->rows[i].letter)
		i++;
	if (p->seen[i] && !p->rows[i].is.many)
		return options_misused(
			p->call, "--%s was given more than once", p->rows[i].is.name);
	p->seen[i] = true;
	p->call->given |= UINT64_C(1) << i;
	if (p->call->json && strcmp(p->rows[i].is.name, "json") == 0)
		*p->call->json = true;
	return (p->rows[i].take ? p->rows[i].take : options_store)(p->call, &p->rows[i], optarg);
}

int options_parse(struct call *c, const struct options_row *rows, size_t n)
{
	struct parser p = { .call = c, .rows = rows, .n = n };
	const char *last = NULL; /* the value of the last option */
	int found, r = 0;

	if (n > ROWS_MAX)
		return error_set(c->error, -E2BIG, NULL, "%s has too many options", c->name);
	if (c->completes) {
		r = complete_options(c, rows, n);
		return r < 0 ? r : 1;
	}
	options_prepare(&p);
	c->given = 0;
	opterr = 0;
	optind = 0; /* start over: also what getopt keeps between calls */
	while (r == 0 &&
		(found = getopt_long((int)c->n, c->words, p.shorts, p.longs, NULL)) != -1) {
		if (found == 'h') {
			r = verb_print_help(c, rows, n);
			return r < 0 ? r : 1;
		}
		r = found == ':'   ? missing_value(&p)
		    : found == '?' ? bad_option(&p, c->words[optind - 1])
				   : options_take(&p, found);
		last = optarg;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (rows[i].is.required && !p.seen[i])
			r = options_misused(c, "required option missing: --%s %s", rows[i].is.name,
				rows[i].argument);
	}
	if (r < 0) {
		options_note_json(c);
		return r;
	}
	c->is_behind_dashes = optind > 1 && strcmp(c->words[optind - 1], "--") == 0 &&
			      last != c->words[optind - 1];
	/* Leaves the operands, which getopt_long() has moved to the end. */
	c->words += optind;
	c->n -= (size_t)optind;
	if (c->n > c->verb->max)
		return options_misused(c, "unexpected argument: `%s`", c->words[c->verb->max]);
	if (c->n < c->verb->min)
		return options_misused(c, "missing argument: %s", c->verb->operand);
	return 0;
}
