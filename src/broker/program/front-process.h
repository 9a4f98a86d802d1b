/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process of a front: this program once more, by /proc/self/exe, so that nothing of the
 * monitor's memory is in it. It has the monitor's socket and no other descriptor, confines itself,
 * and is then given its listeners.
 */
#include <sys/types.h>

#include "wire/broker.h"

/* The word by which the program is told to be a front. */
#define FRONT_PROCESS_WORD "--front"

struct front_process {
	pid_t pid; /* 0: none */
	int socket;
};

/* Started and confined at its own pace; the socket is non-blocking. */
int front_process_start(struct front_process *ret);
/* Gives it what it listens by. http: -1 without. */
int front_process_equip(
	const struct front_process *f, const struct broker_setup *s, int listener, int http);
/* Kills it, waits for its end, closes the socket. Nothing if there is none. */
void front_process_end(struct front_process *f);

/* In that process: never returns but with its exit status. */
int front_process_main(const char *version);
