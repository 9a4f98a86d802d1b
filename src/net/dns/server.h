/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The name server of a sandbox: all that is sent to port 53 of any address arrives here, by UDP and
 * TCP. Granted names have synthetic addresses (A and AAAA), everything else about them and their
 * ancestors is empty, and no other name exists. It answers at once, out of its own knowledge:
 * nothing that a command asks for leaves the machine by this way.
 */
#include "event/loop.h"
#include "net/dns/names.h"
#include "net/owners.h"
#include "net/recorder.h"
#include "net/dns/synthetic.h"

struct dns_server;

struct dns_server_options {
	struct loop *loop;
	const struct dns_names *names;
	struct synthetic *synthetic;
	struct recorder *recorder;
	struct owners *owners; /* NULL: no program is looked for */
	int udp[2], tcp[2];    /* sockets (TCP: listening); -1: none */
	/*
	 * Called before a name's address is reported; may be NULL. Negative: it is not reported.
	 * -EADDRINUSE: the sandbox has a server there; -EMFILE, -E2BIG: out of sockets, or of
	 * ports.
	 */
	int (*named)(void *context, const char *name, uint32_t number);
	void *context;
};

/* On success the sockets are the server's. */
int dns_server_new(struct dns_server **ret, const struct dns_server_options *o);
void dns_server_free(struct dns_server *s);
/* Other names from now on. */
void dns_server_change(struct dns_server *s, const struct dns_names *names);
/* The decision alone, for tests and fuzzers: the answer's length, 0 for none. */
size_t dns_server_answer(
	struct dns_server *s, const uint8_t *query, size_t len, uint8_t *out, size_t size);
