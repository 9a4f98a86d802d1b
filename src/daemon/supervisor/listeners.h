/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The sockets on which clients connect. Given ones are the service manager's, and stay. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "event/loop.h"

struct supervisor;

struct daemon_listeners {
	struct watcher tcp[2]; /* on 127.0.0.1 and on ::1 */
	uint16_t port;         /* of both; 0: there is none */
	struct watcher api;
	bool is_given;
	bool is_full; /* clients wait in the listeners until corrald-http has room */
};

int listeners_open(struct supervisor *s, struct error *e);
void listeners_close(struct supervisor *s);
/* There is room for clients again. */
void listeners_go_on(struct supervisor *s);
