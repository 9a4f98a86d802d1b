/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Ports of the sandbox on the host (policy/network/listen.h). With `listen: [8080]`, who connects
 * to 127.0.0.1:8080 or [::1]:8080 there reaches the server that listens on 8080 inside, on either.
 * By which socket it reaches the server is the business of inner.h. While all of those are in use,
 * further connections are reset.
 */
#include "base/error.h"
#include "net/enter/inner.h"
#include "net/pump.h"
#include "net/recorder.h"
#include "policy/network/listen.h"

struct publish;

enum { PUBLISH_PORTS_MAX = 64 };

struct publish_port {
	struct listen_entry entry;
	int listeners[2]; /* of IPv4 and IPv6; -1: none */
};

/*
 * Listens on the host, before the relay is shut in. -EINVAL: 0 is no port. -EADDRINUSE, -EACCES …,
 * with a sentence about the port. Where there is no IPv6 it listens on IPv4 alone.
 */
int publish_open(struct publish_port *ret, const struct listen_entry *l, struct error *e);
void publish_close(struct publish_port *p);

struct publish_options {
	struct loop *loop;
	struct pump_room *room;
	struct recorder *recorder;
	const struct publish_port *ports;
	size_t n_ports;
	struct inner_pool *inner;
};

/*
 * The descriptors become the publisher's; on failure they stay the caller's. -EINVAL: a port is 0
 * or is there twice. -E2BIG.
 */
int publish_new(struct publish **ret, const struct publish_options *o);
void publish_free(struct publish *p);
/* These are published from now on, of those that were. The others are free for anybody on the host,
 * for good; who came by one is reset. */
void publish_review(struct publish *p, const struct listen_entry *ports, size_t n);
