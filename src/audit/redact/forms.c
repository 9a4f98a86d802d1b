/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the text. A few characters say that something may be here: "://" has a user part
 * after it, "=" and ":" and the blank after an option have a name in front, and the beginning of
 * a word may be that of a known kind of key. places.c finds them; everything else is passed by.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "audit/redact/internal.h"
#include "base/array.h"

/* Sets of characters that end a value; blanks, quotes and the end of the text are in each. */
enum ends { AT_BLANK, AT_AMPERSAND, AT_JSON, AT_PATH, AT_DASH, AT_CLOSING, N_ENDS };
enum {
	ALL = (1 << N_ENDS) - 1,
	AMPERSAND = 1 << AT_AMPERSAND,
	JSON = 1 << AT_JSON,
	IN_PATH = 1 << AT_PATH,
	CLOSING = 1 << AT_CLOSING,
};
/* A bit for each of the sets that a character is in. */
static const unsigned char end_sets[256] = {
	['\0'] = ALL,
	[' '] = ALL,
	['\t'] = ALL,
	['\n'] = ALL,
	['\r'] = ALL,
	['"'] = ALL,
	['\''] = ALL,
	['`'] = ALL,
	['&'] = AMPERSAND | CLOSING,
	[','] = JSON | CLOSING,
	['}'] = JSON | CLOSING,
	[']'] = JSON | CLOSING,
	['/'] = IN_PATH,
	['?'] = IN_PATH,
	['#'] = IN_PATH,
	['\\'] = IN_PATH | CLOSING,
	['-'] = 1 << AT_DASH,
	[';'] = CLOSING,
	[':'] = CLOSING,
	[')'] = CLOSING,
	['|'] = CLOSING,
	['<'] = CLOSING,
	['>'] = CLOSING,
};

/*
 * What was found is remembered, so that a text of nothing but beginnings is not searched to its end
 * from each of them.
 */
struct form_scan {
	const char *text;
	size_t len;
	char *hidden;
	bool found;                    /* something was hidden */
	size_t hidden_from, hidden_to; /* the latest that was */
	struct {
		size_t from, to; /* between them is no end */
	} runs[N_ENDS];
	size_t line_end, key_end;
	size_t after_dash; /* the latest that was passed since a blank; 0: none */
};

enum { NAME_MAX_BYTES = 64, PARTS_MAX = 8, PASSWORD_MAX_BYTES = 1024 };

static char form_at(struct form_scan *s, size_t i)
{
	return i < s->len ? s->text[i] : '\0';
}

static bool form_is_at(struct form_scan *s, size_t i, const char *word)
{
	size_t n = strlen(word);

	return i <= s->len && n <= s->len - i && memcmp(s->text + i, word, n) == 0;
}

static void form_hide(struct form_scan *s, size_t from, size_t to)
{
	if (from >= to || (from >= s->hidden_from && to <= s->hidden_to))
		return;
	memset(s->hidden + from, 1, to - from);
	s->found = true;
	s->hidden_from = from;
	s->hidden_to = to;
}

static bool form_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool form_is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool form_is_end(char c, enum ends ends)
{
	return end_sets[(unsigned char)c] >> ends & 1;
}

/* The first place from i on that has one of the set, or a blank or a quote. */
static size_t form_find_end(struct form_scan *s, size_t i, enum ends ends)
{
	size_t end = i;

	if (i >= s->runs[ends].from && i <= s->runs[ends].to)
		return s->runs[ends].to;
	while (end < s->len && !form_is_end(s->text[end], ends))
		end++;
	s->runs[ends].from = i;
	s->runs[ends].to = end;
	return end;
}

static size_t form_skip_blanks(struct form_scan *s, size_t i)
{
	while (form_at(s, i) == ' ' || form_at(s, i) == '\t')
		i++;
	return i;
}

/* After the text that begins after a quote at i; a quote with a backslash only ends one that began
 * so. */
static size_t form_find_quote_end(struct form_scan *s, size_t i)
{
	char quote = s->text[i];
	bool escaped = i > 0 && s->text[i - 1] == '\\';

	for (i++; i < s->len; i++) {
		if (s->text[i] == '\\' && !(escaped && form_at(s, i + 1) == quote))
			i++;
		else if (s->text[i] == '\\' || s->text[i] == quote)
			return i;
	}
	return s->len;
}

/* A quote in the middle of a word: does something in quotes begin there, or did it end? */
static bool form_is_opening(struct form_scan *s, size_t i)
{
	const char next = form_at(s, i + 1);

	if (form_is_quote(next))
		return next != s->text[i] && form_at(s, i + 2) == s->text[i];
	return !form_is_end(next, AT_CLOSING);
}

/* Where the word ends that i is in, after a part of it, as a shell has it: a'b c'd, 'a'\''b'. */
static size_t form_find_word_end(struct form_scan *s, size_t i, enum ends ends)
{
	/* An apostrophe between two parts in apostrophes, '\'' or '"'"', also with escapes of JSON.
	 */
	static const char *const ways[] = { "\\''", "\\\\''", "\"'\"'", "\\\"'\\\"'" };

	for (unsigned parts = 0; parts < PARTS_MAX && i < s->len; parts++) {
		const size_t end = form_find_end(s, i, ends);
		size_t escaped = 0; /* how far it is to the second part */

		for (size_t k = 0; !escaped && k < ROWS(ways); k++)
			escaped = form_is_at(s, i, ways[k]) ? strlen(ways[k]) - 1 : 0;
		if (escaped || (form_is_quote(s->text[i]) && form_is_opening(s, i))) {
			i = form_find_quote_end(s, i + escaped);
			i += i < s->len;
			if (strchr(",;)}]", form_at(s, i)))
				break;
		} else if (form_is_blank(s->text[i]) && i > 0 && s->text[i - 1] == '\\') {
			i++;
		} else if (end > i) {
			i = end;
		} else {
			break;
		}
	}
	return i;
}

/* Where what begins with the quote at i ends; after the second quote, the word may go on. */
static size_t form_find_quoted_end(struct form_scan *s, size_t i, enum ends ends)
{
	const size_t end = form_find_quote_end(s, i);
	size_t word = end + 1;

	if (word >= s->len || strchr(",;)}]", s->text[word]))
		return end;
	word = form_find_word_end(s, word, ends);
	return word > end + 1 ? word : end;
}

/* A value that is quoted or goes on until a blank, a quote or one of the set. */
static void form_hide_value(struct form_scan *s, size_t i, enum ends ends)
{
	const bool escaped = form_at(s, i) == '\\' && form_is_quote(form_at(s, i + 1));

	if (escaped)
		form_hide(s, i + 2, form_find_quote_end(s, i + 1));
	else if (form_is_quote(form_at(s, i)))
		form_hide(s, i + 1, form_find_quoted_end(s, i, ends));
	else
		form_hide(s, i, form_find_word_end(s, i, ends));
}

/* Until the line ends, or the quote that stands in front of the name. */
static void form_hide_line(struct form_scan *s, size_t name, size_t i)
{
	if (name > 0 && form_is_quote(s->text[name - 1])) {
		form_hide(s, i, form_find_quoted_end(s, name - 1, AT_BLANK));
		return;
	}
	while (s->line_end < s->len &&
		(s->line_end < i || (s->text[s->line_end] != '\n' && s->text[s->line_end] != '\r')))
		s->line_end++;
	form_hide(s, i, s->line_end);
}

/* An @ from i on in the same word, or 0. An apostrophe may be part of a password. */
static size_t form_find_at(struct form_scan *s, size_t i)
{
	const size_t most = s->len - i > PASSWORD_MAX_BYTES ? i + PASSWORD_MAX_BYTES : s->len;

	while (i < most && s->text[i] != '@' && !form_is_blank(s->text[i]) && s->text[i] != '"')
		i++;
	return i < most && s->text[i] == '@' ? i : 0;
}

/* "://" is at i. A password with a slash in it is no URL, but it is a password. */
static void form_look_at_authority(struct form_scan *s, size_t i)
{
	size_t from = i + 3, end = form_find_end(s, from, AT_PATH);
	const char *at = memrchr(s->text + from, '@', end - from);
	const char *colon = memchr(s->text + from, ':', end - from);
	size_t to = at ? (size_t)(at - s->text) : 0;

	if (to == 0 && colon && form_at(s, from) != '[') {
		size_t port = (size_t)(colon - s->text) + 1;

		while (port < end && isdigit((unsigned char)s->text[port]))
			port++;
		if (port < end || form_is_quote(form_at(s, end)))
			to = form_find_at(s, end);
	}
	form_hide(s, from, to);
}

/* The name that ends before i. */
struct form_name {
	size_t start, end;
	bool quoted;
	uint32_t letters; /* redact_name_letters[] of them all */
};

static struct form_name form_find_name(struct form_scan *s, size_t i)
{
	struct form_name n = { .end = i };

	if (n.end > 0 && form_is_quote(s->text[n.end - 1])) {
		n.quoted = true;
		n.end--;
		if (n.end > 0 && s->text[n.end - 1] == '\\')
			n.end--;
	}
	n.start = n.end;
	while (n.start > 0 && n.end - n.start < NAME_MAX_BYTES) {
		const uint32_t letters = redact_name_letters[(unsigned char)s->text[n.start - 1]];

		if (!letters)
			break;
		n.letters |= letters;
		n.start--;
	}
	return n;
}

static enum redact_name form_name_kind(struct form_scan *s, const struct form_name *n)
{
	return redact_name_judge(s->text + n->start, n->end - n->start, n->letters);
}

/* Options of curl and others that have "name:password" after them. */
static bool form_is_user_option(struct form_scan *s, size_t start, size_t end)
{
	static const char *const options[] = { "-u", "-U", "--user", "--proxy-user" };

	if (form_at(s, start) != '-')
		return false;
	for (size_t i = 0; i < ROWS(options); i++) {
		if (strlen(options[i]) == end - start && form_is_at(s, start, options[i]))
			return true;
	}
	return false;
}

/* "name:password" at i, until there. */
static void form_hide_user_until(struct form_scan *s, size_t i, size_t end)
{
	if (i < end && memchr(s->text + i, ':', end - i))
		form_hide(s, i, end);
}

static void form_hide_user(struct form_scan *s, size_t i)
{
	if (form_is_quote(form_at(s, i)))
		form_hide_user_until(s, i + 1, form_find_quoted_end(s, i, AT_BLANK));
	else
		form_hide_user_until(s, i, form_find_word_end(s, i, AT_BLANK));
}

/* A whole word in quotes, of which the name is the beginning. */
static bool form_begins_quoted(struct form_scan *s, const struct form_name *n)
{
	return n->start > 0 && form_is_quote(s->text[n->start - 1]);
}

/* Before the quote at i stands "-c", "-ec" or "-e": after it comes a script, of several words. */
static bool form_is_script(struct form_scan *s, size_t i)
{
	size_t end = i > 0 && s->text[i - 1] == ' ' ? i - 1 : 0, start = end;

	while (start > 0 && end - start < NAME_MAX_BYTES &&
		isalpha((unsigned char)s->text[start - 1]))
		start--;
	return start > 0 && start < end && s->text[start - 1] == '-' &&
	       strchr("ce", s->text[end - 1]);
}

static void form_look_at_equals(struct form_scan *s, size_t i)
{
	struct form_name n = form_find_name(s, i);
	const enum redact_name kind = form_name_kind(s, &n);
	const char before = n.start > 0 ? s->text[n.start - 1] : '\0';
	const bool is_option = form_at(s, n.start) == '-';
	/* All of the word in quotes belongs to the name; not so in sh -c 'TOKEN=… make'. */
	const bool quoted =
		form_begins_quoted(s, &n) && (is_option || !form_is_script(s, n.start - 1));
	size_t end = 0;

	if (quoted)
		end = form_find_quoted_end(s, n.start - 1, AT_BLANK);
	if (form_is_user_option(s, n.start, n.end) && quoted)
		form_hide_user_until(s, i + 1, end);
	else if (form_is_user_option(s, n.start, n.end))
		form_hide_user(s, i + 1);
	if (kind == REDACT_NAME_PLAIN ||
		(kind == REDACT_NAME_QUERY && (!before || !strchr("?&#;", before))))
		return;
	if (quoted)
		form_hide(s, i + 1, end);
	else
		form_hide_value(s, i + 1, is_option ? AT_BLANK : AT_AMPERSAND);
}

static bool form_is_variable(struct form_scan *s, const struct form_name *n)
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
static void form_look_at_colon(struct form_scan *s, size_t i)
{
	size_t before = i;
	enum redact_name kind;
	struct form_name n;

	if (form_is_at(s, i, "://")) {
		form_look_at_authority(s, i);
		return;
	}
	while (before > 0 && i - before < 4 && s->text[before - 1] == ' ')
		before--;
	n = form_find_name(s, before);
	if (before == i && form_is_at(s, n.start, "-u") && n.end - n.start > 2)
		form_hide(s, n.start + 2, form_find_word_end(s, i, AT_BLANK));
	kind = form_name_kind(s, &n);
	if (kind == REDACT_NAME_PLAIN || kind == REDACT_NAME_QUERY)
		return;
	if (n.quoted)
		form_hide_value(s, form_skip_blanks(s, i + 1), AT_JSON);
	else if (kind == REDACT_NAME_HEADER ||
		 (form_begins_quoted(s, &n) && !form_is_variable(s, &n)))
		form_hide_line(s, n.start, form_skip_blanks(s, i + 1));
	else if (!form_is_variable(s, &n))
		form_hide_value(s, form_skip_blanks(s, i + 1), AT_BLANK);
}

/* A blank after an option. */
static void form_look_at_blank(struct form_scan *s, size_t i)
{
	const size_t after_dash = s->after_dash;
	enum redact_name kind;
	struct form_name n;
	size_t value;

	/* What comes behind this blank has its own. */
	s->after_dash = 0;
	if (!after_dash || i - after_dash >= NAME_MAX_BYTES)
		return;
	n = form_find_name(s, i);
	if (n.quoted || form_at(s, n.start) != '-' || n.start + 1 >= i)
		return;
	value = form_skip_blanks(s, i);
	/* "-x", "--verbose"; a password may begin with "-", too. */
	if (form_at(s, value) == '-' && (form_at(s, value + 1) == '-' || value + 2 >= s->len ||
						form_is_end(s->text[value + 2], AT_BLANK)))
		return;
	if (form_is_user_option(s, n.start, i)) {
		form_hide_user(s, value);
		return;
	}
	kind = form_name_kind(s, &n);
	if (kind != REDACT_NAME_PLAIN && kind != REDACT_NAME_QUERY)
		form_hide_value(s, value, AT_BLANK);
}

static bool form_is_key(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool form_is_bearer(char c)
{
	return form_is_key(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

static bool form_is_dotted(char c)
{
	return form_is_key(c) || c == '.';
}

/* Kinds of keys that are known by their beginning; the same first letters stand together. */
#define KEY_OF(beginning, least, is_part, mixed)                        \
	{                                                               \
		beginning, sizeof(beginning) - 1, least, is_part, mixed \
	}
#define KEY(beginning, least) KEY_OF(beginning, least, form_is_key, false)
static const struct key_form {
	const char *beginning;
	size_t len;
	size_t least; /* characters after it */
	bool (*is_part)(char c);
	bool mixed; /* has digits or capitals: otherwise it is an ordinary name */
} keys[] = { KEY("AKIA", 16), KEY("ASIA", 16), KEY("AIza", 30),
	KEY_OF("Bearer ", 8, form_is_bearer, true), KEY_OF("SG.", 40, form_is_dotted, true),
	KEY_OF("bearer ", 8, form_is_bearer, true), KEY("dop_v1_", 32), KEY("dckr_pat_", 20),
	KEY_OF("eyJ", 24, form_is_dotted, false), KEY("ghp_", 20), KEY("gho_", 20), KEY("ghu_", 20),
	KEY("ghs_", 20), KEY("ghr_", 20), KEY("github_pat_", 20), KEY("glpat-", 16), KEY("hf_", 30),
	KEY("npm_", 30), KEY_OF("pypi-", 40, form_is_key, true), KEY("rk_live_", 16),
	KEY_OF("sk-", 20, form_is_key, true), KEY("sk_live_", 16), KEY("sk_test_", 16),
	KEY("shpat_", 20), KEY("xoxa-", 10), KEY("xoxb-", 10), KEY("xoxe-", 10), KEY("xoxp-", 10),
	KEY("xoxr-", 10), KEY("xoxs-", 10), KEY("xapp-", 10),
	KEY_OF("ya29.", 20, form_is_dotted, false) };
/*
 * By the first letter: 1 + the first of the keys that begin with it, 0 for none; and the second
 * letters of them, a bit for each: few words that are no key have both.
 */
#define SECOND(c) (1U << ((c)&31))
static const struct {
	uint32_t seconds;
	unsigned char row;
} key_rows[128] = {
	['A'] = { SECOND('K') | SECOND('S') | SECOND('I'), 1 },
	['B'] = { SECOND('e'), 4 },
	['S'] = { SECOND('G'), 5 },
	['b'] = { SECOND('e'), 6 },
	['d'] = { SECOND('o') | SECOND('c'), 7 },
	['e'] = { SECOND('y'), 9 },
	['g'] = { SECOND('h') | SECOND('i') | SECOND('l'), 10 },
	['h'] = { SECOND('f'), 17 },
	['n'] = { SECOND('p'), 18 },
	['p'] = { SECOND('y'), 19 },
	['r'] = { SECOND('k'), 20 },
	['s'] = { SECOND('k') | SECOND('h'), 21 },
	['x'] = { SECOND('o') | SECOND('a'), 25 },
	['y'] = { SECOND('a'), 32 },
};
_Static_assert(ROWS(keys) == 32, "the rows above are those of the table");

/* After the key at i, or i if there is none. */
static size_t form_find_key_end(struct form_scan *s, size_t i, const struct key_form *k)
{
	size_t from = i + k->len, end = from;
	bool mixed = false;

	if (k->len > s->len - i || memcmp(s->text + i, k->beginning, k->len) != 0)
		return i;
	for (; end < s->len && k->is_part(s->text[end]); end++)
		mixed = mixed || isdigit((unsigned char)s->text[end]) ||
			isupper((unsigned char)s->text[end]);
	return end - from < k->least || (k->mixed && !mixed) ? i : end;
}

static bool form_may_begin_key(struct form_scan *s, size_t i)
{
	return key_rows[s->text[i] & 127].seconds & SECOND(form_at(s, i + 1));
}

static void form_look_at_letter(struct form_scan *s, size_t i)
{
	const char first = s->text[i], second = form_at(s, i + 1);

	/* One that begins in what is hidden ends in it, too. */
	if (i >= s->hidden_from && i < s->hidden_to)
		return;
	for (size_t k = key_rows[first & 127].row - 1U;
		k < ROWS(keys) && keys[k].beginning[0] == first; k++)
		if (second == keys[k].beginning[1])
			form_hide(s, i, form_find_key_end(s, i, &keys[k]));
}

/* The beginning of an option; or of a private key, whole or cut. */
static void form_look_at_dash(struct form_scan *s, size_t i)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ", private[] = "PRIVATE KEY";
	size_t from = i + sizeof(begin) - 1, line;
	const char *stop;

	s->after_dash = i + 1;
	if (form_at(s, i + 1) != '-' || i < s->key_end || !form_is_at(s, i, begin))
		return;
	line = form_find_end(s, from, AT_DASH);
	while (form_at(s, line) == ' ')
		line = form_find_end(s, line + 1, AT_DASH);
	if (!memmem(s->text + from, line - from, private, sizeof(private) - 1))
		return;
	stop = memmem(s->text + from, s->len - from, end, sizeof(end) - 1);
	s->key_end = stop ? (size_t)(stop - s->text) : s->len;
	form_hide(s, line, s->key_end);
}

/* After "%3D" a key may begin, although "D" is a character of a word. */
static void form_look_at_percent(struct form_scan *s, size_t i)
{
	if (i + 3 < s->len)
		form_look_at_letter(s, i + 3);
}

static void form_look(struct form_scan *s, size_t i)
{
	switch (s->text[i]) {
	case ':':
		form_look_at_colon(s, i);
		break;
	case '=':
		form_look_at_equals(s, i);
		break;
	case ' ':
	case '\t':
		form_look_at_blank(s, i);
		break;
	case '-':
		form_look_at_dash(s, i);
		break;
	case '%':
		form_look_at_percent(s, i);
		break;
	default:
		form_look_at_letter(s, i);
	}
}

bool redact_forms_mark(const char *text, size_t len, char *hidden)
{
	struct form_scan s = { .text = text, .len = len, .hidden = hidden };
	uint64_t in_word = 0; /* 1: the byte before the block may be part of a key */

	for (size_t start = 0; start < len; start += REDACT_BLOCK) {
		const size_t rest = len - start;
		const struct redact_places p =
			redact_places_find(text + start, rest < REDACT_BLOCK ? rest : REDACT_BLOCK);
		uint64_t left = p.looks;

		for (uint64_t b = p.keys & ~(p.keys << 1 | in_word); b; b &= b - 1) {
			if (form_may_begin_key(&s, start + (size_t)__builtin_ctzll(b)))
				left |= b & -b;
		}
		for (; left; left &= left - 1)
			form_look(&s, start + (size_t)__builtin_ctzll(left));
		in_word = p.keys >> (REDACT_BLOCK - 1);
	}
	return s.found;
}
