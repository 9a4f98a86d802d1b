/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a clock says, as one number. */
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ms(clockid_t clock)
{
	return clock_ns(clock) / 1000000;
}
