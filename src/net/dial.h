/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A connection to a host outside: resolves the name, has each address judged (judge.h), and
 * connects to those that passed, happy eyeballs (RFC 8305): IPv6 and IPv4 in turn, the next one
 * 250 ms after the last or as soon as that failed. What is dialled is the very address that was
 * judged.
 */
#include "net/judge.h"
#include "net/dns/lookup.h"
#include "event/loop.h"

struct dial {
	/* fd: connected, non-blocking, the caller's; or a negative errno: -EACCES (no address may
	 * be used; `refused` says why), -ENOENT (no such name), -ECONNREFUSED, -ETIMEDOUT … */
	void (*done)(struct dial *d, int fd);
	struct net_judgement refused;
	struct address address; /* that it is connected to */
	/* The names that led there by CNAME, then an empty one; NULL: none. The caller's. */
	char *aliases;
	const char *agreed; /* of the destination (judge.h); before dial_start() */

	/* private */
	struct lookup_wait wait;
	struct dial_state *state;
};

struct dialler {
	struct loop *loop;
	struct lookup *lookup;
	const struct net_judge *judge;
	unsigned timeout_ms; /* for all of it; 0: 30 s */
};

/*
 * To a name (normal form), or to an address if name is NULL. type: SOCK_STREAM, or SOCK_DGRAM for a
 * connected UDP socket. done() is called once, never before this returns. The name itself was
 * judged before; an address given here, too.
 */
int dial_start(const struct dialler *l, struct dial *d, const char *name,
	const struct address *address, uint16_t port, int type);
void dial_cancel(const struct dialler *l, struct dial *d);
/* The judge has another policy: whether what was dialled for d would be dialled again. */
bool dial_review(const struct dialler *l, const struct destination *d, const struct address *a,
	const char *aliases, struct net_judgement *ret);
