/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The daemon: its parts, in structs of their own. listeners.c accepts clients, http-process.c has
 * the process that reads HTTP, enclave-process.c the one that has /api/invoke, bus.c the events,
 * journal.c the log; api/ answers, peers/ has the runs that joined, watch/ looks for what is wrong.
 * corrald.c has the options, supervisor.c start, loop and end.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "daemon/api/api.h"
#include "daemon/config.h"
#include "daemon/peers/origin.h"
#include "daemon/peers/peers.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/enclave-process.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/listeners.h"
#include "daemon/supervisor/runtime-folder.h"
#include "daemon/watch/watch.h"
#include "event/loop.h"

struct supervisor {
	struct loop *loop;
	struct config config;
	bool is_system;
	struct buffer config_folder; /* "": none is known */
	struct runtime_folder folder;
	struct marks own;
	uint64_t started_ms; /* time of day */
	struct watcher signals;
	struct timer watchdog;
	struct journal journal;
	struct daemon_listeners listeners;
	struct http_process http;
	struct enclave_process enclave;
	struct bus bus;
	struct api api;
	struct peers peers;
	struct daemon_watch watch;
	bool is_over;
};

int supervisor_open(struct supervisor *s, struct error *e);
int supervisor_run(struct supervisor *s);
void supervisor_close(struct supervisor *s);
