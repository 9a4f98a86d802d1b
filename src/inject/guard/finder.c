/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/guard/finder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/guard/escape.h"
#include "vault/secret.h"

enum {
	WINDOW_MAX = 64,
	BUCKET_BITS = 12,
	BUCKETS = 1 << BUCKET_BITS,
	PLACE_BUCKETS = 1 << 11,
	BYTE_BITS = 8,
	PAIR_BITS = 16,
	FORKS_MAX = 64, /* where a character and an escape may both be meant */
	WORD_BITS = 64,
};

/* One character of a text, which is not its first. */
struct finder_place {
	uint32_t text, at;
};

struct finder {
	struct finder_text **texts;
	size_t n, cap;
	size_t window;
	bool has_plus;                        /* some text has a space */
	uint8_t known[(1 << PAIR_BITS) / 8];  /* pairs in the windows, as bits */
	bool is_broken[1 << BYTE_BITS];       /* characters that a line may be broken behind */
	bool has[1 << BYTE_BITS];             /* characters of the windows */
	uint8_t shift[BUCKETS];               /* of those */
	uint32_t first[BUCKETS];              /* texts by the last pair of the window; 0: none */
	uint32_t place_at[PLACE_BUCKETS + 1]; /* where the places of a pair begin */
	struct finder_place *places;
};

/* What is looked at. */
struct finder_look {
	const struct finder *f;
	size_t group;
	const char *data;
	size_t len, end;
	struct finder_hits *hits;
};

static unsigned finder_pair(const char *at)
{
	return (unsigned)(uint8_t)at[0] << 8 | (uint8_t)at[1];
}

static unsigned finder_bucket(unsigned pair)
{
	return (uint16_t)(pair * 40503U) >> (PAIR_BITS - BUCKET_BITS);
}

static bool finder_knows(const struct finder *f, unsigned pair)
{
	return f->known[pair / 8] >> (pair % 8) & 1;
}

int finder_new(struct finder **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void finder_free(struct finder *f)
{
	if (!f)
		return;
	free(f->texts);
	free(f->places);
	secret_wipe(f, sizeof(*f));
	free(f);
}

void finder_clear(struct finder *f)
{
	f->n = 0;
}

int finder_add(struct finder *f, struct finder_text *t)
{
	return ARRAY_PUSH(f->texts, f->n, f->cap, t);
}

/* Tables */

static size_t finder_least(const struct finder *f)
{
	size_t window = WINDOW_MAX;

	for (size_t i = 0; i < f->n; i++)
		window = f->texts[i]->len < window ? f->texts[i]->len : window;
	return window;
}

static void finder_enter_text(struct finder *f, size_t i)
{
	struct finder_text *t = f->texts[i];
	uint32_t *first = &f->first[finder_bucket(finder_pair(t->data + f->window - 2))];

	for (size_t at = 0; at + 2 <= f->window; at++) {
		const unsigned pair = finder_pair(t->data + at), bucket = finder_bucket(pair);
		const size_t left = f->window - 2 - at;

		if (left < f->shift[bucket])
			f->shift[bucket] = (uint8_t)left;
		f->known[pair / 8] |= (uint8_t)(1U << (pair % 8));
		f->place_at[bucket % PLACE_BUCKETS + 1]++;
		f->has[(uint8_t)t->data[at]] = f->has[(uint8_t)t->data[at + 1]] = true;
		if (t->wraps)
			f->is_broken[(uint8_t)t->data[at]] = true;
	}
	f->has_plus = f->has_plus || memchr(t->data, ' ', t->len);
	t->next_of_pair = *first;
	*first = (uint32_t)i + 1;
}

/* By their buckets, of which place_at has the numbers. */
static void finder_enter_places(struct finder *f)
{
	uint32_t next[PLACE_BUCKETS];

	for (size_t k = 0; k < PLACE_BUCKETS; k++) {
		f->place_at[k + 1] += f->place_at[k];
		next[k] = f->place_at[k];
	}
	for (size_t i = 0; i < f->n; i++)
		for (size_t at = 1; at < f->window; at++) {
			const unsigned pair = finder_pair(f->texts[i]->data + at - 1);

			f->places[next[finder_bucket(pair) % PLACE_BUCKETS]++] =
				(struct finder_place){ (uint32_t)i, (uint32_t)at };
		}
}

int finder_prepare(struct finder *f)
{
	f->window = finder_least(f);
	free(f->places);
	f->places = calloc(f->n * f->window + 1, sizeof(*f->places));
	if (!f->places)
		return -ENOMEM;
	f->has_plus = false;
	memset(f->known, 0, sizeof(f->known));
	memset(f->is_broken, 0, sizeof(f->is_broken));
	memset(f->has, 0, sizeof(f->has));
	memset(f->shift, (int)(f->window - 1), sizeof(f->shift));
	memset(f->first, 0, sizeof(f->first));
	memset(f->place_at, 0, sizeof(f->place_at));
	for (size_t i = 0; i < f->n; i++)
		finder_enter_text(f, i);
	finder_enter_places(f);
	return 0;
}

/* One text */

/* Where the text goes on, behind a character of it or behind an escape. */
struct finder_step {
	size_t i, at;
};

/* Ways to read what stands at `at` as the character i of the text; an escape before the character
 * itself. */
static size_t finder_steps(const struct finder_text *t, size_t i, const char *data, size_t at,
	size_t len, struct finder_step ret[ESCAPE_READINGS_MAX + 1])
{
	struct escape all[ESCAPE_READINGS_MAX];
	size_t n = 0;

	for (size_t k = escape_read(data + at, len - at, all); k-- > 0;)
		if (all[k].n <= t->len - i && memcmp(t->data + i, all[k].bytes, all[k].n) == 0)
			ret[n++] = (struct finder_step){ i + all[k].n, at + all[k].len };
	if (data[at] == t->data[i])
		ret[n++] = (struct finder_step){ i + 1, at + 1 };
	return n;
}

/* Where the text ends, of which the characters before i stand before `at`; 0: it does not stand
 * here. Nothing behind `len` is looked at. */
static size_t finder_match(const struct finder_text *t, size_t i, const char *data, size_t at,
	size_t len, unsigned *forks)
{
	while (i < t->len && at < len) {
		struct finder_step steps[ESCAPE_READINGS_MAX + 1];
		size_t n;

		if (!escape_leads(data[at])) {
			if (data[at] != t->data[i])
				return 0;
			at++;
			i++;
			continue;
		}
		n = t->wraps && i > 0 ? escape_break(data + at, len - at) : 0;
		if (n > 0) {
			at += n;
			continue;
		}
		n = finder_steps(t, i, data, at, len, steps);
		for (size_t k = 0; k + 1 < n && *forks > 0; k++) {
			size_t end;

			--*forks;
			end = finder_match(t, steps[k].i, data, steps[k].at, len, forks);
			if (end > 0)
				return end;
		}
		if (n == 0)
			return 0;
		i = steps[n - 1].i;
		at = steps[n - 1].at;
	}
	return i == t->len ? at : 0;
}

/* The text that begins at `from` and has i characters before `at`. */
static int finder_try(
	const struct finder_look *l, const struct finder_text *t, size_t from, size_t i, size_t at)
{
	const size_t len = l->len - from < t->reach ? l->len : from + t->reach;
	unsigned forks = FORKS_MAX;
	struct finder_hit hit = { .from = from };

	if (from >= l->end ||
		!(t->groups->words[l->group / WORD_BITS] >> (l->group % WORD_BITS) & 1))
		return 0;
	hit.to = finder_match(t, i, l->data, at, len, &forks);
	return hit.to > 0 ? ARRAY_PUSH(l->hits->items, l->hits->n, l->hits->cap, hit) : 0;
}

/* What begins as it is */

static int finder_look_plain(const struct finder_look *l)
{
	const struct finder *f = l->f;
	int r = 0;

	for (size_t at = 0; r == 0 && at < l->end && at + f->window <= l->len;) {
		const unsigned pair = finder_pair(l->data + at + f->window - 2);
		const unsigned bucket = finder_bucket(pair);
		const size_t shift = finder_knows(f, pair) ? f->shift[bucket] : f->window - 1;
		const struct finder_text *t;

		for (uint32_t i = shift == 0 ? f->first[bucket] : 0; r == 0 && i > 0;
			i = t->next_of_pair) {
			t = f->texts[i - 1];
			if (memcmp(t->data, l->data + at, f->window) == 0)
				r = finder_try(l, t, at, f->window, at + f->window);
		}
		at += shift > 0 ? shift : 1;
	}
	return r;
}

/* Escapes and breaks */

/*
 * The pair is of two characters of a text. What stands at `at`, in some way, is the second one,
 * behind the first as it is and all before it; or, with `begins`, the first one of the text. wraps:
 * only where lines may be broken.
 */
static int finder_look_places(
	const struct finder_look *l, size_t at, const char pair[2], bool begins, bool wraps)
{
	const struct finder *f = l->f;
	const unsigned number = finder_pair(pair), bucket = finder_bucket(number) % PLACE_BUCKETS;
	int r = 0;

	if (!finder_knows(f, number))
		return 0;
	for (uint32_t k = f->place_at[bucket]; r == 0 && k < f->place_at[bucket + 1]; k++) {
		const struct finder_place *p = &f->places[k];
		const struct finder_text *t = f->texts[p->text];
		const size_t i = begins ? 0 : p->at;

		if (i <= at && (p->at == 1 || !begins) && (t->wraps || !wraps) &&
			memcmp(t->data + p->at - 1, pair, 2) == 0 &&
			memcmp(t->data, l->data + at - i, i) == 0)
			r = finder_try(l, t, at - i, i, at);
	}
	return r;
}

/* The same for each character that may stand at `next`, behind the first one of the pair. */
static int finder_look_next(
	const struct finder_look *l, size_t at, char first, size_t next, bool begins)
{
	struct escape all[ESCAPE_READINGS_MAX];
	size_t n = 0;
	int r = 0;

	if (next >= l->len)
		return 0;
	if (escape_leads(l->data[next]))
		n = escape_read(l->data + next, l->len - next, all);
	for (size_t k = 0; r == 0 && k <= n; k++) {
		const char pair[2] = { first, k < n ? all[k].bytes[0] : l->data[next] };

		r = finder_look_places(l, at, pair, begins, !begins);
	}
	return r;
}

/* One reading of the escape: the text begins with it, or what stands before is as it is. */
static int finder_look_reading(const struct finder_look *l, size_t at, const struct escape *x)
{
	const char before[2] = { at > 0 ? l->data[at - 1] : '\0', x->bytes[0] };
	int r = x->n > 1 ? finder_look_places(l, at, x->bytes, true, false)
			 : finder_look_next(l, at, x->bytes[0], at + x->len, true);

	return r == 0 && at > 0 ? finder_look_places(l, at, before, false, false) : r;
}

/* Most ends of lines stand where none of the texts could be broken. */
static int finder_look_line_end(const struct finder_look *l, size_t at)
{
	size_t gap;

	if (at == 0 || at + 1 >= l->len || !l->f->is_broken[(uint8_t)l->data[at - 1]])
		return 0;
	if (!escape_leads(l->data[at + 1]) && l->data[at + 1] != ' ' && l->data[at + 1] != '\t') {
		const char around[2] = { l->data[at - 1], l->data[at + 1] };

		return finder_look_places(l, at, around, false, true);
	}
	gap = escape_break(l->data + at, l->len - at);
	return finder_look_next(l, at, l->data[at - 1], at + gap, false);
}

static int finder_look_escape(const struct finder_look *l, size_t at)
{
	struct escape all[ESCAPE_READINGS_MAX];
	int r = 0;

	if (l->data[at] == '\n' || l->data[at] == '\r')
		return finder_look_line_end(l, at);
	for (size_t k = escape_read(l->data + at, l->len - at, all); r == 0 && k-- > 0;) {
		const char c = all[k].bytes[0];

		/* Most are of characters that none of the texts has. */
		if (l->f->has[(uint8_t)c])
			r = finder_look_reading(l, at, &all[k]);
		if (r == 0 && at > 0 && (c == '\n' || c == '\r') &&
			l->f->is_broken[(uint8_t)l->data[at - 1]])
			r = finder_look_next(l, at, l->data[at - 1],
				at + escape_break(l->data + at, l->len - at), false);
	}
	return r;
}

int finder_find(const struct finder *f, size_t group, const char *data, size_t len, size_t end,
	struct finder_hits *ret)
{
	const struct finder_look l = { f, group, data, len, end, ret };
	const size_t last = len - end > f->window ? end + f->window : len;
	int r = f->n > 0 ? finder_look_plain(&l) : 0;

	struct escape_scan scan = { .text = data, .len = last, .has_plus = f->has_plus };
	size_t at;

	while (r == 0 && f->n > 0 && (at = escape_next(&scan)) < last)
		r = finder_look_escape(&l, at);
	return r;
}
