/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of the name server share. All its memory is in one piece; none is made per query.
 */
#include "base/buffer.h"
#include "net/dns/server.h"

enum {
	DNS_SERVER_QUERY_MAX = 2048, /* a longer question is none that a resolver asks */
	DNS_SERVER_REPLY_MAX = 512,
	DNS_SERVER_CONNECTIONS = 64,
	DNS_SERVER_BATCH = 64, /* datagrams, connections or queries before others have their turn */
};

/* A connection by TCP: what came of the next query, and what did not go out yet of an answer. */
struct dns_server_connection {
	struct dns_server *server;
	struct watcher watcher; /* fd -1: free */
	struct timer idle;      /* since the last whole query */
	size_t n_in, n_out, sent;
	uint8_t in[2 + DNS_SERVER_QUERY_MAX], out[2 + DNS_SERVER_REPLY_MAX];
};

struct dns_server_socket {
	struct dns_server *server;
	struct watcher watcher;
};

struct dns_server {
	struct dns_server_options options;
	struct buffer rule, reason, remedy; /* of a record that is being made */
	struct dns_server_socket udp[2], tcp[2];
	struct timer resume; /* accepting goes on */
	size_t n_connections;
	struct dns_server_connection connections[DNS_SERVER_CONNECTIONS];
};

int dns_server_udp_start(struct dns_server *s);
void dns_server_udp_stop(struct dns_server *s);
int dns_server_tcp_start(struct dns_server *s);
void dns_server_tcp_stop(struct dns_server *s);
