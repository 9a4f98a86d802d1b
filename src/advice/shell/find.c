/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar above simple commands. A list ends wherever something closes: at ')', ";;" or a word
 * like "fi". It leaves that to its caller, who knows which one it wants; so nobody needs to be told
 * what ends him.
 */
#include "advice/shell/internal.h"
#include "base/array.h"

#include <errno.h>
#include <string.h>

static int command(struct shell_parser *p);

/* True where a list cannot go on. */
static bool at_closing(const struct shell_parser *p)
{
	static const char *const words[] = { "then", "elif", "else", "fi", "do", "done", "esac",
		"}" };

	if (shell_at_end(p) || shell_peek(p, 0) == ')' || shell_peek(p, 0) == p->close)
		return true;
	if (shell_peek(p, 0) == ';')
		return shell_peek(p, 1) == ';' || shell_peek(p, 1) == '&';
	for (size_t i = 0; i < ROWS(words); i++) {
		if (shell_lex_at_keyword(p, words[i]))
			return true;
	}
	return false;
}

int shell_find_list(struct shell_parser *p)
{
	bool more = false; /* a command must follow */
	const char *op;
	int r, n = 0;

	for (;;) {
		r = shell_lex_newlines(p);
		if (r < 0)
			return r;
		if (at_closing(p))
			return more ? shell_unexpected(p) : n;
		r = command(p);
		if (r < 0)
			return r;
		n = 1;
		shell_lex_blanks(p);
		op = shell_lex_operator(p);
		if (at_closing(p))
			return n;
		if (!op || strchr("(<>", *op))
			return shell_unexpected(p);
		more = *op == '|' || op[1] == '&';
		p->before = *op == '\n' ? ";" : op;
		/* A newline is left to whoever reads here-documents. */
		p->in.at += *op == '\n' ? 0 : strlen(op);
	}
}

/* What a nested list must not disturb. The cursor is not part of it. */
struct context {
	struct shell_pending pending;
	const char *before;
	char close;
};

static int shell_find_enter(struct shell_parser *p, struct context *outer, char close)
{
	*outer = (struct context){ p->pending, p->before, p->close };
	p->pending = (struct shell_pending){ 0 };
	p->before = "";
	p->close = close;
	p->depth++;
	return shell_enter(p);
}

static void shell_find_leave(struct shell_parser *p, const struct context *outer)
{
	p->pending = outer->pending;
	p->before = outer->before;
	p->close = outer->close;
	p->depth--;
	shell_leave(p);
}

int shell_find_substitution(struct shell_parser *p, size_t open, char close)
{
	struct context outer;
	int r = shell_find_enter(p, &outer, close);

	if (r == 0)
		r = shell_find_list(p);
	if (r < 0)
		return r;
	if (shell_at_end(p))
		return shell_unclosed(p, open, close == ')' ? "'('" : "'${'");
	if (shell_peek(p, 0) != close)
		return shell_unexpected(p);
	if (p->pending.n)
		return shell_error(p, p->in.at, "a here-document ends here before it has begun");
	p->in.at++;
	shell_find_leave(p, &outer);
	return 0;
}

int shell_find_text(struct shell_parser *p, const struct shell_input *in)
{
	const struct shell_input back = p->in;
	struct context outer;
	int r;

	p->in = *in;
	r = shell_find_enter(p, &outer, '\0');
	if (r == 0)
		r = shell_find_list(p);
	if (r >= 0 && !shell_at_end(p))
		r = shell_unexpected(p);
	if (r < 0)
		return r;
	p->in = back;
	shell_find_leave(p, &outer);
	return 0;
}

/* True if this keyword stood at the cursor, which is then behind it. */
static bool take_keyword(struct shell_parser *p, const char *word)
{
	bool taken = shell_lex_at_keyword(p, word);

	p->in.at += taken ? strlen(word) : 0;
	return taken;
}

/* Takes a keyword that must come next; `open` is where the command started that needs it. */
static int expect(struct shell_parser *p, const char *word, size_t open)
{
	int r = shell_lex_newlines(p);

	if (r < 0)
		return r;
	if (shell_at_end(p))
		return shell_error(p, open, "this command is never closed: '%s' is missing", word);
	return take_keyword(p, word) ? 0 : shell_unexpected(p);
}

/* A list that may not be empty, and the keyword behind it. */
static int body(struct shell_parser *p, const char *close, size_t open)
{
	int r = shell_find_list(p);

	if (r == 0 && !shell_at_end(p))
		return shell_unexpected(p);
	return r < 0 ? r : expect(p, close, open);
}

static int word_needed(struct shell_parser *p, const char *what)
{
	struct shell_word ignored;
	int r;

	shell_lex_blanks(p);
	r = shell_lex_word(p, &ignored, NULL);
	return r == 0 ? shell_error(p, p->in.at, "%s is missing", what) : r < 0 ? r : 0;
}

static int brace(struct shell_parser *p, size_t open)
{
	return body(p, "}", open);
}

static int conditional(struct shell_parser *p, size_t open)
{
	int r;

	do {
		r = body(p, "then", open);
		if (r == 0)
			r = shell_find_list(p);
		if (r < 0)
			return r;
		if (r == 0 && !shell_at_end(p))
			return shell_unexpected(p);
	} while (take_keyword(p, "elif"));
	return take_keyword(p, "else") ? body(p, "fi", open) : expect(p, "fi", open);
}

static int loop(struct shell_parser *p, size_t open)
{
	int r = body(p, "do", open);

	return r < 0 ? r : body(p, "done", open);
}

/* ((…)), as a command or behind `for`. */
static int arithmetic(struct shell_parser *p)
{
	size_t start = p->in.at + 2, end = shell_expand_arithmetic_end(p, start);

	if (!end)
		return shell_unclosed(p, p->in.at, "'(('");
	return shell_expand_range(p, start, end, end + 2);
}

/* The words a loop goes through, up to ';' or a newline. */
static int words_of_for(struct shell_parser *p)
{
	struct shell_word ignored;
	int r = shell_lex_newlines(p);

	if (r < 0)
		return r;
	if (take_keyword(p, "in")) {
		do {
			shell_lex_blanks(p);
			r = shell_lex_word(p, &ignored, NULL);
		} while (r == 1);
	}
	shell_lex_blanks(p);
	if (r == 0 && shell_peek(p, 0) == ';' && !at_closing(p))
		p->in.at++;
	return r;
}

static int loop_for(struct shell_parser *p, size_t open)
{
	int r;

	shell_lex_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(')
		r = arithmetic(p);
	else
		r = word_needed(p, "the loop's variable");
	if (r == 0)
		r = words_of_for(p);
	if (r == 0)
		r = shell_lex_newlines(p);
	if (r < 0)
		return r;
	if (take_keyword(p, "{"))
		return body(p, "}", open);
	r = expect(p, "do", open);
	return r < 0 ? r : body(p, "done", open);
}

/* The patterns of one branch: [(] a | b ) */
static int patterns(struct shell_parser *p)
{
	int r;

	p->in.at += shell_peek(p, 0) == '(';
	do {
		r = word_needed(p, "a pattern");
		shell_lex_blanks(p);
	} while (r == 0 && shell_peek(p, 0) == '|' && ++p->in.at);
	if (r < 0)
		return r;
	if (shell_peek(p, 0) != ')')
		return shell_unexpected(p);
	p->in.at++;
	return 0;
}

static int choice(struct shell_parser *p, size_t open)
{
	const char *op;
	int r = word_needed(p, "the word to choose by");

	if (r == 0)
		r = expect(p, "in", open);
	while (r >= 0) {
		r = shell_lex_newlines(p);
		if (r < 0)
			break;
		if (shell_at_end(p) || shell_lex_at_keyword(p, "esac"))
			return expect(p, "esac", open);
		r = patterns(p);
		if (r == 0)
			r = shell_find_list(p);
		op = r < 0 ? NULL : shell_lex_operator(p);
		if (r >= 0 && (!op || *op != ';'))
			return expect(p, "esac", open);
		p->in.at += op ? strlen(op) : 0;
		p->before = ";";
	}
	return r;
}

/* [[ … ]]: no commands of its own; operators and parentheses in it are skipped. */
static int test(struct shell_parser *p, size_t open)
{
	struct shell_word ignored;
	int r;

	for (;;) {
		r = shell_lex_newlines(p);
		if (r < 0)
			return r;
		if (shell_at_end(p))
			return shell_unclosed(p, open, "'[['");
		if (take_keyword(p, "]]"))
			return 0;
		r = shell_lex_word(p, &ignored, NULL);
		if (r == 0 && shell_peek(p, 0) == ';')
			return shell_unexpected(p);
		if (r < 0)
			return r;
		p->in.at += r == 0;
	}
}

/* Behind a function's name: [()] and any command. */
static int function_body(struct shell_parser *p)
{
	int r;

	shell_lex_blanks(p);
	if (shell_peek(p, 0) == '(') {
		p->in.at++;
		shell_lex_blanks(p);
		if (shell_peek(p, 0) == ')')
			p->in.at++;
		else
			return shell_unexpected(p);
	}
	r = shell_lex_newlines(p);
	return r < 0 ? r : command(p);
}

static int function(struct shell_parser *p, size_t open)
{
	int r = word_needed(p, "the function's name");

	(void)open;
	return r < 0 ? r : function_body(p);
}

static int negation(struct shell_parser *p, size_t open)
{
	(void)open;
	shell_lex_blanks(p);
	return command(p);
}

static int coprocess(struct shell_parser *p, size_t open);
static int timing(struct shell_parser *p, size_t open);

static const struct keyword {
	const char *word;
	int (*read)(struct shell_parser *p, size_t open); /* the cursor is behind the word */
} keywords[] = {
	{ "{", brace },
	{ "if", conditional },
	{ "while", loop },
	{ "until", loop },
	{ "for", loop_for },
	{ "select", loop_for },
	{ "case", choice },
	{ "[[", test },
	{ "function", function },
	{ "!", negation },
	{ "coproc", coprocess },
	{ "time", timing },
};

static const struct keyword *keyword_at(const struct shell_parser *p)
{
	for (size_t i = 0; i < ROWS(keywords); i++) {
		if (shell_lex_at_keyword(p, keywords[i].word))
			return &keywords[i];
	}
	return NULL;
}

static bool at_compound(const struct shell_parser *p)
{
	return shell_peek(p, 0) == '(' || keyword_at(p);
}

/* Skips a plain word if a compound command follows it. */
static void skip_word_before_compound(struct shell_parser *p)
{
	const size_t start = p->in.at;

	while (!shell_lex_is_meta(shell_peek(p, 0)))
		p->in.at++;
	shell_lex_blanks(p);
	if (!at_compound(p))
		p->in.at = start;
}

/* coproc [NAME] COMPOUND, or coproc SIMPLE. */
static int coprocess(struct shell_parser *p, size_t open)
{
	(void)open;
	shell_lex_blanks(p);
	if (!at_compound(p))
		skip_word_before_compound(p);
	return command(p);
}

/*
 * Bash's own `time` takes any pipeline. Before a simple command it is read as that command's first
 * word: so it is for sh, which has no such keyword.
 */
static int timing(struct shell_parser *p, size_t open)
{
	shell_lex_blanks(p);
	if (shell_lex_at_keyword(p, "-p"))
		skip_word_before_compound(p);
	if (at_compound(p))
		return command(p);
	p->in.at = open;
	return shell_simple(p);
}

/* True at `name ()`. */
static bool at_function(const struct shell_parser *p)
{
	size_t n = 0;

	while (!shell_lex_is_meta(shell_peek(p, n)) && !strchr("'\"\\$`=", shell_peek(p, n)))
		n++;
	if (n == 0)
		return false;
	while (shell_peek(p, n) == ' ' || shell_peek(p, n) == '\t')
		n++;
	if (shell_peek(p, n++) != '(')
		return false;
	while (shell_peek(p, n) == ' ' || shell_peek(p, n) == '\t')
		n++;
	return shell_peek(p, n) == ')';
}

static int compound(struct shell_parser *p, const struct keyword *k)
{
	const size_t open = p->in.at;
	int r;

	if (k) {
		p->in.at += strlen(k->word);
		return k->read(p, open);
	}
	if (shell_peek(p, 1) == '(' && shell_expand_arithmetic_end(p, open + 2))
		return arithmetic(p);
	p->in.at++;
	p->depth++;
	r = shell_find_list(p);
	if (r < 0)
		return r;
	if (shell_at_end(p))
		return shell_unclosed(p, open, "'('");
	if (r == 0 || shell_peek(p, 0) != ')')
		return shell_unexpected(p);
	p->in.at++;
	p->depth--;
	return 0;
}

static int command(struct shell_parser *p)
{
	const struct keyword *k = keyword_at(p);
	int r = shell_enter(p);

	if (r < 0)
		return r;
	if (k || shell_peek(p, 0) == '(') {
		r = compound(p, k);
	} else if (at_function(p)) {
		while (!shell_lex_is_meta(shell_peek(p, 0)))
			p->in.at++;
		r = function_body(p);
	} else {
		r = shell_simple(p);
	}
	if (r == 0)
		r = shell_simple_redirects(p);
	shell_leave(p);
	return r;
}
