/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FRAME_SOCKETS: sockets that were made inside a sandbox's network namespace, on their way from the
 * zygote by the warden to the relay, or to the broker. Each has a kind and a number; those that
 * could not be made are left out.
 */
#include "wire/frame.h"

enum sockets_kind {
	SOCKETS_CAPTURE, /* by enum capture_socket (net/enter/capture.h) */
	SOCKETS_DOOR,    /* listening, at a granted path: by its place among the plan's sockets */
	SOCKETS_PORT,    /* not connected: to reach the ports that are published */
	/* TCP, where nothing leads connections to the relay (net/enter/listeners.h): listening at
	 * an address that is granted, or not bound yet. */
	SOCKETS_LISTENER,
	/* For the broker, not the relay: by enum sockets_broker. */
	SOCKETS_BROKER,
	SOCKETS_KIND_COUNT,
};

enum sockets_broker {
	SOCKETS_BROKER_LISTENER, /* at PLAN_BROKER_SOCKET */
	SOCKETS_BROKER_ROOT,     /* no socket: O_PATH, the root directory that commands see */
	SOCKETS_BROKER_HTTP,     /* at PLAN_BROKER_PORT; left out where there is no HTTP */
	SOCKETS_BROKER_COUNT,
};

enum { SOCKETS_NUMBER_MAX = 4096 };

struct sockets {
	uint32_t kind, n;
	uint32_t numbers[FRAME_FDS_MAX];
};

/* Sends all that are not -1, in as many frames as it takes; fds[i] has the number i. Waits while
 * many are unread. */
int sockets_send(int socket, enum sockets_kind kind, const int *fds, size_t n);
/* All of them, which are there and as few as one frame holds, without waiting for others. */
int sockets_send_now(int socket, enum sockets_kind kind, const int *fds, size_t n);
/* Passes a frame on as it came. The descriptors stay the frame's. */
int sockets_pass(int socket, const struct frame *f);
/* -EPROTO: it is no such frame, or does not fit its descriptors. */
int sockets_decode(struct sockets *ret, const struct frame *f);
