/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Clients of the daemon's API, many of them in one process: some that ask one request after the
 * other on a connection that they keep, and some that listen for events.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon-host.h"

enum { DAEMON_CLIENTS_MAX = 256, DAEMON_TIMES_MAX = 1 << 18 };

struct daemon_load {
	const char *method, *path;
	const char *body; /* JSON; NULL: none */
	size_t clients;
	double seconds;
	/* Filled in. */
	size_t answered, refused; /* with 200, and with 429 */
	double per_second;        /* of those that were answered */
	double median,
		percentile; /* seconds for one that was answered; 99 of a hundred take less */
	size_t bytes;       /* of the last answer, with its head */
};

/* Dies if something is answered in another way. */
void daemon_load_run(const struct daemon_host *h, struct daemon_load *l);

struct daemon_listen {
	size_t clients;
	/* Filled in, over all clients: events that came, those that a `dropped` stood for, and
	 * those that are missing without one. */
	size_t delivered, dropped, missing;
	size_t least; /* events of which one client heard, come or dropped */
};

/* Listens, starts `sender` once all clients are connected, and ends half a second after it did. */
void daemon_listen_run(
	const struct daemon_host *h, struct daemon_listen *l, const char *const *sender);
