/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "broker/fetch/record.h"

/* What was visited, as text: H200 B4 B2 E. */
static int note(void *context, const struct fetch_record *r)
{
	struct buffer *out = context;

	switch (r->kind) {
	case RECORD_HEAD:
		buffer_printf(out, "H%d ", (int)r->values.v[RECORD_STATUS].number);
		break;
	case RECORD_BODY:
		buffer_printf(out, "B%zu ", r->len);
		break;
	case RECORD_END:
		buffer_adds(out, "E");
		break;
	case RECORD_ERROR:
		buffer_printf(out, "!%d %s", (int)r->values.v[RECORD_CAUSE].number,
			r->values.v[RECORD_MESSAGE].text);
		break;
	}
	return r->kind == RECORD_BODY && r->len == 7 ? -ECANCELED : 0;
}

static struct values head(uint64_t status)
{
	static const struct value_item fields[] = { { "a", "b" } };
	struct values v = { 0 };

	v.v[RECORD_STATUS] = value_number(SCHEMA_NUMBER, status);
	v.v[RECORD_STATUS_TEXT] = value_text("OK", 2);
	v.v[RECORD_HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = fields, .n = 1 };
	return v;
}

static void add_head(struct buffer *out)
{
	const struct values v = head(200);

	assert_int_equal(record_add_values(out, RECORD_HEAD, &v), 0);
}

static void add_end(struct buffer *out)
{
	static const struct values none;

	assert_int_equal(record_add_values(out, RECORD_END, &none), 0);
}

static void add_error(struct buffer *out)
{
	struct values v = { 0 };

	v.v[RECORD_CAUSE] = value_number(SCHEMA_CHOICE, RECORD_CAUSE_TLS);
	v.v[RECORD_MESSAGE] = value_text("no", 2);
	assert_int_equal(record_add_values(out, RECORD_ERROR, &v), 0);
}

/* What is read of the bytes, in pieces of this size. */
static int feed(const struct buffer *bytes, size_t piece, struct buffer *seen)
{
	struct record_reader r = { 0 };
	int code = 0;

	buffer_clear(seen);
	for (size_t at = 0; code == 0 && at < bytes->len; at += piece)
		code = record_reader_feed(&r, bytes->data + at,
			bytes->len - at < piece ? bytes->len - at : piece, note, seen);
	record_reader_deinit(&r);
	return code;
}

static void test_stream(void **state)
{
	auto_buffer bytes = { 0 }, seen = { 0 };
	static char body[RECORD_PIECE_MAX + 5];

	(void)state;
	add_head(&bytes);
	assert_int_equal(record_add_body(&bytes, body, sizeof(body)), 0);
	assert_int_equal(record_add_body(&bytes, NULL, 0), 0);
	add_end(&bytes);
	for (size_t piece = 1; piece < 70000; piece = piece * 3 + 1) {
		assert_int_equal(feed(&bytes, piece, &seen), 0);
		assert_string_equal(buffer_text(&seen), "H200 B65536 B5 E");
	}
	bytes.len = 0;
	add_error(&bytes);
	assert_int_equal(feed(&bytes, 3, &seen), 0);
	assert_string_equal(buffer_text(&seen), "!3 no");
}

static void test_order(void **state)
{
	auto_buffer bytes = { 0 }, seen = { 0 };

	(void)state;
	/* A body, or an end, without a head. */
	(void)record_add_body(&bytes, "x", 1);
	assert_int_equal(feed(&bytes, 100, &seen), -EPROTO);
	bytes.len = 0;
	add_end(&bytes);
	assert_int_equal(feed(&bytes, 100, &seen), -EPROTO);
	/* Two heads. */
	bytes.len = 0;
	add_head(&bytes);
	add_head(&bytes);
	assert_int_equal(feed(&bytes, 1000, &seen), -EPROTO);
	/* Something behind the end, at once and later. */
	bytes.len = 0;
	add_head(&bytes);
	add_end(&bytes);
	buffer_addc(&bytes, '\0');
	assert_int_equal(feed(&bytes, 1000, &seen), -EPROTO);
	assert_int_equal(feed(&bytes, 1, &seen), -EPROTO);
	/* What the visitor says ends it. */
	bytes.len = 0;
	add_head(&bytes);
	(void)record_add_body(&bytes, "1234567", 7);
	assert_int_equal(feed(&bytes, 1000, &seen), -ECANCELED);
}

static void test_lies(void **state)
{
	static const struct {
		uint32_t kind, len;
	} marks[] = { { 0, 0 }, { 5, 0 }, { RECORD_HEAD, UINT32_MAX }, { RECORD_HEAD, 0 },
		{ RECORD_HEAD, RECORD_VALUES_MAX + 1 }, { RECORD_ERROR, RECORD_VALUES_MAX + 1 },
		{ RECORD_ERROR, 0 } };
	auto_buffer bytes = { 0 }, seen = { 0 };
	struct values v = head(1000);

	(void)state;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		bytes.len = 0;
		buffer_add(&bytes, &marks[i], sizeof(marks[i]));
		assert_int_equal(feed(&bytes, 1000, &seen), -EPROTO);
	}
	/* A body that is longer than a piece, or empty, is known by its mark alone. */
	for (uint32_t len = 0; len <= RECORD_PIECE_MAX + 1; len += RECORD_PIECE_MAX + 1) {
		const uint32_t mark[] = { RECORD_BODY, len };

		bytes.len = 0;
		add_head(&bytes);
		buffer_add(&bytes, mark, sizeof(mark));
		assert_int_equal(feed(&bytes, 1000, &seen), -EPROTO);
	}
	/* Values that their rows do not allow are not written either. */
	assert_int_equal(record_add_values(&bytes, RECORD_HEAD, &v), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
