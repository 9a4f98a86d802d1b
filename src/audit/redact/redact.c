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

#include "audit/redact/forms.h"
#include "audit/redact/names.h"
#include "audit/redact/percent.h"
#include "audit/redact/values.h"
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

struct redactor {
	struct redact_values values;
	size_t n;
};

int redactor_new(struct redactor **ret)
{
	struct redactor *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*ret = r;
	return 0;
}

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	redact_values_deinit(&r->values);
	free(r);
}

/* The last piece of a long one is as long as the others, and overlaps the one before. */
static int redact_keep(struct redactor *r, const char *bytes, size_t len)
{
	int ret = 0;

	for (size_t done = 0; done < len && ret == 0; done += ITEM_MAX) {
		size_t n = len < ITEM_MAX ? len : ITEM_MAX;
		size_t start = done < len - n ? done : len - n;

		ret = redact_values_add(&r->values, bytes + start, n, ITEMS_MAX, BYTES_MAX);
	}
	return ret;
}

static int keep_buffer(struct redactor *r, const struct buffer *b, size_t skip)
{
	return b->failed ? -ENOMEM : redact_keep(r, b->data + skip, b->len - 2 * skip);
}

/* The value as other programs, and we ourselves, write it. */
static int redact_keep_written(struct redactor *r, const char *value, size_t len)
{
	auto_buffer json = { 0 }, visible = { 0 };
	int ret = redact_keep(r, value, len);

	if (ret < 0)
		return ret;
	json_print_string(&json, value, len);
	buffer_add_visible(&visible, value, len);
	ret = keep_buffer(r, &json, 1);
	return ret < 0 ? ret : keep_buffer(r, &visible, 0);
}

int redactor_add(struct redactor *r, const char *name, const char *value)
{
	size_t len = strlen(value), before = r->values.n;
	int ret;

	/* What was read from a file ends with a newline, which is not part of the secret. */
	while (len > 0 && isspace((unsigned char)value[len - 1]))
		len--;
	if (len < REDACTOR_VALUE_LEAST || redact_name_is_harmless(name) ||
		redact_name_is_plain_value(value))
		return 0;
	/* One that is known costs nothing. */
	if (r->n >= REDACTOR_VALUES_MAX)
		return redact_values_has(&r->values, value, len) ? 0 : -E2BIG;
	ret = redact_keep_written(r, value, len);
	if (r->values.n > before)
		r->n++;
	return ret;
}

/* A text with its percent-encoding undone, and where each byte of it came from. */
struct decoded {
	size_t *from; /* len + 1 of them */
	char *bytes, *hidden;
	size_t len;
};

static void redact_decode(struct decoded *d, const char *text, size_t len, bool plus)
{
	for (size_t i = 0; i < len; d->len++) {
		int byte = redact_percent_decode(text + i, len - i);
		char plain = text[i] == '+' && plus ? ' ' : text[i];

		d->from[d->len] = i;
		d->bytes[d->len] = byte < 0 ? plain : (char)byte;
		i += byte < 0 ? 1 : 3;
	}
	d->from[d->len] = len;
}

static void mark_decoded(const struct redactor *r, const struct decoded *d, char *hidden)
{
	redact_values_mark(&r->values, d->bytes, d->len, d->hidden);
	for (size_t i = 0; i < d->len; i++) {
		if (d->hidden[i])
			memset(hidden + d->from[i], 1, d->from[i + 1] - d->from[i]);
	}
}

static int mark_encoded(
	const struct redactor *r, const char *text, size_t len, char *hidden, bool plus)
{
	/* One block for all three. */
	size_t *from = calloc(1, (len + 1) * sizeof(*from) + 2 * len);
	struct decoded d = { .from = from };

	if (!from)
		return -ENOMEM;
	d.bytes = (char *)(from + len + 1);
	d.hidden = d.bytes + len;
	redact_decode(&d, text, len, plus);
	mark_decoded(r, &d, hidden);
	free(from);
	return 0;
}

static int mark_values(const struct redactor *r, const char *text, size_t len, char *hidden)
{
	bool plus = memchr(text, '+', len);
	int ret = 0;

	redact_values_mark(&r->values, text, len, hidden);
	if (memchr(text, '%', len))
		ret = mark_encoded(r, text, len, hidden, false);
	if (ret == 0 && plus)
		ret = mark_encoded(r, text, len, hidden, true);
	return ret;
}

static int redact_find(const struct redactor *r, const char *text, size_t len, char *hidden)
{
	memset(hidden, 0, len);
	redact_forms_mark(text, len, hidden);
	return r && r->values.n > 0 ? mark_values(r, text, len, hidden) : 0;
}

static void write_shown(const char *text, size_t len, const char *hidden, struct buffer *out)
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

static size_t redact_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int redact_no_memory(struct buffer *out)
{
	out->failed = true;
	return -ENOMEM;
}

/* As redact(); hidden has room for all that is looked at. */
static int redact_with(
	char *hidden, const struct redactor *r, const char *text, size_t len, struct buffer *out)
{
	size_t written = redact_least(len, REDACT_TEXT_MAX);

	if (redact_find(r, text, redact_least(len, LOOKED_AT), hidden) < 0)
		return redact_no_memory(out);
	if (written == len && !memchr(hidden, 1, len))
		return 0;
	write_shown(text, written, hidden, out);
	if (written < len)
		buffer_adds(out, "…");
	return out->failed ? -ENOMEM : 1;
}

/* 1: it is written without its secrets. 0: it has none, and nothing was written. */
static int redact(const struct redactor *r, const char *text, size_t len, struct buffer *out)
{
	char small[ON_STACK], *large;
	int ret;

	if (len <= ON_STACK)
		return redact_with(small, r, text, len, out);
	large = malloc(redact_least(len, LOOKED_AT));
	if (!large)
		return redact_no_memory(out);
	ret = redact_with(large, r, text, len, out);
	free(large);
	return ret;
}

void redact_text(const struct redactor *r, const char *text, struct buffer *out)
{
	size_t len = strlen(text);

	if (redact(r, text, len, out) == 0)
		buffer_add(out, text, len);
}

/* The buffer may move while it grows: first all texts, then where they are. */
void redact_event(const struct redactor *r, struct audit_event *e, struct buffer *out)
{
	size_t starts[AUDIT_EVENT_TEXTS];
	bool changed[AUDIT_EVENT_TEXTS];

	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		const char *text = audit_event_text(e, i);

		starts[i] = out->len;
		changed[i] = redact(r, text, strlen(text), out) != 0;
		if (changed[i])
			buffer_addc(out, '\0');
	}
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		if (out->failed)
			audit_event_set_text(e, i, mark);
		else if (changed[i])
			audit_event_set_text(e, i, out->data + starts[i]);
	}
}
