/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simple command: assignments, words, and redirections anywhere among them. Its place in the
 * result is taken before its first word is read, so that it precedes what its substitutions hold.
 */
#include "advice/shell/internal.h"
#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct builder {
	struct shell_command command;
	size_t cap_words, cap_assignments, cap_redirects;
	size_t index;
};

static int shell_simple_begin(struct shell_parser *p, struct builder *b)
{
	int r;

	*b = (struct builder){ 0 };
	r = shell_add_command(p, shell_offset(p, p->in.at), &b->index);
	if (r < 0)
		return r;
	b->command = p->commands[b->index];
	memcpy(b->command.before, p->before, strlen(p->before) + 1);
	return 0;
}

static int shell_simple_finish(struct shell_parser *p, const struct builder *b)
{
	p->commands[b->index] = b->command;
	return shell_wrap(p, b->index);
}

static const struct redirection {
	const char *op;
	bool is_write;
} redirections[] = {
	/* Longer ones first. */
	{ "<<<", false },
	{ "<<-", false },
	{ "&>>", true },
	{ "<<", false },
	{ "<&", false },
	{ "<>", true },
	{ ">>", true },
	{ ">&", true },
	{ ">|", true },
	{ "&>", true },
	{ "<", false },
	{ ">", true },
};

/* The length of what may stand right before a redirection: digits, or a {name}. */
static size_t descriptor_length(const struct shell_parser *p)
{
	size_t n = 0;

	if (shell_peek(p, 0) != '{') {
		while (isdigit((unsigned char)shell_peek(p, n)))
			n++;
		return n;
	}
	for (n = 1; isalnum((unsigned char)shell_peek(p, n)) || shell_peek(p, n) == '_'; n++)
		;
	return n > 1 && shell_peek(p, n) == '}' ? n + 1 : 0;
}

static const struct redirection *redirection_at(const struct shell_parser *p, size_t k)
{
	const size_t left = p->in.len - p->in.at - k;
	const char *s = p->in.text + p->in.at + k;

	for (size_t i = 0; i < ROWS(redirections); i++) {
		const struct redirection *r = &redirections[i];
		const size_t n = strlen(r->op);

		if (n > left || memcmp(s, r->op, n) != 0)
			continue;
		/* <( and >( start a word; "1&>x" is the word 1 before &>. */
		if ((n == 1 && n < left && s[n] == '(') || (k > 0 && *s == '&'))
			return NULL;
		return r;
	}
	return NULL;
}

/* >&2 and >&- only rearrange descriptors; with anything else a file may be meant. */
static bool is_duplicate(const struct shell_redirect *r)
{
	const char *s = r->target.text;

	return strcmp(r->op, ">&") == 0 && !r->target.dynamic &&
	       (strcmp(s, "-") == 0 || (*s && s[strspn(s, "0123456789")] == '\0'));
}

static int push_redirect(
	struct shell_parser *p, struct builder *b, struct shell_redirect *r, bool quoted)
{
	int k = 0;

	if (strcmp(r->op, "<<") == 0 || strcmp(r->op, "<<-") == 0) {
		r->target.dynamic = false;
		k = shell_heredoc_add(p, r->target.text, quoted, r->op[2] == '-');
	}
	if (is_duplicate(r))
		r->is_write = false;
	if (k == 0)
		k = ARENA_PUSH(p->arena, b->command.redirects, b->command.n_redirects,
			b->cap_redirects, *r);
	return k;
}

/* 1 if a redirection was read, 0 if there is none at the cursor. */
static int redirect(struct shell_parser *p, struct builder *b)
{
	const size_t n = descriptor_length(p);
	const struct redirection *how = redirection_at(p, n);
	struct shell_redirect r;
	bool quoted = false;
	int k;

	if (!how)
		return 0;
	r = (struct shell_redirect){ .op = how->op, .is_write = how->is_write };
	r.fd = arena_strndup(p->arena, p->in.text + p->in.at, n);
	if (!r.fd)
		return -ENOMEM;
	p->in.at += n + strlen(how->op);
	shell_lex_blanks(p);
	k = shell_lex_word(p, &r.target, &quoted);
	if (k == 0)
		return shell_error(p, p->in.at, "a file name is missing behind %s", how->op);
	if (k == 1)
		k = push_redirect(p, b, &r, quoted);
	return k < 0 ? k : 1;
}

/* 1 if a word was read, 0 if there is none at the cursor. */
static int shell_simple_word(struct shell_parser *p, struct builder *b)
{
	const bool assigns = b->command.n_words == 0 && shell_lex_assignment(p) > 0;
	struct shell_command *c = &b->command;
	struct shell_word w;
	int r = shell_lex_word(p, &w, NULL);

	if (r <= 0)
		return r;
	if (assigns)
		r = ARENA_PUSH(p->arena, c->assignments, c->n_assignments, b->cap_assignments, w);
	else
		r = ARENA_PUSH(p->arena, c->words, c->n_words, b->cap_words, w);
	return r < 0 ? r : 1;
}

int shell_simple(struct shell_parser *p)
{
	const size_t start = p->in.at;
	struct builder b;
	int r = shell_simple_begin(p, &b);

	while (r >= 0) {
		shell_lex_blanks(p);
		r = redirect(p, &b);
		if (r == 0)
			r = shell_simple_word(p, &b);
		if (r == 0)
			break;
	}
	if (r < 0)
		return r;
	return p->in.at == start ? shell_unexpected(p) : shell_simple_finish(p, &b);
}

int shell_simple_redirects(struct shell_parser *p)
{
	struct builder b;
	int r;

	shell_lex_blanks(p);
	if (!redirection_at(p, descriptor_length(p)))
		return 0;
	p->before = "";
	r = shell_simple_begin(p, &b);
	while (r >= 0) {
		shell_lex_blanks(p);
		r = redirect(p, &b);
		if (r == 0)
			return shell_simple_finish(p, &b);
	}
	return r;
}
