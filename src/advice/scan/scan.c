/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through the files of a skill. Each line, or what belongs together as one, is looked at in
 * its place (internal.h); a rule says what it means there. A line that ends with a backslash, or in
 * code with a pipe, goes on in the next one: patterns see both as one.
 *
 * What forbids, warns or teaches is text about an attack, and weighs less. That is said only of
 * text and of blocks in it: a script does the same whatever stands around it.
 */
#include "advice/scan/scan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/shebang.h"
#include "base/utf8.h"
#include "advice/scan/internal.h"
#include "skill/walk.h"

enum {
	JOINED_MAX = 64 << 10,
	FOREIGN_PERCENT = 10,
	SENTENCE_MAX = 200, /* so much before a match is looked at for what forbids it */
	ABOUT_BYTES = 1500, /* so much of a document says what it is about */
};

/* No NUL, and few bytes that no text has: other controls, and what is not UTF-8. */
static bool is_text(const char *data, size_t len)
{
	size_t foreign = 0, i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(data + i, len - i, &c);

		if (n == 1 && c == 0)
			return false;
		if (n == 0 || (c < 0x20 && !strchr("\t\n\r\f\x1b", (int)c)))
			foreign++;
		i += n ? n : 1;
	}
	return foreign * 100 <= len * FOREIGN_PERCENT;
}

/* Extensions and interpreters end with NULL; the first interpreter that a shebang names counts. */
static const struct {
	enum scan_language language;
	const char *extensions[8], *interpreters[4];
} languages[] = {
	{ LANGUAGE_PYTHON, { ".py", ".pyi" }, { "python" } },
	{ LANGUAGE_NODE, { ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx" },
		{ "node", "bun", "deno" } },
	{ LANGUAGE_SHELL, { ".sh", ".bash", ".zsh", ".command" }, { "sh" } },
	{ LANGUAGE_PROSE, { ".md", ".txt", ".rst", ".mdc", ".markdown" }, { NULL } },
};

static enum scan_language scan_language_of(const char *path, const char *data, size_t len)
{
	const char *dot = strrchr(path, '.');
	struct shebang s;

	for (size_t i = 0; dot && i < ROWS(languages); i++) {
		for (const char *const *ext = languages[i].extensions; *ext; ext++) {
			if (strcasecmp(dot, *ext) == 0)
				return languages[i].language;
		}
	}
	for (size_t i = 0; shebang_parse(&s, data, len) == 0 && i < ROWS(languages); i++) {
		for (const char *const *name = languages[i].interpreters; *name; name++) {
			if (strstr(s.program, *name) || strstr(s.argument, *name))
				return languages[i].language;
		}
	}
	return LANGUAGE_OTHER;
}

/* Data that other programs read is text; what they run is code. */
static enum scan_place scan_place_of(const char *path)
{
	static const char *const data[] = { ".json", ".csv", ".tsv", ".yaml", ".yml", ".toml",
		".xml", ".ini", ".lock", ".jsonl", ".svg", ".tex", ".bib" };
	static const char *const run[] = { "package.json", ".mcp.json", "mcp.json", "hooks.json",
		"settings.json", "plugin.json", "claude_desktop_config.json" };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	for (size_t i = 0; i < ROWS(run); i++) {
		if (strcasecmp(base, run[i]) == 0)
			return PLACE_CODE;
	}
	if (strstr(path, ".github/workflows/") || strstr(path, "/hooks/"))
		return PLACE_CODE;
	for (size_t i = 0; dot && i < ROWS(data); i++) {
		if (strcasecmp(dot, data[i]) == 0)
			return PLACE_TEXT;
	}
	return PLACE_CODE;
}

/* Findings */

const char *skill_severity_name(enum skill_severity severity)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[severity];
}

size_t skill_rules_count(void)
{
	return scan_rules_n;
}

struct skill_rule skill_rules_at(size_t i)
{
	const struct scan_rule *r = &scan_rules[i];
	int worst = SKILL_LOW;

	for (int p = 0; p < PLACE_COUNT; p++) {
		if (r->severity[p] > worst)
			worst = r->severity[p];
	}
	return (struct skill_rule){ scan_texts + r->id, scan_texts + r->what, scan_texts + r->check,
		(enum skill_severity)worst };
}

/* The text around a place, short and harmless. */
static const char *excerpt(struct arena *a, const char *text, size_t len, size_t at)
{
	auto_buffer b = { 0 };
	size_t from = at > SKILL_SCAN_EXCERPT_MAX / 2 ? at - SKILL_SCAN_EXCERPT_MAX / 3 : 0;
	size_t n;

	while (from < len && (text[from] == ' ' || text[from] == '\t'))
		from++;
	while (from < len && ((unsigned char)text[from] & 0xc0) == 0x80)
		from++;
	while (len > from && strchr(" \t\r\n", text[len - 1]))
		len--;
	/* A few bytes more, so that the last character is whole. */
	n = len - from < SKILL_SCAN_EXCERPT_MAX + 4 ? len - from : SKILL_SCAN_EXCERPT_MAX + 4;
	buffer_add_visible(&b, text + from, n);
	n = b.len;
	if (n > SKILL_SCAN_EXCERPT_MAX) {
		n = SKILL_SCAN_EXCERPT_MAX;
		while (((unsigned char)b.data[n] & 0xc0) == 0x80)
			n--;
	}
	return b.failed ? NULL : arena_strndup(a, buffer_text(&b), n);
}

static bool scan_has_any(const char *text, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const size_t k = strlen(words[i]);

		for (size_t at = 0; at + k <= len; at++) {
			if (strncasecmp(text + at, words[i], k) == 0)
				return true;
		}
	}
	return false;
}

bool scan_is_warning(const char *text, size_t len)
{
	static const char *const words[] = { "red flag", "watch for", "signs of", "never ", "avoid",
		"bad ", "anti-pattern", "antipattern", "attack", "dangerous", "malicious", "threat",
		"suspicious", "blocked", "forbidden", "what not to", "don't", "do not", "vulnerab",
		"detect", "look for", "phrases such" };

	return scan_has_any(text, len, words, ROWS(words));
}

bool scan_is_forbidden(const char *text, size_t len, size_t at)
{
	static const char *const before[] = { "never", "do not", "don't", "must not", "should not",
		"shouldn't", "cannot", "can't", "avoid", "refuse", "forbid", "prohibit",
		"instead of", "rather than", "detect", "flag", "reject", "warn", "not allowed",
		"no ", "look for", "watch for", "such as", "signs of", "nie ", "nunca ", "jamais ",
		"\xe2\x9d\x8c", "\xe4\xb8\x8d\xe8\xa6\x81" };
	static const char *const around[] = { "dangerous", "unsafe", "malicious", "suspicious",
		"attack", "vulnerab", "insecure", "red flag", "bad practice", "exploit" };
	size_t from = at > SENTENCE_MAX ? at - SENTENCE_MAX : 0, end = at;

	for (size_t i = at; i > from; i--) {
		if (strchr(".!?", text[i - 1]) && i < len && text[i] == ' ') {
			from = i;
			break;
		}
	}
	while (end < len && end < at + SENTENCE_MAX &&
		!(text[end] == '.' && end + 1 < len && text[end + 1] == ' '))
		end++;
	return scan_has_any(text + from, at - from, before, ROWS(before)) ||
	       scan_has_any(text + from, end - from, around, ROWS(around));
}

/* How much a rule means at a place; SCAN_SILENT: nothing. */
static int scan_weigh(const struct scan *s, const struct scan_rule *r, const struct scan_spot *spot)
{
	int severity = r->severity[spot->place];
	const bool in_text = spot->place == PLACE_TEXT || spot->place == PLACE_BLOCK;
	const size_t began = spot->began < spot->at ? spot->began : spot->at;

	if (severity < 0)
		return severity;
	if (strcmp(scan_texts + r->id, "download-run") == 0 && spot->text) {
		if (scan_is_installer(spot->text, spot->len))
			return SKILL_LOW;
		if (in_text && scan_is_odd_source(spot->text, spot->len))
			severity = SKILL_HIGH;
	}
	if (!in_text || !spot->text)
		return severity;
	if (!r->orders && scan_is_forbidden(spot->text, spot->len, began))
		return spot->place == PLACE_TEXT ? SCAN_SILENT : SKILL_LOW;
	/* "…", `…`: it is quoted, by a text that is about such things or not. */
	if (r->orders && began && strchr("\"'`(", spot->text[began - 1]))
		return SKILL_LOW;
	if ((s->teaches || s->warned) && severity > SKILL_LOW)
		return r->orders ? severity - 1 : SKILL_LOW;
	return severity;
}

static void scan_add_rule(struct scan *s, unsigned rule, const struct scan_spot *spot)
{
	struct skill_findings *f = &s->findings;
	const struct scan_rule *r = &scan_rules[rule];
	struct skill_finding finding = { .id = scan_texts + r->id,
		.file = s->file,
		.line = spot->line,
		.what = scan_texts + r->what,
		.excerpt = "",
		.check = scan_texts + r->check,
		.stops = r->stops };
	const int severity = scan_weigh(s, r, spot);

	if (severity < 0 || s->seen[rule] == spot->line + 1)
		return;
	s->seen[rule] = spot->line + 1;
	finding.severity = (enum skill_severity)severity;
	if (s->n_in_file == SKILL_SCAN_PER_FILE_MAX || f->n == SKILL_SCAN_FINDINGS_MAX) {
		f->more = true;
		return;
	}
	if (spot->text)
		finding.excerpt = excerpt(s->arena, spot->text, spot->len, spot->at);
	if (!finding.excerpt || ARENA_PUSH(s->arena, f->items, f->n, f->cap, finding) < 0)
		s->no_memory = true;
	s->n_in_file++;
}

void scan_add(struct scan *s, const char *id, const struct scan_spot *spot)
{
	for (unsigned i = 0; i < scan_rules_n; i++) {
		if (strcmp(scan_texts + scan_rules[i].id, id) == 0) {
			scan_add_rule(s, i, spot);
			return;
		}
	}
}

/* Lines */

static void scan_characters(
	struct scan *s, enum scan_place place, uint32_t line, const char *text, size_t len)
{
	static const struct {
		const char *rule;
		bool (*find)(const char *line, size_t len, size_t *ret);
	} checks[] = {
		{ "hidden-text", scan_find_hidden },
		{ "long-line", scan_find_long },
		{ "padded-code", scan_find_padding },
		{ "encoded-blob", scan_find_digits },
		{ "encoded-blob", scan_find_escapes },
		{ "raw-address", scan_find_address },
		{ "fixed-hook", scan_find_hook },
	};
	size_t at;

	for (size_t i = 0; i < ROWS(checks); i++) {
		if (checks[i].find(text, len, &at))
			scan_add(s, checks[i].rule,
				&(struct scan_spot){ place, line, text, len, at, at });
	}
}

/* Where in the file the byte of joined lines is. */
static uint32_t scan_joined_line(const struct scan *s, size_t at)
{
	size_t i = s->n_lines;

	while (i > 1 && s->lines[i - 1].at > at)
		i--;
	return i ? s->lines[i - 1].line : 0;
}

/* Comments of a program run nothing, and its strings only where something runs them. */
static enum scan_place scan_match_place(
	const struct scan *s, enum scan_place place, const struct scan_rule *r, size_t at)
{
	const struct buffer *parts = &s->joined_parts;

	if (at >= parts->len || parts->failed)
		return place;
	if (parts->data[at] == PART_COMMENT || (parts->data[at] == PART_STRING && !r->strings))
		return PLACE_TEXT;
	return place;
}

static void scan_add_piece(struct scan *s, char c, size_t i)
{
	buffer_addc(&s->joined, c);
	if (s->parts) {
		/* Byte for byte beside it. */
		while (s->joined_parts.len + 1 < s->joined.len && !s->joined_parts.failed)
			buffer_addc(&s->joined_parts, PART_CODE);
		buffer_addc(&s->joined_parts, (char)s->parts[i]);
	}
}

static void scan_flush(struct scan *s, enum scan_place place, enum scan_language language)
{
	struct buffer *joined = &s->joined;

	if (joined->len == 0)
		return;
	buffer_addc(joined, ' ');
	if (joined->failed) {
		s->no_memory = true;
		return;
	}
	scan_match_line(&s->match, language, joined->data, joined->len);
	for (size_t i = 0; i < s->match.n_found; i++) {
		const size_t at = s->match.found[i].at;
		const unsigned rule = s->match.found[i].rule;

		scan_add_rule(s, rule,
			&(struct scan_spot){ scan_match_place(s, place, &scan_rules[rule], at),
				scan_joined_line(s, s->match.found[i].began), joined->data,
				joined->len, at, s->match.found[i].began });
	}
	scan_packages(s, place, scan_joined_line(s, 0), joined->data, joined->len);
	buffer_clear(joined);
	buffer_clear(&s->joined_parts);
	s->n_lines = 0;
}

void scan_piece(struct scan *s, enum scan_place place, enum scan_language language, uint32_t line,
	const char *text, size_t len, bool joins)
{
	struct buffer *joined = &s->joined;

	if (joined->len == 0)
		buffer_addc(joined, ' ');
	if (s->n_lines < ROWS(s->lines)) {
		s->lines[s->n_lines].at = joined->len;
		s->lines[s->n_lines++].line = line;
	}
	for (size_t i = 0; i < len; i++) {
		const char c = text[i], last = joined->data ? joined->data[joined->len - 1] : ' ';

		/* Marks of bold and italic text are no part of its words. */
		if (language == LANGUAGE_PROSE && c == '*' && i + 1 < len && text[i + 1] == '*')
			i++;
		else if (c != ' ' && c != '\t' && c != '\r')
			scan_add_piece(s, c, i);
		else if (last != ' ' && last != '|')
			scan_add_piece(s, ' ', i);
	}
	if (joins && joined->len < JOINED_MAX && s->n_lines < ROWS(s->lines)) {
		if (joined->data && joined->data[joined->len - 1] != ' ' &&
			joined->data[joined->len - 1] != '|')
			buffer_addc(joined, ' ');
		return;
	}
	scan_flush(s, place, language);
}

/* Takes a backslash that joins lines off the end; true if the next line belongs to this one. */
static bool scan_is_continued(enum scan_language language, const char *text, size_t *len)
{
	while (*len && strchr(" \t\r", text[*len - 1]))
		--*len;
	if (*len == 0)
		return false;
	if (text[*len - 1] == '\\') {
		--*len;
		return true;
	}
	return text[*len - 1] == '|' && language != LANGUAGE_PROSE;
}

/* A comment of a shell script is text. */
static enum scan_place scan_line_place(
	enum scan_place place, enum scan_language language, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && isspace((unsigned char)text[i]))
		i++;
	return i < len && language == LANGUAGE_SHELL && text[i] == '#' && place == PLACE_CODE
		       ? PLACE_TEXT
		       : place;
}

static void scan_lines(struct scan *s, enum scan_place place, enum scan_language language,
	uint32_t line, const char *text, size_t len, const unsigned char *parts)
{
	enum scan_place here = place;
	size_t at = 0;

	for (; at < len; line++) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;
		size_t kept = n;
		const bool more = scan_is_continued(language, text + at, &kept);

		if (s->joined.len == 0)
			here = scan_line_place(place, language, text + at, n);
		s->parts = parts ? parts + at : NULL;
		scan_piece(s, here, language, line, text + at, kept, more && at + n + 1 < len);
		at += n + 1;
	}
	s->parts = NULL;
	scan_flush(s, here, language);
}

/* Code, whole: what flows through it, and its lines. */
static void scan_code(struct scan *s, enum scan_place place, enum scan_language language,
	uint32_t line, const char *text, size_t len)
{
	unsigned char *parts = NULL;

	if (language == LANGUAGE_PYTHON || language == LANGUAGE_NODE)
		scan_flow(s, language, place, line, text, len, &parts);
	else if (language == LANGUAGE_SHELL)
		scan_pipes(s, place, line, text, len);
	scan_lines(s, place, language, line, text, len, parts);
}

void scan_block(
	struct scan *s, enum scan_language language, uint32_t line, const char *text, size_t len)
{
	scan_flush(s, PLACE_TEXT, LANGUAGE_PROSE);
	/* A block that does not say what it is, may be commands. */
	scan_code(s, PLACE_BLOCK, language, line, text, len);
}

static void scan_text(struct scan *s, const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	/* A byte order mark at the start hides nothing. */
	const size_t skip = len >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
	enum scan_place place;
	uint32_t line = 0;

	text += skip;
	len -= skip;
	s->language = scan_language_of(s->file, text, len);
	place = s->language == LANGUAGE_PROSE   ? PLACE_TEXT
		: s->language == LANGUAGE_OTHER ? scan_place_of(s->file)
						: PLACE_CODE;
	scan_match_start(&s->match);
	for (size_t at = 0; at < len;) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;

		scan_characters(s, place, ++line, text + at, n);
		at += n + 1;
	}
	scan_package_list(s, text, len);
	if (s->language == LANGUAGE_PROSE)
		scan_document(s, text, len);
	else
		scan_code(s, place, s->language, 1, text, len);
}

static void scan_end(struct scan *s)
{
	buffer_deinit(&s->data);
	buffer_deinit(&s->joined);
	buffer_deinit(&s->joined_parts);
	arena_deinit(&s->scratch);
}

int scan_bytes(const struct scan_match *match, struct arena *a, const char *name, const char *text,
	size_t len, struct skill_findings *ret)
{
	struct scan s = { .match = *match, .arena = a, .file = name };

	if (is_text(text, len))
		scan_text(&s, text, len);
	scan_end(&s);
	*ret = s.findings;
	return s.no_memory ? -ENOMEM : 0;
}

static int scan_file(void *data, const struct skill_entry *entry, struct error *e)
{
	static const struct scan_spot whole = { .place = PLACE_CODE };
	struct scan *s = data;
	int r;

	if (entry->type != SKILL_FILE || entry->live)
		return 0;
	buffer_clear(&s->data);
	/* -EFBIG, an outcome rather than an error: there is more. */
	r = file_read_fd(entry->fd, SKILL_SCAN_FILE_MAX, &s->data);
	if (r < 0 && r != -EFBIG)
		return error_set(e, r, NULL, "%s: %s", entry->path, strerror(-r));
	s->file = arena_strdup(s->arena, entry->path);
	s->no_memory = !s->file;
	s->n_in_file = 0;
	memset(s->seen, 0, sizeof(s->seen));
	s->warned = false;
	if (s->file && !is_text(buffer_text(&s->data), s->data.len))
		scan_add(s, "binary-file", &whole);
	else if (s->file)
		scan_text(s, buffer_text(&s->data), s->data.len);
	if (s->file && r == -EFBIG && is_text(buffer_text(&s->data), s->data.len))
		scan_add(s, "cut-file", &whole);
	arena_deinit(&s->scratch);
	return s->no_memory ? error_no_memory(e) : 0;
}

static int compare_findings(const void *x, const void *y)
{
	const struct skill_finding *a = x, *b = y;
	int r = strcmp(a->file, b->file);

	if (r == 0 && a->line != b->line)
		r = a->line < b->line ? -1 : 1;
	return r ? r : strcmp(a->id, b->id);
}

/* Whether a skill says that it is about attacks: then it will quote some. */
static bool scan_teaches(int dirfd)
{
	static const char *const names[] = { "SKILL.md", "skill.md", "README.md" };
	static const char *const words[] = { "prompt injection", "prompt-injection", "malware",
		"malicious", "vulnerab", "penetration test", "pentest", "red team", "red-team",
		"capture the flag", "capture-the-flag", "ctf ", "exploit", "attack", "threat",
		"security review", "security audit", "security scan", "owasp", "jailbreak",
		"incident", "forensic", "advisor", "injection", "xss", "security test",
		"guardrail" };
	char text[ABOUT_BYTES];

	for (size_t i = 0; i < ROWS(names); i++) {
		auto_fd fd = openat(dirfd, names[i], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (n > 0)
			return scan_has_any(text, (size_t)n, words, ROWS(words));
	}
	return false;
}

int skill_scan(int dirfd, const struct skill_lives *lives, struct arena *a,
	struct skill_findings *ret, struct error *e)
{
	auto_arena automaton = { 0 };
	struct scan s = { .arena = a };
	int r = scan_match_init(&s.match, &automaton);

	if (r < 0)
		return error_no_memory(e);
	s.teaches = scan_teaches(dirfd);
	r = skill_walk(dirfd, lives, scan_file, &s, e);
	scan_end(&s);
	if (r < 0)
		return r;
	if (s.findings.n)
		qsort(s.findings.items, s.findings.n, sizeof(s.findings.items[0]),
			compare_findings);
	*ret = s.findings;
	return 0;
}
