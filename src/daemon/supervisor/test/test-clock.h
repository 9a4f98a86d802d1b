/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Clocks that go on when the test says so, for a test that lists clock_gettime under 'wrap'
 * (meson.build). Turns of a loop behind clock_pass() call the timers that are due.
 */
#include <time.h>

#include "event/loop.h"

/* Milliseconds since a time that no test depends on. */
static uint64_t clock_passed = UINT64_C(1700000000000);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ (time_t)(clock_passed / 1000),
		(long)(clock_passed % 1000 * 1000000) };
	return 0;
}

static inline void clock_pass(struct loop *l, uint64_t ms)
{
	clock_passed += ms;
	assert_int_equal(loop_turn(l, 0), 0);
}
