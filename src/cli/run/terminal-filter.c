/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/terminal-filter.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

enum {
	ESC = 0x1b,
	BEL = 0x07,
	ENQ = 0x05,
	SO = 0x0e,
	SI = 0x0f,
	CAN = 0x18,
	SUB = 0x1a,
	DEL = 0x7f,
	ST = 0x9c,
	CSI_MAX = 256,
	TITLES_MAX = 10,
};

enum filter_state {
	FILTER_TEXT,
	FILTER_ESC,
	FILTER_ESC_MORE, /* ESC and intermediate bytes */
	FILTER_CSI,
	FILTER_OSC,
	FILTER_DCS,
	FILTER_TITLE,  /* ESC k, of screen */
	FILTER_SKIP,   /* a string that is dropped */
	FILTER_STREAM, /* the rest of one that passes */
};

enum filter_change {
	CHANGED_STYLE = 1 << 0,
	CHANGED_CHARSET = 1 << 1,
	CHANGED_KEYPAD = 1 << 2,
	CHANGED_REGION = 1 << 3,
	CHANGED_CURSOR = 1 << 4,
	CHANGED_CURSOR_LINUX = 1 << 5,
	CHANGED_KEYBOARD = 1 << 6, /* of kitty */
	CHANGED_KEYS = 1 << 7,     /* modifyOtherKeys */
	CHANGED_COLOURS = 1 << 8,
	CHANGED_LINK = 1 << 9,
	CHANGED_POINTER = 1 << 10,
	CHANGED_TABS = 1 << 11,
	CHANGED_MODES = 1 << 12,     /* more than are remembered */
	CHANGED_MODIFIERS = 1 << 13, /* of other keys than modifyOtherKeys */
	CHANGED_PROTECTION = 1 << 14,
};

/* Zero denies. */
enum filter_verdict { FILTER_DROP, FILTER_QUESTION, FILTER_PASS };

struct filter_out {
	char *at;
};

static void filter_put(struct filter_out *o, const char *text, size_t n)
{
	memcpy(o->at, text, n);
	o->at += n;
}

static void filter_puts(struct filter_out *o, const char *text)
{
	filter_put(o, text, strlen(text));
}

static bool filter_lets(struct terminal_filter *f, enum filter_verdict v)
{
	if (v == FILTER_QUESTION && f->rights.questions)
		f->has_asked = true;
	return v == FILTER_PASS || (v == FILTER_QUESTION && f->rights.questions);
}

static void filter_change(struct terminal_filter *f, uint32_t what, bool is_changed)
{
	f->changed = is_changed ? f->changed | what : f->changed & ~what;
}

/* CSI: [<=>?] parameters, intermediate bytes, a final byte */

struct csi {
	char prefix, inter, final; /* 0: none; of several intermediate bytes the last */
	const char *params;        /* not terminated */
	size_t n_params;
};

static const struct {
	char prefix, inter;
	const char *finals;
	enum filter_verdict verdict;
} csi_rules[] = {
	{ 0, 0, "@ABCDEFGHIJKLMPSTXZ`abdefghlmqrsuW", FILTER_PASS },
	{ 0, 0, "cnx", FILTER_QUESTION },
	{ 0, 0, "iy]", FILTER_DROP }, /* a printer; tests; the Linux console, which goes dark */
	{ '?', 0, "hlrsJKW", FILTER_PASS },
	{ '?', 0, "cnuSm", FILTER_QUESTION },
	{ '?', 0, "i", FILTER_DROP },
	{ '>', 0, "umn", FILTER_PASS },
	{ '>', 0, "cq", FILTER_QUESTION },
	{ '>', 0, "tTp", FILTER_DROP }, /* how titles are written; a hidden pointer */
	{ '=', 0, "u", FILTER_PASS },
	{ '=', 0, "c", FILTER_QUESTION },
	{ '<', 0, "u", FILTER_PASS },
	{ 0, ' ', "q@AtuPQRST", FILTER_PASS },
	{ 0, '!', "p", FILTER_PASS },
	{ 0, '"', "q", FILTER_PASS },
	{ 0, '"', "p", FILTER_DROP }, /* 8-bit sequences */
	{ 0, '$', "rtvxz{|", FILTER_PASS },
	{ 0, '$', "}~", FILTER_DROP }, /* the status line instead of the screen */
	{ 0, '*', "x|", FILTER_PASS },
	{ 0, '*', "y", FILTER_DROP }, /* checksums of what is on the screen */
	{ 0, '\'', "}~", FILTER_PASS },
	{ 0, '\'', "wz{|", FILTER_DROP }, /* the locator */
	{ 0, '#', "pqPQ{}", FILTER_PASS },
};

static unsigned csi_first(const struct csi *c)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->n_params && n < UINT16_MAX; i++) {
		if (c->params[i] < '0' || c->params[i] > '9')
			break;
		n = n * 10 + (unsigned)(c->params[i] - '0');
	}
	return n < UINT16_MAX ? n : UINT16_MAX;
}

static bool csi_is_default(const struct csi *c)
{
	return c->n_params == 0 || (c->n_params == 1 && c->params[0] == '0');
}

/* The parameters one by one: true if there is one more, which csi_first() reads from `rest`. */
static bool csi_next(struct csi *rest)
{
	const char *next = memchr(rest->params, ';', rest->n_params);
	size_t len = next ? (size_t)(next - rest->params) + 1 : rest->n_params;

	rest->params += len;
	rest->n_params -= len;
	return rest->n_params > 0;
}

/* ?2l: a VT52, for which other bytes are sequences. */
static bool csi_leaves_ansi(const struct csi *c)
{
	struct csi rest = *c;

	if (c->prefix != '?' || c->inter || c->final != 'l')
		return false;
	do {
		if (csi_first(&rest) == 2)
			return true;
	} while (csi_next(&rest));
	return false;
}

/* Of the window: 20 and 21 read titles, 11 to 19 sizes and places. */
static enum filter_verdict csi_judge_window(const struct csi *c)
{
	unsigned what = csi_first(c);

	if (what == 20 || what == 21)
		return FILTER_DROP;
	return what > 10 && what < 20 ? FILTER_QUESTION : FILTER_PASS;
}

static enum filter_verdict csi_judge(const struct csi *c)
{
	if (!c->prefix && !c->inter && c->final == 't')
		return csi_judge_window(c);
	if (csi_leaves_ansi(c))
		return FILTER_DROP;
	/* On the Linux console this is the cursor's shape. */
	if (c->prefix == '?' && !c->inter && c->final == 'c' && c->n_params > 0)
		return FILTER_PASS;
	for (size_t i = 0; i < ROWS(csi_rules); i++) {
		if (csi_rules[i].prefix == c->prefix && csi_rules[i].inter == c->inter &&
			strchr(csi_rules[i].finals, c->final))
			return csi_rules[i].verdict;
	}
	return FILTER_QUESTION;
}

/* On in a terminal as it starts. */
static bool mode_is_on(const struct terminal_mode *m)
{
	return m->is_private ? m->number == 2 || m->number == 7 || m->number == 8 || m->number == 25
			     : m->number == 12;
}

/* What they were is not known; 1048 is no mode, but the cursor's place. */
static bool mode_is_open(const struct terminal_mode *m)
{
	return m->is_private &&
	       (m->number == 12 || m->number == 1007 || m->number == 1034 || m->number == 1048);
}

static void mode_set(struct terminal_filter *f, struct terminal_mode m)
{
	size_t i = 0;

	while (i < f->n_modes &&
		(f->modes[i].number != m.number || f->modes[i].is_private != m.is_private))
		i++;
	if (mode_is_open(&m))
		return;
	if (m.is_on == mode_is_on(&m)) {
		if (i < f->n_modes)
			f->modes[i] = f->modes[--f->n_modes];
	} else if (i < f->n_modes) {
		f->modes[i] = m;
	} else if (f->n_modes < TERMINAL_FILTER_MODES) {
		f->modes[f->n_modes++] = m;
	} else {
		f->changed |= CHANGED_MODES;
	}
}

/* h, l, or r: then it is as it was when it was saved, which nobody knows. */
static void csi_set_modes(struct terminal_filter *f, const struct csi *c)
{
	struct csi rest = *c;

	if (c->n_params == 0)
		return;
	do {
		struct terminal_mode m = { (uint16_t)csi_first(&rest), c->prefix == '?',
			c->final == 'h' };

		if (c->final == 'r')
			m.is_on = !mode_is_on(&m);
		mode_set(f, m);
	} while (csi_next(&rest));
}

/* >KEYS;VALUE m, or >KEYS n: what keys send. Without a value, or with 0, it is as it was. */
static void csi_track_keys(struct terminal_filter *f, const struct csi *c)
{
	uint32_t what = csi_first(c) == 4 ? CHANGED_KEYS : CHANGED_MODIFIERS;
	size_t i = 0;

	while (i < c->n_params && c->params[i] >= '0' && c->params[i] <= '9')
		i++;
	while (i < c->n_params && (c->params[i] == ';' || c->params[i] == '0'))
		i++;
	if (c->final == 'n' || i < c->n_params)
		filter_change(f, what, true);
	else if (c->n_params == 0)
		filter_change(f, CHANGED_KEYS | CHANGED_MODIFIERS, false);
	else if (what == CHANGED_KEYS)
		filter_change(f, what, false);
}

static void csi_track_window(struct terminal_filter *f, const struct csi *c)
{
	if (csi_first(c) == 22 && f->n_titles < TITLES_MAX)
		f->n_titles++;
	if (csi_first(c) == 23 && f->n_titles > 0)
		f->n_titles--;
}

/* What it changes, of those that pass. */
static void csi_track(struct terminal_filter *f, const struct csi *c)
{
	const bool plain = !c->prefix && !c->inter;

	if ((c->final == 'h' || c->final == 'l') && !c->inter && c->prefix != '>')
		csi_set_modes(f, c);
	else if (c->final == 'r' && c->prefix == '?')
		csi_set_modes(f, c);
	else if (c->final == 'r' && plain)
		filter_change(f, CHANGED_REGION, c->n_params > 0);
	else if (c->final == 's' && plain && c->n_params > 0)
		filter_change(f, CHANGED_REGION, true);
	else if (c->final == 'm' && plain)
		filter_change(f, CHANGED_STYLE, !csi_is_default(c));
	else if ((c->final == 'm' || c->final == 'n') && c->prefix == '>')
		csi_track_keys(f, c);
	else if (c->final == 'q' && c->inter == '"')
		filter_change(f, CHANGED_PROTECTION, !csi_is_default(c));
	else if (c->final == 'q' && c->inter == ' ')
		filter_change(f, CHANGED_CURSOR, !csi_is_default(c));
	else if (c->final == 'c' && c->prefix == '?')
		filter_change(f, CHANGED_CURSOR_LINUX, !csi_is_default(c));
	else if (c->final == 'u' && (c->prefix == '>' || c->prefix == '='))
		filter_change(f, CHANGED_KEYBOARD, true);
	else if (c->final == 'g' && plain)
		filter_change(f, CHANGED_TABS, true);
	else if (c->final == 't' && plain)
		csi_track_window(f, c);
	else if (c->final == 'c' && plain)
		f->n_identities++;
}

static void filter_end_csi(struct terminal_filter *f, char final, struct filter_out *o)
{
	struct csi c = { .final = final, .params = f->held };
	size_t i = 0;

	if (f->is_too_long)
		return;
	if (f->n_held > 0 && strchr("<=>?", f->held[0])) {
		c.prefix = f->held[0];
		c.params++;
		i++;
	}
	while (i < f->n_held && f->held[i] >= '0' && f->held[i] <= ';') {
		c.n_params++;
		i++;
	}
	while (i < f->n_held && f->held[i] >= ' ' && f->held[i] <= '/')
		c.inter = f->held[i++];
	/* Anything else is no sequence that a terminal knows. */
	if (i < f->n_held || !filter_lets(f, csi_judge(&c)))
		return;
	csi_track(f, &c);
	filter_puts(o, "\x1b[");
	filter_put(o, f->held, f->n_held);
	filter_put(o, &final, 1);
}

/* OSC: a number, and what belongs to it */

static enum filter_verdict osc_judge_colour(struct terminal_filter *f, bool is_question)
{
	if (is_question)
		return FILTER_QUESTION;
	f->changed |= CHANGED_COLOURS;
	return FILTER_PASS;
}

/* 52;SELECTION;BASE64, or ? in its place. What is neither does nothing, or clears it. */
static enum filter_verdict osc_judge_clipboard(
	const struct terminal_filter *f, const char *rest, size_t n)
{
	const char *data = memchr(rest, ';', n);

	if (!data)
		return FILTER_DROP;
	n -= (size_t)(data + 1 - rest);
	if (n == 0 || data[1] != '?')
		return f->rights.clipboard_write ? FILTER_PASS : FILTER_DROP;
	return f->rights.clipboard_read ? FILTER_QUESTION : FILTER_DROP;
}

/* 9;4 and numbers. Anything else after the 9 is shown, or done, by some terminal. */
static bool osc_is_progress(const char *rest, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((rest[i] < '0' || rest[i] > '9') && rest[i] != ';')
			return false;
	}
	return n > 2 && memcmp(rest, "4;", 2) == 0;
}

static enum filter_verdict osc_judge(struct terminal_filter *f)
{
	size_t digits = 0, number = 0;
	const char *rest;
	bool is_question = memchr(f->held, '?', f->n_held);

	while (digits < f->n_held && digits < 5 && f->held[digits] >= '0' && f->held[digits] <= '9')
		number = number * 10 + (size_t)(f->held[digits++] - '0');
	if (digits == 0 || (digits < f->n_held && f->held[digits] != ';'))
		return FILTER_DROP;
	rest = f->held + digits + (digits < f->n_held);
	if (number <= 2 || number == 66)
		return FILTER_PASS;
	if (number == 4 || number == 5 || (number >= 10 && number <= 19))
		return osc_judge_colour(f, is_question);
	if (number == 104 || number == 105 || (number >= 110 && number <= 119))
		return FILTER_PASS;
	if (number == 8) {
		filter_change(f, CHANGED_LINK, f->n_held > digits + 2);
		return FILTER_PASS;
	}
	if (number == 22) {
		filter_change(f, CHANGED_POINTER, true);
		return is_question ? FILTER_QUESTION : FILTER_PASS;
	}
	if (number == 52)
		return osc_judge_clipboard(f, rest, f->n_held - (size_t)(rest - f->held));
	if (number == 9 && osc_is_progress(rest, f->n_held - (size_t)(rest - f->held)))
		return FILTER_PASS;
	if (number != 9 && number != 99 && number != 777)
		return FILTER_DROP;
	return !f->rights.notifications ? FILTER_DROP : is_question ? FILTER_QUESTION : FILTER_PASS;
}

/* DCS: questions (DECRQSS, XTGETTCAP) and the brackets of one update. Pictures are streams. */
static enum filter_verdict dcs_judge(const struct terminal_filter *f)
{
	static const char *const updates[] = { "=1s", "=2s" };

	if (f->n_held >= 2 && (f->held[0] == '$' || f->held[0] == '+') && f->held[1] == 'q')
		return FILTER_QUESTION;
	for (size_t i = 0; i < ROWS(updates); i++) {
		if (f->n_held == strlen(updates[i]) && memcmp(f->held, updates[i], f->n_held) == 0)
			return FILTER_PASS;
	}
	return FILTER_DROP;
}

static bool dcs_is_sixel(const struct terminal_filter *f)
{
	for (size_t i = 0; i < f->n_held; i++) {
		if ((f->held[i] < '0' || f->held[i] > '9') && f->held[i] != ';')
			return false;
	}
	return true;
}

/* Strings */

static void filter_end_string(struct terminal_filter *f, struct filter_out *o)
{
	static const char *const introducers[] = {
		[FILTER_OSC] = "\x1b]", [FILTER_DCS] = "\x1bP", [FILTER_TITLE] = "\x1bk"
	};
	bool passes = false;

	if (f->state == FILTER_STREAM)
		filter_puts(o, "\x1b\\");
	else if (f->state == FILTER_OSC)
		passes = !f->is_too_long && filter_lets(f, osc_judge(f));
	else if (f->state == FILTER_DCS)
		passes = !f->is_too_long && filter_lets(f, dcs_judge(f));
	else
		passes = f->state == FILTER_TITLE && !f->is_too_long;
	if (!passes)
		return;
	filter_puts(o, introducers[f->state]);
	filter_put(o, f->held, f->n_held);
	filter_puts(o, "\x1b\\");
}

static void filter_leave_string(struct terminal_filter *f, struct filter_out *o)
{
	filter_end_string(f, o);
	f->state = FILTER_TEXT;
}

/* It becomes longer than what is held: only what was granted, and is likely to be, goes on. */
static void filter_overflow(struct terminal_filter *f, struct filter_out *o)
{
	if (f->state != FILTER_OSC || memcmp(f->held, "52;", 3) != 0 ||
		!filter_lets(f, osc_judge(f))) {
		f->is_too_long = true;
		return;
	}
	filter_puts(o, "\x1b]");
	filter_put(o, f->held, f->n_held);
	f->n_held = 0;
	f->state = FILTER_STREAM;
}

static void filter_hold(struct terminal_filter *f, char byte, size_t max, struct filter_out *o)
{
	if (f->n_held == max && !f->is_too_long)
		filter_overflow(f, o);
	if (f->state == FILTER_STREAM)
		filter_put(o, &byte, 1);
	else if (f->n_held < max)
		f->held[f->n_held++] = byte;
}

static void filter_enter(struct terminal_filter *f, enum filter_state state)
{
	f->state = state;
	f->n_held = 0;
	f->is_too_long = false;
}

/* The Linux console's palette has no end: ]R, ]P and seven digits. */
static bool filter_is_palette(const struct terminal_filter *f)
{
	enum { PALETTE = 8 };

	if (f->state != FILTER_OSC || f->n_held == 0 || f->n_held > PALETTE)
		return false;
	for (size_t i = 1; i < f->n_held; i++) {
		if (!strchr("0123456789abcdefABCDEF", f->held[i]))
			return false;
	}
	return f->n_held == 1 ? f->held[0] == 'R' : f->n_held == PALETTE && f->held[0] == 'P';
}

static void filter_string_byte(struct terminal_filter *f, unsigned char byte, struct filter_out *o)
{
	if (byte < ' ' || byte == DEL)
		return;
	if (f->state == FILTER_STREAM) {
		/* Base64, or a picture. */
		if (byte < DEL)
			filter_put(o, (const char *)&byte, 1);
		return;
	}
	if (f->state == FILTER_DCS && byte == 'q' && !f->is_too_long && dcs_is_sixel(f)) {
		filter_puts(o, "\x1bP");
		filter_put(o, f->held, f->n_held);
		filter_puts(o, "q");
		f->state = FILTER_STREAM;
		return;
	}
	if (f->state != FILTER_SKIP)
		filter_hold(f, (char)byte, TERMINAL_FILTER_HELD, o);
	if (filter_is_palette(f))
		f->state = FILTER_TEXT;
}

/* ESC */

static void filter_reset(struct terminal_filter *f)
{
	f->changed = 0;
	f->n_modes = 0;
}

/*
 * ESC and one byte. Others are a terminal's own, and take what follows as they like: ESC } of
 * Terminology opens a page of the network.
 */
static void filter_end_esc(struct terminal_filter *f, char final, struct filter_out *o)
{
	f->state = FILTER_TEXT;
	if (!strchr("6789<=>DEHMNOZcgno|~", final) ||
		(final == 'Z' && !filter_lets(f, FILTER_QUESTION)))
		return;
	f->n_identities += final == 'Z';
	if (final == 'c')
		filter_reset(f);
	if (final == '=' || final == '>')
		filter_change(f, CHANGED_KEYPAD, final == '=');
	if (final == 'H')
		filter_change(f, CHANGED_TABS, true);
	if (strchr("no|~", final))
		filter_change(f, CHANGED_CHARSET, true);
	filter_puts(o, "\x1b");
	filter_put(o, &final, 1);
}

/*
 * Character sets of one byte, and the size of lines. ESC SP, ESC % and ESC $ change how bytes are
 * read: then others would be sequences.
 */
static void filter_end_esc_more(struct terminal_filter *f, char final, struct filter_out *o)
{
	const bool is_line = f->held[0] == '#' && f->n_held == 1 && strchr("34568", final);

	f->state = FILTER_TEXT;
	if (f->is_too_long || (!is_line && !strchr("()*+-./", f->held[0])))
		return;
	/* ESC ( B is the usual one, and part of what ends colours. */
	if (!is_line && final != 'B')
		filter_change(f, CHANGED_CHARSET, true);
	filter_puts(o, "\x1b");
	filter_put(o, f->held, f->n_held);
	filter_put(o, &final, 1);
}

static void filter_esc_byte(struct terminal_filter *f, char byte, struct filter_out *o)
{
	static const struct {
		char byte;
		enum filter_state state;
	} strings[] = {
		{ '[', FILTER_CSI },
		{ ']', FILTER_OSC },
		{ 'P', FILTER_DCS },
		{ 'k', FILTER_TITLE },
		{ 'X', FILTER_SKIP },
		{ '^', FILTER_SKIP },
		{ '_', FILTER_SKIP },
	};

	if (byte <= '/') {
		if (f->state == FILTER_ESC)
			filter_enter(f, FILTER_ESC_MORE);
		filter_hold(f, byte, 4, o);
		return;
	}
	if (f->state == FILTER_ESC_MORE) {
		filter_end_esc_more(f, byte, o);
		return;
	}
	for (size_t i = 0; i < ROWS(strings); i++) {
		if (strings[i].byte == byte) {
			filter_enter(f, strings[i].state);
			return;
		}
	}
	filter_end_esc(f, byte, o);
}

/* Bytes */

/* Characters of several bytes. True if the byte is part of one. */
static bool filter_character(struct terminal_filter *f, unsigned char byte)
{
	if (f->n_next > 0 && byte >= f->next_lo && byte <= f->next_hi) {
		f->n_next--;
		f->next_lo = 0x80;
		f->next_hi = 0xbf;
		return true;
	}
	f->n_next = byte >= 0xc3 && byte <= 0xdf   ? 1
		    : byte >= 0xe0 && byte <= 0xef ? 2
		    : byte >= 0xf0 && byte <= 0xf4 ? 3
						   : 0;
	f->next_lo = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
	f->next_hi = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
	return f->n_next > 0;
}

static bool filter_is_string(const struct terminal_filter *f)
{
	return f->state >= FILTER_OSC;
}

static void filter_text(
	struct terminal_filter *f, const char *bytes, size_t n, struct filter_out *o)
{
	/* Between the bytes of a sequence there are no characters: it is none. */
	if (!filter_is_string(f)) {
		f->state = FILTER_TEXT;
		filter_put(o, bytes, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		filter_string_byte(f, (unsigned char)bytes[i], o);
}

/* Controls below 0x20. Inside of sequences they are carried out, inside of strings ignored. */
static void filter_control(struct terminal_filter *f, char byte, struct filter_out *o)
{
	if (byte == ESC) {
		if (filter_is_string(f))
			filter_end_string(f, o);
		f->state = FILTER_ESC;
	} else if (byte == CAN || byte == SUB) {
		if (f->state == FILTER_STREAM)
			filter_end_string(f, o);
		f->state = FILTER_TEXT;
	} else if (filter_is_string(f)) {
		if (byte == BEL && f->state != FILTER_DCS && f->state != FILTER_SKIP)
			filter_leave_string(f, o);
	} else if (byte != ENQ) {
		if (byte == SO)
			filter_change(f, CHANGED_CHARSET, true);
		filter_put(o, &byte, 1);
	}
}

static void filter_byte(struct terminal_filter *f, unsigned char byte, struct filter_out *o)
{
	char c = (char)byte;

	/* U+0080 to U+00BF begin with it, and the first half are controls. */
	if (f->has_c2) {
		f->has_c2 = false;
		if (byte >= 0xa0 && byte <= 0xbf) {
			filter_text(f, (const char[]){ (char)0xc2, c }, 2, o);
			return;
		}
		filter_text(f, "?", 1, o);
		if (byte >= 0x80 && byte <= 0x9f)
			return;
	}
	if (byte >= 0x80) {
		if (filter_character(f, byte))
			filter_text(f, &c, 1, o);
		else if (byte == 0xc2)
			f->has_c2 = true;
		else if (byte != ST || !filter_is_string(f))
			filter_text(f, byte < 0xa0 ? "?" : &c, 1, o);
		else
			filter_leave_string(f, o);
		return;
	}
	f->n_next = 0;
	if (byte < ' ')
		filter_control(f, c, o);
	else if (filter_is_string(f))
		filter_string_byte(f, byte, o);
	else if (f->state == FILTER_TEXT || byte == DEL)
		filter_put(o, &c, 1);
	else if (f->state != FILTER_CSI)
		filter_esc_byte(f, c, o);
	else if (byte < '@')
		filter_hold(f, c, CSI_MAX, o);
	else {
		filter_end_csi(f, c, o);
		f->state = FILTER_TEXT;
	}
}

size_t terminal_filter_run(struct terminal_filter *f, const char *in, size_t n, char *out)
{
	struct filter_out o = { out };

	for (size_t i = 0; i < n; i++)
		filter_byte(f, (unsigned char)in[i], &o);
	return (size_t)(o.at - out);
}

/* The end */

static bool mode_is_screen(const struct terminal_mode *m)
{
	return m->is_private && (m->number == 47 || m->number == 1047 || m->number == 1049);
}

static void filter_undo_modes(const struct terminal_filter *f, bool screens, struct filter_out *o)
{
	for (size_t i = 0; i < f->n_modes; i++) {
		const struct terminal_mode *m = &f->modes[i];

		if (mode_is_screen(m) == screens)
			o->at += sprintf(o->at, "\x1b[%s%u%c", m->is_private ? "?" : "", m->number,
				m->is_on ? 'l' : 'h');
	}
}

/* In this order. The keyboard of kitty is one of each screen. */
static const struct {
	uint32_t changed;
	const char *text;
} undo_first[] = {
	{ CHANGED_MODES, "\x1b[!p\x1b[?1;5;6;9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2026l"
			 "\x1b[?7;25h" },
	{ CHANGED_KEYBOARD, "\x1b[=0u\x1b[<99u" },
}, undo_then[] = {
	{ CHANGED_MODES, "\x1b[?1049l" },
	{ CHANGED_KEYBOARD, "\x1b[=0u\x1b[<99u" },
	{ CHANGED_MODIFIERS, "\x1b[>m" },
	{ CHANGED_KEYS, "\x1b[>4m" },
	{ CHANGED_KEYPAD, "\x1b>" },
	{ CHANGED_CHARSET, "\x1b(B\x1b)B\x0f" },
	{ CHANGED_REGION, "\x1b" "7\x1b[r\x1b" "8" },
	{ CHANGED_STYLE, "\x1b[0m" },
	{ CHANGED_PROTECTION, "\x1b[0\"q" },
	{ CHANGED_LINK, "\x1b]8;;\x1b\\" },
	{ CHANGED_CURSOR, "\x1b[0 q" },
	{ CHANGED_CURSOR_LINUX, "\x1b[?0c" },
	{ CHANGED_TABS, "\x1b[?5W" },
	{ CHANGED_COLOURS, "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]117\x1b\\"
			   "\x1b]119\x1b\\" },
	{ CHANGED_POINTER, "\x1b]22;\x1b\\" },
};

static void filter_undo(struct terminal_filter *f, struct filter_out *o)
{
	if (f->state == FILTER_STREAM)
		filter_puts(o, "\x1b\\");
	for (size_t i = 0; i < ROWS(undo_first); i++) {
		if (f->changed & undo_first[i].changed)
			filter_puts(o, undo_first[i].text);
	}
	filter_undo_modes(f, false, o);
	filter_undo_modes(f, true, o);
	for (size_t i = 0; i < ROWS(undo_then); i++) {
		if (f->changed & undo_then[i].changed)
			filter_puts(o, undo_then[i].text);
	}
	while (f->n_titles > 0) {
		filter_puts(o, "\x1b[23;0t");
		f->n_titles--;
	}
	filter_reset(f);
}

size_t terminal_filter_end(struct terminal_filter *f, char out[TERMINAL_FILTER_END])
{
	struct filter_out o = { out };

	filter_undo(f, &o);
	filter_enter(f, FILTER_TEXT);
	return (size_t)(o.at - out);
}

/* A stop, and what follows it */

size_t terminal_filter_pause(struct terminal_filter *f, char out[TERMINAL_FILTER_END])
{
	struct filter_out o = { out };

	for (size_t i = 0; i < f->n_modes && f->n_paused < TERMINAL_FILTER_MODES; i++)
		f->paused[f->n_paused++] = f->modes[i];
	f->has_paused_keypad = f->has_paused_keypad || (f->changed & CHANGED_KEYPAD);
	filter_undo(f, &o);
	if (f->state == FILTER_STREAM)
		f->state = FILTER_SKIP;
	return (size_t)(o.at - out);
}

static void filter_redo_modes(struct terminal_filter *f, bool screens, struct filter_out *o)
{
	for (size_t i = 0; i < f->n_paused; i++) {
		const struct terminal_mode *m = &f->paused[i];

		if (mode_is_screen(m) != screens)
			continue;
		mode_set(f, *m);
		o->at += sprintf(o->at, "\x1b[%s%u%c", m->is_private ? "?" : "", m->number,
			m->is_on ? 'h' : 'l');
	}
}

size_t terminal_filter_resume(struct terminal_filter *f, char out[TERMINAL_FILTER_END])
{
	struct filter_out o = { out };

	filter_redo_modes(f, true, &o);
	filter_redo_modes(f, false, &o);
	if (f->has_paused_keypad) {
		filter_change(f, CHANGED_KEYPAD, true);
		filter_puts(&o, "\x1b=");
	}
	f->n_paused = 0;
	f->has_paused_keypad = false;
	return (size_t)(o.at - out);
}
