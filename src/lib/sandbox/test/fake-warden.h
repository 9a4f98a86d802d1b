/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A test program that is started as the warden, and sends what a test wants. */
#include <stdbool.h>
#include <sys/socket.h>

#include "wire/frame.h"
#include "wire/report.h"

enum { CONTROL = 3 };

/* Is ready when it is configured, and calls on_start for each command, until the host closes. */
static inline int fake_warden_run(void (*on_start)(const struct frame *f))
{
	const struct ready ready = { .tier = 1 };
	static struct frame f;

	while (frame_receive(CONTROL, &f) == 1) {
		if (f.type == FRAME_CONFIGURE)
			(void)frame_send(CONTROL, FRAME_READY, 0, &ready, sizeof(ready), NULL, 0);
		if (f.type == FRAME_START)
			on_start(&f);
		frame_deinit(&f);
	}
	return 0;
}

/* Was this program started as the warden? */
static inline bool fake_warden_is_it(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}
