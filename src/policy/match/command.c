/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern is read in two steps: first its end, which alone says whether more arguments may
 * follow, then its words. Escapes are removed from names and arguments, which are compared as
 * bytes. A path keeps them, since there they belong to the glob; only "\ " and "\:" are ours.
 *
 * Printing adds just the escapes that reading needs, so the canonical text is the short one.
 */
#include "policy/match/command.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "policy/match/glob.h"
#include "policy/match/service.h"

#define GLOB_CHARS "*?[{"

/* What a pattern is read from: its text without the suffix, and how far we are. */
struct command_reader {
	const char *text;
	size_t len, at;
	const struct location *loc;
	struct error *e;
};

enum suffix { SUFFIX_NONE, SUFFIX_EXACT, SUFFIX_MORE };

/* Cuts ":" (exactly these arguments) or ":*" (more may follow) off the end. */
static enum suffix cut_suffix(struct command_reader *r)
{
	size_t colon = r->len; /* the last one that is not escaped */
	enum suffix suffix = SUFFIX_NONE;

	for (size_t i = 0; i < r->len; i++) {
		if (r->text[i] == '\\')
			i++;
		else if (r->text[i] == ':')
			colon = i;
	}
	if (r->len - colon == 1)
		suffix = SUFFIX_EXACT;
	else if (r->len - colon == 2 && r->text[colon + 1] == '*')
		suffix = SUFFIX_MORE;
	if (suffix != SUFFIX_NONE)
		r->len = colon;
	return suffix;
}

static bool command_next_word(struct command_reader *r)
{
	while (r->at < r->len && r->text[r->at] == ' ')
		r->at++;
	return r->at < r->len;
}

static bool is_path(const char *s, size_t len)
{
	return s[0] == '/' || s[0] == '$' || (s[0] == '~' && (len == 1 || s[1] == '/'));
}

enum word { WORD_NAME, WORD_PATH, WORD_ARGUMENT };

static int command_read_word(struct command_reader *r, enum word kind, struct buffer *out)
{
	while (r->at < r->len && r->text[r->at] != ' ') {
		char c = r->text[r->at++];

		if (ascii_is_control(c) || (kind == WORD_NAME && strchr(GLOB_CHARS, c))) {
			error_set(r->e, -EINVAL, r->loc,
				"'%c' in a command pattern needs a backslash", c);
			if (strchr(GLOB_CHARS, c))
				error_hint(r->e, "use a path for wildcards: /usr/bin/python*");
			return -EINVAL;
		}
		if (c == '\\' && r->at == r->len)
			return error_set(
				r->e, -EINVAL, r->loc, "a command pattern ends with a backslash");
		if (c == '\\') {
			c = r->text[r->at++];
			if (kind == WORD_PATH && c != ' ' && c != ':')
				buffer_addc(out, '\\');
		}
		buffer_addc(out, c);
	}
	return 0;
}

static int command_keep(struct arena *a, struct buffer *word, const char **ret)
{
	*ret = word->failed ? NULL : arena_strndup(a, buffer_text(word), word->len);
	buffer_clear(word);
	return *ret ? 0 : -ENOMEM;
}

/* "*" alone, for any program. */
static bool is_anything(const struct command_reader *r)
{
	return r->text[r->at] == '*' && (r->at + 1 == r->len || r->text[r->at + 1] == ' ');
}

static int command_read_program(
	struct command_reader *r, struct arena *a, struct command_pattern *p)
{
	auto_buffer word = { 0 };
	int k = 0;

	if (!command_next_word(r))
		return error_set(r->e, -EINVAL, r->loc, "a command pattern needs a program");
	p->is_name = !is_path(r->text + r->at, r->len - r->at) && !is_anything(r);
	if (is_anything(r)) {
		r->at++;
		buffer_adds(&word, "/**");
	} else {
		k = command_read_word(r, p->is_name ? WORD_NAME : WORD_PATH, &word);
	}
	if (k == 0 && p->is_name && strchr(buffer_text(&word), '/')) {
		k = error_set(r->e, -EINVAL, r->loc,
			"'%s' is neither a program name nor an absolute path", buffer_text(&word));
		error_hint(r->e, "start it with '/', $HOME, $SKILL_DIR or another variable");
	}
	return k < 0 ? k : command_keep(a, &word, &p->program);
}

static int command_read_line(struct command_pattern *ret, struct arena *a, const char *line,
	const struct location *loc, struct error *e)
{
	struct command_pattern p = { .program = "/**" };

	if (!line[0])
		return error_set(e, -EINVAL, loc, "a command pattern needs a program");
	for (const char *c = line; *c; c++) {
		if (ascii_is_control(*c))
			return error_set(
				e, -EINVAL, loc, "a command pattern contains a control character");
	}
	p.line = arena_strdup(a, line);
	if (!p.line)
		return -ENOMEM;
	*ret = p;
	return 0;
}

int command_pattern_parse(struct command_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e)
{
	struct command_reader r = { .text = text, .len = strlen(text), .loc = loc, .e = e };
	struct command_pattern p = { 0 };
	enum suffix suffix = cut_suffix(&r);
	auto_buffer word = { 0 };
	size_t cap = 0;
	int k;

	if (strncmp(text, COMMAND_LINE_PREFIX, strlen(COMMAND_LINE_PREFIX)) == 0)
		return command_read_line(ret, a, text + strlen(COMMAND_LINE_PREFIX), loc, e);
	k = command_read_program(&r, a, &p);

	while (k == 0 && command_next_word(&r)) {
		const char *arg;

		k = command_read_word(&r, WORD_ARGUMENT, &word);
		if (k == 0)
			k = command_keep(a, &word, &arg);
		if (k == 0)
			k = ARENA_PUSH(a, p.args, p.n_args, cap, arg);
	}
	if (k < 0)
		return k;
	p.more = suffix == SUFFIX_MORE || (suffix == SUFFIX_NONE && p.n_args == 0);
	*ret = p;
	return 0;
}

static void print_word(const char *s, const char *escaped, struct buffer *out)
{
	for (; *s; s++) {
		if (*s == ' ' || *s == '\\' || ascii_is_control(*s) || strchr(escaped, *s))
			buffer_addc(out, '\\');
		buffer_addc(out, *s);
	}
}

/* A path pattern: its own escapes stay pairs; spaces and control characters get one. */
static void print_path(const char *s, struct buffer *out)
{
	for (; *s; s++) {
		if (*s == ' ' || ascii_is_control(*s))
			buffer_addc(out, '\\');
		if (*s == '\\' && s[1])
			buffer_addc(out, *s++);
		buffer_addc(out, *s);
	}
}

void command_pattern_print(const struct command_pattern *p, struct buffer *out)
{
	size_t n = strlen(p->program);
	const char *s = p->program;
	bool like_suffix =
		(n > 0 && s[n - 1] == ':') || (n > 1 && s[n - 2] == ':' && s[n - 1] == '*');

	if (p->line) {
		buffer_printf(out, COMMAND_LINE_PREFIX "%s", p->line);
		return;
	}
	if (p->is_name) {
		if (is_path(s, n) || strncmp(s, COMMAND_LINE_PREFIX, 5) == 0)
			buffer_addc(out, '\\');
		print_word(s, GLOB_CHARS, out);
	} else {
		print_path(s, out);
	}
	for (size_t i = 0; i < p->n_args; i++) {
		buffer_addc(out, ' ');
		print_word(p->args[i], "", out);
	}
	if (!p->more)
		buffer_addc(out, ':');
	else if (p->n_args > 0 || like_suffix)
		buffer_adds(out, ":*");
}

int command_pattern_of(
	const char *program, const char *const *args, size_t n_args, struct buffer *out)
{
	struct command_pattern pattern = { .is_name = !strchr(program, '/'), .n_args = n_args };
	auto_buffer path = { 0 };
	auto_arena a = { 0 };

	if (!pattern.is_name && program[0] != '/')
		return -EINVAL;
	glob_print_literal(program, strlen(program), &path);
	pattern.program = pattern.is_name ? program : buffer_text(&path);
	pattern.args = arena_calloc(&a, n_args + 1, sizeof(*pattern.args));
	if (!pattern.args || path.failed)
		return -ENOMEM;
	for (size_t i = 0; i < n_args; i++) {
		/* No pattern has an empty word: it would be one of another command. */
		if (args[i][0] == '\0')
			return -EINVAL;
		pattern.args[i] = args[i];
	}
	command_pattern_print(&pattern, out);
	return out->failed ? -ENOMEM : 0;
}

bool command_pattern_matches_args(
	const struct command_pattern *p, const char *const *args, size_t n)
{
	size_t i = 0;

	if (p->more ? n < p->n_args : n != p->n_args)
		return false;
	while (i < p->n_args && strcmp(p->args[i], args[i]) == 0)
		i++;
	return i == p->n_args;
}

int command_pattern_meet_args(const struct command_pattern *a, const struct command_pattern *b,
	struct command_pattern *ret)
{
	const struct command_pattern *less = a->n_args <= b->n_args ? a : b;
	const struct command_pattern *most = less == a ? b : a;

	if (!command_pattern_matches_args(less, most->args, most->n_args))
		return 0;
	ret->args = most->args;
	ret->n_args = most->n_args;
	ret->more = less->more && most->more;
	return 1;
}

/* Whole texts */

enum { COMMAND_LINE_BYTES = 65536 };

bool command_line_matches(
	const char *line, const char *program, const char *const *args, size_t n_args)
{
	const char *slash = strrchr(program, '/');
	size_t start = slash ? (size_t)(slash - program) + 1 : 0;
	auto_buffer text = { 0 };

	buffer_adds(&text, program);
	for (size_t i = 0; i < n_args && text.len <= COMMAND_LINE_BYTES; i++)
		buffer_printf(&text, " %s", args[i]);
	buffer_addc(&text, ' ');
	if (text.failed || text.len > COMMAND_LINE_BYTES)
		return true;
	for (size_t len = text.len - 1; len <= text.len; len++) {
		if (service_word_matches(line, buffer_text(&text), len) ||
			service_word_matches(line, buffer_text(&text) + start, len - start))
			return true;
	}
	return false;
}

/* Keys */

/* Bytes below 0x20 do not occur in words that matter; 0x01 starts what is encoded. */
#define ESCAPE '\001'

static bool command_key_put(struct command_key *k, const char *s, size_t n)
{
	if (n + 8 > COMMAND_KEY_BYTES - k->len)
		return false;
	memcpy(k->text + k->len, s, n);
	k->len += n;
	return true;
}

/* A word of its own that no encoded word equals. Room for it is always left. */
static void put_mark(struct command_key *k, char what)
{
	k->text[k->len++] = '/';
	k->text[k->len++] = ESCAPE;
	k->text[k->len++] = what;
}

void command_key_add(struct command_key *k, const char *word)
{
	size_t start = k->len;
	bool fits;

	if (k->full)
		return;
	fits = command_key_put(k, "/", 1);
	if (*word == '\0' && fits)
		fits = command_key_put(k, "\001n", 2);
	for (; *word && fits; word++) {
		const char escaped[] = { ESCAPE, *word == '/' ? 's' : 'e' };
		bool plain = *word != '/' && *word != ESCAPE;

		fits = plain ? command_key_put(k, word, 1) : command_key_put(k, escaped, 2);
	}
	if (!fits) {
		k->len = start;
		k->full = true;
		put_mark(k, 't');
	}
	k->text[k->len] = '\0';
}

void command_key_add_unknown(struct command_key *k)
{
	if (!k->full)
		put_mark(k, 'u');
	k->text[k->len] = '\0';
}

void command_key_start(struct command_key *k, const char *program)
{
	k->len = 0;
	k->full = false;
	command_key_add(k, program);
}
