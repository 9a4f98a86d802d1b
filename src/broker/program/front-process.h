/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process of a front: this program once more, by /proc/self/exe, so that nothing of the
 * monitor's memory is in it. It has the monitor's socket and its listeners, which it does not touch
 * before it has confined itself and received what to serve. The listeners come with the exec:
 * programs of the sandbox could keep a frame with descriptors from being sent (child_start_with()).
 */
#include "wire/broker.h"
#include "process/child.h"

/* The word by which the program is told to be a front. */
#define FRONT_PROCESS_WORD "--front"

/* Confines itself at its own pace; the socket is non-blocking. http: -1 without. */
int front_process_start(struct child *ret, const struct broker_setup *s, int listener, int http);
/* In that process: never returns but with its exit status. */
int front_process_main(const char *version);
