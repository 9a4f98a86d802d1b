/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/record.h"

#include <errno.h>
#include <string.h>

#include "broker/fetch/request.h"

struct record_mark {
	uint32_t kind, len;
};

static const char *const causes[] = { "network", "timeout", "size", "tls", "request", "internal",
	NULL };

const struct schema_field record_head_fields[] = {
	{ "status", SCHEMA_NUMBER, .required = true, .max = 999 },
	{ "statusText", SCHEMA_TEXT, .required = true, .max = 1024 },
	{ "headers", SCHEMA_PAIRS, .required = true, .max = FETCH_HEADERS_MAX },
	{ "location", SCHEMA_TEXT, .max = FETCH_URL_MAX },
	{ "length", SCHEMA_NUMBER, .max = INT64_MAX },
	{ 0 },
};
const struct schema_field record_error_fields[] = {
	{ "cause", SCHEMA_CHOICE, .required = true, .words = causes },
	{ "message", SCHEMA_TEXT, .required = true, .max = 4096 },
	{ 0 },
};
static const struct schema_field record_no_fields[] = { { 0 } };

static const struct schema_field *record_fields(enum fetch_record_kind kind)
{
	return kind == RECORD_HEAD    ? record_head_fields
	       : kind == RECORD_ERROR ? record_error_fields
				      : record_no_fields;
}

int record_add_values(struct buffer *out, enum fetch_record_kind kind, const struct values *v)
{
	auto_buffer body = { 0 };
	struct record_mark mark = { .kind = kind };
	int r = values_encode(record_fields(kind), v, &body);

	if (r < 0)
		return r;
	if (body.len > RECORD_VALUES_MAX)
		return -EINVAL;
	mark.len = (uint32_t)body.len;
	buffer_add(out, &mark, sizeof(mark));
	buffer_add(out, body.data, body.len);
	return out->failed ? -ENOMEM : 0;
}

int record_add_body(struct buffer *out, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		const size_t n = len < RECORD_PIECE_MAX ? len : RECORD_PIECE_MAX;
		const struct record_mark mark = { RECORD_BODY, (uint32_t)n };

		buffer_add(out, &mark, sizeof(mark));
		buffer_add(out, at, n);
		at += n;
		len -= n;
	}
	return out->failed ? -ENOMEM : 0;
}

/* Whether a record of this kind and length may come now. */
static bool record_is_due(const struct record_reader *r, const struct record_mark *mark)
{
	switch (mark->kind) {
	case RECORD_HEAD:
		return !r->has_head && mark->len <= RECORD_VALUES_MAX;
	case RECORD_BODY:
		return r->has_head && mark->len > 0 && mark->len <= RECORD_PIECE_MAX;
	case RECORD_END:
		return r->has_head && mark->len == 0;
	case RECORD_ERROR:
		return mark->len <= RECORD_VALUES_MAX;
	default:
		return false;
	}
}

static int record_take(struct record_reader *r, const struct record_mark *mark, const char *body,
	record_visit *visit, void *context)
{
	struct fetch_record record = { .kind = (enum fetch_record_kind)mark->kind };
	auto_arena a = { 0 };
	int code = 0;

	if (record.kind == RECORD_BODY) {
		record.data = body;
		record.len = mark->len;
	} else
		code = values_decode(
			record_fields(record.kind), body, mark->len, &a, &record.values);
	if (code < 0)
		return code;
	r->has_head = r->has_head || record.kind == RECORD_HEAD;
	r->has_ended = record.kind == RECORD_END || record.kind == RECORD_ERROR;
	return visit(context, &record);
}

/* Takes whole records off the front; *ret: how many bytes they had. */
static int record_take_all(struct record_reader *r, const char *data, size_t len, size_t *ret,
	record_visit *visit, void *context)
{
	size_t at = 0;
	int code = 0;

	while (code == 0) {
		struct record_mark mark;

		if (len - at < sizeof(mark))
			break;
		memcpy(&mark, data + at, sizeof(mark));
		if (r->has_ended || !record_is_due(r, &mark))
			return -EPROTO;
		if (len - at - sizeof(mark) < mark.len)
			break;
		code = record_take(r, &mark, data + at + sizeof(mark), visit, context);
		at += sizeof(mark) + mark.len;
	}
	*ret = at;
	return code;
}

int record_reader_feed(
	struct record_reader *r, const void *data, size_t len, record_visit *visit, void *context)
{
	size_t taken = 0;
	int code;

	if (r->has_ended && len > 0)
		return -EPROTO;
	/* Usually nothing is left over, and nothing is copied. */
	if (r->part.len == 0) {
		code = record_take_all(r, data, len, &taken, visit, context);
		if (code == 0 && taken < len)
			buffer_add(&r->part, (const char *)data + taken, len - taken);
	} else {
		buffer_add(&r->part, data, len);
		code = r->part.failed ? -ENOMEM
				      : record_take_all(r, r->part.data, r->part.len, &taken, visit,
						context);
		if (code == 0 && taken > 0) {
			r->part.len -= taken;
			memmove(r->part.data, r->part.data + taken, r->part.len);
		}
	}
	if (code == 0 && r->has_ended && r->part.len > 0)
		return -EPROTO;
	return code == 0 && r->part.failed ? -ENOMEM : code;
}

void record_reader_deinit(struct record_reader *r)
{
	buffer_deinit(&r->part);
}
