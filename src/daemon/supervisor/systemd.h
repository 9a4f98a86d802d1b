/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a service manager and we say to each other: sd_notify(3), sd_listen_fds(3) and the watchdog.
 * All three are a variable and a datagram, so libsystemd is not needed, which the static programs
 * could not carry.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Sends "READY=1", "STOPPING=1", "STATUS=…", "WATCHDOG=1" … to NOTIFY_SOCKET; nothing if there is
 * none. Negative errno: it could not be sent.
 */
int systemd_notify(const char *state);
/* Milliseconds between two of "WATCHDOG=1", half of what the manager waits; 0: it does not. */
uint64_t systemd_watchdog_ms(void);
/*
 * The descriptors that were handed to this process, 3 and on: their number; they are closed on exec
 * from now on. The variables are removed, so that no child takes them for its own.
 */
size_t systemd_listen_fds(void);
