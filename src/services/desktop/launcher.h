/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The part of browser.open that starts programs (services/desktop/open.h). */
#include <sys/types.h>

/*
 * Forks it: it starts this program for each page that comes. *ret_socket is our end. It ends when
 * that is closed.
 */
int launcher_start(const char *program, int *ret_socket);
/*
 * Starts the program with a normal URL. 0: it runs, or has ended well. Positive: its exit status,
 * or 128 and the signal. -EINVAL: it is no normal URL. -ETIMEDOUT: the launcher does not answer.
 */
int launcher_open(int socket, const char *page, size_t len, int timeout_ms);
