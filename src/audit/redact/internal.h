/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The ways to find secrets: by their form (forms.c), of which places.c says where one may be, with
 * what names say about values (names.c). And the texts that had none lately (memo.c).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Secrets that show by their form, without knowing them. Sets hidden[i] for each byte of the text
 * that is part of one, and says whether there is any. Where it is in doubt how far one goes, it
 * goes further.
 */
bool redact_forms_mark(const char *text, size_t len, char *hidden);

/*
 * Where a text has characters that forms begin or end with. A bit for each of its bytes, the first
 * is the lowest: in `looks` for one of : = % - and blanks, in `keys` for a letter, a digit, _ or -.
 * len is at most REDACT_BLOCK.
 */
enum { REDACT_BLOCK = 64 };
struct redact_places {
	uint64_t looks, keys;
};
struct redact_places redact_places_find(const char *text, size_t len);

/* What names say about the values that they have: of parameters, fields, headers, variables. */
enum redact_name {
	REDACT_NAME_PLAIN,
	REDACT_NAME_QUERY,  /* telling as a parameter of a URL; elsewhere a word as any other */
	REDACT_NAME_SECRET, /* telling everywhere */
	REDACT_NAME_HEADER, /* the same, and its value is the rest of the line */
};

/*
 * A bit for each letter, of any case, and others for what a name may have besides: 0 for what it
 * may not. '%' has all of them: which letter is encoded is not known.
 */
extern const uint32_t redact_name_letters[256];
/*
 * Letters of any case; what stands between the words of a name does not count. `letters` is
 * redact_name_letters[] of all its bytes.
 */
enum redact_name redact_name_judge(const char *name, size_t len, uint32_t letters);
/* HOME, PATH, LC_…: variables that have no secret in them. */
bool redact_name_is_harmless(const char *variable);
/* Words that many variables have, and that many texts have, too. */
bool redact_name_is_plain_value(const char *value);

static inline int redact_percent_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the three at text stand for in a URL ("%3D"); -1: they are none such. */
static inline int redact_percent_decode(const char *text, size_t len)
{
	int high, low;

	if (len < 3 || text[0] != '%')
		return -1;
	high = redact_percent_digit(text[1]);
	low = redact_percent_digit(text[2]);
	return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/*
 * Users, programs, rules and reasons come again and again. Short texts in which nothing was found
 * are kept, and one that is the same needs no search. An event that finds the memo taken by another
 * thread goes without it. It never holds a secret: a text enters it after the search, and all leave
 * it when another value becomes one. One that came again is not replaced by the next few that did
 * not: targets, of which most come once, would drive out the rest.
 */
enum { REDACT_MEMO_SLOTS = 64, REDACT_MEMO_BYTES = 126, REDACT_MEMO_STAYS = 8 };
struct redact_memo {
	atomic_flag busy;
	struct redact_memo_slot {
		uint8_t len;   /* 0: none */
		uint8_t stays; /* so often */
		char text[REDACT_MEMO_BYTES];
	} slots[REDACT_MEMO_SLOTS];
};

/* Once for all texts of an event. False: another thread has it. */
static inline bool redact_memo_take(struct redact_memo *m)
{
	return !atomic_flag_test_and_set_explicit(&m->busy, memory_order_acquire);
}
static inline void redact_memo_release(struct redact_memo *m)
{
	atomic_flag_clear_explicit(&m->busy, memory_order_release);
}
/* While it is taken; len is at least REDACTOR_VALUE_LEAST. */
bool redact_memo_has(struct redact_memo *m, const char *text, size_t len);
void redact_memo_add(struct redact_memo *m, const char *text, size_t len);
/* Not while another thread uses it. */
void redact_memo_clear(struct redact_memo *m);
