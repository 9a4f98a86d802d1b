/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * web.c listens, has the turn and ends sessions; client.c is a connection, exchange.c what is said
 * on it, and session.c what outlives it.
 */
#include "base/link.h"
#include "event/loop.h"
#include "mcp/web/head.h"
#include "mcp/web/web.h"
#include "serve/client.h"
#include "serve/room.h"

enum {
	WEB_CLIENTS_MAX = 256,
	WEB_BYTES_MAX = 96 << 20,   /* that all connections hold */
	WEB_REQUEST_MS = 30 * 1000, /* for a request to come, from its first byte */
	WEB_IDLE_MS = 120 * 1000,   /* between requests */
	WEB_CLOSE_MS = 2 * 1000,    /* for a client to close what was answered last */
	WEB_BEAT_MS = 15 * 1000,    /* a stream says that it is alive */
	WEB_SESSION_IDLE_MS = 30 * 60 * 1000,
	/* Of one principal. */
	WEB_SESSIONS_MAX = 16,
	WEB_EXCHANGES_MAX = 64,
	WEB_ID = 64, /* digits of a session's id */
};

struct web_client;

/* A session, from `initialize` to DELETE, or until it was idle for long. */
struct web_session {
	struct link link;
	struct web *web;
	struct mcp_server server;
	size_t principal;
	char id[WEB_ID + 1];
	struct web_client *listener; /* whose GET is open; NULL: none */
	size_t n_exchanges;
	uint64_t used_ms;
	bool is_over; /* web_turn() frees it */
};

/* A request with its answer. */
struct web_exchange {
	struct link link;
	struct web *web;
	struct mcp_reply reply;
	struct web_session *session; /* NULL: it stands alone, with a server of its own: */
	struct mcp_server server;
	size_t principal;
	struct web_client *client; /* NULL: it has gone */
};

struct web_client {
	struct serve_client base;
	struct web *web;
	struct web_exchange *exchange; /* under way; NULL: none */
	struct web_session *session;   /* to whose messages it listens (GET); NULL: to none */
	bool is_streaming;             /* events are its answer */
	bool is_probed;                /* whether it is still there */
};

struct web {
	struct loop *loop;
	struct web_options o;
	struct serve_room room;
	struct link sessions, exchanges;
	struct watcher listener;
	struct timer beat;
	uint16_t port;
	bool is_v6;
};

static inline struct web_client *web_client_of(const struct serve_client *base)
{
	return container_of(base, struct web_client, base);
}

/* client.c */
int web_client_new(struct web *w, int fd);
/* Something is to be sent. It may be freed. */
void web_client_work(struct web_client *c);
void web_client_free(struct web_client *c);
/* A line that keeps a stream from being taken for dead; who waits for JSON becomes a stream. */
void web_client_beat(struct web_client *c);
/* Whether lines wait for it. */
bool web_client_has_news(const struct web_client *c);

/* exchange.c */
/* The body of a request of a principal. Its answer is in the client's `out`, or it has an exchange.
 */
void web_exchange_begin(struct web_client *c, size_t principal, const struct serve_header *head,
	const char *body, size_t len);
/* GET and DELETE. */
void web_exchange_listen(struct web_client *c, size_t principal, const struct serve_header *head);
void web_exchange_delete(struct web_client *c, size_t principal, const struct serve_header *head);
/* Its client has gone: what stands alone is cancelled, what is of a session goes on unheard. */
void web_exchange_leave(struct web_exchange *x);
void web_exchange_free(struct web_exchange *x);
/* An answer without a body, and one that is an error of JSON-RPC. */
void web_answer_empty(struct web_client *c, unsigned status, const char *fields);
void web_answer_error(struct web_client *c, unsigned status, const struct node *id,
	enum mcp_error_code code, const char *text);
/* The status of an answer that is an error with this code. */
unsigned web_answer_status(const struct web_exchange *x);

/* session.c */
/* -EBUSY: there are too many; -ENOMEM; what the host says. */
int web_session_new(struct web *w, size_t principal, const struct mcp_message *m,
	struct web_session **ret, struct buffer *why);
/* The one with this id, if it is this principal's. */
struct web_session *web_session_find(struct web *w, size_t principal, const char *id);
void web_session_touch(struct web_session *s);
/* Nothing of it is under way. */
bool web_session_is_idle(const struct web_session *s);
