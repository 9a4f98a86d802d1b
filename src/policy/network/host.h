/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Network patterns and network requests.
 *
 *   api.example.com:443      that name              *.example.com:443   its subdomains, any depth
 *   10.1.0.0/16:5432         a prefix               [2001:db8::1]:80    an address
 *   *:443                    any name and any public address
 *   host:1000-2000 host:*    ports; without a port: any port
 *   udp://ntp.example.com:123                       unix:/run/x.sock
 *   glob:10.*                names and addresses by their text, on any port, for denials only
 *   https://api.example.com/v1/**    port from the scheme; a path other than / /* /** narrows to
 *                                    what only a speaker of HTTP can hold
 *   https://api.example.com/#        connections whose requests Corral does not see
 *
 * A pattern covers a guarded place (baseline.h) only if it lies wholly inside the guarded range.
 * What is `never` reachable is not judged here: ask baseline_never(). Names are kept as A-labels in
 * lower case without the dot at the end. `localhost` covers 127.0.0.1 and ::1 too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/network/address.h"

struct baseline_net;
struct buffer;
struct hash_key;

/* HOST_PARTS_MAX: of a pattern, see host_pattern_split(). */
enum { HOST_NAME_BYTES = 256, HOST_PORT_MAX = 65535, HOST_PARTS_MAX = 3 };

/* In place of a path, which never has this byte: of what is said on a connection nothing is known.
 */
#define HOST_UNSEEN "/#"

enum transport { TRANSPORT_TCP, TRANSPORT_UDP, TRANSPORT_UNIX };

enum host_kind { HOST_NAME, HOST_SUBDOMAINS, HOST_ANY, HOST_PREFIX, HOST_SOCKET, HOST_GLOB };

struct host_pattern {
	enum host_kind kind;
	enum transport transport;
	/* HOST_NAME, HOST_SUBDOMAINS (without "*."), HOST_SOCKET (the path), HOST_GLOB */
	const char *name;
	struct prefix prefix;
	uint16_t port_lo, port_hi; /* 1..65535 for any port; 0 for sockets */
	/* Finer than a connection; empty: not narrowed. All path patterns must match. One may be
	 * HOST_UNSEEN: then it is about requests without a path. */
	const char **url_paths;
	size_t n_url_paths;
	unsigned methods; /* set of host_method bits; 0: all */
	/* Means guarded places too, for patterns that forbid or ask: to forbid `*` is to forbid
	 * all. */
	bool wide;
};

/* What a command wants to reach. Made by host_request_parse; no allocation. */
struct host_request {
	enum transport transport;
	bool is_address;
	char name[HOST_NAME_BYTES]; /* normal form; "" for an address */
	struct address address;     /* plain form (address_plain) */
	uint16_t port;              /* 0: not known */
	const char *socket;         /* TRANSPORT_UNIX: points into the target text */
	char url_path[1024];        /* normal form (url.h); "" for a bare connection */
	bool has_url_path;
	unsigned method; /* one host_method bit; 0: not known */
	/*
	 * A connection whose requests are judged one by one, each with its method and path:
	 * patterns that allow some of them match it, those that forbid some do not.
	 */
	bool is_opened;
};

/* GET, HEAD, POST … as bits; 0 for an unknown word. Case-sensitive, as HTTP is. */
unsigned host_method(const char *word);

/* Parses into the arena. The error's place is the caller's to set (loc may be NULL). */
int host_pattern_parse(struct host_pattern *ret, struct arena *a, const char *text,
	const struct location *loc, struct error *e);
/*
 * The canonical text; parse → print → parse is the identity. Methods are not printed. A meet may
 * have several URL paths, which no single pattern can say: it is printed for people, with " & "
 * between.
 */
void host_pattern_print(const struct host_pattern *p, struct buffer *out);
/* One pattern against one request; slow and plain: sets use hostset.h. */
bool host_pattern_matches(const struct host_pattern *p, const struct host_request *r);
/*
 * Every request that b matches, a matches. A "no" may be too careful: of two different globs over
 * URL paths neither is taken to contain the other, and prefixes are compared as they are written.
 */
bool host_pattern_contains(const struct host_pattern *a, const struct host_pattern *b);
/*
 * The requests that both match, as patterns in ret. Returns how many, or -ENOMEM. Exact. There is
 * room for two, but host.c shows that one is enough. It shares names and paths with a and b.
 */
int host_pattern_meet(const struct host_pattern *a, const struct host_pattern *b,
	struct arena *arena, struct host_pattern ret[2]);

/*
 * `localhost` stands for a name and two addresses: three patterns. Every other pattern is its own
 * only part. Returns how many.
 */
size_t host_pattern_split(const struct host_pattern *p, struct host_pattern ret[HOST_PARTS_MAX]);
/* The guard (baseline.h) that all of a part lies in, or NULL. */
const struct baseline_net *host_pattern_guard(const struct host_pattern *part);
/* glob:TEXT against the name or the text of the address; both transports. */
bool host_glob_matches(const char *glob, const struct host_request *r);
/* Port 0 is a port that is not known, which any-port patterns cover, or that of a socket. */
bool host_pattern_has_port(const struct host_pattern *p, uint16_t port);
/* True if the pattern says more than a connection can show. */
static inline bool host_path_is_unseen(const char *path)
{
	return path[1] == HOST_UNSEEN[1];
}

/* Whether a pattern's paths are about a connection that is opened (host_request.is_opened). */
bool host_pattern_is_about_opened(const struct host_pattern *p);

static inline bool host_pattern_is_narrowed(const struct host_pattern *p)
{
	return p->n_url_paths > 0 || p->methods != 0;
}

/* A decimal number from 1 to 65535 without sign or leading zeros. */
int host_port_parse(const char *text, size_t len, uint16_t *ret);
/* True if name is a subdomain of ancestor, at any depth. Both in normal form. */
bool host_name_below(const char *name, const char *ancestor);
/* Made label by label from the right: the hash of "a.b" is hash_keyed(k, that of "b", "a", 1). */
uint64_t host_name_hash(const struct hash_key *k, const char *name);

/*
 * Reads a target: "host:port", "host" (port 0: unknown, which only an any-port grant covers),
 * "[v6]:port", "udp://host:port", "unix:/path", or a URL (http, https, ws, wss, ftp). Numeric
 * look-alikes are resolved to the address they mean. -EINVAL with a sentence in e.
 */
int host_request_parse(struct host_request *ret, const char *target, struct error *e);
/* The request in normal form, for messages and remedies: "api.example.com:443". */
void host_request_print(const struct host_request *r, struct buffer *out);
