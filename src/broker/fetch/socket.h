/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corral-fetch as the other end of a socket of the broker's (broker/monitor/sockets.h): it connects
 * once, sends what comes on stdin, and prints what the server sends as records (broker/fetch/
 * record.h): a HEAD when it is connected, pieces of a BODY, and END when the server sends no more,
 * or ERROR. It ends when stdin ends and all of that was sent.
 */
#include <stdint.h>

#define FETCH_SOCKET "socket"

/* For how long it is tried to connect. Returns the exit status. */
int fetch_socket_run(const char *host, const char *port, uint64_t connect_ms);
