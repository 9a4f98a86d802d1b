/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the text. A few characters say that something may be here: "://" has a user part
 * behind it, "=" and ":" and the blank behind an option have a name in front, and the beginning of
 * a word may be that of a known kind of key. Everything else is passed by, so ordinary texts cost a
 * look at a table for each byte.
 */
#include "audit/redact/forms.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "audit/redact/names.h"
#include "base/array.h"

/* Sets of characters that end a value, besides blanks and quotes. */
enum ends { AT_BLANK, AT_AMPERSAND, AT_JSON, AT_PATH, AT_DASH, N_ENDS };
static const char *const end_sets[N_ENDS] = { "", "&", ",}]", "/?#\\", "-" };

/*
 * What was found is remembered, so that a text of nothing but beginnings is not searched to its end
 * from each of them.
 */
struct form_scan {
	const char *text;
	size_t len;
	char *hidden;
	size_t hidden_from, hidden_to; /* the latest that was hidden */
	struct {
		size_t from, to; /* between them is no end */
	} runs[N_ENDS];
	size_t line_end, key_end;
};

enum { NAME_MAX_BYTES = 64, PARTS_MAX = 8, PASSWORD_MAX_BYTES = 1024 };

static char at(struct form_scan *s, size_t i)
{
	return i < s->len ? s->text[i] : '\0';
}

static bool redact_forms_is_at(struct form_scan *s, size_t i, const char *word)
{
	size_t n = strlen(word);

	return i <= s->len && n <= s->len - i && memcmp(s->text + i, word, n) == 0;
}

static void redact_forms_hide(struct form_scan *s, size_t from, size_t to)
{
	if (from >= to || (from >= s->hidden_from && to <= s->hidden_to))
		return;
	memset(s->hidden + from, 1, to - from);
	s->hidden_from = from;
	s->hidden_to = to;
}

static bool redact_forms_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool is_end(char c, const char *set)
{
	return redact_forms_is_blank(c) || is_quote(c) || strchr(set, c);
}

/* The first place from i on that has one of the set, or a blank or a quote. */
static size_t redact_forms_find_end(struct form_scan *s, size_t i, enum ends ends)
{
	size_t end = i;

	if (i >= s->runs[ends].from && i <= s->runs[ends].to)
		return s->runs[ends].to;
	while (end < s->len && !is_end(s->text[end], end_sets[ends]))
		end++;
	s->runs[ends].from = i;
	s->runs[ends].to = end;
	return end;
}

static size_t skip_blanks(struct form_scan *s, size_t i)
{
	while (at(s, i) == ' ' || at(s, i) == '\t')
		i++;
	return i;
}

/* Behind the text that begins after a quote at i; a quote with a backslash only ends one that began
 * so. */
static size_t find_quote_end(struct form_scan *s, size_t i)
{
	char quote = s->text[i];
	bool escaped = i > 0 && s->text[i - 1] == '\\';

	for (i++; i < s->len; i++) {
		if (s->text[i] == '\\' && !(escaped && at(s, i + 1) == quote))
			i++;
		else if (s->text[i] == '\\' || s->text[i] == quote)
			return i;
	}
	return s->len;
}

/* A quote in the middle of a word: does something in quotes begin there, or did it end? */
static bool is_opening(struct form_scan *s, size_t i)
{
	const char next = at(s, i + 1);

	if (is_quote(next))
		return next != s->text[i] && at(s, i + 2) == s->text[i];
	return !is_end(next, ",;:)}]&|<>\\");
}

/* An apostrophe between two parts in apostrophes, '\'' or '"'"', also with escapes of JSON: how far
 * it is to the second part. */
static size_t escaped_quote(struct form_scan *s, size_t i)
{
	static const char *const ways[] = { "\\''", "\\\\''", "\"'\"'", "\\\"'\\\"'" };

	for (size_t k = 0; k < ROWS(ways); k++) {
		if (redact_forms_is_at(s, i, ways[k]))
			return strlen(ways[k]) - 1;
	}
	return 0;
}

/* Where the word ends that i is in, behind a part of it, as a shell has it: a'b c'd, 'a'\''b'. */
static size_t find_word_end(struct form_scan *s, size_t i, enum ends ends)
{
	for (unsigned parts = 0; parts < PARTS_MAX && i < s->len; parts++) {
		const size_t escaped = escaped_quote(s, i);
		const size_t end = redact_forms_find_end(s, i, ends);

		if (escaped || (is_quote(s->text[i]) && is_opening(s, i))) {
			i = find_quote_end(s, i + escaped);
			i += i < s->len;
			if (strchr(",;)}]", at(s, i)))
				break;
		} else if (redact_forms_is_blank(s->text[i]) && i > 0 && s->text[i - 1] == '\\') {
			i++;
		} else if (end > i) {
			i = end;
		} else {
			break;
		}
	}
	return i;
}

/* Behind a quote that ended at `end`, the word may go on. */
static size_t find_quoted_end(struct form_scan *s, size_t end, enum ends ends)
{
	size_t word = end + 1;

	if (word >= s->len || strchr(",;)}]", s->text[word]))
		return end;
	word = find_word_end(s, word, ends);
	return word > end + 1 ? word : end;
}

/* A value that is quoted or goes on until a blank, a quote or one of the set. */
static void hide_value(struct form_scan *s, size_t i, enum ends ends)
{
	const bool escaped = at(s, i) == '\\' && is_quote(at(s, i + 1));

	if (escaped)
		redact_forms_hide(s, i + 2, find_quote_end(s, i + 1));
	else if (is_quote(at(s, i)))
		redact_forms_hide(s, i + 1, find_quoted_end(s, find_quote_end(s, i), ends));
	else
		redact_forms_hide(s, i, find_word_end(s, i, ends));
}

static size_t find_line_end(struct form_scan *s, size_t i)
{
	while (s->line_end < s->len &&
		(s->line_end < i || (s->text[s->line_end] != '\n' && s->text[s->line_end] != '\r')))
		s->line_end++;
	return s->line_end;
}

/* Until the line ends, or the quote that stands in front of the name. */
static void hide_line(struct form_scan *s, size_t name, size_t i)
{
	if (name > 0 && is_quote(s->text[name - 1]))
		redact_forms_hide(s, i, find_quoted_end(s, find_quote_end(s, name - 1), AT_BLANK));
	else
		redact_forms_hide(s, i, find_line_end(s, i));
}

/* Nothing but digits until the end. */
static bool is_port(struct form_scan *s, size_t i, size_t end)
{
	while (i < end && isdigit((unsigned char)s->text[i]))
		i++;
	return i == end && !is_quote(at(s, end));
}

/* An @ from i on in the same word, or 0. An apostrophe may be part of a password. */
static size_t find_at(struct form_scan *s, size_t i)
{
	const size_t most = s->len - i > PASSWORD_MAX_BYTES ? i + PASSWORD_MAX_BYTES : s->len;

	while (i < most && s->text[i] != '@' && !redact_forms_is_blank(s->text[i]) &&
		s->text[i] != '"')
		i++;
	return i < most && s->text[i] == '@' ? i : 0;
}

/* "://" is at i. A password with a slash in it is no URL, but it is a password. */
static void look_at_authority(struct form_scan *s, size_t i)
{
	size_t from = i + 3, end = redact_forms_find_end(s, from, AT_PATH), to = 0;
	const char *colon = memchr(s->text + from, ':', end - from);

	for (size_t k = from; k < end; k++) {
		if (s->text[k] == '@')
			to = k;
	}
	if (to == 0 && colon && at(s, from) != '[') {
		if (!is_port(s, (size_t)(colon - s->text) + 1, end))
			to = find_at(s, end);
	}
	redact_forms_hide(s, from, to);
}

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '%' ||
	       c == '[' || c == ']';
}

/* The name that ends before i. */
struct form_name {
	size_t start, end;
	bool quoted;
	enum redact_name kind;
};

static struct form_name redact_forms_find_name(struct form_scan *s, size_t i)
{
	struct form_name n = { .end = i };

	if (n.end > 0 && is_quote(s->text[n.end - 1])) {
		n.quoted = true;
		n.end--;
		if (n.end > 0 && s->text[n.end - 1] == '\\')
			n.end--;
	}
	n.start = n.end;
	while (n.start > 0 && n.end - n.start < NAME_MAX_BYTES &&
		is_name_character(s->text[n.start - 1]))
		n.start--;
	n.kind = redact_name_judge(s->text + n.start, n.end - n.start);
	return n;
}

static bool is_in_query(struct form_scan *s, const struct form_name *n)
{
	char before = n->start > 0 ? s->text[n->start - 1] : '\0';

	return before == '?' || before == '&' || before == '#' || before == ';';
}

/* Options of curl and others that have "name:password" behind them. */
static bool is_user_option(struct form_scan *s, size_t start, size_t end)
{
	static const char *const options[] = { "-u", "-U", "--user", "--proxy-user" };

	for (size_t i = 0; i < ROWS(options); i++) {
		if (strlen(options[i]) == end - start && redact_forms_is_at(s, start, options[i]))
			return true;
	}
	return false;
}

/* "name:password" at i, until there. */
static void hide_user_until(struct form_scan *s, size_t i, size_t end)
{
	if (i < end && memchr(s->text + i, ':', end - i))
		redact_forms_hide(s, i, end);
}

static void hide_user(struct form_scan *s, size_t i)
{
	if (is_quote(at(s, i)))
		hide_user_until(s, i + 1, find_quoted_end(s, find_quote_end(s, i), AT_BLANK));
	else
		hide_user_until(s, i, find_word_end(s, i, AT_BLANK));
}

/* A whole word in quotes, of which the name is the beginning. */
static bool begins_quoted(struct form_scan *s, const struct form_name *n)
{
	return n->start > 0 && is_quote(s->text[n->start - 1]);
}

/* Before the quote at i stands "-c", "-ec" or "-e": behind it comes a script, of several words. */
static bool is_script(struct form_scan *s, size_t i)
{
	size_t end = i > 0 && s->text[i - 1] == ' ' ? i - 1 : 0, start = end;

	while (start > 0 && end - start < NAME_MAX_BYTES &&
		isalpha((unsigned char)s->text[start - 1]))
		start--;
	return start > 0 && start < end && s->text[start - 1] == '-' &&
	       strchr("ce", s->text[end - 1]);
}

/* All of the word in quotes belongs to the name; not so in sh -c 'TOKEN=… make'. */
static bool begins_word(struct form_scan *s, const struct form_name *n)
{
	return begins_quoted(s, n) && (at(s, n->start) == '-' || !is_script(s, n->start - 1));
}

static void look_at_equals(struct form_scan *s, size_t i)
{
	struct form_name n = redact_forms_find_name(s, i);
	const bool is_option = at(s, n.start) == '-', quoted = begins_word(s, &n);
	size_t end = 0;

	if (quoted)
		end = find_quoted_end(s, find_quote_end(s, n.start - 1), AT_BLANK);
	if (is_user_option(s, n.start, n.end) && quoted)
		hide_user_until(s, i + 1, end);
	else if (is_user_option(s, n.start, n.end))
		hide_user(s, i + 1);
	if (n.kind == REDACT_NAME_PLAIN || (n.kind == REDACT_NAME_QUERY && !is_in_query(s, &n)))
		return;
	if (quoted)
		redact_forms_hide(s, i + 1, end);
	else
		hide_value(s, i + 1, is_option ? AT_BLANK : AT_AMPERSAND);
}

static bool redact_forms_is_variable(struct form_scan *s, const struct form_name *n)
{
	for (size_t i = n->start; i < n->end; i++) {
		if (!isupper((unsigned char)s->text[i]) && !isdigit((unsigned char)s->text[i]) &&
			s->text[i] != '_')
			return false;
	}
	return true;
}

/*
 * JSON, a header, or a line of YAML. "GITHUB_TOKEN: not granted" is a sentence of ours about a
 * variable.
 */
static void look_at_colon(struct form_scan *s, size_t i)
{
	size_t before = i;
	struct form_name n;

	while (before > 0 && i - before < 4 && s->text[before - 1] == ' ')
		before--;
	n = redact_forms_find_name(s, before);
	if (before == i && redact_forms_is_at(s, n.start, "-u") && n.end - n.start > 2)
		redact_forms_hide(s, n.start + 2, find_word_end(s, i, AT_BLANK));
	if (n.kind == REDACT_NAME_PLAIN || n.kind == REDACT_NAME_QUERY)
		return;
	if (n.quoted)
		hide_value(s, skip_blanks(s, i + 1), AT_JSON);
	else if (n.kind == REDACT_NAME_HEADER ||
		 (begins_quoted(s, &n) && !redact_forms_is_variable(s, &n)))
		hide_line(s, n.start, skip_blanks(s, i + 1));
	else if (!redact_forms_is_variable(s, &n))
		hide_value(s, skip_blanks(s, i + 1), AT_BLANK);
}

/* "-x", "--verbose"; a password may begin with "-", too. */
static bool redact_forms_is_option(struct form_scan *s, size_t i)
{
	return at(s, i) == '-' &&
	       (at(s, i + 1) == '-' || i + 2 >= s->len || is_end(s->text[i + 2], ""));
}

static void look_at_blank(struct form_scan *s, size_t i)
{
	size_t start = i, value;
	struct form_name n;

	while (start > 0 && i - start < NAME_MAX_BYTES && is_name_character(s->text[start - 1]))
		start--;
	if (at(s, start) != '-' || start + 1 >= i)
		return;
	value = skip_blanks(s, i);
	if (redact_forms_is_option(s, value))
		return;
	if (is_user_option(s, start, i)) {
		hide_user(s, value);
		return;
	}
	n = redact_forms_find_name(s, i);
	if (n.kind != REDACT_NAME_PLAIN && n.kind != REDACT_NAME_QUERY)
		hide_value(s, value, AT_BLANK);
}

static bool is_key_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_bearer_character(char c)
{
	return is_key_character(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

static bool is_dotted_character(char c)
{
	return is_key_character(c) || c == '.';
}

/* Kinds of keys that are known by their beginning; the same first letters stand together. */
#define BEGINNING(literal) (literal), sizeof(literal) - 1
static const struct key_form {
	const char *beginning;
	size_t len;
	size_t least; /* characters behind it */
	bool (*is_part)(char c);
	bool mixed; /* has digits or capitals: otherwise it is an ordinary name */
} keys[] = {
	{ BEGINNING("AKIA"), 16, is_key_character, false },
	{ BEGINNING("ASIA"), 16, is_key_character, false },
	{ BEGINNING("AIza"), 30, is_key_character, false },
	{ BEGINNING("Bearer "), 8, is_bearer_character, true },
	{ BEGINNING("SG."), 40, is_dotted_character, true },
	{ BEGINNING("bearer "), 8, is_bearer_character, true },
	{ BEGINNING("dop_v1_"), 32, is_key_character, false },
	{ BEGINNING("dckr_pat_"), 20, is_key_character, false },
	{ BEGINNING("eyJ"), 24, is_dotted_character, false },
	{ BEGINNING("ghp_"), 20, is_key_character, false },
	{ BEGINNING("gho_"), 20, is_key_character, false },
	{ BEGINNING("ghu_"), 20, is_key_character, false },
	{ BEGINNING("ghs_"), 20, is_key_character, false },
	{ BEGINNING("ghr_"), 20, is_key_character, false },
	{ BEGINNING("github_pat_"), 20, is_key_character, false },
	{ BEGINNING("glpat-"), 16, is_key_character, false },
	{ BEGINNING("hf_"), 30, is_key_character, false },
	{ BEGINNING("npm_"), 30, is_key_character, false },
	{ BEGINNING("pypi-"), 40, is_key_character, true },
	{ BEGINNING("rk_live_"), 16, is_key_character, false },
	{ BEGINNING("sk-"), 20, is_key_character, true },
	{ BEGINNING("sk_live_"), 16, is_key_character, false },
	{ BEGINNING("sk_test_"), 16, is_key_character, false },
	{ BEGINNING("shpat_"), 20, is_key_character, false },
	{ BEGINNING("xoxa-"), 10, is_key_character, false },
	{ BEGINNING("xoxb-"), 10, is_key_character, false },
	{ BEGINNING("xoxe-"), 10, is_key_character, false },
	{ BEGINNING("xoxp-"), 10, is_key_character, false },
	{ BEGINNING("xoxr-"), 10, is_key_character, false },
	{ BEGINNING("xoxs-"), 10, is_key_character, false },
	{ BEGINNING("xapp-"), 10, is_key_character, false },
	{ BEGINNING("ya29."), 20, is_dotted_character, false },
};
static const char key_letters[] = "AAABSbddeggggggghnprssssxxxxxxxy";
_Static_assert(sizeof(key_letters) - 1 == ROWS(keys), "a letter for each");

static bool is_mixed(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)text[i]) || isupper((unsigned char)text[i]))
			return true;
	}
	return false;
}

/* Behind the key at i, or i if there is none. */
static size_t find_key_end(struct form_scan *s, size_t i, const struct key_form *k)
{
	size_t from = i + k->len, end = from;

	if (k->len > s->len - i || memcmp(s->text + i, k->beginning, k->len) != 0)
		return i;
	while (end < s->len && k->is_part(s->text[end]))
		end++;
	if (end - from < k->least || (k->mixed && !is_mixed(s->text + from, end - from)))
		return i;
	return end;
}

/* Not in the middle of a word; behind "%3D" one begins. */
static bool is_word_start(struct form_scan *s, size_t i)
{
	return i == 0 || !is_key_character(s->text[i - 1]) || (i >= 3 && s->text[i - 3] == '%');
}

static void look_at_letter(struct form_scan *s, size_t i)
{
	const char *first;

	/* One that begins in what is hidden ends in it, too. */
	if (!is_word_start(s, i) || (i >= s->hidden_from && i < s->hidden_to))
		return;
	first = memchr(key_letters, s->text[i], sizeof(key_letters) - 1);
	if (!first)
		return;
	for (size_t k = (size_t)(first - key_letters); key_letters[k] == s->text[i]; k++)
		redact_forms_hide(s, i, find_key_end(s, i, &keys[k]));
}

/* A private key, whole or cut. */
static void look_at_dash(struct form_scan *s, size_t i)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ", private[] = "PRIVATE KEY";
	size_t from = i + sizeof(begin) - 1, line;
	const char *stop;

	if (i < s->key_end || !redact_forms_is_at(s, i, begin))
		return;
	line = redact_forms_find_end(s, from, AT_DASH);
	while (at(s, line) == ' ')
		line = redact_forms_find_end(s, line + 1, AT_DASH);
	if (!memmem(s->text + from, line - from, private, sizeof(private) - 1))
		return;
	stop = memmem(s->text + from, s->len - from, end, sizeof(end) - 1);
	s->key_end = stop ? (size_t)(stop - s->text) : s->len;
	redact_forms_hide(s, line, s->key_end);
}

static void look_at_colons(struct form_scan *s, size_t i)
{
	if (redact_forms_is_at(s, i, "://"))
		look_at_authority(s, i);
	else
		look_at_colon(s, i);
}

typedef void look(struct form_scan *s, size_t i);
static look *const looks[] = { NULL, look_at_colons, look_at_equals, look_at_blank, look_at_letter,
	look_at_dash };

enum { COLON = 1, EQUALS, BLANK, LETTER, DASH };
static const unsigned char kinds[256] = {
	[':'] = COLON,
	['='] = EQUALS,
	[' '] = BLANK,
	['\t'] = BLANK,
	['-'] = DASH,
	['A'] = LETTER,
	['B'] = LETTER,
	['S'] = LETTER,
	['b'] = LETTER,
	['d'] = LETTER,
	['e'] = LETTER,
	['g'] = LETTER,
	['h'] = LETTER,
	['n'] = LETTER,
	['p'] = LETTER,
	['r'] = LETTER,
	['s'] = LETTER,
	['x'] = LETTER,
	['y'] = LETTER,
};

void redact_forms_mark(const char *text, size_t len, char *hidden)
{
	struct form_scan s = { .text = text, .len = len, .hidden = hidden };

	for (size_t i = 0; i < len; i++) {
		unsigned char kind = kinds[(unsigned char)text[i]];

		if (kind)
			looks[kind](&s, i);
	}
}
