/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through the files of a skill, line by line. A line that ends with a backslash, or in code
 * with a pipe, goes on in the next one: patterns see both as one.
 */
#include "advice/scan/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "advice/scan/match.h"
#include "advice/scan/text.h"
#include "skill/walk.h"

enum { JOINED_MAX = 64 << 10 };

struct scan {
	struct arena *arena;
	struct skill_findings findings;
	struct scan_match match;
	bool no_memory;

	/* The file at hand. */
	const char *file;
	size_t n_in_file;
	enum scan_language language;
	uint32_t seen[RULE_COUNT]; /* where each rule was found last; lines count from 1 */
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
static void scan_add(struct scan *s, enum scan_rule_id rule, uint32_t line, const char *text,
	size_t len, size_t at)
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

static void scan_characters(struct scan *s, uint32_t line, const char *text, size_t len)
{
	static const struct {
		enum scan_rule_id rule;
		bool (*find)(const char *line, size_t len, size_t *ret);
	} checks[] = {
		{ RULE_HIDDEN_TEXT, scan_text_hidden },
		{ RULE_LONG_LINE, scan_text_long },
		{ RULE_ENCODED_BLOB, scan_text_blob },
		{ RULE_RAW_ADDRESS, scan_text_address },
	};
	size_t at;

	for (size_t i = 0; i < ROWS(checks); i++) {
		if (checks[i].find(text, len, &at))
			scan_add(s, checks[i].rule, line, text, len, at);
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

static void scan_patterns_of_line(struct scan *s)
{
	struct buffer *line = &s->joined;

	buffer_addc(line, ' ');
	if (line->failed) {
		s->no_memory = true;
		return;
	}
	scan_match_line(&s->match, line->data, line->len);
	for (size_t i = 0; i < s->match.n_found; i++)
		scan_add(s, s->match.found[i].rule, s->joined_line, line->data, line->len,
			s->match.found[i].at);
	buffer_clear(line);
}

static void scan_line(struct scan *s, uint32_t line, const char *text, size_t len, bool is_last)
{
	bool more;

	scan_characters(s, line, text, len);
	if (s->joined.len == 0)
		s->joined_line = line;
	more = scan_is_continued(s, text, &len);
	scan_text_normalize(&s->joined, text, len);
	if (!more || is_last)
		scan_patterns_of_line(s);
}

static void scan_text(struct scan *s, const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	uint32_t line = 0;
	/* A byte order mark at the start hides nothing. */
	size_t at = len >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

	s->language = scan_text_language(s->file, text, len);
	scan_match_start(&s->match, s->language);
	while (at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;

		scan_line(s, ++line, text + at, n, at + n + 1 >= len);
		at += n + 1;
	}
}

/* Reads the start of a file; -EFBIG, an outcome rather than an error, means that there is more. */
static int scan_read_start(struct scan *s, const struct skill_entry *entry, struct error *e)
{
	int r;

	buffer_clear(&s->data);
	r = file_read_fd(entry->fd, SKILL_SCAN_FILE_MAX, &s->data);
	if (r < 0 && r != -EFBIG)
		return error_set(e, r, NULL, "%s: %s", entry->path, strerror(-r));
	return r;
}

static int scan_file(void *data, const struct skill_entry *entry, struct error *e)
{
	struct scan *s = data;
	int r;

	if (entry->type != SKILL_FILE)
		return 0;
	r = scan_read_start(s, entry, e);
	if (r < 0 && r != -EFBIG)
		return r;
	s->file = arena_strdup(s->arena, entry->path);
	s->no_memory = !s->file;
	s->n_in_file = 0;
	memset(s->seen, 0, sizeof(s->seen));
	if (s->file && !scan_text_is_text(buffer_text(&s->data), s->data.len))
		scan_add(s, RULE_BINARY_FILE, 0, NULL, 0, 0);
	else if (s->file)
		scan_text(s, buffer_text(&s->data), s->data.len);
	if (s->file && r == -EFBIG)
		scan_add(s, RULE_CUT_FILE, 0, NULL, 0, 0);
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

int skill_scan(int dirfd, struct arena *a, struct skill_findings *ret, struct error *e)
{
	auto_arena automaton = { 0 };
	struct scan s = { .arena = a };
	int r = scan_match_init(&s.match, &automaton);

	if (r < 0)
		return error_no_memory(e);
	r = skill_walk(dirfd, scan_file, &s, e);
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
