/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A connection to a broker: lines out, lines in. Whoever answers may lie: a line is bounded, and
 * all waiting ends at the deadline, if there is one.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* The longest answer: 8 MiB of bytes, each of which JSON writes with six. */
enum { CONNECTION_LINE_MAX = 64 << 20 };

struct connection {
	int fd;
	uint64_t deadline_ms; /* of the monotonic clock; 0: none */
	struct buffer in;
	size_t start, scanned;
};

/* The socket at this path. timeout_ms: for all that is done with it; 0: for ever. -ENAMETOOLONG …
 */
int connection_open(struct connection *c, const char *path, uint64_t timeout_ms);
/* All of it, and a newline. -ETIMEDOUT, -EPIPE … */
int connection_send(struct connection *c, const char *line, size_t len);
/*
 * The next line, without its newline, until the next call. 1; 0: it has ended. -EMSGSIZE: the line
 * is too long; -ETIMEDOUT …
 */
int connection_receive(struct connection *c, const char **ret, size_t *ret_len);
/* Nothing more is sent; waits until the broker has done all and closes. */
int connection_finish(struct connection *c);
void connection_close(struct connection *c);
#define auto_connection __attribute__((cleanup(connection_close))) struct connection
