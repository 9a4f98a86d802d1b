/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a connection, whose peer reads less than there is for it. */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "inject/side.h"

enum { ALL = 64 << 20, PART = 16 << 10, ROWS_OF = 251 };

/* Bytes that say where they are. */
static void fill(char *bytes, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)((from + i) % ROWS_OF);
}

/* As much again comes whenever there is room, so its buffer is never empty. */
static void test_slow_reader(void **state)
{
	struct inject_side s = { .watcher.fd = -1 };
	struct loop *loop = NULL;
	size_t put = 0, got = 0;
	char bytes[PART], wanted[PART];
	int pair[2];

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	s.fd = pair[0];
	while (got < ALL) {
		ssize_t n;

		while (put < ALL && s.out.len - s.written < SIDE_OUT_MAX) {
			fill(bytes, put, PART);
			buffer_add(&s.out, bytes, PART);
			put += PART;
		}
		assert_true(side_write(&s) >= 0);
		/* What waits, and no more than that again of what is gone. */
		assert_true(s.out.len <= 2 * SIDE_OUT_MAX + PART);
		n = recv(pair[1], bytes, PART, 0);
		assert_true(n > 0);
		fill(wanted, got, (size_t)n);
		assert_memory_equal(bytes, wanted, (size_t)n);
		got += (size_t)n;
	}
	assert_int_equal(got, ALL);
	assert_int_equal(s.out.len, 0);
	side_deinit(&s, loop);
	fd_close(&pair[1]);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
