/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simple command: assignments, words, and redirections anywhere among them. Its place in the
 * result is taken before its first word is read, so that it precedes what its substitutions hold.
 *
 * Some commands start others. `sudo rm x` is both: the command sudo, and the command rm one level
 * deeper. To find the inner one the options of the outer one must be skipped, so there is a table
 * of them. It needs not be complete: a wrapper that is not in it is shown as the program that it
 * is. Only what is static is looked into; a string that depends on an expansion is not guessed.
 */
#include "advice/shell/internal.h"
#include "base/array.h"
#include "base/words.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Adds an empty command and gives its index: the array may move. */
static int command_add(struct shell_parser *p, size_t offset, size_t *ret)
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

/* Commands that start other commands */

enum command_kind {
	RUNS_WORDS,  /* the words behind options and operands are a command */
	RUNS_JOINED, /* the same, joined by spaces, are shell */
	RUNS_STRING, /* the first operand is shell */
	RUNS_OPTION, /* the argument of -c is shell */
	RUNS_SCRIPT, /* a shell: with -c the first operand is shell */
	RUNS_FIND,   /* find: words behind -exec */
};

struct wrapper {
	char name[12];
	enum command_kind kind;
	char with_arg[16]; /* short options that take an argument, by their letters */
	char long_arg[96]; /* long ones that take the next word, each with a space behind */
	char quits[12];    /* short options with which nothing is started */
	unsigned operands; /* before the command: timeout's duration … */
	bool assigns;      /* NAME=value may precede the command */
};

static const struct wrapper wrappers[] = {
	{ "ash", RUNS_SCRIPT, "oO", "", "", 0, false },
	{ "bash", RUNS_SCRIPT, "oO", "--rcfile --init-file ", "", 0, false },
	{ "builtin", RUNS_WORDS, "", "", "", 0, false },
	{ "busybox", RUNS_WORDS, "", "", "", 0, false },
	{ "chroot", RUNS_WORDS, "", "", "", 1, false },
	{ "command", RUNS_WORDS, "", "", "vV", 0, false },
	{ "dash", RUNS_SCRIPT, "oO", "", "", 0, false },
	{ "doas", RUNS_WORDS, "uCa", "", "L", 0, false },
	{ "env", RUNS_WORDS, "uCS", "--unset --chdir --split-string ", "", 0, true },
	{ "eval", RUNS_JOINED, "", "", "", 0, false },
	{ "exec", RUNS_WORDS, "a", "", "", 0, false },
	{ "find", RUNS_FIND, "", "", "", 0, false },
	{ "ionice", RUNS_WORDS, "cn", "--class --classdata ", "pPu", 0, false },
	{ "ksh", RUNS_SCRIPT, "oO", "", "", 0, false },
	{ "ltrace", RUNS_WORDS, "aAeilnopsuxF", "", "", 0, false },
	{ "nice", RUNS_WORDS, "n", "--adjustment ", "", 0, false },
	{ "nohup", RUNS_WORDS, "", "", "", 0, false },
	{ "runuser", RUNS_OPTION, "cgGsuw", "--command --group --shell --user ", "", 0, false },
	{ "script", RUNS_OPTION, "cBEIoOmT", "--command ", "", 0, false },
	{ "setsid", RUNS_WORDS, "", "", "", 0, false },
	{ "sh", RUNS_SCRIPT, "oO", "", "", 0, false },
	{ "stdbuf", RUNS_WORDS, "ioe", "--input --output --error ", "", 0, false },
	{ "strace", RUNS_WORDS, "abeEIopPsSuUX", "", "", 0, false },
	{ "su", RUNS_OPTION, "cgGsw", "--command --group --shell ", "", 0, false },
	{ "sudo", RUNS_WORDS, "CDghpRrTtUu",
		"--chdir --chroot --close-from --group --host --prompt --user ", "ekKlvV", 0,
		true },
	{ "taskset", RUNS_WORDS, "", "", "p", 1, false },
	{ "time", RUNS_WORDS, "fo", "--format --output ", "", 0, false },
	{ "timeout", RUNS_WORDS, "ks", "--kill-after --signal ", "", 1, false },
	{ "trap", RUNS_STRING, "", "", "lp", 0, false },
	{ "watch", RUNS_JOINED, "nqs", "--interval --equexit ", "", 0, false },
	{ "xargs", RUNS_WORDS, "adEILnPs",
		"--arg-file --delimiter --max-args --max-chars --max-lines --max-procs --replace ",
		"", 0, false },
	{ "zsh", RUNS_SCRIPT, "oO", "", "", 0, false },
};

/* What bash or dash do themselves; `time` is a keyword of bash. */
static const char *const builtins[] = { ".", ":", "[", "alias", "bg", "bind", "break", "builtin",
	"caller", "cd", "command", "compgen", "complete", "compopt", "continue", "declare", "dirs",
	"disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg",
	"getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile",
	"popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift",
	"shopt", "source", "suspend", "test", "time", "times", "trap", "true", "type", "typeset",
	"ulimit", "umask", "unalias", "unset", "wait", NULL };

/* A command whose words are being gone through. Copied: the array of commands moves. */
struct command_walk {
	struct shell_parser *p;
	const struct wrapper *how;
	struct shell_command c;
	size_t i;      /* the next word */
	bool quits;    /* an option says that nothing is started, or cannot be known */
	bool script;   /* -c was seen */
	size_t string; /* the word that is the argument of -c; 0: none */
};

static const char *text_at(const struct command_walk *w, size_t i)
{
	return i < w->c.n_words ? w->c.words[i].text : NULL;
}

/* A cluster like -lc. The first letter that takes an argument ends it. */
static void skip_short(struct command_walk *w, const char *letters)
{
	w->i++;
	for (; *letters; letters++) {
		w->script |= *letters == 'c';
		w->quits |= strchr(w->how->quits, *letters) || strchr("$`", *letters);
		if (!strchr(w->how->with_arg, *letters))
			continue;
		if (w->how->kind == RUNS_SCRIPT) {
			/* Shells go on with the cluster: bash -oc errexit 'x'. */
			w->i++;
			continue;
		}
		if (*letters == 'c' && !letters[1])
			w->string = w->i;
		if (!letters[1])
			w->i++;
		return;
	}
}

static void skip_options(struct command_walk *w)
{
	while (w->i < w->c.n_words) {
		const char *s = text_at(w, w->i), *all = w->how->long_arg, *row;

		if (!(s[0] == '-' || (s[0] == '+' && w->how->kind == RUNS_SCRIPT)) || !s[1])
			return;
		if (s[0] == '+' || s[1] != '-') {
			skip_short(w, s + 1);
			continue;
		}
		w->i++;
		if (!s[2])
			return;
		row = strstr(all, s);
		if (!row || row[strlen(s)] != ' ' || (row != all && row[-1] != ' '))
			continue;
		if (strcmp(s, "--command") == 0)
			w->string = w->i;
		w->i++;
	}
}

/* The text of a word is shell; where it stands in the source, quotes aside, is found out. */
static int run_text(struct command_walk *w, const struct shell_word *word)
{
	const char *source = w->p->source + word->offset;
	const size_t left = w->p->source_len - word->offset;
	struct shell_input in = { .text = word->text, .len = strlen(word->text) };

	in.base = word->offset;
	for (size_t quote = 0; quote < 2 && !in.exact; quote++) {
		if (quote && left > 0 && !strchr("'\"", *source))
			break;
		if (left >= in.len + quote && memcmp(source + quote, in.text, in.len) == 0) {
			in.base = word->offset + quote;
			in.exact = true;
		}
	}
	return shell_find_text(w->p, &in);
}

/* Word i, if there is one and it is known, is shell. */
static int run_string(struct command_walk *w, size_t i)
{
	if (i >= w->c.n_words || w->c.words[i].dynamic)
		return 0;
	return run_text(w, &w->c.words[i]);
}

static int shell_wrap(struct shell_parser *p, size_t i);

/* Words [from, to) are a command in their own right; assignments may precede its name. */
static int run_words(struct command_walk *w, size_t from, size_t to, size_t n_assignments)
{
	struct shell_command *c;
	size_t index = 0;
	int r;

	if (from >= to)
		return 0;
	r = shell_enter(w->p);
	if (r == 0)
		r = command_add(w->p, w->c.words[from].offset, &index);
	if (r < 0)
		return r;
	c = &w->p->commands[index];
	c->words = w->c.words + from;
	c->n_words = to - from;
	c->assignments = w->c.words + from - n_assignments;
	c->n_assignments = n_assignments;
	c->depth = w->c.depth + 1;
	memcpy(c->before, w->c.before, sizeof(c->before));
	r = shell_wrap(w->p, index);
	shell_leave(w->p);
	return r;
}

static int run_joined(struct command_walk *w)
{
	struct shell_word joined = { .offset = 0 };
	auto_buffer text = { 0 };

	for (size_t i = w->i; i < w->c.n_words; i++) {
		if (w->c.words[i].dynamic)
			return 0;
		buffer_printf(&text, "%s%s", i > w->i ? " " : "", w->c.words[i].text);
	}
	if (w->i >= w->c.n_words)
		return 0;
	joined.offset = w->c.words[w->i].offset;
	joined.text = text.failed ? NULL : arena_strdup(w->p->arena, buffer_text(&text));
	return joined.text ? run_text(w, &joined) : -ENOMEM;
}

/* find … -exec CMD … ; -execdir CMD … + */
static int run_find(struct command_walk *w)
{
	for (size_t from = 1; from < w->c.n_words; from++) {
		static const char *const actions[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
		size_t to;
		int r;

		if (!words_has(actions, w->c.words[from].text))
			continue;
		for (to = from + 1; to < w->c.n_words; to++) {
			const char *s = text_at(w, to);

			if (strcmp(s, ";") == 0 || strcmp(s, "+") == 0)
				break;
		}
		r = run_words(w, from + 1, to, 0);
		if (r < 0)
			return r;
		from = to;
	}
	return 0;
}

static int shell_wrap_run(struct command_walk *w)
{
	size_t n = 0;

	switch (w->how->kind) {
	case RUNS_WORDS:
		w->i += w->how->operands;
		for (; w->how->assigns && text_at(w, w->i) && strchr(text_at(w, w->i), '='); w->i++)
			n++;
		return run_words(w, w->i, w->c.n_words, n);
	case RUNS_JOINED:
		return run_joined(w);
	case RUNS_STRING:
		/* trap's "-" restores what a signal does. */
		return w->i + 1 < w->c.n_words && strcmp(text_at(w, w->i), "-") != 0
			       ? run_string(w, w->i)
			       : 0;
	case RUNS_SCRIPT:
		return w->script ? run_string(w, w->i) : 0;
	case RUNS_OPTION:
		while (!w->string && w->i < w->c.n_words) {
			w->i++;
			skip_options(w);
		}
		return w->string ? run_string(w, w->string) : 0;
	case RUNS_FIND:
		return run_find(w);
	}
	return 0;
}

/* Reports what command number i starts in its turn. */
static int shell_wrap(struct shell_parser *p, size_t i)
{
	struct command_walk w = { .p = p, .c = p->commands[i], .i = 1 };
	const struct shell_word *name = w.c.n_words ? &w.c.words[0] : NULL;
	const char *slash = name ? strrchr(name->text, '/') : NULL;
	const unsigned depth = p->depth;
	int r;

	p->commands[i].is_builtin = !name;
	if (!name || name->dynamic)
		return 0;
	p->commands[i].is_builtin = words_has(builtins, name->text);
	for (size_t k = 0; !w.how && k < ROWS(wrappers); k++) {
		if (strcmp(wrappers[k].name, slash ? slash + 1 : name->text) == 0)
			w.how = &wrappers[k];
	}
	if (!w.how)
		return 0;
	if (w.how->kind != RUNS_FIND)
		skip_options(&w);
	if (w.quits)
		return 0;
	/* What runs inside is counted from the wrapper, which may itself run inside another. */
	p->depth = w.c.depth;
	r = shell_wrap_run(&w);
	p->depth = depth;
	return r;
}

/* Simple commands */

struct command_builder {
	struct shell_command command;
	size_t cap_words, cap_assignments, cap_redirects;
	size_t index;
};

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

static int push_redirect(
	struct shell_parser *p, struct command_builder *b, struct shell_redirect *r, bool quoted)
{
	struct shell_pending *list = &p->pending;
	const char *s = r->target.text;
	int k = 0;

	if (strcmp(r->op, "<<") == 0 || strcmp(r->op, "<<-") == 0) {
		const struct shell_heredoc h = { s, quoted, r->op[2] == '-' };

		r->target.dynamic = false;
		k = ARENA_PUSH(p->arena, list->items, list->n, list->cap, h);
	}
	/* >&2 and >&- only rearrange descriptors; with anything else a file may be meant. */
	if (strcmp(r->op, ">&") == 0 && !r->target.dynamic &&
		(strcmp(s, "-") == 0 || (*s && s[strspn(s, "0123456789")] == '\0')))
		r->is_write = false;
	return k < 0 ? k
		     : ARENA_PUSH(p->arena, b->command.redirects, b->command.n_redirects,
			       b->cap_redirects, *r);
}

/* 1 if a redirection was read, 0 if there is none at the cursor. */
static int redirect(struct shell_parser *p, struct command_builder *b)
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
static int shell_simple_word(struct shell_parser *p, struct command_builder *b)
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

/* Words and redirections, or only the latter, up to something else. */
static int shell_simple_read(struct shell_parser *p, bool with_words)
{
	const size_t start = p->in.at;
	struct command_builder b = { 0 };
	int r = command_add(p, shell_offset(p, start), &b.index);

	if (r < 0)
		return r;
	b.command = p->commands[b.index];
	memcpy(b.command.before, p->before, strlen(p->before) + 1);
	do {
		shell_lex_blanks(p);
		r = redirect(p, &b);
		if (r == 0 && with_words)
			r = shell_simple_word(p, &b);
	} while (r > 0);
	if (r < 0)
		return r;
	if (p->in.at == start)
		return shell_unexpected(p);
	p->commands[b.index] = b.command;
	return shell_wrap(p, b.index);
}

int shell_simple(struct shell_parser *p)
{
	return shell_simple_read(p, true);
}

int shell_simple_redirects(struct shell_parser *p)
{
	shell_lex_blanks(p);
	if (!redirection_at(p, descriptor_length(p)))
		return 0;
	p->before = "";
	return shell_simple_read(p, false);
}
