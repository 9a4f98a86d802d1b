/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/masking.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/guard/finder.h"
#include "inject/guard/spelling.h"
#include "vault/secret.h"

enum {
	REACH_EACH = 8,    /* bytes for each of a value's, with its escapes */
	REACH_TWICE = 256, /* behind that, two for each and so many more */
};

struct masking_value {
	char *name;
	struct finder_text *texts; /* the first one is the value as it is */
	size_t n, cap;
	size_t reach;
	struct finder_groups groups;
};

/* What hosts share. */
struct masking_set {
	unsigned users;
	size_t n_groups;
	struct masking_value **values; /* the oldest first */
	size_t n, cap;
	struct finder *finder;
	unsigned version; /* of the values */
	unsigned ready;   /* the version that the finder has */
};

struct masking {
	struct masking_set *set;
	size_t group;
	unsigned version; /* that `longest` is of */
	size_t longest;   /* 0: it has no value */
};

static void masking_value_free(struct masking_value *v)
{
	for (size_t i = 0; i < v->n; i++) {
		secret_wipe(v->texts[i].data, v->texts[i].len);
		free(v->texts[i].data);
	}
	free(v->texts);
	free(v->name);
	free(v);
}

static void masking_set_drop(struct masking_set *s)
{
	if (--s->users > 0)
		return;
	for (size_t i = 0; i < s->n; i++)
		masking_value_free(s->values[i]);
	free(s->values);
	finder_free(s->finder);
	free(s);
}

int masking_share(const struct masking *first, struct masking **ret)
{
	struct masking *m;

	if (first->set->n_groups == FINDER_GROUPS_MAX)
		return -E2BIG;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->set = first->set;
	m->group = m->set->n_groups++;
	m->set->users++;
	*ret = m;
	return 0;
}

int masking_new(struct masking **ret)
{
	struct masking_set *s = calloc(1, sizeof(*s));
	struct masking first = { .set = s };
	int r = s ? finder_new(&s->finder) : -ENOMEM;

	if (r == 0) {
		s->users = 1;
		r = masking_share(&first, ret);
		masking_set_drop(s);
	} else {
		free(s);
	}
	return r;
}

void masking_free(struct masking *m)
{
	if (m)
		masking_set_drop(m->set);
	free(m);
}

/* Values */

static size_t masking_reach(size_t len)
{
	const size_t each = REACH_EACH * len, twice = 2 * len + REACH_TWICE;

	return each < twice ? each : twice;
}

static int masking_take_text(void *context, const char *text, size_t len, bool wraps)
{
	struct masking_value *v = context;
	struct finder_text t = {
		.len = len, .reach = v->reach, .wraps = wraps, .groups = &v->groups
	};
	int r;

	if (len < MASKING_LEAST || len > v->reach)
		return 0;
	t.data = malloc(len);
	if (!t.data)
		return -ENOMEM;
	memcpy(t.data, text, len);
	r = ARRAY_PUSH(v->texts, v->n, v->cap, t);
	if (r < 0) {
		secret_wipe(t.data, len);
		free(t.data);
	}
	return r;
}

static int masking_value_new(
	const char *name, const char *value, size_t len, struct masking_value **ret)
{
	struct masking_value *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->reach = masking_reach(len);
	v->name = strdup(name);
	r = v->name ? spelling_each(value, len, masking_take_text, v) : -ENOMEM;
	if (r < 0)
		masking_value_free(v);
	else
		*ret = v;
	return r;
}

static void masking_take_out(struct masking_set *s, size_t i)
{
	s->n--;
	memmove(&s->values[i], &s->values[i + 1], (s->n - i) * sizeof(*s->values));
}

/* The values that a name had before are bounded: a token for each hour, a run of months. */
static void masking_forget(struct masking_set *s, const char *name)
{
	size_t n = 0;

	for (size_t i = s->n; i-- > 0;) {
		struct masking_value *v = s->values[i];

		if (strcmp(v->name, name) != 0 || ++n <= MASKING_KEPT + 1)
			continue;
		masking_take_out(s, i);
		masking_value_free(v);
	}
}

/* NULL: it is not known. One that is gets to be the newest. */
static struct masking_value *masking_find(
	struct masking_set *s, const char *name, const char *value, size_t len)
{
	for (size_t i = s->n; i-- > 0;) {
		struct masking_value *v = s->values[i];

		if (strcmp(v->name, name) != 0 || v->texts[0].len != len ||
			memcmp(v->texts[0].data, value, len) != 0)
			continue;
		masking_take_out(s, i);
		s->values[s->n++] = v;
		return v;
	}
	return NULL;
}

int masking_add(struct masking *m, const char *name, const char *value, size_t len)
{
	struct masking_set *s = m->set;
	struct masking_value *v;
	int r = 0;

	if (len < MASKING_LEAST)
		return 0;
	v = masking_find(s, name, value, len);
	if (!v) {
		r = masking_value_new(name, value, len, &v);
		if (r == 0)
			r = ARRAY_PUSH(s->values, s->n, s->cap, v);
		if (r < 0) {
			if (v)
				masking_value_free(v);
			return r;
		}
		masking_forget(s, name);
	}
	v->groups.words[m->group / 64] |= UINT64_C(1) << (m->group % 64);
	s->version++;
	return 0;
}

static bool masking_has(const struct masking *m, const struct masking_value *v)
{
	return v->groups.words[m->group / 64] >> (m->group % 64) & 1;
}

/* Once for all values that were added. */
static int masking_prepare(struct masking_set *s)
{
	int r = 0;

	if (s->ready == s->version)
		return 0;
	finder_clear(s->finder);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; r == 0 && k < s->values[i]->n; k++)
			r = finder_add(s->finder, &s->values[i]->texts[k]);
	if (r == 0)
		r = finder_prepare(s->finder);
	if (r == 0)
		s->ready = s->version;
	return r;
}

/* One more than what waits. It depends on the values alone. */
static size_t masking_longest(const struct masking *m)
{
	struct masking *own = (struct masking *)m;

	if (m->version == m->set->version)
		return m->longest;
	own->longest = 0;
	for (size_t i = 0; i < m->set->n; i++) {
		const struct masking_value *v = m->set->values[i];

		if (masking_has(m, v) && v->reach > m->longest)
			own->longest = v->reach;
	}
	own->version = m->set->version;
	return m->longest;
}

bool masking_is_empty(const struct masking *m)
{
	return masking_longest(m) == 0;
}

size_t masking_window(const struct masking *m)
{
	const size_t longest = masking_longest(m);

	return longest > 0 ? longest - 1 : 0;
}

/* Stars */

/* Lines stay lines: heads are made of them, and have been read. */
static void masking_overwrite(char *data, size_t from, size_t to)
{
	for (; from < to; from++)
		if (data[from] != '\r' && data[from] != '\n')
			data[from] = '*';
}

static int masking_compare_hits(const void *a, const void *b)
{
	const struct finder_hit *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* They may overlap. */
static void masking_overwrite_hits(char *data, struct finder_hits *hits, size_t *found)
{
	size_t to = 0;

	if (hits->n > 1)
		qsort(hits->items, hits->n, sizeof(*hits->items), masking_compare_hits);
	for (size_t i = 0; i < hits->n; i++) {
		*found += hits->items[i].from >= to;
		to = hits->items[i].to > to ? hits->items[i].to : to;
		masking_overwrite(data, hits->items[i].from, hits->items[i].to);
	}
}

/*
 * How many bytes are final depends on their number alone. Were it the beginning of a value that
 * waits, then who sees what comes at once could try the value byte by byte.
 */
size_t masking_apply(const struct masking *m, char *data, size_t len, bool last, size_t *found)
{
	const size_t longest = masking_longest(m);
	const size_t final = last || longest == 0 ? len : len < longest ? 0 : len - longest + 1;
	struct finder_hits hits = { 0 };
	int r = 0;

	/* What begins before `final` is here as a whole, however long it is. */
	if (longest > 0 && final > 0) {
		r = masking_prepare(m->set);
		if (r == 0)
			r = finder_find(m->set->finder, m->group, data, len, final, &hits);
		masking_overwrite_hits(data, &hits, found);
	}
	/* Without memory to search it, nothing of it passes. */
	if (r < 0) {
		masking_overwrite(data, 0, len);
		(*found)++;
	}
	free(hits.items);
	return final;
}

/* Streams */

void masking_stream_deinit(struct masking_stream *s)
{
	if (s->pending.data)
		secret_wipe(s->pending.data, s->pending.cap);
	buffer_deinit(&s->pending);
	s->gone = s->final = 0;
}

int masking_stream_add(struct masking_stream *s, const void *data, size_t len, bool last)
{
	buffer_add(&s->pending, data, len);
	if (s->pending.failed)
		return -ENOMEM;
	s->final = s->pending.len > 0 ? masking_apply(s->masking, s->pending.data, s->pending.len,
						last, &s->masked)
				      : 0;
	s->over = s->final;
	return 0;
}

bool masking_stream_waits(const struct masking_stream *s)
{
	return s->pending.len > s->gone;
}

void masking_stream_flush(struct masking_stream *s)
{
	const size_t most = masking_window(s->masking);

	if (!masking_stream_waits(s))
		return;
	(void)masking_apply(s->masking, s->pending.data, s->pending.len, true, &s->masked);
	s->final = s->pending.len;
	s->over = s->final > most ? s->final - most : 0;
}

const char *masking_stream_ready(const struct masking_stream *s, size_t *ret_len)
{
	*ret_len = s->final > s->gone ? s->final - s->gone : 0;
	return buffer_text(&s->pending) + (*ret_len > 0 ? s->gone : 0);
}

void masking_stream_done(struct masking_stream *s)
{
	if (s->final > s->gone)
		s->gone = s->final;
	s->gone = s->gone > s->over ? s->gone - s->over : 0;
	if (s->over > 0) {
		memmove(s->pending.data, s->pending.data + s->over, s->pending.len - s->over);
		s->pending.len -= s->over;
	}
	s->final = s->over = 0;
}
