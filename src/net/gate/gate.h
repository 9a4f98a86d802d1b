/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a client says first, before any of it is passed on: the hello of TLS must name the host that
 * was granted, and so must every request of plain HTTP. Everything else passes as it is, and so do
 * all bytes of the server, so that protocols in which the server speaks first work.
 *
 * What is judged is read once, and the very bytes that were judged are passed on: whoever sent them
 * may still change those in the socket (vmsplice). A first line that is not complete may become a
 * request of HTTP or not: it passes, but is kept here to be judged with the rest. Behind "GET"
 * nothing does: the end of the connection would make HTTP/0.9 of it, which some servers answer.
 */
#include "net/gate/http-requests.h"
#include "net/judge.h"
#include "net/pump.h"

enum gate_state {
	GATE_FIRST, /* nothing is known yet */
	GATE_HELLO, /* a hello of TLS passed, and was not answered yet */
	GATE_RETRY, /* it has to be said again */
	GATE_HTTP,  /* one request after the other */
	GATE_OPEN,
};

/*
 * What a client has said on a connection that passed, as far as it was judged, so that it can be
 * judged once more when the policy changes: a hello of TLS, or the last request of HTTP.
 *
 * It is kept per connection, and the words are the command's: there is a bound for each, and one
 * for all of them. What is beyond it is forgotten, and does not pass a second time.
 */
enum said_kind {
	SAID_NOTHING, /* or nothing that depends on the policy */
	SAID_NAMELESS,
	SAID_NAME,
	SAID_UNSEEN,
	SAID_REQUEST,
	SAID_FORGOTTEN,
};

enum { SAID_BYTES_MAX = 2048 /* no rule is about a longer path */ };

/* Zeroed: nothing was said. */
struct gate_said {
	enum said_kind kind;
	bool agreed; /* by the user, to this request */
	char *words; /* the name; or method, host, path and protocol; each with its NUL */
	size_t len;
	uint16_t port;
	bool upgrade;
};

/*
 * A request that the policy asks about is held, with all that the client sends behind it, until
 * gate_answer() or another policy. The answer is for that request: it is shown in these words, and
 * no other one has them when the answer is used.
 */
enum gate_asking {
	GATE_NOT_ASKED,
	GATE_ASKED,
	GATE_AGREED,
	GATE_NOT_AGREED, /* only another policy would let it pass */
};

struct gate {
	/*
	 * Asks the user about a request, which is shown as this text. False: it is refused, and
	 * *g->refused says why. NULL: no user can be asked.
	 */
	bool (*ask)(struct gate *g, const char *shown);
	enum gate_asking asking;
	char *asked; /* the text */

	const struct net_judge *judge;
	const struct destination *destination;
	enum gate_state state;
	struct http_requests *http;
	struct net_judgement *refused; /* why it ended with -EACCES */
	size_t seen;                   /* bytes that were not enough */
	uint8_t *kept;                 /* what was read, and is still to be judged */
	size_t n_kept;
	size_t n_passed; /* the first of them, that were passed on already */
	struct gate_said said;
};

/* As pump->gate. -EACCES: *g->refused says why. */
int gate_client(struct gate *g, struct pump *p);
int gate_server(struct gate *g, struct pump *p, bool last);
/* The answer about the request that is held; gate_resume() follows. */
void gate_answer(struct gate *g, bool agreed);
/* Judges what is held once more. May call the pump's done(). */
void gate_resume(struct pump *p);
/* The judge has another policy: whether what has passed would pass again. */
bool gate_review(struct gate *g, struct net_judgement *ret);
void gate_deinit(struct gate *g);
