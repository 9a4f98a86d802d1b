/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A server of MCP over HTTP as one on standard input and output: lines of a client come in, and
 * become exchanges, each one request of HTTP; what servers answer becomes lines for the client.
 * Nothing here has a descriptor or a clock: whoever owns it makes the exchanges (mcp/remote/
 * http.h), and says what came of them.
 *
 *     line ──▶ remote_line() ──▶ exchange NEW ──▶ the owner sends it ──▶ OPEN
 *     out  ◀── remote_data(), remote_ended() ◀── what is answered       ──▶ GONE, or NEW again
 *
 * Both eras are known. With a handshake (2025-03-26 to 2025-11-25) there are sessions, a stream of
 * the server's own messages, and streams that go on after a connection broke; a session that the
 * server has forgotten is made again once, and what it was asked is asked again. Without (2026-07-
 * 28) each request has its version with it, and is cancelled by closing its connection.
 *
 * A server answers what it was asked, on the stream on which it was asked; what else it answers is
 * dropped. Each request of the client has one answer: that of the server, or an error that says why
 * there is none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "mcp/message.h"
#include "mcp/remote/mirror.h"
#include "mcp/remote/sse.h"

enum {
	REMOTE_EXCHANGES_MAX = 128,
	REMOTE_QUEUE_MAX = 1024,         /* lines that wait for the handshake */
	REMOTE_HELD_MAX = 64 << 20,      /* bytes of all answers that are not whole */
	REMOTE_SESSION_MAX = 1024,       /* of a session's name */
	REMOTE_FAILURES_MAX = 5,         /* of one stream, one after the other */
	REMOTE_NOTES_MAX = 64,           /* for people */
	REMOTE_PAUSE_MIN_MS = 100,       /* whatever a server says */
	REMOTE_PAUSE_MS = 1000,          /* before it is tried again, twice as long each time … */
	REMOTE_PAUSE_MAX_MS = 60 * 1000, /* … up to this */
	REMOTE_SCOPE_MAX = 256,          /* of what a server says that a token lacks */
	REMOTE_REFUSAL_MAX = 64 << 10,   /* bytes that are read of an answer that is a refusal */
};

enum remote_kind {
	REMOTE_CALL,       /* a request of the client */
	REMOTE_NOTICE,     /* its notification, or its answer to a request of the server */
	REMOTE_HELLO,      /* its initialize */
	REMOTE_HELLO_DONE, /* its notifications/initialized */
	REMOTE_RENEWAL,    /* our own of both, for a new session */
	REMOTE_RENEWAL_DONE,
	REMOTE_LISTEN,  /* the stream of what the server says by itself: GET */
	REMOTE_GOODBYE, /* the session ends: DELETE */
};

enum remote_state {
	REMOTE_NEW,  /* to be sent, in delay_ms */
	REMOTE_OPEN, /* it was sent */
	REMOTE_HELD, /* waits for a new session */
	REMOTE_GONE, /* to be ended, if it was sent, and then remote_forget() */
};

struct remote_exchange {
	enum remote_kind kind;
	enum remote_state state;
	struct buffer body; /* what is sent; GET, DELETE: nothing */
	uint64_t delay_ms;
	bool is_modern;   /* of 2026-07-28 */
	bool is_answered; /* nothing more is expected: the owner may end it */
	bool resumes;     /* its stream is asked for once more: GET */
	void *owner;
	struct remote_exchange *next;
	/* Private. */
	struct buffer id; /* of the request, as JSON; empty: it has none */
	struct buffer mirrored;
	bool is_list, is_first_page, was_renewed, had_session;
	unsigned status, failures;
	bool is_stream, is_json;
	struct sse sse;
	struct buffer answer;
	const char *fault;                /* NULL: none */
	char scope[REMOTE_SCOPE_MAX + 1]; /* that the token lacks; "": it is not said */
};

struct remote_server {
	const char *url;    /* in messages */
	const char *secret; /* the name of the one that is lent; NULL: none is */
};

struct remote {
	struct remote_server o;
	struct buffer out;  /* lines for the client */
	struct buffer said; /* lines for people, as visible text */
	struct remote_exchange *exchanges;
	bool is_closing, is_over; /* no more lines come; all is done */
	/* Private. */
	struct mirror mirror;
	struct buffer hello, hello_id; /* the client's initialize */
	char session[REMOTE_SESSION_MAX + 1];
	char version[32]; /* that was agreed on by a handshake; "": none was */
	bool has_listener, may_not_listen, says_tools_change;
	bool is_lost; /* the session has ended, and there was no new one */
	unsigned n_said;
	const struct remote_exchange *gate; /* what comes waits for it */
	struct buffer queue;                /* lines */
	size_t n_queue, n_exchanges, held;
};

/* What the head of an answer says. */
struct remote_head {
	unsigned status;
	const char *type, *encoding, *session; /* of headers; NULL: it has none */
	const char *location;                  /* where a redirect leads; NULL: nowhere */
	const char *challenge;                 /* WWW-Authenticate */
};

/* A line of the client's; NULL: one that was too long. */
void remote_line(struct remote *b, const char *line, size_t len);
/* No more come. What is asked is still answered; after that, or at once, the session ends. */
void remote_close(struct remote *b, bool at_once);

/* The headers of an exchange, each with a newline. -ENOMEM. */
int remote_print_headers(struct remote *b, struct remote_exchange *x, struct buffer *out);
/* 0: go on. 1: no more of it is wanted. */
int remote_begun(struct remote *b, struct remote_exchange *x, const struct remote_head *h);
int remote_data(struct remote *b, struct remote_exchange *x, const char *data, size_t len);
/* why: it broke off, or did not come about; NULL: all of it was there. */
void remote_ended(struct remote *b, struct remote_exchange *x, const char *why);
/* One that is GONE, once the owner has ended it. */
void remote_forget(struct remote *b, struct remote_exchange *x);
void remote_deinit(struct remote *b);
