/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "serve/stream.h"

static struct stream s;

static void test_order(void **state)
{
	uint64_t place = stream_find(&s, 0), last = 0;
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(stream_add(&s, 10, "a", "{}"), 0);
	assert_int_equal(stream_add(&s, 11, "b", "{}"), 0);
	stream_copy(&s, &place, &last, 1000, &out);
	assert_string_equal(
		buffer_text(&out), "id: 10\nevent: a\ndata: {}\n\nid: 11\nevent: b\ndata: {}\n\n");
	assert_int_equal(last, 11);
	/* Behind one that is known; behind the newest. */
	assert_int_equal(stream_find(&s, 10), place - 1);
	assert_int_equal(stream_find(&s, 11), place);
	assert_int_equal(stream_find(&s, 0), place);
	/* What never came is said. */
	assert_int_equal(stream_add(&s, 14, "c", "{}"), 0);
	buffer_clear(&out);
	stream_copy(&s, &place, &last, 1000, &out);
	assert_string_equal(buffer_text(&out), "event: dropped\ndata: {\"from\":12,\"to\":13}\n\n"
					       "id: 14\nevent: c\ndata: {}\n\n");
	stream_deinit(&s);
	s = (struct stream){ 0 };
}

/* One who is too slow finds what is left, and hears what is not. */
static void test_slow(void **state)
{
	uint64_t place = stream_find(&s, 0), last = 0;
	auto_buffer out = { 0 };

	(void)state;
	for (uint64_t i = 1; i <= 3 * STREAM_EVENTS_MAX; i++)
		assert_int_equal(stream_add(&s, i, "a", "{}"), 0);
	last = 1;
	stream_copy(&s, &place, &last, 1, &out);
	assert_non_null(strstr(buffer_text(&out), "\"from\":2,\"to\":2048}"));
	assert_int_equal(last, 2 * STREAM_EVENTS_MAX + 1);
	stream_deinit(&s);
	s = (struct stream){ 0 };
}

static void test_bytes(void **state)
{
	static char big[16 << 10];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	for (uint64_t i = 1; i <= 500; i++)
		assert_int_equal(stream_add(&s, i, "a", big), 0);
	assert_true(s.bytes <= STREAM_BYTES_MAX);
	assert_true(s.next - s.first > 100 && s.next - s.first < 200);
	stream_deinit(&s);
	s = (struct stream){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
