/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through the files of a skill, line by line. A line that ends with a backslash, or in code
 * with a pipe, goes on in the next one: patterns see both as one.
 */
#include "advice/scan/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/shebang.h"
#include "base/utf8.h"
#include "advice/scan/internal.h"
#include "skill/walk.h"

enum {
	JOINED_MAX = 64 << 10,
	LONG_LINE = 2000,
	BLOB_DIGITS = 200, /* of base64 or hexadecimal in a row */
	BLOB_ESCAPES = 32, /* like \x41, in a row */
	FOREIGN_PERCENT = 10,
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
	{ LANGUAGE_SHELL, { ".sh", ".bash", ".zsh" }, { "sh" } },
	{ LANGUAGE_PROSE, { ".md", ".txt", ".rst" }, { NULL } },
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

static bool find_hidden(const char *line, size_t len, size_t *ret)
{
	uint32_t before = 0;
	size_t i = 0;

	while (i < len) {
		uint32_t c = 0;
		size_t n = utf8_decode(line + i, len - i, &c);

		/* A joiner between pictures, as in a family of emoji, is how they are written. */
		bool joins = c == 0x200d && (before >= 0x1f000 || before == 0xfe0f ||
						    (before >= 0x2190 && before <= 0x2bff));

		if (n && utf8_is_deceptive(c) && !joins) {
			*ret = i;
			return true;
		}
		before = c;
		i += n ? n : 1;
	}
	return false;
}

static bool find_long(const char *line, size_t len, size_t *ret)
{
	(void)line;
	*ret = 0;
	return len > LONG_LINE;
}

/* What kinds of digits a run holds. */
struct run {
	size_t start, len;
	bool upper, lower, digit, hex;
};

static bool find_digits(const char *line, size_t len, size_t *ret)
{
	struct run r = { .hex = true };

	for (size_t i = 0; i <= len; i++) {
		const char c = i < len ? line[i] : ' ';

		if (isalnum((unsigned char)c) || (c && strchr("+/=_-", c))) {
			r.len++;
			r.upper |= isupper((unsigned char)c) != 0;
			r.lower |= islower((unsigned char)c) != 0;
			r.digit |= isdigit((unsigned char)c) != 0;
			r.hex &= isxdigit((unsigned char)c) != 0;
			continue;
		}
		if (r.len >= BLOB_DIGITS && (r.hex || (r.upper && r.lower && r.digit))) {
			*ret = r.start;
			return true;
		}
		r = (struct run){ .start = i + 1, .hex = true };
	}
	return false;
}

static bool find_escapes(const char *line, size_t len, size_t *ret)
{
	size_t n = 0, i = 0;

	while (i < len) {
		const char *s = line + i;

		if (len - i < 4 || s[0] != '\\' || s[1] != 'x' || !isxdigit((unsigned char)s[2]) ||
			!isxdigit((unsigned char)s[3])) {
			n = 0;
			i++;
			continue;
		}
		i += 4;
		if (++n == BLOB_ESCAPES) {
			*ret = i - 4 * n;
			return true;
		}
	}
	return false;
}

/* Four numbers with dots between them, and no name that goes on; not this machine itself. */
static bool is_address(const char *s, size_t len)
{
	size_t dots = 0, i = 0;

	if (len && s[0] == '[')
		return true;
	for (; i < len && (isdigit((unsigned char)s[i]) || s[i] == '.'); i++)
		dots += s[i] == '.';
	if (dots != 3 || !isdigit((unsigned char)s[i - 1]))
		return false;
	if (i < len && (isalpha((unsigned char)s[i]) || s[i] == '-'))
		return false;
	return strncmp(s, "127.", 4) != 0 && strncmp(s, "0.0.0.0", 7) != 0;
}

static bool find_address(const char *line, size_t len, size_t *ret)
{
	const char *s = line, *end = line + len;

	while ((s = memmem(s, (size_t)(end - s), "://", 3))) {
		s += 3;
		if (is_address(s, (size_t)(end - s))) {
			*ret = (size_t)(s - line) - 3;
			return true;
		}
	}
	return false;
}

/* Findings */

struct scan {
	struct arena *arena;
	struct skill_findings findings;
	struct scan_match match;
	bool no_memory;

	/* The file at hand. */
	const char *file;
	size_t n_in_file;
	enum scan_language language;
	uint32_t seen[SCAN_RULES_MAX]; /* where each rule was found last; lines count from 1 */
	struct buffer data, joined;
	uint32_t joined_line; /* where the joined lines start */
};

const char *skill_severity_name(enum skill_severity severity)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[severity];
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
	while (len > from && strchr(" \t\r", text[len - 1]))
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

/* text NULL: the file as a whole. */
static void scan_add(
	struct scan *s, unsigned rule, uint32_t line, const char *text, size_t len, size_t at)
{
	struct skill_findings *f = &s->findings;
	const struct scan_rule *r = &scan_rules[rule];
	struct skill_finding finding = { r->id, r->severity, s->file, line, r->what, "" };

	if (s->seen[rule] == line + 1)
		return;
	s->seen[rule] = line + 1;
	if (s->n_in_file == SKILL_SCAN_PER_FILE_MAX || f->n == SKILL_SCAN_FINDINGS_MAX) {
		f->more = true;
		return;
	}
	if (text)
		finding.excerpt = excerpt(s->arena, text, len, at);
	if (!finding.excerpt || ARENA_PUSH(s->arena, f->items, f->n, f->cap, finding) < 0)
		s->no_memory = true;
	s->n_in_file++;
}

/* A rule that has no patterns. */
static void scan_add_named(
	struct scan *s, const char *id, uint32_t line, const char *text, size_t len, size_t at)
{
	for (unsigned i = 0; i < scan_rules_n; i++) {
		if (strcmp(scan_rules[i].id, id) == 0)
			scan_add(s, i, line, text, len, at);
	}
}

static void scan_characters(struct scan *s, uint32_t line, const char *text, size_t len)
{
	static const struct {
		const char *rule;
		bool (*find)(const char *line, size_t len, size_t *ret);
	} checks[] = {
		{ "hidden-text", find_hidden },
		{ "long-line", find_long },
		{ "encoded-blob", find_digits },
		{ "encoded-blob", find_escapes },
		{ "raw-address", find_address },
	};
	size_t at;

	for (size_t i = 0; i < ROWS(checks); i++) {
		if (checks[i].find(text, len, &at))
			scan_add_named(s, checks[i].rule, line, text, len, at);
	}
}

/* Takes a backslash that joins lines off the end; true if the next line belongs to this one. */
static bool scan_is_continued(const struct scan *s, const char *text, size_t *len)
{
	while (*len && strchr(" \t\r", text[*len - 1]))
		--*len;
	if (*len == 0 || s->joined.len > JOINED_MAX)
		return false;
	if (text[*len - 1] == '\\') {
		--*len;
		return true;
	}
	return text[*len - 1] == '|' && s->language != LANGUAGE_PROSE;
}

static void scan_line(struct scan *s, uint32_t line, const char *text, size_t len, bool is_last)
{
	struct buffer *joined = &s->joined;
	bool more;

	scan_characters(s, line, text, len);
	more = scan_is_continued(s, text, &len);
	if (joined->len == 0) {
		s->joined_line = line;
		buffer_addc(joined, ' ');
	}
	for (size_t i = 0; i < len; i++) {
		const char c = text[i], last = joined->data ? joined->data[joined->len - 1] : ' ';

		if (c != ' ' && c != '\t' && c != '\r')
			buffer_addc(joined, c);
		else if (last != ' ' && last != '|')
			buffer_addc(joined, ' ');
	}
	if (more && !is_last)
		return;
	buffer_addc(joined, ' ');
	if (joined->failed) {
		s->no_memory = true;
		return;
	}
	scan_match_line(&s->match, joined->data, joined->len);
	for (size_t i = 0; i < s->match.n_found; i++)
		scan_add(s, s->match.found[i].rule, s->joined_line, joined->data, joined->len,
			s->match.found[i].at);
	buffer_clear(joined);
}

static void scan_text(struct scan *s, const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	uint32_t line = 0;
	/* A byte order mark at the start hides nothing. */
	size_t at = len >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

	s->language = scan_language_of(s->file, text, len);
	scan_match_start(&s->match, s->language);
	while (at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;

		scan_line(s, ++line, text + at, n, at + n + 1 >= len);
		at += n + 1;
	}
}

static int scan_file(void *data, const struct skill_entry *entry, struct error *e)
{
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
	if (s->file && !is_text(buffer_text(&s->data), s->data.len))
		scan_add_named(s, "binary-file", 0, NULL, 0, 0);
	else if (s->file)
		scan_text(s, buffer_text(&s->data), s->data.len);
	if (s->file && r == -EFBIG)
		scan_add_named(s, "cut-file", 0, NULL, 0, 0);
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

int skill_scan(int dirfd, const struct skill_lives *lives, struct arena *a,
	struct skill_findings *ret, struct error *e)
{
	auto_arena automaton = { 0 };
	struct scan s = { .arena = a };
	int r = scan_match_init(&s.match, &automaton);

	if (r < 0)
		return error_no_memory(e);
	r = skill_walk(dirfd, lives, scan_file, &s, e);
	buffer_deinit(&s.data);
	buffer_deinit(&s.joined);
	if (r < 0)
		return r;
	if (s.findings.n)
		qsort(s.findings.items, s.findings.n, sizeof(s.findings.items[0]),
			compare_findings);
	*ret = s.findings;
	return 0;
}
