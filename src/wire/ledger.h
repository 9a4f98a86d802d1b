/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the sandboxes of one session use together: its own, those in which a broker runs programs,
 * and those in which it fetches. A memfd that all of them map, so that a limit of the session is
 * one limit, whichever way a program takes.
 *
 * Every access is atomic and none waits, so a process that is killed leaves nothing locked. Those
 * who write to it are Corral's own processes: inits, relays, the monitor. No command has it.
 */
#include <stdatomic.h>
#include <stdint.h>

enum {
	LEDGER_COMMANDS_MAX = 256,
	LEDGER_WINDOWS_MAX = 64,
	LEDGER_CELLS = 65, /* of one window (net/quota.c) */
	LEDGER_DESTINATIONS_MAX = 65536,
	LEDGER_STALE_MS = 10 * 1000, /* who writes looks at least once a second */
};

struct ledger;

/* The caller owns both; the descriptor is for others to map. */
int ledger_new(struct ledger **ret, int *ret_fd);
/* Maps one; the descriptor stays the caller's. -EPROTO: it is not sealed, or of another size. */
int ledger_open(struct ledger **ret, int fd);
/* Accepts NULL. */
void ledger_free(struct ledger *l);

/* Commands */

struct ledger_use {
	uint64_t memory; /* bytes */
	uint64_t tasks;
};

/* What all commands may use together; 0: without a limit. */
void ledger_limit(struct ledger *l, const struct ledger_use *most);
struct ledger_use ledger_limits(const struct ledger *l);
/*
 * A place for a command, at that time (ms of CLOCK_MONOTONIC): its number, or -ENOSPC. A command
 * that has not written for LEDGER_STALE_MS counts no more, and its place is free again: its init
 * was killed.
 */
int ledger_join(struct ledger *l, uint64_t now_ms);
void ledger_write(struct ledger *l, int place, const struct ledger_use *use, uint64_t now_ms);
void ledger_leave(struct ledger *l, int place);
/*
 * What others use: all of them, or those that joined before (place: -1 for one that has none).
 * Where all may use so much together, those that came last give way: if each stays within what
 * those before it leave, so do all together.
 */
struct ledger_use ledger_others(const struct ledger *l, int place, uint64_t now_ms);
struct ledger_use ledger_before(const struct ledger *l, int place, uint64_t now_ms);

/* The network */

struct ledger_window {
	atomic_uint_fast64_t key; /* its length, as ledger_window() was given it */
	atomic_uint_fast64_t cells[LEDGER_CELLS];
};

/* The window for a key, which is not 0. NULL: there are too many. */
struct ledger_window *ledger_window(struct ledger *l, uint64_t key);
/* The count of bytes to and from a destination. NULL: there are too many. */
atomic_uint_fast64_t *ledger_bytes(struct ledger *l, const char *target);
