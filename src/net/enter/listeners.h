/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where no rules lead connections to the relay (capture.h), it listens at each place that is
 * granted. Addresses that the policy names are known beforehand, and the zygote has bound them. A
 * name has an address only after a command asked for it, and no command can mean that address
 * before: so the relay begins to listen there when the name server is about to tell it.
 *
 * A socket inside can only be made inside, so there is a pool of them. Each is bound once, for as
 * long as the session lasts; when all are, no further name gets an address.
 */
#include "net/connections.h"
#include "net/dns/names.h"

struct listeners;

enum { LISTENERS_MAX = 1024 };

struct listeners_options {
	struct loop *loop;
	struct connections *connections;
	const struct dns_names *names;
	const int *sockets; /* of capture_listener(), some of them listening; -1: none */
	size_t n;
};

/* On success the sockets are the listeners'. -E2BIG; -EINVAL: one is none of ours. */
int listeners_new(struct listeners **ret, const struct listeners_options *o);
void listeners_free(struct listeners *l);
/* Other names from now on. What is listened for stays: whoever comes is judged. */
void listeners_change(struct listeners *l, const struct dns_names *names);
/*
 * Listens at both addresses of that number, at each port that is granted for the name. Nothing if
 * it does already. What could be done stays, and the next call goes on. -EADDRINUSE: a server
 * inside has one of the ports; -EMFILE: the pool is empty; -E2BIG: too many ports.
 */
int listeners_open(struct listeners *l, const char *name, uint32_t number);
/* How many sockets are free, of the family that has fewer. */
size_t listeners_left(const struct listeners *l);
