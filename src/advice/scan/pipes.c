/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell script reads, and where it goes: along pipes, through variables, files and
 * functions. The reader of src/advice/shell says which commands there are; marks (sources.h) travel
 * with the names of variables and with the paths of files that a command writes.
 *
 * Variables whose values are written in the script are put in for their names, so that `$a$b` is
 * the command that it is. A script that cannot be read as a whole is read line by line.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "advice/scan/internal.h"
#include "advice/scan/sources.h"
#include "advice/shell/shell.h"
#include "base/array.h"
#include "base/words.h"
#include "threat/threat.h"

enum { PIPES_NAMES_MAX = 128, PIPES_WORD_MAX = 256, PIPES_ROUNDS = 2, PIPES_INSIDE_MAX = 16 };

/* A variable, or a file by its path, or a function. */
struct pipes_name {
	const char *name;
	unsigned marks;
	const char *value;   /* of a variable that is assigned text once; NULL: not known */
	const char *service; /* whose key it holds */
	bool is_alias;
};

struct pipes {
	struct scan *scan;
	struct arena *arena;
	enum scan_place place;
	uint32_t line;
	const char *text;
	size_t len;
	struct pipes_name names[PIPES_NAMES_MAX];
	size_t n_names;
	unsigned flowing; /* what comes out of the command before, in a pipe */
	size_t pipe;      /* where the pipe starts */
	bool judges;
};

static struct pipes_name *pipes_find(struct pipes *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->n_names; i++) {
		if (strlen(p->names[i].name) == len && memcmp(p->names[i].name, name, len) == 0)
			return &p->names[i];
	}
	return NULL;
}

static struct pipes_name *pipes_name(struct pipes *p, const char *name, size_t len)
{
	struct pipes_name *n = pipes_find(p, name, len);
	const char *copy;

	if (n || p->n_names == PIPES_NAMES_MAX || len == 0)
		return n;
	copy = arena_strndup(p->arena, name, len);
	if (!copy) {
		p->scan->no_memory = true;
		return NULL;
	}
	n = &p->names[p->n_names++];
	*n = (struct pipes_name){ .name = copy };
	return n;
}

static void pipes_report(struct pipes *p, const char *id, size_t offset)
{
	size_t start = offset < p->len ? offset : p->len, end = start;
	uint32_t line = p->line;

	if (!p->judges)
		return;
	while (start && p->text[start - 1] != '\n')
		start--;
	while (end < p->len && p->text[end] != '\n')
		end++;
	for (size_t i = 0; i < start; i++)
		line += p->text[i] == '\n';
	scan_add(p->scan, id,
		&(struct scan_spot){ p->place, line, p->text + start, end - start, offset - start,
			offset - start });
}

/* The name behind a '$' at s: its length; *ret where it starts. */
static size_t pipes_variable(const char *s, const char **ret)
{
	size_t n = 0;

	*ret = s + (s[1] == '{' ? 2 : 1);
	while (isalnum((unsigned char)(*ret)[n]) || (*ret)[n] == '_')
		n++;
	return n;
}

/* Marks of a word: of the variables in it, of files that it names, of what it reads. */
static unsigned pipes_word_marks(struct pipes *p, const char *word, const char **service)
{
	const char *form = strstr(word, "=@");
	const char *path = word[0] == '@' || word[0] == '<' ? word + 1 : form ? form + 2 : word;
	const struct pipes_name *file = pipes_find(p, path, strlen(path));
	unsigned marks = sources_of_path(word, strlen(word)) & MARK_PATH;

	if (file)
		marks |= file->marks;
	for (const char *s = strchr(word, '$'); s; s = strchr(s + 1, '$')) {
		const char *name;
		size_t n = pipes_variable(s, &name);
		const struct pipes_name *known = pipes_find(p, name, n);
		char plain[64];

		if (s[1] == '(') {
			if (strncmp(s + 2, "env", 3) == 0 || strncmp(s + 2, "printenv", 8) == 0 ||
				strncmp(s + 2, "export -p", 9) == 0 ||
				strncmp(s + 2, "set)", 4) == 0)
				marks |= MARK_ENVIRONMENT;
			if (strstr(s, ".ssh") || strstr(s, "/.env") || strstr(s, ".aws") ||
				strstr(s, "_history") || strstr(s, "auth token"))
				marks |= MARK_PATH | MARK_SECRET;
			continue;
		}
		if (known) {
			marks |= known->marks;
			*service = known->service ? known->service : *service;
		}
		if (n && n < sizeof(plain)) {
			memcpy(plain, name, n);
			plain[n] = '\0';
			if (sources_service(plain)) {
				marks |= MARK_KEY;
				*service = sources_service(plain);
			}
		}
	}
	return marks;
}

/* The word with variables put in whose values are known. */
static const char *pipes_fill(struct pipes *p, const char *word, char out[PIPES_WORD_MAX])
{
	size_t n = 0;

	while (*word && n + 1 < PIPES_WORD_MAX) {
		const char *name;
		size_t len = *word == '$' ? pipes_variable(word, &name) : 0;
		const struct pipes_name *v = len ? pipes_find(p, name, len) : NULL;

		if (v && v->value && strlen(v->value) < PIPES_WORD_MAX - n) {
			memcpy(out + n, v->value, strlen(v->value));
			n += strlen(v->value);
			word = name + len + (name[len] == '}' && name[-1] == '{');
		} else {
			out[n++] = *word++;
		}
	}
	out[n] = '\0';
	return out;
}

static const char *pipes_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A name that is spelt so that a reader does not find it: c\url, w'g'et, $a$b. */
static bool pipes_is_disguised(const struct pipes *p, const struct shell_word *w, const char *name)
{
	const size_t n = strlen(name);

	if (!sources_is_sender(name, n) && !threat_program(name, THREAT_STDIN) &&
		strcmp(name, "eval") != 0 && strcmp(name, "base64") != 0)
		return false;
	if (strcmp(name, w->text) != 0)
		return !strchr(w->text, '/') && strchr(w->text, '$') &&
		       strchr(strchr(w->text, '$') + 1, '$');
	return w->offset + n <= p->len && p->text[w->offset] != '"' && p->text[w->offset] != '\'' &&
	       memcmp(p->text + w->offset, name, n) != 0 && strchr("'\"\\", p->text[w->offset + 1]);
}

/* Commands that print what the files that they are given hold, or put it into another file. */
static const char *const readers[] = { "cat", "base64", "head", "tail", "xxd", "gzip", "tar", "cp",
	"mv", "zip", "sort", "grep", "awk", "sed", "tr", "cut", "openssl", "hexdump", "od", "less",
	"strings", "tee", "dd", "find", "xargs", "jq", "7z", "printf", "echo", "rev", "bzip2", "xz",
	"install", "rsync", "source", ".", NULL };
static const char *const decoders[] = { "base64", "xxd", "openssl", "rev", "gunzip", "uudecode",
	"base32", NULL };

static bool pipes_has_word(const struct shell_command *c, const char *const *words)
{
	for (size_t i = 1; i < c->n_words; i++) {
		if (words_has(words, c->words[i].text))
			return true;
	}
	return false;
}

/* A command that turns a blob into what it stands for. */
static bool pipes_decodes(const struct shell_command *c, const char *name)
{
	static const char *const options[] = { "-d", "-D", "--decode", "-di", "-r", "-rp", "-dc",
		"-p", NULL };

	if (strcmp(name, "tr") == 0)
		return c->n_words > 2 &&
		       (strstr(c->words[2].text, "n-z") || strstr(c->words[2].text, "N-Z") ||
			       (strcmp(c->words[1].text, "-d") == 0 &&
				       strcmp(c->words[2].text, "_") == 0));
	return words_has(decoders, name) &&
	       (strcmp(name, "rev") == 0 || strcmp(name, "gunzip") == 0 ||
		       pipes_has_word(c, options));
}

static bool pipes_is_environment(const struct shell_command *c, const char *name)
{
	if (strcmp(name, "export") == 0)
		return c->n_words == 2 && strcmp(c->words[1].text, "-p") == 0;
	return c->n_words == 1 && (strcmp(name, "env") == 0 || strcmp(name, "printenv") == 0 ||
					  strcmp(name, "set") == 0);
}

/* An interpreter that runs what it reads: `sh`, `bash -s`, `python3 -`; not `python3 -m json.tool`.
 */
static bool pipes_runs_input(const struct shell_command *c, const char *name)
{
	if (!threat_program(name, THREAT_STDIN) && strncmp(c->words[0].text, "${SHELL", 7) != 0 &&
		strcmp(c->words[0].text, "$SHELL") != 0)
		return false;
	for (size_t i = 1; i < c->n_words; i++) {
		const char *w = c->words[i].text;

		if (w[0] != '-')
			return i > 1 && strcmp(c->words[i - 1].text, "-s") == 0;
		if (strcmp(w, "-c") == 0 || strcmp(w, "-m") == 0 || strcmp(w, "-e") == 0 ||
			strcmp(w, "-p") == 0 || strcmp(w, "-pe") == 0 || strcmp(w, "-ne") == 0)
			return false;
		if (strcmp(w, "-") == 0 || strcmp(w, "--") == 0)
			return true;
	}
	return true;
}

/* The file that a command writes. */
static const char *pipes_output(const struct shell_command *c, const char *name)
{
	for (size_t i = 0; i < c->n_redirects; i++) {
		if (c->redirects[i].is_write && c->redirects[i].target.text[0] != '&' &&
			strcmp(c->redirects[i].target.text, "/dev/null") != 0)
			return c->redirects[i].target.text;
	}
	for (size_t i = 1; i + 1 < c->n_words && strcmp(name, "find") != 0; i++) {
		const char *w = c->words[i].text;

		if ((w[0] == '-' && w[1] != '-' && strchr("foO", w[strlen(w) - 1]) && w[1]) ||
			(i == 1 && strcmp(name, "tar") == 0 && w[strlen(w) - 1] == 'f') ||
			strcmp(w, "--output") == 0)
			return c->words[i + 1].text;
	}
	if (c->n_words > 2 && (strcmp(name, "cp") == 0 || strcmp(name, "mv") == 0))
		return c->words[c->n_words - 1].text;
	if (c->n_words > 2 && strcmp(name, "zip") == 0) {
		for (size_t i = 1; i < c->n_words; i++) {
			if (c->words[i].text[0] != '-')
				return c->words[i].text;
		}
	}
	return NULL;
}

static void pipes_assign(struct pipes *p, const struct shell_command *c, unsigned inside)
{
	for (size_t i = 0; i < c->n_assignments; i++) {
		const char *text = c->assignments[i].text, *equals = strchr(text, '=');
		const char *service = NULL;
		struct pipes_name *n = equals ? pipes_name(p, text, (size_t)(equals - text)) : NULL;

		if (!n)
			continue;
		n->marks |= pipes_word_marks(p, equals + 1, &service);
		n->service = service ? service : n->service;
		if (strstr(equals, "$(") || strchr(equals, '`'))
			n->marks |= inside;
		else if (!c->assignments[i].dynamic)
			n->value = equals + 1;
	}
}

/* alias g=curl */
static void pipes_alias(struct pipes *p, const struct shell_command *c)
{
	for (size_t i = 1; i < c->n_words; i++) {
		const char *text = c->words[i].text, *equals = strchr(text, '=');
		struct pipes_name *n = equals ? pipes_name(p, text, (size_t)(equals - text)) : NULL;

		if (n) {
			n->value = equals + 1;
			n->is_alias = true;
		}
	}
}

static unsigned pipes_words_mark(struct pipes *p, const char *word)
{
	const char *service = NULL;

	return pipes_word_marks(p, word, &service);
}

/* What the words of a command hold. */
static unsigned pipes_words(struct pipes *p, const struct shell_command *c, const char **service)
{
	static const char *const logins[] = { "--key", "--cert", "-E", "-i", "--cacert",
		"--identity", "--netrc-file", "--proxy-key", NULL };
	unsigned marks = 0;

	for (size_t i = 1; i < c->n_words; i++) {
		/* A key that logs in to the host is not sent. */
		if (!words_has(logins, c->words[i - 1].text))
			marks |= pipes_word_marks(p, c->words[i].text, service);
	}
	for (size_t i = 0; i < c->n_redirects; i++) {
		if (!c->redirects[i].is_write)
			marks |= pipes_word_marks(p, c->redirects[i].target.text, service);
	}
	return marks;
}

/* Whether a key is where its service does not get it: not in a header, and at another host. */
static bool pipes_key_elsewhere(const struct shell_command *c, const char *service)
{
	bool in_header = false, elsewhere = false;
	char host[96];

	for (size_t i = 1; i < c->n_words; i++) {
		const char *w = c->words[i].text;

		if (strchr(w, '$') && (sources_is_header(w, strlen(w)) ||
					      strcmp(c->words[i - 1].text, "-u") == 0))
			in_header = true;
		if (scan_first_host(w, strlen(w), host, sizeof(host)))
			elsewhere = !sources_is_service_host(service, host);
	}
	return elsewhere && !in_header;
}

static void pipes_judge_send(struct pipes *p, const struct shell_command *c, const char *name,
	unsigned marks, const char *service)
{
	/* Keys that log in are used, not sent. */
	const bool login = strcmp(name, "ssh") == 0 || strcmp(name, "scp") == 0 ||
			   strcmp(name, "rsync") == 0 || strcmp(name, "sftp") == 0;

	if (marks & MARK_ENVIRONMENT)
		pipes_report(p, "environment-sent", c->offset);
	else if (marks & (MARK_SECRET | (login ? 0 : MARK_PATH)))
		pipes_report(p, "secret-sent", c->offset);
	else if (marks & MARK_KEY && service &&
		 (pipes_key_elsewhere(c, service) || strcmp(name, "dig") == 0 ||
			 strcmp(name, "nslookup") == 0 || strcmp(name, "host") == 0))
		pipes_report(p, "key-elsewhere", c->offset);
}

static unsigned pipes_file_marks(struct pipes *p, const char *path)
{
	const struct pipes_name *n = pipes_find(p, path, strlen(path));

	return n ? n->marks : 0;
}

/* What a command runs as a program, beside what is piped into it. */
static unsigned pipes_ran(
	struct pipes *p, const struct shell_command *c, const char *name, unsigned inside)
{
	const bool sources = strcmp(name, ".") == 0 || strcmp(name, "source") == 0;

	if (strcmp(name, "eval") == 0) {
		const char *service = NULL;

		return inside | pipes_words(p, c, &service);
	}
	if (!sources && !threat_program(name, THREAT_STDIN))
		return strchr(c->words[0].text, '/') || c->words[0].text[0] == '$'
			       ? pipes_file_marks(p, c->words[0].text)
			       : 0;
	for (size_t i = 0; i < c->n_redirects; i++) {
		if (strcmp(c->redirects[i].op, "<<<") == 0)
			return inside | pipes_words_mark(p, c->redirects[i].target.text);
	}
	for (size_t i = 1; i < c->n_words; i++) {
		const char *w = c->words[i].text;

		if (strcmp(w, "-c") == 0 && i + 1 < c->n_words)
			/* All of the line comes from there, not a part of it. */
			return strncmp(c->words[i + 1].text, "$(", 2) == 0 ||
					       c->words[i + 1].text[0] == '`'
				       ? inside
				       : pipes_words_mark(p, c->words[i + 1].text) & MARK_DECODED;
		if (w[0] == '<' && w[1] == '(')
			return inside;
		if (w[0] != '-')
			return pipes_file_marks(p, w);
	}
	return 0;
}

static void pipes_judge_name(struct pipes *p, const struct shell_command *c, const char **name)
{
	const struct pipes_name *n = pipes_find(p, *name, strlen(*name));
	bool disguised = pipes_is_disguised(p, &c->words[0], *name);

	if (n && n->is_alias && n->value) {
		*name = pipes_base(n->value);
		disguised = sources_is_sender(*name, strlen(*name)) ||
			    threat_program(*name, THREAT_STDIN) != NULL;
	}
	/* A command whose name something else printed. */
	if (c->words[0].text[0] == '$' && pipes_words_mark(p, c->words[0].text) & MARK_DECODED)
		disguised = true;
	if (disguised)
		pipes_report(p, "assembled-word", c->offset);
}

/* What a command adds to what it gets. */
static unsigned pipes_gives(const struct shell_command *c, const char *name, unsigned marks)
{
	const bool is_gh = strcmp(name, "gh") == 0;

	/* A reader of a path with secrets gives the secrets. */
	if (marks & MARK_PATH &&
		(words_has(readers, name) || strcmp(name, "security") == 0 || is_gh))
		marks |= MARK_SECRET;
	if (is_gh && c->n_words > 2 && strcmp(c->words[2].text, "token") == 0)
		marks |= MARK_SECRET;
	if (pipes_is_environment(c, name))
		marks |= MARK_ENVIRONMENT;
	if (pipes_decodes(c, name))
		marks |= MARK_DECODED;
	return marks;
}

/* One command: what it gets, does, and gives on. Returns what comes out of it. */
static unsigned pipes_command(struct pipes *p, const struct shell_command *c, unsigned inside)
{
	static const char *const fetchers[] = { "curl", "wget", "nc", "ncat", "netcat", NULL };
	const char *service = NULL, *output;
	char filled[PIPES_WORD_MAX];
	const char *name = c->n_words ? pipes_base(pipes_fill(p, c->words[0].text, filled)) : "";
	const bool piped = c->before[0] == '|' && c->before[1] != '|';
	const unsigned in = piped ? p->flowing : 0;
	unsigned marks = pipes_words(p, c, &service) | inside, ran;
	struct pipes_name *n;

	if (!piped && c->depth == 0)
		p->pipe = c->offset;
	pipes_assign(p, c, inside);
	if (c->n_words == 0)
		return in;
	if (strcmp(name, "alias") == 0)
		pipes_alias(p, c);
	pipes_judge_name(p, c, &name);
	marks = pipes_gives(c, name, marks);
	if (sources_is_sender(name, strlen(name)) || strcmp(name, "ssh") == 0)
		pipes_judge_send(p, c, name, in | marks, service);
	ran = pipes_ran(p, c, name, inside) | (piped && pipes_runs_input(c, name) ? in : 0);
	if (ran & (MARK_DECODED | MARK_FETCHED))
		pipes_report(p, ran & MARK_DECODED ? "encoded-run" : "download-run", p->pipe);
	if (words_has(fetchers, name))
		marks |= MARK_FETCHED;
	output = pipes_output(c, name);
	n = output ? pipes_name(p, output, strlen(output)) : NULL;
	if (n)
		n->marks |= (in | marks) & ~(unsigned)MARK_PATH;
	return in | (marks & ~(unsigned)MARK_KEY);
}

/* What the substitutions in a command print: the deeper commands behind it. */
static unsigned pipes_inside(struct pipes *p, const struct shell_script *script, size_t at)
{
	const unsigned depth = script->commands[at].depth;
	unsigned inside = 0;

	for (size_t k = at + 1; k < script->n_commands && k < at + PIPES_INSIDE_MAX; k++) {
		const struct shell_command *d = &script->commands[k];
		const char *service = NULL, *name = d->n_words ? d->words[0].text : "";

		if (d->depth <= depth)
			break;
		inside |= pipes_gives(d, name, pipes_words(p, d, &service)) &
			  (MARK_SECRET | MARK_ENVIRONMENT | MARK_KEY | MARK_DECODED);
		if (strcmp(name, "curl") == 0 || strcmp(name, "wget") == 0)
			inside |= MARK_FETCHED;
	}
	return inside;
}

/* Commands follow what they stand in: what is deeper belongs to the one before. */
static void pipes_commands(struct pipes *p, const struct shell_script *script)
{
	unsigned flowing[SHELL_DEPTH_MAX + 2] = { 0 };

	for (size_t i = 0; i < script->n_commands; i++) {
		const struct shell_command *c = &script->commands[i];
		const unsigned depth = c->depth < SHELL_DEPTH_MAX ? c->depth : SHELL_DEPTH_MAX;
		unsigned inside = 0;

		inside = pipes_inside(p, script, i);
		/* xargs hands on what it reads. */
		if (depth && i && script->commands[i - 1].depth + 1 == depth &&
			script->commands[i - 1].n_words &&
			strcmp(script->commands[i - 1].words[0].text, "xargs") == 0)
			inside |= flowing[depth - 1];
		p->flowing = flowing[depth];
		flowing[depth] = pipes_command(p, c, inside);
		/* { env; cat x; } | curl: a group gives what is in it. */
		if (depth)
			flowing[depth - 1] |= flowing[depth] & (MARK_SECRET | MARK_ENVIRONMENT);
	}
}

static void pipes_read(struct pipes *p, const char *text, size_t len)
{
	struct shell_script script = { 0 };
	size_t at = 0;

	if (shell_parse(&script, p->arena, text, len, NULL) == 0) {
		for (int i = 0; i < PIPES_ROUNDS; i++) {
			p->judges = i + 1 == PIPES_ROUNDS;
			pipes_commands(p, &script);
		}
		return;
	}
	p->judges = true;
	/* Some other shell, or none: each line by itself. */
	while (at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;
		struct pipes one = *p;

		one.text = text + at;
		one.len = n;
		one.line = p->line++;
		if (n && n < PIPES_WORD_MAX * 8 &&
			shell_parse(&script, p->arena, text + at, n, NULL) == 0)
			pipes_commands(&one, &script);
		memcpy(p->names, one.names, sizeof(p->names));
		p->n_names = one.n_names;
		at += n + 1;
	}
}

void scan_pipes(struct scan *s, enum scan_place place, uint32_t line, const char *text, size_t len)
{
	struct pipes p = { .scan = s,
		.arena = &s->scratch,
		.place = place,
		.line = line,
		.text = text,
		.len = len };

	pipes_read(&p, text, len);
}
