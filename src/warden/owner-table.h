/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The kernel's tables of sockets (/proc/net/tcp and its like), row by row. */
#include <stdbool.h>
#include <stdint.h>

enum { OWNER_TABLE_BYTES = 1 << 20 /* a longer one is not looked through */ };

/* Of TCP, and of UDP: for IPv4 and for IPv6. */
extern const char *const owner_tables[2][2];

/* A row of a table of sockets. */
struct owner_row {
	unsigned port, peer_port, state;
	uint64_t inode;
};

/*
 * The row in the line after *line, and where that begins; false: there is none. What is no number
 * is 0, and a row without an inode is left out.
 */
bool owner_table_next(const char **line, struct owner_row *ret);
