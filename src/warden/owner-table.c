/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/owner-table.h"

#include <stdlib.h>
#include <string.h>

const char *const owner_tables[2][2] = { { "/proc/self/net/tcp", "/proc/self/net/tcp6" },
	{ "/proc/self/net/udp", "/proc/self/net/udp6" } };

/* So many fields further in the line, or its end. */
static const char *owner_skip(const char *p, int fields)
{
	for (int i = 0; i < fields; i++) {
		p += strspn(p, " ");
		p += strcspn(p, " \n");
	}
	return p + strspn(p, " ");
}

/* Of "0100007F:0050", in hex; 0: there is none. */
static unsigned owner_port(const char *address)
{
	const size_t at = strcspn(address, ": \n");

	return address[at] == ':' ? (unsigned)strtoul(address + at + 1, NULL, 16) : 0;
}

/* "  sl  local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode …" */
bool owner_table_next(const char **line, struct owner_row *ret)
{
	while ((*line = strchr(*line, '\n'))) {
		const char *local = owner_skip(++*line, 1), *peer = owner_skip(local, 1);
		const char *state = owner_skip(peer, 1);

		*ret = (struct owner_row){ .port = owner_port(local),
			.peer_port = owner_port(peer),
			.state = (unsigned)strtoul(state, NULL, 16),
			.inode = strtoull(owner_skip(state, 6), NULL, 10) };
		if (ret->inode > 0 && ret->port > 0)
			return true;
	}
	return false;
}
