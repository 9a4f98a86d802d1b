/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A machine that sleeps on request, for a test that lists clock_gettime under 'wrap' (meson.build):
 * time passes for CLOCK_BOOTTIME and stands still for all other clocks.
 */
#include <time.h>

/* Seconds, altogether. */
static _Atomic time_t sleeping_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_BOOTTIME)
		ret->tv_sec += sleeping_s;
	return r;
}
