/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The session of the back end `none` (lib/sandbox/backend.h): it confines nothing. Commands have
 * all the rights of the user, as if the host had started them itself, without forking the host and
 * without needing its SIGCHLD. What any caller wants to know and to do is there: stdio or a
 * terminal, a time-out, signals, the end and what was used. With a command its process group is
 * killed; a process that left the group lives on.
 */
#include "warden/outbox.h"

/*
 * Serves the host (a pidfd, or -1: the socket alone tells) until it is gone or breaks the protocol;
 * then kills what runs.
 */
void bare_serve(struct outbox *out, int host);
