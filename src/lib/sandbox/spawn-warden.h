/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Starts corral-warden. posix_spawn() and nothing else: a fork of the host program would copy its
 * page tables, which takes tens of milliseconds where it holds much memory, and would run its
 * handlers of fork.
 */
#include <spawn.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * The program gets the socket as descriptor 3, the policy as 4, nothing else of the host: /dev/null
 * as stdio, default signals, the folder /, a session of its own, so that a Ctrl-C at the host's
 * terminal is the host's matter. Both descriptors stay the caller's.
 */
int spawn_warden(const char *path, int socket, int policy, pid_t *ret, struct error *e);

/* Closes every descriptor from there on in the child. A positive errno, as those functions have it.
 */
int spawn_warden_close_rest(posix_spawn_file_actions_t *a, int from);
