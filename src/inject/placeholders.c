/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/placeholders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"

enum { SLOTS = 2 * PLACEHOLDERS_MAX };

struct placeholders {
	struct placeholder_mark marks[PLACEHOLDERS_MARKS_MAX]; /* the first is this sandbox's */
	size_t n_marks;
	struct placeholder entries[PLACEHOLDERS_MAX];
	uint16_t slots[SLOTS]; /* by the hash of a key: its entry + 1; 0: none */
	size_t n;
};

int placeholders_new(struct placeholders **ret)
{
	struct placeholders *t = calloc(1, sizeof(*t));
	int r = t ? placeholder_mark_make(&t->marks[0]) : -ENOMEM;

	if (r < 0) {
		free(t);
		return r;
	}
	t->n_marks = 1;
	*ret = t;
	return 0;
}

static void placeholder_deinit(struct placeholder *p)
{
	free((char *)p->name);
	free((char *)p->text);
	secret_free(&p->value);
}

void placeholders_free(struct placeholders *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		placeholder_deinit(&t->entries[i]);
	free(t);
}

size_t placeholders_count(const struct placeholders *t)
{
	return t->n;
}

const struct placeholder *placeholders_at(const struct placeholders *t, size_t i)
{
	return i < t->n ? &t->entries[i] : NULL;
}

/* The slot of this key, or the free one where it belongs. There is always a free one. */
static uint16_t *placeholders_slot(struct placeholders *t, const char *key)
{
	size_t at = hash_bytes(HASH_START, key, PLACEHOLDER_KEY) % SLOTS;

	for (;; at = (at + 1) % SLOTS) {
		const struct placeholder *p = t->slots[at] ? &t->entries[t->slots[at] - 1] : NULL;

		if (!p || memcmp(p->text + p->mark_at, key, PLACEHOLDER_KEY) == 0)
			return &t->slots[at];
	}
}

/* Takes the text. */
static int placeholder_fill(struct placeholder *p, const struct placeholder_mark *mark,
	struct buffer *text, const char *name, const char *value, size_t len)
{
	/* The claims of a JWT come from outside, and could have a mark by chance. */
	const char *at = placeholder_mark_find(mark, buffer_text(text), text->len);

	if (!at || (size_t)(at - text->data) + PLACEHOLDER_KEY > text->len)
		return -EINVAL;
	p->mark_at = (size_t)(at - text->data);
	p->len = text->len;
	p->text = buffer_take(text);
	p->name = strdup(name);
	return p->text && p->name ? secret_copy(&p->value, value, len) : -ENOMEM;
}

/* The placeholder becomes the table's. */
static int placeholders_push(
	struct placeholders *t, struct placeholder *p, const struct placeholder **ret)
{
	uint16_t *slot = placeholders_slot(t, p->text + p->mark_at);

	if (*slot) /* 40 random bits that are there already */
		return -EAGAIN;
	t->entries[t->n] = *p;
	*ret = &t->entries[t->n++];
	*slot = (uint16_t)t->n;
	return 0;
}

int placeholders_add(struct placeholders *t, const char *name, const char *value, size_t len,
	const struct placeholder **ret)
{
	struct placeholder p = { 0 };
	auto_buffer text = { 0 };
	int r;

	if (t->n == PLACEHOLDERS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < t->n; i++) {
		if (strcmp(t->entries[i].name, name) == 0)
			return -EEXIST;
	}
	r = placeholder_make(&t->marks[0], value, len, &text);
	if (r == 0)
		r = placeholder_fill(&p, &t->marks[0], &text, name, value, len);
	if (r == 0)
		r = placeholders_push(t, &p, ret);
	if (r < 0)
		placeholder_deinit(&p);
	return r;
}

/* Placeholders of the vault */

int placeholders_stand_in(const struct placeholders *t, const char *name, const char *value,
	size_t len, struct buffer *out)
{
	const struct placeholder *p = NULL;

	/* The last is what the vault has. */
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->entries[i].name, name) == 0)
			p = &t->entries[i];
	if (p && !placeholder_has_claims(p->text, p->len) && !placeholder_has_claims(value, len)) {
		for (size_t i = 0; i < PLACEHOLDER_MARK; i++)
			buffer_addc(out, ascii_lower(p->text[p->mark_at + i]));
		buffer_add(out, p->text, p->len);
		return out->failed ? -ENOMEM : 0;
	}
	buffer_add(out, t->marks[0].lower, PLACEHOLDER_MARK);
	return placeholder_make(&t->marks[0], value, len, out);
}

/* One that is searched for from here on. NULL: there are too many. */
static const struct placeholder_mark *placeholders_mark(
	struct placeholders *t, const struct placeholder_mark *mark)
{
	for (size_t i = 0; i < t->n_marks; i++)
		if (memcmp(t->marks[i].lower, mark->lower, PLACEHOLDER_MARK) == 0)
			return &t->marks[i];
	if (t->n_marks == PLACEHOLDERS_MARKS_MAX)
		return NULL;
	t->marks[t->n_marks] = *mark;
	return &t->marks[t->n_marks++];
}

static int placeholders_put_new(struct placeholders *t, const char *name, const char *stand_in,
	const char *value, size_t len)
{
	struct placeholder p = { 0 };
	struct placeholder_mark read;
	const struct placeholder_mark *mark;
	const struct placeholder *added;
	const size_t before = t->n_marks;
	auto_buffer text = { 0 };
	int r;

	if (!placeholder_mark_read(&read, stand_in))
		return -EINVAL;
	mark = placeholders_mark(t, &read);
	if (!mark || t->n == PLACEHOLDERS_MAX)
		return -E2BIG;
	buffer_adds(&text, stand_in + PLACEHOLDER_MARK);
	r = text.failed ? -ENOMEM : placeholder_fill(&p, mark, &text, name, value, len);
	if (r == 0)
		r = placeholders_push(t, &p, &added);
	if (r < 0) {
		placeholder_deinit(&p);
		t->n_marks = before;
	}
	return r == -EAGAIN ? -EEXIST : r;
}

int placeholders_change(struct placeholders *t, const char *name, const char *value, size_t len)
{
	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < t->n; i++) {
		struct placeholder *p = &t->entries[i];
		struct secret more = { 0 };
		int r;

		if (strcmp(p->name, name) != 0)
			continue;
		r = secret_copy(&more, value, len);
		if (r < 0)
			return r;
		secret_free(&p->value);
		p->value = more;
	}
	return 0;
}

void placeholders_forget(struct placeholders *t)
{
	for (size_t i = 0; i < t->n; i++) {
		secret_free(&t->entries[i].value);
		t->entries[i].value = (struct secret){ 0 };
	}
}

int placeholders_put(struct placeholders *t, const char *name, const char *stand_in,
	const char *value, size_t len)
{
	const char *text = strnlen(stand_in, PLACEHOLDER_MARK) < PLACEHOLDER_MARK
				   ? ""
				   : stand_in + PLACEHOLDER_MARK;
	bool is_there = false;
	int r = 0;

	for (size_t i = 0; i < t->n; i++)
		is_there = is_there || (strcmp(t->entries[i].name, name) == 0 &&
					       strcmp(t->entries[i].text, text) == 0);
	if (!is_there)
		r = placeholders_put_new(t, name, stand_in, value, len);
	return r < 0 ? r : placeholders_change(t, name, value, len);
}

/* Search */

static const struct placeholder *placeholders_by_key(const struct placeholders *t, const char *key)
{
	uint16_t entry = *placeholders_slot((struct placeholders *)t, key);

	return entry ? &t->entries[entry - 1] : NULL;
}

/* Where the first of all marks stands. */
static const char *placeholders_mark_find(
	const struct placeholders *t, const char *text, size_t len)
{
	const char *first = NULL;

	for (size_t i = 0; i < t->n_marks; i++) {
		const char *at = placeholder_mark_find(
			&t->marks[i], text, first ? (size_t)(first - text) : len);

		first = at ? at : first;
	}
	return first;
}

const struct placeholder *placeholders_find(
	const struct placeholders *t, const char *text, size_t len, size_t *ret_at)
{
	size_t from = 0;
	const char *mark;

	while ((mark = placeholders_mark_find(t, text + from, len - from))) {
		const size_t at = (size_t)(mark - text);
		const struct placeholder *p =
			len - at >= PLACEHOLDER_KEY ? placeholders_by_key(t, mark) : NULL;

		if (p && at >= p->mark_at && len - (at - p->mark_at) >= p->len &&
			memcmp(text + at - p->mark_at, p->text, p->len) == 0) {
			*ret_at = at - p->mark_at;
			return p;
		}
		from = at + 1;
	}
	return NULL;
}

size_t placeholders_tail(const struct placeholders *t, const char *text, size_t len)
{
	size_t tail = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct placeholder *p = &t->entries[i];
		size_t n = len < p->len - 1 ? len : p->len - 1;

		while (n > tail &&
			(text[len - n] != p->text[0] || memcmp(text + len - n, p->text, n) != 0))
			n--;
		tail = n > tail ? n : tail;
	}
	return tail;
}

size_t placeholders_replace(const struct placeholders *t, const char *text, size_t len,
	placeholders_judge *judge, void *context, placeholders_print *print, struct buffer *out)
{
	size_t n = 0, from = 0, at;
	const struct placeholder *p;

	while ((p = placeholders_find(t, text + from, len - from, &at))) {
		const char *value = (const char *)p->value.data;

		buffer_add(out, text + from, at);
		if (!judge(context, p)) {
			buffer_add(out, p->text, p->len);
		} else {
			n++;
			if (print)
				print(value, p->value.len, out);
			else
				buffer_add(out, value, p->value.len);
		}
		from += at + p->len;
	}
	buffer_add(out, text + from, len - from);
	return n;
}
