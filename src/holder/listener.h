/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The seccomp listener of a command (jail/notify.h). A process can have one, so whoever holds the
 * session owns it, and all that look at calls share it: `--explain` does (witness.h).
 *
 * Each call that waits is shown to the users, in the order in which they were added, until one of
 * them has answered it. A call that none has answered goes on, but for new namespaces and calls
 * that are not watched, which are refused: by what the kernel says of the call, and by nothing in
 * the command's memory.
 *
 * What a user reads of a process (its memory, its folders, its descriptors) belongs to the call
 * only if the call still waits afterwards: a process that was killed meanwhile may have left its
 * number to another. So it reads all first, then asks listener_still_waits(), and only then uses
 * what it read.
 *
 * A listener that is freed lets all calls that wait fail (ENOSYS).
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/notify.h"

enum { LISTENER_USERS_MAX = 4 };

struct call_listener;

struct listener_call {
	pid_t pid; /* of the thread, as it is known outside */
	const struct notify_call *row;
	const uint64_t *args;
};

/* True: it answered the call, by listener_answer(), or the call is gone. */
typedef bool listener_see(void *context, struct call_listener *l, const struct listener_call *call);

/* Takes the descriptor over, in any case. */
int listener_new(struct call_listener **ret, int fd);
void listener_free(struct call_listener *l);
/* -ENOSPC: there are too many. It must live as long as the listener. */
int listener_add(struct call_listener *l, listener_see *see, void *context);
/* To be polled for reading. */
int listener_fd(const struct call_listener *l);
/*
 * Shows what waits, without waiting itself, and not for ever: others have to be served too.
 * Negative: there is no process left.
 */
int listener_dispatch(struct call_listener *l);

/* Of the call that is shown. */
bool listener_still_waits(const struct call_listener *l);
/* error: 0, and it returns value; or negative, and it fails. It is not made. */
void listener_answer(struct call_listener *l, int error, int64_t value);
