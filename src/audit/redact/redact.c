/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each way to find a secret marks bytes of the text as it came; then the text is written once, with
 * one word for each run of marked bytes. So secrets may overlap, touch, or be one inside the other,
 * and what one way took out cannot keep another from seeing the rest.
 *
 * A value is also looked for as it is written in other places: with escapes of JSON, or with
 * control bytes made visible (both are kept as values of their own), and percent-encoded (the text
 * is decoded, whichever bytes are encoded in it, and what is found is marked where it came from).
 */
#include "audit/redact/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/redact/internal.h"
#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"

enum {
	BYTES_MAX = 8 << 20,
	ITEM_MAX = 4096, /* longer values are kept as several */
	/* A value may be kept in three ways of writing. */
	ITEMS_MAX = 3 * REDACTOR_VALUES_MAX + BYTES_MAX / ITEM_MAX,
	/* So much is looked at: what begins in the part that is written ends in it, encoded or not.
	 */
	LOOKED_AT = REDACT_TEXT_MAX + 3 * ITEM_MAX,
	ON_STACK = 1024,
};

static const char mark[] = "[redacted]";

enum { PREFIX = 4, STRIDE_MAX = 8, FILTER_SHIFT = 19, NO_VALUE = 0 };

/*
 * A set of values that is looked for in texts. What a text costs does not depend on how many there
 * are, but for a logarithm where one of them may begin. Four bytes of the text are looked up in a
 * small filter at every `stride`-th place, which has those at the first `stride` places of each
 * value: the shortest value still covers one of them. Near one that is there, a second filter has
 * the first four bytes of each, and after that they are sorted, so that the longest that begins at
 * a place is found by halving.
 */
struct redact_value {
	char *bytes;
	size_t len;
	size_t shorter; /* 1 + the longest other that this one begins with; 0: none */
};

struct redactor {
	struct redact_value *items; /* sorted by their bytes */
	size_t n, cap, bytes;
	size_t stride;
	bool inside[1 << (32 - FILTER_SHIFT)], begins[1 << (32 - FILTER_SHIFT)];
	size_t n_added; /* each may be kept in several ways of writing */
	struct redact_memo memo;
};

static uint32_t value_filter_slot(const char *bytes)
{
	uint32_t prefix;

	memcpy(&prefix, bytes, PREFIX);
	return prefix * 0x9e3779b1u >> FILTER_SHIFT;
}

/* How many values are smaller than the text, or its beginning. */
static size_t value_count_below(const struct redactor *v, const char *text, size_t len)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		const struct redact_value *value = &v->items[middle];
		const int c = memcmp(value->bytes, text, value->len < len ? value->len : len);

		if (c < 0 || (c == 0 && value->len <= len))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool value_begins(const char *text, size_t len, const struct redact_value *value)
{
	return value->len <= len && memcmp(text, value->bytes, value->len) == 0;
}

/*
 * 1 + the longest of the first i values that the text begins with, or 0; no other is both above
 * the last of them and not above the text. It is that one, or that one begins with it: whatever
 * lies between a beginning and the whole has it, too.
 */
static size_t value_longest(const struct redactor *v, size_t i, const char *text, size_t len)
{
	while (i != NO_VALUE && !value_begins(text, len, &v->items[i - 1]))
		i = v->items[i - 1].shorter;
	return i;
}

static bool value_is_at(const struct redactor *v, size_t at, const char *bytes, size_t len)
{
	return at > 0 && v->items[at - 1].len == len && value_begins(bytes, len, &v->items[at - 1]);
}

/* The value is copied; len is at least 4. -E2BIG, -ENOMEM. */
static int value_add(struct redactor *v, const char *bytes, size_t len)
{
	const size_t at = value_count_below(v, bytes, len);
	struct redact_value item = { .len = len }, *items;

	if (value_is_at(v, at, bytes, len))
		return 0;
	if (v->n >= ITEMS_MAX || len > BYTES_MAX - v->bytes)
		return -E2BIG;
	items = array_grow(v->items, v->n, &v->cap, sizeof(*v->items));
	if (!items)
		return -ENOMEM;
	v->items = items;
	item.bytes = malloc(len);
	if (!item.bytes)
		return -ENOMEM;
	memcpy(item.bytes, bytes, len);
	memmove(items + at + 1, items + at, (v->n - at) * sizeof(*items));
	items[at] = item;
	v->n++;
	v->bytes += len;
	v->begins[value_filter_slot(bytes)] = true;
	v->stride = len - PREFIX < v->stride ? len - PREFIX + 1 : v->stride;
	for (size_t i = 0; i < v->stride; i++)
		v->inside[value_filter_slot(bytes + i)] = true;
	redact_memo_clear(&v->memo);
	/* Those in front of an item are done. */
	for (size_t i = 0; i < v->n; i++)
		items[i].shorter = value_longest(v, i, items[i].bytes, items[i].len);
	return 0;
}

/* Hides the longest value that begins at i; *done is the end of what is hidden. */
static void value_mark_at(const struct redactor *v, const char *text, size_t len, size_t i,
	char *hidden, size_t *done)
{
	const size_t from = i > *done ? i : *done;
	size_t found;

	if (i + PREFIX > len || !v->begins[value_filter_slot(text + i)])
		return;
	found = value_longest(v, value_count_below(v, text + i, len - i), text + i, len - i);
	if (found == NO_VALUE || i + v->items[found - 1].len <= from)
		return;
	*done = i + v->items[found - 1].len;
	memset(hidden + from, 1, *done - from);
}

/* Sets hidden[i] for each byte of a text that belongs to one of them, overlapping or not; says
 * whether there is any. */
static bool value_mark(const struct redactor *v, const char *text, size_t len, char *hidden)
{
	size_t done = 0;

	for (size_t i = v->stride - 1; i + PREFIX <= len; i += v->stride) {
		if (!v->inside[value_filter_slot(text + i)])
			continue;
		for (size_t k = i + 1 - v->stride; k <= i; k++)
			value_mark_at(v, text, len, k, hidden, &done);
	}
	return done > 0;
}

int redactor_new(struct redactor **ret)
{
	struct redactor *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->stride = STRIDE_MAX;
	*ret = r;
	return 0;
}

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		explicit_bzero(r->items[i].bytes, r->items[i].len);
		free(r->items[i].bytes);
	}
	free(r->items);
	free(r);
}

/* The last piece of a long one is as long as the others, and overlaps the one before. */
static int redact_keep(struct redactor *r, const char *bytes, size_t len)
{
	int ret = 0;

	for (size_t done = 0; done < len && ret == 0; done += ITEM_MAX) {
		size_t n = len < ITEM_MAX ? len : ITEM_MAX;
		size_t start = done < len - n ? done : len - n;

		ret = value_add(r, bytes + start, n);
	}
	return ret;
}

int redactor_add(struct redactor *r, const char *name, const char *value)
{
	size_t len = strlen(value), before = r->n;
	auto_buffer json = { 0 }, visible = { 0 };
	int ret;

	/* What was read from a file ends with a newline, which is not part of the secret. */
	while (len > 0 && isspace((unsigned char)value[len - 1]))
		len--;
	if (len < REDACTOR_VALUE_LEAST || redact_name_is_harmless(name) ||
		redact_name_is_plain_value(value))
		return 0;
	/* One that is known costs nothing. */
	if (r->n_added >= REDACTOR_VALUES_MAX)
		return value_is_at(r, value_count_below(r, value, len), value, len) ? 0 : -E2BIG;
	/* Also as other programs, and we ourselves, write it. */
	json_print_string(&json, value, len);
	buffer_add_visible(&visible, value, len);
	ret = redact_keep(r, value, len);
	if (ret >= 0 && (json.failed || visible.failed))
		ret = -ENOMEM;
	if (ret >= 0)
		ret = redact_keep(r, json.data + 1, json.len - 2);
	if (ret >= 0)
		ret = redact_keep(r, visible.data, visible.len);
	if (r->n > before)
		r->n_added++;
	return ret;
}

/* The same in a text with its percent-encoding undone; what is found is marked where it came from.
 * 1: something is. */
static int redact_mark_encoded(
	const struct redactor *r, const char *text, size_t len, char *hidden, bool plus)
{
	/* One block: where each byte came from, len + 1 of them; the bytes; which are hidden. */
	size_t *from = calloc(1, (len + 1) * sizeof(*from) + 2 * len), n = 0;
	char *bytes, *found;
	bool any;

	if (!from)
		return -ENOMEM;
	bytes = (char *)(from + len + 1);
	found = bytes + len;
	for (size_t i = 0; i < len; n++) {
		const int byte = redact_percent_decode(text + i, len - i);
		const char plain = text[i] == '+' && plus ? ' ' : text[i];

		from[n] = i;
		bytes[n] = byte < 0 ? plain : (char)byte;
		i += byte < 0 ? 1 : 3;
	}
	from[n] = len;
	any = value_mark(r, bytes, n, found);
	for (size_t i = 0; any && i < n; i++) {
		if (found[i])
			memset(hidden + from[i], 1, from[i + 1] - from[i]);
	}
	free(from);
	return any;
}

/* 1: there is something to hide. */
static int redact_find(const struct redactor *r, const char *text, size_t len, char *hidden)
{
	bool found;
	int ret = 0;

	memset(hidden, 0, len);
	found = redact_forms_mark(text, len, hidden);
	if (!r || !r->n)
		return found;
	found |= value_mark(r, text, len, hidden);
	if (memchr(text, '%', len))
		ret = redact_mark_encoded(r, text, len, hidden, false);
	found |= ret > 0;
	if (ret >= 0 && memchr(text, '+', len))
		ret = redact_mark_encoded(r, text, len, hidden, true);
	return ret < 0 ? ret : found || ret > 0;
}

static void redact_write_shown(const char *text, size_t len, const char *hidden, struct buffer *out)
{
	size_t i = 0;

	while (i < len) {
		size_t start = i;
		char is_hidden = hidden[i];

		while (i < len && hidden[i] == is_hidden)
			i++;
		if (is_hidden)
			buffer_add(out, mark, sizeof(mark) - 1);
		else
			buffer_add(out, text + start, i - start);
	}
}

/* 1: it is written without its secrets. 0: it has none, and nothing was written. */
static int redact(const struct redactor *r, const char *text, size_t len, struct buffer *out)
{
	const size_t looked_at = len < LOOKED_AT ? len : LOOKED_AT;
	const size_t written = len < REDACT_TEXT_MAX ? len : REDACT_TEXT_MAX;
	char small[ON_STACK], *hidden = small;
	int ret;

	if (len > ON_STACK)
		hidden = malloc(looked_at);
	ret = hidden ? redact_find(r, text, looked_at, hidden) : -ENOMEM;
	if (ret < 0) {
		out->failed = true;
	} else if (written < len || ret > 0) {
		redact_write_shown(text, written, hidden, out);
		buffer_adds(out, written < len ? "…" : "");
		ret = out->failed ? -ENOMEM : 1;
	}
	if (hidden != small)
		free(hidden);
	return ret;
}

void redact_text(struct redactor *r, const char *text, struct buffer *out)
{
	size_t len = strlen(text);

	if (redact(r, text, len, out) == 0)
		buffer_add(out, text, len);
}

/* The buffer may move while it grows: first all texts, then where they are. */
void redact_event(struct redactor *r, struct audit_event *e, struct buffer *out)
{
	size_t starts[AUDIT_EVENT_TEXTS];
	bool changed[AUDIT_EVENT_TEXTS];
	struct redact_memo *memo = r && redact_memo_take(&r->memo) ? &r->memo : NULL;

	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		const char *text = audit_event_text(e, i);
		const size_t len = strlen(text);

		changed[i] = false;
		if (len < REDACTOR_VALUE_LEAST || (memo && redact_memo_has(memo, text, len)))
			continue;
		starts[i] = out->len;
		changed[i] = redact(r, text, len, out) != 0;
		if (changed[i])
			buffer_addc(out, '\0');
		else if (memo)
			redact_memo_add(memo, text, len);
	}
	if (memo)
		redact_memo_release(memo);
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		if (out->failed)
			audit_event_set_text(e, i, mark);
		else if (changed[i])
			audit_event_set_text(e, i, out->data + starts[i]);
	}
}
