/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A bounded wait for a few descriptors, for code that does one thing and has no loop of its own.
 * A signal does not end it.
 *
 *     if (wait_for_one(fd, POLLIN, wait_until(5000)) == 0)
 *             return -ETIMEDOUT;
 */
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define WAIT_FOR_EVER UINT64_MAX
#define WAIT_NOT UINT64_C(0) /* only a look */

/* In so many milliseconds, as poll() takes them: -1 is for ever. */
static inline uint64_t wait_until(int ms)
{
	if (ms <= 0)
		return ms < 0 ? WAIT_FOR_EVER : WAIT_NOT;
	return clock_ms(CLOCK_MONOTONIC) + (uint64_t)ms;
}

/*
 * until_ms: on CLOCK_MONOTONIC. How many are ready; 0: none by then. After that time it is 0 even
 * if one is ready, so a loop around it ends whatever the other side sends.
 */
int wait_for(struct pollfd *p, size_t n, uint64_t until_ms);
/* Its revents; 0: nothing by then. */
int wait_for_one(int fd, short events, uint64_t until_ms);
