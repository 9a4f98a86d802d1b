/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/bodies.h"

#include <errno.h>
#include <string.h>

static void bodies_wipe(struct buffer *b)
{
	if (b->data)
		secret_wipe(b->data, b->cap);
	buffer_deinit(b);
	*b = (struct buffer){ 0 };
}

void bodies_deinit(struct bodies *b)
{
	bodies_wipe(&b->pending);
	bodies_wipe(&b->head);
	bodies_wipe(&b->held);
}

int bodies_begin(struct bodies *b, enum bodies_mode mode, placeholders_print *print,
	const struct buffer *head, struct buffer *out)
{
	struct buffer *to = mode == BODIES_HOLD ? &b->head : out;

	bodies_deinit(b);
	b->mode = mode;
	b->print = print;
	buffer_add(to, head->data, head->len);
	if (mode != BODIES_HOLD)
		buffer_adds(to, "\r\n");
	return to->failed ? -ENOMEM : 0;
}

/* What of `pending` is no beginning of a placeholder, with values. */
static void bodies_replace(struct bodies *b, bool last, struct buffer *out)
{
	const char *text = buffer_text(&b->pending);
	size_t len = b->pending.len, from = 0, at;
	const struct placeholder *p;

	while ((p = placeholders_find(b->placeholders, text + from, len - from, &at)))
		from += at + p->len;
	if (!last)
		len -= placeholders_tail(b->placeholders, text + from, len - from);
	/* Behind the last one there is none: most bodies have none at all. */
	if (from > 0)
		(void)placeholders_replace(
			b->placeholders, text, from, b->judge, b->context, b->print, out);
	if (b->mode != BODIES_WATCH)
		buffer_add(out, text + from, len - from);
	memmove(b->pending.data, b->pending.data + len, b->pending.len - len);
	b->pending.len -= len;
}

static int bodies_watch(
	struct bodies *b, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	auto_buffer nowhere = { 0 };

	buffer_add(out, data, len);
	if (b->pending.len > 0)
		bodies_replace(b, last, &nowhere);
	return out->failed || nowhere.failed ? -ENOMEM : 0;
}

static int bodies_hold(struct bodies *b, bool last, struct buffer *out)
{
	if (b->pending.len > 0)
		bodies_replace(b, last, &b->held);
	if (b->held.failed)
		return -ENOMEM;
	if (b->held.len > BODIES_GROWN_MAX)
		return -E2BIG;
	if (!last)
		return 0;
	buffer_add(out, b->head.data, b->head.len);
	buffer_printf(out, "Content-Length: %zu\r\n\r\n", b->held.len);
	buffer_add(out, buffer_text(&b->held), b->held.len);
	bodies_deinit(b);
	return out->failed ? -ENOMEM : 0;
}

static int bodies_chunk(struct bodies *b, bool last, struct buffer *out)
{
	auto_buffer chunk = { 0 };

	if (b->pending.len > 0)
		bodies_replace(b, last, &chunk);
	if (chunk.len > 0) {
		buffer_printf(out, "%zx\r\n", chunk.len);
		buffer_add(out, chunk.data, chunk.len);
		buffer_adds(out, "\r\n");
		secret_wipe(chunk.data, chunk.cap);
	}
	return out->failed || chunk.failed ? -ENOMEM : 0;
}

static int bodies_piece(
	struct bodies *b, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	int r;

	buffer_add(&b->pending, data, len);
	if (b->pending.failed)
		return -ENOMEM;
	if (b->mode == BODIES_WATCH)
		return bodies_watch(b, data, len, last, out);
	if (b->mode == BODIES_HOLD)
		return bodies_hold(b, last, out);
	if (b->mode == BODIES_PLAIN) {
		if (b->pending.len > 0)
			bodies_replace(b, last, out);
		return out->failed ? -ENOMEM : 0;
	}
	r = bodies_chunk(b, last, out);
	if (r == 0 && last)
		buffer_adds(out, "0\r\n\r\n");
	return out->failed ? -ENOMEM : r;
}

/* In pieces: each placeholder may become a value of 16 KiB. */
int bodies_data(struct bodies *b, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	const size_t most = out->len + len + BODIES_GROWN_MAX;
	int r = 0;

	do {
		const size_t n = len < BODIES_PIECE ? len : BODIES_PIECE;

		r = bodies_piece(b, data, n, last && n == len, out);
		if (r == 0 && out->len > most && b->mode >= BODIES_CHUNK)
			r = -E2BIG;
		data += n;
		len -= n;
	} while (r == 0 && len > 0);
	return r;
}

int bodies_end_chunks(struct bodies *b, const uint8_t *trailers, size_t len, struct buffer *out)
{
	int r = b->mode == BODIES_CHUNK ? bodies_chunk(b, true, out)
					: bodies_watch(b, trailers, 0, true, out);

	if (b->mode == BODIES_CHUNK)
		buffer_adds(out, "0\r\n");
	buffer_add(out, trailers, len);
	return out->failed ? -ENOMEM : r;
}
