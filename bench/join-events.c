/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join-events COUNT RATE: joins the daemon as a sandbox would, and sends so many events, so many in
 * a second (0: as fast as they are taken); one in four is a denial. For measurements and tests of
 * who listens.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "join-peer.h"

static int join_events_run(unsigned long count, unsigned long rate)
{
	const uint64_t began = clock_ns(CLOCK_MONOTONIC);
	char id[17];
	auto_fd fd = -1;
	int r;

	(void)snprintf(id, sizeof(id), "%016lx", (unsigned long)(clock_ns(CLOCK_REALTIME)));
	r = join_peer_open(id, &fd);
	for (unsigned long i = 0; r == 0 && i < count; i++) {
		const uint64_t due = rate ? began + i * 1000000000 / rate : 0;
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (due > now) {
			const struct timespec wait = { (time_t)((due - now) / 1000000000),
				(long)((due - now) % 1000000000) };

			(void)nanosleep(&wait, NULL);
		}
		r = join_peer_send(fd, id, i);
	}
	return r;
}

int main(int argc, char **argv)
{
	int r = argc == 3 ? join_events_run(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10))
			  : -EINVAL;

	if (r < 0)
		(void)fprintf(stderr, "join-events COUNT RATE: %s\n", strerror(-r));
	return r < 0;
}
