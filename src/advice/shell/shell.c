/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry, and what all parts of the reader share: places, errors, bounds. Commands are collected
 * as they are found, which is not always the order in which they are written (what `sudo` starts is
 * known only when all of its words were read), so they are put in order at the end.
 */
#include "advice/shell/shell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice/shell/internal.h"

size_t shell_offset(const struct shell_parser *p, size_t at)
{
	return p->in.exact ? p->in.base + at : p->in.base;
}

static struct location shell_locate(const struct shell_parser *p, size_t at)
{
	struct location loc = { NULL, 1, 1 };
	size_t offset = shell_offset(p, at);

	for (size_t i = 0; i < offset && i < p->source_len; i++) {
		loc.column++;
		if (p->source[i] == '\n') {
			loc.line++;
			loc.column = 1;
		}
	}
	return loc;
}

int shell_error(struct shell_parser *p, size_t at, const char *format, ...)
{
	struct location loc = shell_locate(p, at);
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(p->error, -EINVAL, &loc, "%s", text);
}

int shell_unclosed(struct shell_parser *p, size_t at, const char *what)
{
	return shell_error(p, at, "this %s is never closed", what);
}

int shell_unexpected(struct shell_parser *p)
{
	const char *op = shell_lex_operator(p);
	size_t n = 0;

	if (shell_at_end(p))
		return shell_error(p, p->in.at, "a command is missing at the end");
	if (op)
		return shell_error(p, p->in.at, "unexpected %s", *op == '\n' ? "newline" : op);
	while (!shell_lex_is_meta(shell_peek(p, n)) && n < 32)
		n++;
	return shell_error(p, p->in.at, "unexpected '%.*s'", (int)n, p->in.text + p->in.at);
}

int shell_enter(struct shell_parser *p)
{
	struct location loc;

	if (p->nesting < SHELL_DEPTH_MAX) {
		p->nesting++;
		return 0;
	}
	loc = shell_locate(p, p->in.at);
	return error_set(p->error, -E2BIG, &loc, "nested deeper than %d levels", SHELL_DEPTH_MAX);
}

int shell_add_command(struct shell_parser *p, size_t offset, size_t *ret)
{
	const struct shell_command c = { .offset = offset, .depth = p->depth };

	if (p->n_commands == SHELL_COMMANDS_MAX)
		return error_set(
			p->error, -E2BIG, NULL, "more than %d commands", SHELL_COMMANDS_MAX);
	if (ARENA_PUSH(p->arena, p->commands, p->n_commands, p->cap_commands, c) < 0)
		return -ENOMEM;
	*ret = p->n_commands - 1;
	return 0;
}

struct place {
	size_t offset, index;
};

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int sort_commands(struct shell_parser *p)
{
	struct place *places = arena_calloc(p->arena, p->n_commands, sizeof(*places));
	struct shell_command *sorted = arena_calloc(p->arena, p->n_commands, sizeof(*sorted));

	if (!places || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_commands; i++)
		places[i] = (struct place){ p->commands[i].offset, i };
	qsort(places, p->n_commands, sizeof(*places), compare_places);
	for (size_t i = 0; i < p->n_commands; i++)
		sorted[i] = p->commands[places[i].index];
	p->commands = sorted;
	return 0;
}

static int advice_shell_parse(struct shell_parser *p)
{
	int r = shell_find_list(p);

	if (r >= 0 && !shell_at_end(p))
		r = shell_unexpected(p);
	return r < 0 ? r : sort_commands(p);
}

int shell_parse(
	struct shell_script *ret, struct arena *a, const char *text, size_t len, struct error *e)
{
	struct shell_parser p = {
		.arena = a,
		.error = e,
		.source = text,
		.source_len = len,
		.in = { .text = text, .len = len, .exact = true },
		.before = "",
	};
	const char *nul = len ? memchr(text, '\0', len) : NULL;
	int r;

	if (len > SHELL_INPUT_MAX)
		return error_set(e, -E2BIG, NULL, "more than %d bytes of shell", SHELL_INPUT_MAX);
	if (nul)
		return shell_error(&p, (size_t)(nul - text), "a NUL byte cannot stand in shell");
	r = advice_shell_parse(&p);
	buffer_deinit(&p.scratch);
	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r < 0)
		return r;
	*ret = (struct shell_script){ p.commands, p.n_commands };
	return 0;
}
