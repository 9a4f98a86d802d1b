/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How the parts of the shell reader work together. For shell*.c only.
 *
 *   shell.c     the entry: bounds, order of the result, errors; blanks, operators, words
 *   word.c      '…' "…" $'…' and backslashes, $x ${…} $(…) $((…)) `…`, here-documents
 *   find.c      the grammar: lists and compound commands
 *   command.c   one simple command, and those that it starts in its turn
 *
 * A shell has no tokens that could be cut out first: whether a ')' ends a substitution is known
 * only by the grammar. So reading is one pass by recursive descent over one cursor. A word that
 * holds $(…) calls the grammar, which reads commands from the same cursor and stops behind the ')'.
 *
 * Functions return 0 or more on success and leave the cursor behind what they read; on failure they
 * return a negative errno with the error set, and the parser must not be used further.
 *
 * Recursion is counted in `nesting` by whoever recurses. No byte is read more than a fixed number
 * of times per level of nesting, so time is linear in the length of the text.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "advice/shell/shell.h"

/* What is being read: the text, a part of it, or text that was made from it by removing quotes. */
struct shell_input {
	const char *text;
	size_t len, at;
	size_t base; /* where text[0] stands in the outermost text */
	bool exact;  /* the two run in parallel from there; else everything is said to be at base */
};

struct shell_heredoc {
	const char *delimiter;
	bool quoted; /* the body is literal */
	bool tabs;   /* <<-: leading tabs do not count */
};

/* Here-documents whose bodies begin after the next newline. */
struct shell_pending {
	struct shell_heredoc *items;
	size_t n, cap;
};

struct shell_parser {
	struct arena *arena;
	struct error *error;
	const char *source; /* the outermost text */
	size_t source_len;

	struct shell_input in;
	struct shell_pending pending;
	const char *before; /* the operator before the next command */
	char close;         /* what ends the substitution that is being read; NUL: none */
	unsigned depth, nesting;

	struct shell_command *commands;
	size_t n_commands, cap_commands;
	struct buffer scratch; /* a stack of unfinished words: each ends where it began */
};

/* What is known about a word while it is read. */
struct shell_piece {
	bool dynamic;
	bool quoted;               /* any part of it */
	bool bracket, brace, list; /* an unquoted '[', '{', and ',' or ".." behind the latter */
};

/* The byte at the cursor plus k; NUL behind the end, which no text holds. */
static inline char shell_peek(const struct shell_parser *p, size_t k)
{
	return k < p->in.len - p->in.at ? p->in.text[p->in.at + k] : '\0';
}
static inline bool shell_at_end(const struct shell_parser *p)
{
	return p->in.at == p->in.len;
}

/* shell.c */
size_t shell_offset(const struct shell_parser *p, size_t at);
int shell_error(struct shell_parser *p, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "this … is never closed", at the place where it was opened. */
int shell_unclosed(struct shell_parser *p, size_t at, const char *what);
/* "unexpected …", at the cursor. */
int shell_unexpected(struct shell_parser *p);
int shell_enter(struct shell_parser *p);
static inline void shell_leave(struct shell_parser *p)
{
	p->nesting--;
}
bool shell_lex_is_meta(char c);
void shell_lex_blanks(struct shell_parser *p);  /* and comments; newlines stay */
int shell_lex_newlines(struct shell_parser *p); /* and blanks; reads pending here-documents */
/* True if this keyword stands at the cursor, unquoted and whole. */
bool shell_lex_at_keyword(const struct shell_parser *p, const char *word);
/* The operator at the cursor, or NULL. It is not consumed. */
const char *shell_lex_operator(const struct shell_parser *p);
/* The length of NAME= or NAME[…]+= at the cursor; 0 if there is none. */
size_t shell_lex_assignment(const struct shell_parser *p);
/* 1 with *ret (and *ret_quoted, which may be NULL), 0 if no word starts at the cursor. */
int shell_lex_word(struct shell_parser *p, struct shell_word *ret, bool *ret_quoted);
/* One character, quoted string or expansion, added to the scratch buffer. */
int shell_lex_piece(struct shell_parser *p, struct shell_piece *w);

/* word.c: the cursor is at the quote; its content goes to the scratch buffer. */
int shell_quote_single(struct shell_parser *p);
int shell_quote_double(struct shell_parser *p, struct shell_piece *w);
void shell_quote_backslash(struct shell_parser *p);
int shell_expand_dollar(struct shell_parser *p, struct shell_piece *w, bool quoted);
int shell_expand_backquote(struct shell_parser *p, bool quoted);
/* <(…) or >(…). */
int shell_expand_process(struct shell_parser *p);
/* Behind "((": where the "))" is that ends it, or 0 if that is no arithmetic but a subshell. */
size_t shell_expand_arithmetic_end(const struct shell_parser *p, size_t at);
/* The expansions in text[at, end), as in double quotes; goes on behind it, at `next`. */
int shell_expand_range(struct shell_parser *p, size_t at, size_t end, size_t next);
/* The cursor is behind a newline. */
int shell_heredoc_read(struct shell_parser *p);

/* find.c */
/* Commands up to the end or to something that closes: ')', ";;", "fi" … 1 if there were any. */
int shell_find_list(struct shell_parser *p);
/* Commands of a substitution up to the ')' or "}" behind the cursor; `open` is where it started. */
int shell_find_substitution(struct shell_parser *p, size_t open, char close);
/* Commands of another text, one level deeper. */
int shell_find_text(struct shell_parser *p, const struct shell_input *in);

/* command.c */
int shell_simple(struct shell_parser *p);
/* The redirections behind a compound command. */
int shell_simple_redirects(struct shell_parser *p);
