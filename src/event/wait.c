/* SPDX-License-Identifier: Apache-2.0 */
#include "event/wait.h"

#include <errno.h>
#include <limits.h>

enum { WAIT_OVER = -2 };

/* What poll() takes; WAIT_OVER: the time has passed. */
static int wait_left_ms(uint64_t until_ms)
{
	uint64_t now;

	if (until_ms == WAIT_FOR_EVER)
		return -1;
	if (until_ms == WAIT_NOT)
		return 0;
	now = clock_ms(CLOCK_MONOTONIC);
	if (now > until_ms)
		return WAIT_OVER;
	return until_ms - now < INT_MAX ? (int)(until_ms - now) : INT_MAX;
}

int wait_for(struct pollfd *p, size_t n, uint64_t until_ms)
{
	for (;;) {
		const int left = wait_left_ms(until_ms);
		const int r = left == WAIT_OVER ? 0 : poll(p, n, left);

		if (r > 0 || (r == 0 && left != INT_MAX))
			return r;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

int wait_for_one(int fd, short events, uint64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	const int r = wait_for(&p, 1, until_ms);

	return r > 0 ? p.revents : r;
}
