/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * When the module of a call has to stop. Code that was compiled for it looks at the engine's epoch
 * in each loop and at each call; a signal adds one to that when time is up, and the module traps.
 * What sleeps or waits in a function of the host does not look: whoever called ends the process
 * then, some time later (lib/skill/worker.h).
 *
 * A call arms no timer if one goes off before its own time: the signal looks how late it is, and
 * arms the timer for the rest. So many short calls cost no system call.
 */
#include <stdint.h>
#include <wasmtime.h>

/* A call may see this many epochs less one. */
enum { DEADLINE_EPOCHS = 1 };

/* Takes SIGALRM for that engine, once for the process. Negative errno. */
int deadline_open(const wasm_engine_t *engine);
void deadline_begin(uint32_t time_ms); /* 0: never */
void deadline_end(void);
