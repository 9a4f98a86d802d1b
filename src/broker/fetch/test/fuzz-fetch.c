/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor reads of a corral-fetch that a server took over: the first byte says in pieces
 * of which size it comes. In one piece and in many the same records are seen and the same error
 * ends it; each record's values are allowed by their rows; nothing comes behind the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/fetch/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

struct seen {
	struct buffer bytes;
	bool has_head, has_ended;
};

static int visit(void *context, const struct fetch_record *r)
{
	struct seen *s = context;

	require(!s->has_ended && (s->has_head || r->kind != RECORD_BODY));
	require(r->kind != RECORD_HEAD || !s->has_head);
	s->has_head = s->has_head || r->kind == RECORD_HEAD;
	s->has_ended = r->kind == RECORD_END || r->kind == RECORD_ERROR;
	if (r->kind == RECORD_BODY)
		require(record_add_body(&s->bytes, r->data, r->len) == 0);
	else
		require(record_add_values(&s->bytes, r->kind, &r->values) == 0);
	return 0;
}

static int feed(const uint8_t *data, size_t size, size_t piece, struct seen *s)
{
	struct record_reader r = { 0 };
	int code = 0;

	for (size_t at = 0; code == 0 && at < size; at += piece)
		code = record_reader_feed(
			&r, data + at, size - at < piece ? size - at : piece, visit, s);
	record_reader_deinit(&r);
	require(code == 0 || code == -EPROTO);
	return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { 0 }, pieces = { 0 };
	size_t piece;
	int a, b;

	if (size == 0)
		return 0;
	piece = data[0] + 1u;
	a = feed(data + 1, size - 1, size, &whole);
	b = feed(data + 1, size - 1, piece, &pieces);
	require(a == b && whole.bytes.len == pieces.bytes.len);
	/* There is one form: what was read are the bytes themselves. */
	require(whole.bytes.len <= size - 1 &&
		(whole.bytes.len == 0 || memcmp(whole.bytes.data, data + 1, whole.bytes.len) == 0));
	buffer_deinit(&whole.bytes);
	buffer_deinit(&pieces.bytes);
	return 0;
}
