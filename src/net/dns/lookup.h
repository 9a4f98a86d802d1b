/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Names to addresses, outside: a resolver of its own over the servers that the host is configured
 * with, since the C library's would load modules and open files. /etc/hosts and /etc/resolv.conf
 * are read once, before the relay shuts itself in (struct lookup_config).
 *
 * Each question goes out by a socket of its own (a port that the kernel chose) with a random id; A
 * and AAAA at once; the next server after a while; TCP if an answer was cut off. Answers are kept
 * for their time to live, at most a minute; one with none is not kept.
 *
 * Nothing is judged here: see dial.h.
 */
#include "base/error.h"
#include "net/dns/message.h"
#include "event/loop.h"
#include "policy/network/address.h"

enum { LOOKUP_SERVERS_MAX = 3, LOOKUP_ADDRESSES_MAX = 32 };

struct lookup_server {
	struct address address;
	uint16_t port;
	uint32_t zone; /* the interface of a link-local address */
};

struct lookup_hosts;

struct lookup_config {
	struct lookup_server servers[LOOKUP_SERVERS_MAX];
	size_t n_servers;
	unsigned timeout_ms, attempts; /* per server and question */
	struct lookup_hosts *hosts;
};

/* No resolv.conf: 127.0.0.1, as resolv.conf(5) says. The paths are for tests. */
int lookup_config_read(struct lookup_config *ret, const char *resolv_conf, const char *hosts);
void lookup_config_deinit(struct lookup_config *c);

/* The names in /etc/hosts, lower case, sorted. No such file: no names. -EFBIG. */
int lookup_hosts_read(struct lookup_hosts **ret, const char *path);
void lookup_hosts_free(struct lookup_hosts *h);
/* The addresses of a name, in the order of the file; at most max of them. h may be NULL. */
size_t lookup_hosts_find(
	const struct lookup_hosts *h, const char *name, struct address *ret, size_t max);

struct lookup;

/* The config must outlive it. */
int lookup_new(struct lookup **ret, struct loop *l, const struct lookup_config *c);
/* Who still waits is not called any more. Not from a done(). */
void lookup_free(struct lookup *l);

struct lookup_result {
	int error; /* 0; -ENOENT: no such name; -ENODATA: it has no address; -ETIMEDOUT; -EIO … */
	struct address addresses[LOOKUP_ADDRESSES_MAX]; /* IPv6 and IPv4, as they came */
	size_t n;
	/* Names on the way, by CNAME, of both questions; for the call only. */
	const char *chain[2 * DNS_CHAIN_MAX];
	size_t n_chain;
};

/* One who waits. Zeroed, in a struct of the caller's. */
struct lookup_wait {
	void (*done)(struct lookup_wait *w, const struct lookup_result *r);
	void *query; /* private: NULL: not waiting */
	struct lookup_wait *next, *previous;
};

/*
 * Asks for a name in normal form. done() is called once, never before this returns (from the loop,
 * also if the answer is known), unless it is cancelled. Who asks for the same name at the same time
 * shares the questions. -ENOMEM, -EINVAL (no name), -EBUSY (more than 1024 names at once).
 */
int lookup_ask(struct lookup *l, const char *name, struct lookup_wait *w);
void lookup_cancel(struct lookup *l, struct lookup_wait *w);
