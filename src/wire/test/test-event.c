/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>

#include "audit/event.h"
#include "base/array.h"
#include "wire/event.h"

static const struct {
	size_t len;
	uint64_t id;
	size_t n_fds;
	int r;
} rows[] = {
	{ .len = 0, .id = 0, .r = -EPROTO },
	{ .len = 0, .id = 1, .r = 0 },
	{ .len = 0, .id = UINT64_MAX, .r = 0 },
	{ .len = 1, .id = 0, .r = 0 },
	{ .len = AUDIT_EVENT_MAX, .id = 3, .r = 0 },
	{ .len = AUDIT_EVENT_MAX + 1, .id = 3, .r = -EPROTO },
	{ .len = 1, .id = 1, .n_fds = 1, .r = -EPROTO },
	{ .len = 0, .id = 1, .n_fds = 1, .r = -EPROTO },
};

static void test_event_check(void **state)
{
	static struct frame f;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		f.type = FRAME_EVENT;
		f.len = rows[i].len;
		f.id = rows[i].id;
		f.n_fds = rows[i].n_fds;
		assert_int_equal(event_check(&f), rows[i].r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
