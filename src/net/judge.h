/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The questions that the relay asks the policy, and the answers in words.
 *
 *   by name      the name that the synthetic address stands for, and the port
 *   by address   a literal address and the port
 *   an answer    the addresses that a granted name has outside: a name's grant covers public
 *                addresses, and one of network.private private ones; a guarded one (private,
 *                loopback, …) needs a grant of its own; one that a rule denies, or the baseline, is
 *                never used
 *   TLS          the name in the hello must be the granted one; without a name only a grant of
 *                exactly this name, or of the address, will do
 *   HTTP         the same for the host of each request; its method and path are judged
 */
#include "net/gate/http-requests.h"
#include "net/gate/tls-hello.h"
#include "policy/network/host.h"
#include "policy/policy.h"

struct net_judge {
	const struct policy *policy;
	bool narrow;   /* some grant is about methods or paths: each request is judged by them */
	bool paths;    /* some rule is about paths */
	bool watching; /* no layer enforces: only what is forbidden is refused */
};
void judge_init(struct net_judge *j, const struct policy *p);

/* Who wants to go where. */
struct destination {
	enum transport transport;
	const char *name; /* NULL: a literal address */
	struct address address;
	uint16_t port;
	/* The rule that asks about it (a judgement's), where the user agreed to it; else
	 * NULL. It stands for a grant of exactly this destination, against that rule alone. */
	const char *agreed;
	/* Its requests are read inside TLS (network.inspect). */
	bool is_opened;
};

enum { NET_REQUEST_BYTES = 2048 }; /* of a request that is shown to the user */

struct net_judgement {
	bool allowed;
	bool asks;        /* the policy says to ask, and nothing else is in the way */
	char target[320]; /* "api.example.com:443", "udp://[::1]:53" */
	char rule[256];   /* "policy.yaml:3: *.example.com:443"; "" if none decided */
	char reason[512]; /* "" if allowed */
	char remedy[256];
};

/* Each fills *ret and returns whether it is allowed. */
bool judge_destination(
	const struct net_judge *j, const struct destination *d, struct net_judgement *ret);
/* An address that d's name has, or the one it dials itself. */
bool judge_answer(const struct net_judge *j, const struct destination *d, const struct address *a,
	struct net_judgement *ret);
/*
 * The same for one that turned out to be of this machine, after judge_answer(): what listens there
 * may count on a firewall in front of it. It needs a grant of the address itself.
 */
bool judge_own(const struct net_judge *j, const struct destination *d, const struct address *a,
	struct net_judgement *ret);
/* A name that d's name leads to by CNAME. */
bool judge_alias(const struct net_judge *j, const struct destination *d, const char *alias,
	struct net_judgement *ret);
/* `what` hides the names it is about: only for a grant of exactly this name, or of the address. */
bool judge_nameless(const struct net_judge *j, const struct destination *d, const char *what,
	struct net_judgement *ret);
/* The same where requests of HTTP are hidden as well: not if only some of them are granted. */
bool judge_unseen(const struct net_judge *j, const struct destination *d, const char *what,
	struct net_judgement *ret);
bool judge_hello(const struct net_judge *j, const struct destination *d,
	const struct tls_hello *hello, struct net_judgement *ret);
bool judge_http(const struct net_judge *j, const struct destination *d,
	const struct http_request *r, struct net_judgement *ret);
/*
 * The same where the user has agreed to this very request, as judge_show_request() shows it: each
 * layer allows it or asks about it.
 */
bool judge_http_agreed(const struct net_judge *j, const struct destination *d,
	const struct http_request *r, struct net_judgement *ret);
/*
 * "GET http://a.com:80/path?query", as it goes out. False: it cannot be shown as what it is (it is
 * too long, asks for another host than d or for another protocol, or has bytes that no URL has).
 */
bool judge_show_request(
	const struct destination *d, const struct http_request *r, char out[NET_REQUEST_BYTES]);
/* Something that was allowed is refused now: its reason says so. */
void judge_revoke(struct net_judgement *j);
/* A refusal that the policy was not asked for: d's target, and this reason. Always false. */
bool judge_refuse(const struct destination *d, struct net_judgement *ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
