/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python and JavaScript read, and where it goes. The program is a list of statements; a
 * statement that reads a key file, the environment, the network or a blob marks the names that it
 * assigns, and marks travel with names from statement to statement, into functions by their
 * parameters and out of them by their names. A statement that sends or runs what is marked is a
 * finding.
 *
 * Names are not told apart by scope, and order does not count: the statements are gone through
 * until nothing changes, at most FLOW_ROUNDS times. That finds too much rather than too little,
 * which matters only where both ends are there. Time is linear in the length of the program.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "advice/code/code.h"
#include "advice/scan/internal.h"
#include "advice/scan/sources.h"
#include "base/array.h"

enum {
	FLOW_ROUNDS = 4,
	FLOW_NAMES_MAX = 512,
	FLOW_FUNCTIONS_MAX = 128,
	FLOW_PARAMETERS_MAX = 8,
	FLOW_BUCKETS = 1024,
	FLOW_WORD_MAX = 64
};

/* What a statement does with what it has. */
enum flow_act {
	ACT_SEND = 1 << 0,
	ACT_RUN = 1 << 1,      /* text, as code or as a command line */
	ACT_RUN_LIST = 1 << 2, /* a program and its arguments */
	ACT_READ = 1 << 3,     /* a file: what is marked as a path is then a secret */
	ACT_WRITE = 1 << 4,
	ACT_HEADERS = 1 << 5, /* sends something in headers, as keys are */
};

struct flow_name {
	uint32_t start, len; /* in the text */
	unsigned marks;
	char host[96];       /* of the address that it was assigned; "" */
	const char *service; /* the service whose key it holds; NULL: none */
	uint16_t next;       /* in its bucket, plus 1 */
};

struct flow_function {
	uint32_t name, len;
	uint16_t parameters[FLOW_PARAMETERS_MAX]; /* indexes of names */
	size_t n;
};

struct scan_flow {
	struct scan *scan;
	enum scan_place place;
	uint32_t line; /* of the first line */
	bool python;
	const char *text;
	size_t len;
	const struct code_token *tokens;
	struct flow_name *names;
	size_t n_names;
	uint16_t buckets[FLOW_BUCKETS];
	struct flow_function *functions;
	size_t n_functions;
	const struct flow_function *inside; /* the function at hand, or NULL */
	bool changed;
	unsigned char *parts;
};

/* A statement: its tokens, and what is in it. */
struct flow_statement {
	const struct code_token *first, *end;
	unsigned marks, acts;
	char host[96];
	const char *service;
};

static bool flow_is(const struct scan_flow *f, const struct code_token *t, const char *word)
{
	return t->kind != CODE_STRING && t->len == strlen(word) &&
	       memcmp(f->text + t->start, word, t->len) == 0;
}

static size_t flow_hash(const char *s, size_t len)
{
	size_t h = 5381;

	for (size_t i = 0; i < len; i++)
		h = h * 33 + (unsigned char)s[i];
	return h % FLOW_BUCKETS;
}

static struct flow_name *flow_find(const struct scan_flow *f, uint32_t start, uint32_t len)
{
	uint16_t i = f->buckets[flow_hash(f->text + start, len)];

	for (; i; i = f->names[i - 1].next) {
		struct flow_name *n = &f->names[i - 1];

		if (n->len == len && memcmp(f->text + n->start, f->text + start, len) == 0)
			return n;
	}
	return NULL;
}

/* The name of a token, new if need be; NULL past the bound. */
static struct flow_name *flow_name(struct scan_flow *f, uint32_t start, uint32_t len)
{
	struct flow_name *n = flow_find(f, start, len);
	uint16_t *bucket = &f->buckets[flow_hash(f->text + start, len)];

	if (n || f->n_names == FLOW_NAMES_MAX)
		return n;
	n = &f->names[f->n_names++];
	*n = (struct flow_name){ .start = start, .len = len, .next = *bucket };
	*bucket = (uint16_t)f->n_names;
	return n;
}

static void flow_mark(
	struct scan_flow *f, const struct code_token *t, const struct flow_statement *s)
{
	struct flow_name *n = flow_name(f, t->start, t->len);

	if (!n)
		return;
	if ((n->marks | s->marks) != n->marks) {
		n->marks |= s->marks;
		f->changed = true;
	}
	if (s->host[0] && !n->host[0])
		memcpy(n->host, s->host, sizeof(n->host));
	if (s->service)
		n->service = s->service;
}

/* Reading a statement */

/* "os.environ": names with dots between them that start at t; where they end. */
static const struct code_token *flow_dotted(const struct scan_flow *f, const struct code_token *t,
	const struct code_token *end, char word[FLOW_WORD_MAX])
{
	size_t n = 0;

	for (;;) {
		const size_t keep = t->len < FLOW_WORD_MAX - 2 - n ? t->len : FLOW_WORD_MAX - 2 - n;

		memcpy(word + n, f->text + t->start, keep);
		n += keep;
		t++;
		if (t + 1 >= end || !flow_is(f, t, ".") || t[1].kind != CODE_NAME ||
			n + 2 >= FLOW_WORD_MAX)
			break;
		word[n++] = '.';
		t++;
	}
	word[n] = '\0';
	return t;
}

static unsigned flow_string_marks(const struct scan_flow *f, const struct code_token *t)
{
	return sources_of_path(f->text + t->start, t->len);
}

/* A call by its name, with or without what is before the last dot. */
static void flow_add_call(struct scan_flow *f, struct flow_statement *s, const char *word,
	bool is_method, bool is_call)
{
	unsigned marks = 0, acts = 0;

	if (!sources_of_call(f->python, word, is_method, is_call, &marks, &acts))
		return;
	s->marks |= marks;
	s->acts |= (acts & SOURCE_SENDS ? ACT_SEND : 0) | (acts & SOURCE_RUNS ? ACT_RUN : 0) |
		   (acts & SOURCE_STARTS ? ACT_RUN_LIST : 0) |
		   (acts & SOURCE_READS ? ACT_READ : 0) | (acts & SOURCE_WRITES ? ACT_WRITE : 0);
}

/* os.environ["OPENAI_API_KEY"], process.env.OPENAI_API_KEY: whose key, or all of them. */
static void flow_read_variable(
	struct scan_flow *f, struct flow_statement *s, const struct code_token *t, const char *word)
{
	const char *last = strrchr(word, '.');
	char name[FLOW_WORD_MAX] = "";

	/* ["NAME"], ("NAME"), .get("NAME") */
	if (t + 1 < s->end && (flow_is(f, t, "[") || flow_is(f, t, "(")) &&
		t[1].kind == CODE_STRING && t[1].len < sizeof(name)) {
		memcpy(name, f->text + t[1].start, t[1].len);
		name[t[1].len] = '\0';
	}
	if (strncmp(word, "process.env.", 12) == 0) {
		memcpy(name, last + 1, strlen(last + 1) + 1);
	} else if (!name[0]) {
		/* All of them, unless it is one whose name comes from elsewhere. */
		const bool one = t < s->end && (flow_is(f, t, "[") || strstr(word, "getenv") ||
						       strstr(word, "environ.get"));

		s->marks |= one ? MARK_SOME_KEY : MARK_ENVIRONMENT;
		return;
	}
	s->service = sources_service(name) ? sources_service(name) : s->service;
	s->marks |= sources_service(name) ? MARK_KEY : 0;
}

static void flow_read_name(
	struct scan_flow *f, struct flow_statement *s, const struct code_token **at)
{
	const struct code_token *t = *at;
	const bool is_method = t > s->first && flow_is(f, t - 1, ".");
	const struct flow_name *n = is_method ? NULL : flow_find(f, t->start, t->len);
	char word[FLOW_WORD_MAX];
	const struct code_token *end = flow_dotted(f, t, s->end, word);
	const bool is_call = end < s->end && flow_is(f, end, "(");

	if (n) {
		s->marks |= n->marks;
		s->service = n->service ? n->service : s->service;
		if (n->host[0] && !s->host[0])
			memcpy(s->host, n->host, sizeof(s->host));
	}
	if (strcmp(word, "os.environ") == 0 || strncmp(word, "os.environ.", 11) == 0 ||
		strcmp(word, "os.getenv") == 0 || strcmp(word, "getenv") == 0 ||
		strncmp(word, "process.env", 11) == 0 || strcmp(word, "environ") == 0)
		flow_read_variable(f, s, end, word);
	else if (strcasecmp(word, "headers") == 0)
		s->acts |= ACT_HEADERS;
	flow_add_call(f, s, word, is_method, is_call);
	*at = end;
}

static void flow_read_string(
	struct scan_flow *f, struct flow_statement *s, const struct code_token *t)
{
	const char *text = f->text + t->start;
	const struct flow_name *n = t->len ? flow_find(f, t->start, t->len) : NULL;

	s->marks |= flow_string_marks(f, t) | (n ? n->marks & MARK_FETCHED : 0);
	/* "sh /tmp/x": the files in a command line. */
	for (uint32_t i = 0, start = 0; s->acts & ACT_RUN && i <= t->len; i++) {
		if (i < t->len && text[i] != ' ')
			continue;
		n = i > start ? flow_find(f, t->start + start, i - start) : NULL;
		s->marks |= n ? n->marks & MARK_FETCHED : 0;
		start = i + 1;
	}
	if (!s->host[0])
		(void)scan_first_host(text, t->len, s->host, sizeof(s->host));
	if (sources_is_header(text, t->len))
		s->acts |= ACT_HEADERS;
	/* A command line in a string. */
	if (s->acts & (ACT_RUN | ACT_RUN_LIST) && sources_is_sender(text, t->len))
		s->acts |= ACT_SEND;
}

static bool flow_calls(
	const struct scan_flow *f, const struct flow_statement *s, const char *method)
{
	for (const struct code_token *t = s->first; t + 1 < s->end; t++) {
		if (flow_is(f, t, method) && flow_is(f, t + 1, "("))
			return true;
	}
	return false;
}

static void flow_read_statement(struct scan_flow *f, struct flow_statement *s)
{
	const struct code_token *t = s->first;

	/* Calls first: what a string means depends on them. */
	while (t < s->end) {
		if (t->kind == CODE_NAME)
			flow_read_name(f, s, &t);
		else
			t++;
	}
	for (t = s->first; t < s->end; t++) {
		if (t->kind == CODE_STRING)
			flow_read_string(f, s, t);
	}
	if (s->acts & ACT_READ && s->marks & MARK_PATH)
		s->marks |= MARK_SECRET;
	if (s->acts & ACT_RUN && s->host[0] && flow_calls(f, s, "get"))
		s->marks |= MARK_FETCHED;
	/* The rest of a program that is run: `cat ~/.ssh/id_rsa`. */
	if (s->acts & (ACT_RUN | ACT_RUN_LIST) && s->marks & MARK_PATH)
		s->marks |= MARK_SECRET;
}

/* What it leaves behind */

/* The '=' of an assignment, or NULL. */
static const struct code_token *flow_assignment(
	const struct scan_flow *f, const struct flow_statement *s)
{
	int depth = 0;

	for (const struct code_token *t = s->first; t < s->end; t++) {
		if (t->kind != CODE_MARK)
			continue;
		depth += flow_is(f, t, "(") || flow_is(f, t, "[") || flow_is(f, t, "{");
		depth -= flow_is(f, t, ")") || flow_is(f, t, "]") || flow_is(f, t, "}");
		if (depth == 0 && flow_is(f, t, "=") && t > s->first &&
			!(t + 1 < s->end && (flow_is(f, t + 1, "=") || flow_is(f, t + 1, ">"))) &&
			!memchr("=!<>", f->text[t[-1].start], 4))
			return t;
	}
	return NULL;
}

/* Marks names in [from, to) that stand alone: no parts of others, no keywords. */
static void flow_mark_all(struct scan_flow *f, const struct flow_statement *s,
	const struct code_token *from, const struct code_token *to)
{
	for (const struct code_token *t = from; t < to; t++) {
		if (t->kind != CODE_NAME || (t > s->first && flow_is(f, t - 1, ".")) ||
			flow_is(f, t, "const") || flow_is(f, t, "let") || flow_is(f, t, "var") ||
			flow_is(f, t, "for") || flow_is(f, t, "if") || flow_is(f, t, "await") ||
			flow_is(f, t, "in") || flow_is(f, t, "of") || flow_is(f, t, "os") ||
			flow_is(f, t, "path") || flow_is(f, t, "fs"))
			continue;
		flow_mark(f, t, s);
		/* The first one of a[b] = c is what is assigned. */
		if (t + 1 < to && (flow_is(f, t + 1, "[") || flow_is(f, t + 1, ".")))
			return;
	}
}

static const struct flow_function *flow_function_of(
	const struct scan_flow *f, const struct code_token *t)
{
	for (size_t i = 0; i < f->n_functions; i++) {
		const struct flow_function *k = &f->functions[i];

		if (k->len == t->len && memcmp(f->text + k->name, f->text + t->start, t->len) == 0)
			return k;
	}
	return NULL;
}

/* What is passed to a function of this program arrives in its parameters. */
static void flow_pass(struct scan_flow *f, const struct flow_statement *s)
{
	for (const struct code_token *t = s->first; s->marks && t + 1 < s->end; t++) {
		const struct flow_function *k;

		if (t->kind != CODE_NAME || !flow_is(f, t + 1, "("))
			continue;
		k = flow_function_of(f, t);
		for (size_t i = 0; k && i < k->n; i++) {
			struct flow_name *n = &f->names[k->parameters[i]];

			f->changed |= (n->marks | s->marks) != n->marks;
			n->marks |= s->marks;
			n->service = s->service ? s->service : n->service;
		}
	}
}

static void flow_leave(struct scan_flow *f, const struct flow_statement *s)
{
	const struct code_token *equals = flow_assignment(f, s), *t = s->first;

	flow_pass(f, s);
	if (equals) {
		flow_mark_all(f, s, s->first, equals);
	} else if (flow_is(f, t, "for")) {
		while (t < s->end && !flow_is(f, t, "in") && !flow_is(f, t, "of"))
			t++;
		flow_mark_all(f, s, s->first, t);
	} else if (flow_is(f, t, "if") && s->marks & MARK_PATH) {
		flow_mark_all(f, s, s->first, s->end);
	} else if (flow_is(f, t, "return") && f->inside && s->marks) {
		const struct code_token name = { .start = f->inside->name, .len = f->inside->len };

		flow_mark(f, &name, s);
	} else if (t->kind == CODE_NAME && t + 2 < s->end && flow_is(f, t + 1, ".") && s->marks) {
		/* list.append(x), map.set(x): the thing holds it now; picture.save(x): x does. */
		flow_mark(f, t, s);
		if (s->marks & MARK_WATCHED)
			flow_mark_all(f, s, s->first + 2, s->end);
	}
	for (; t + 1 < s->end; t++) {
		/* with open(x) as f */
		if (flow_is(f, t, "as") && t[1].kind == CODE_NAME)
			flow_mark(f, t + 1, s);
		/* A file that what was fetched is written to, by its name. */
		if (t->kind == CODE_STRING && t->len > 2 && s->acts & ACT_WRITE &&
			s->marks & MARK_FETCHED && !memchr(f->text + t->start, ' ', t->len))
			flow_mark(f, t, s);
		/* urlretrieve(address, path) */
		if (t->kind == CODE_NAME && s->acts & ACT_WRITE && s->marks & MARK_FETCHED &&
			flow_is(f, t + 1, ")"))
			flow_mark(f, t, s);
	}
}

/* Functions */

static void flow_add_parameters(struct scan_flow *f, struct flow_function *k,
	const struct code_token *t, const struct code_token *end)
{
	for (; t < end && !flow_is(f, t, ")") && k->n < FLOW_PARAMETERS_MAX; t++) {
		const bool starts =
			flow_is(f, t - 1, "(") || flow_is(f, t - 1, ",") || flow_is(f, t - 1, "*");
		struct flow_name *n =
			t->kind == CODE_NAME && starts ? flow_name(f, t->start, t->len) : NULL;

		if (n)
			k->parameters[k->n++] = (uint16_t)(n - f->names);
	}
}

/* def f(a, b); function f(a); const f = (a) => */
static void flow_note_function(struct scan_flow *f, const struct flow_statement *s)
{
	const struct code_token *name = NULL, *open = NULL;
	struct flow_function *k;

	for (const struct code_token *t = s->first; t + 2 < s->end && t < s->first + 8; t++) {
		if ((flow_is(f, t, "def") || flow_is(f, t, "function")) && t[1].kind == CODE_NAME &&
			flow_is(f, t + 2, "(")) {
			name = t + 1;
			open = t + 2;
		} else if (!f->python && t->kind == CODE_NAME && flow_is(f, t + 1, "=") &&
			   s->end - s->first > 4 && flow_is(f, s->end - 1, ">")) {
			name = t;
			open = t + 2;
			while (open < s->end && !flow_is(f, open, "("))
				open++;
		}
	}
	if (!name || open >= s->end || f->n_functions == FLOW_FUNCTIONS_MAX)
		return;
	k = &f->functions[f->n_functions++];
	*k = (struct flow_function){ .name = name->start, .len = name->len };
	flow_add_parameters(f, k, open + 1, s->end);
}

/* Judging */

static void flow_report(struct scan_flow *f, const struct flow_statement *s, const char *id)
{
	const uint32_t start = s->first->start;
	const char *newline = memchr(f->text + start, '\n', f->len - start);
	const size_t len = newline ? (size_t)(newline - f->text) - start : f->len - start;

	scan_add(f->scan, id,
		&(struct scan_spot){
			f->place, f->line + s->first->line - 1, f->text + start, len, 0, 0 });
}

/* Tainted text is the program itself, not one of its arguments. */
static bool flow_starts_marked(
	const struct scan_flow *f, const struct flow_statement *s, unsigned marks)
{
	for (const struct code_token *t = s->first; t + 1 < s->end; t++) {
		const struct flow_name *n;

		if (!flow_is(f, t, "(") && !flow_is(f, t, "["))
			continue;
		n = t[1].kind == CODE_NAME || t[1].kind == CODE_STRING
			    ? flow_find(f, t[1].start, t[1].len)
			    : NULL;
		if (n && n->marks & marks)
			return true;
	}
	return false;
}

static bool flow_is_elsewhere(const struct flow_statement *s)
{
	return s->service && s->host[0] && !sources_is_service_host(s->service, s->host);
}

static void flow_judge(struct scan_flow *f, const struct flow_statement *s)
{
	const unsigned m = s->marks;

	if (s->acts & ACT_SEND) {
		if (m & (MARK_SECRET | MARK_ENVIRONMENT))
			flow_report(f, s, m & MARK_SECRET ? "secret-sent" : "environment-sent");
		else if (m & MARK_WATCHED)
			flow_report(f, s, "spying");
		else if (m & MARK_KEY && flow_is_elsewhere(s) && !(s->acts & ACT_HEADERS))
			flow_report(f, s, "key-elsewhere");
		else if (m & MARK_SOME_KEY && m & MARK_KEY_NAMES)
			flow_report(f, s, "environment-sent");
	}
	if (s->acts & ACT_RUN && m & MARK_FETCHED)
		flow_report(f, s, "download-run");
	else if (s->acts & ACT_RUN && m & MARK_DECODED)
		flow_report(f, s, "encoded-run");
	else if (s->acts & ACT_RUN_LIST && m & MARK_FETCHED &&
		 flow_starts_marked(f, s, MARK_FETCHED))
		flow_report(f, s, "download-run");
}

/* "ex" + "ec": words that are put together so that a reader does not find them. */
static void flow_find_assembled(struct scan_flow *f, const struct flow_statement *s)
{
	char word[FLOW_WORD_MAX];
	size_t n = 0, parts = 0;

	for (const struct code_token *t = s->first; t < s->end; t++) {
		const bool joins = parts && flow_is(f, t - 1, "+") && t - 1 > s->first;

		if (t->kind != CODE_STRING) {
			if (!flow_is(f, t, "+"))
				parts = n = 0;
			continue;
		}
		if (!joins)
			parts = n = 0;
		if (t->len >= sizeof(word) - n) {
			parts = n = 0;
			continue;
		}
		memcpy(word + n, f->text + t->start, t->len);
		n += t->len;
		word[n] = '\0';
		if (++parts > 1 && sources_is_loaded_word(word))
			flow_report(f, s, "assembled-word");
	}
}

/* The next statement: where it ends, comments left out of neither. */
static bool flow_next(const struct code_tokens *t, size_t *at, struct flow_statement *ret)
{
	size_t end;

	while (*at < t->n && t->items[*at].kind == CODE_END)
		++*at;
	for (end = *at; end < t->n && t->items[end].kind != CODE_END; end++)
		;
	if (end == *at)
		return false;
	*ret = (struct flow_statement){ .first = &t->items[*at], .end = &t->items[end] };
	*at = end;
	return true;
}

static void flow_round(struct scan_flow *f, const struct code_tokens *tokens, bool judges)
{
	struct flow_statement s;
	size_t at = 0;

	f->inside = NULL;
	f->changed = false;
	while (flow_next(tokens, &at, &s)) {
		const struct code_token *t = s.first;
		const struct flow_function *k = NULL;

		for (; t + 1 < s.end && t < s.first + 4 && !k; t++) {
			if (flow_is(f, t, "def") || flow_is(f, t, "function"))
				k = flow_function_of(f, t + 1);
		}
		if (k)
			f->inside = k;
		flow_read_statement(f, &s);
		if (judges) {
			flow_judge(f, &s);
			flow_find_assembled(f, &s);
			for (t = s.first; t < s.end; t++) {
				if (t->kind == CODE_STRING && s.acts & (ACT_RUN | ACT_RUN_LIST))
					memset(f->parts + t->start, PART_RUN, t->len);
			}
		} else {
			flow_leave(f, &s);
		}
	}
}

/* A pattern that a program looks for is not what it does. */
static bool flow_is_regex(const struct scan_flow *f, const struct code_token *t)
{
	const char *text = f->text + t->start;
	const bool raw = f->python && t->start > 1 && strchr("rR", f->text[t->start - 2]);

	for (uint32_t i = 0; i + 1 < t->len; i++) {
		if ((text[i] == '\\' && strchr(".sbdwS(", text[i + 1])) ||
			(text[i] == '.' && text[i + 1] == '*'))
			return true;
	}
	return raw && !memmem(text, t->len, ":\\", 2);
}

void scan_flow(struct scan *s, enum scan_language language, enum scan_place place, uint32_t line,
	const char *text, size_t len, unsigned char **ret_parts)
{
	struct scan_flow f = { .scan = s,
		.place = place,
		.line = line,
		.python = language == LANGUAGE_PYTHON,
		.text = text,
		.len = len };
	struct code_tokens tokens = { 0 };
	struct flow_statement statement;
	size_t at = 0;

	f.parts = arena_calloc(&s->scratch, len + 1, 1);
	f.names = arena_calloc(&s->scratch, FLOW_NAMES_MAX, sizeof(*f.names));
	f.functions = arena_calloc(&s->scratch, FLOW_FUNCTIONS_MAX, sizeof(*f.functions));
	if (!f.parts || !f.names || !f.functions ||
		code_read(&tokens, &s->scratch, f.python ? CODE_PYTHON : CODE_JAVASCRIPT, text,
			len) < 0) {
		s->no_memory = true;
		return;
	}
	f.tokens = tokens.items;
	for (size_t i = 0; i < tokens.n; i++) {
		const struct code_token *t = &tokens.items[i];

		if (t->kind == CODE_STRING || t->kind == CODE_COMMENT)
			memset(f.parts + t->start,
				t->kind == CODE_STRING && !flow_is_regex(&f, t) ? PART_STRING
										: PART_COMMENT,
				t->len);
	}
	while (flow_next(&tokens, &at, &statement))
		flow_note_function(&f, &statement);
	for (int i = 0; i < FLOW_ROUNDS; i++) {
		flow_round(&f, &tokens, false);
		if (!f.changed)
			break;
	}
	flow_round(&f, &tokens, true);
	*ret_parts = f.parts;
}
