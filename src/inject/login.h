/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A login inside (OAuth): the answers of one host that have tokens do not reach the client as they
 * are. Their values go to the vault, if the user agrees, and the client gets placeholders.
 *
 *     login_judge() -> take() -> login_turn() -> answered()
 *     login_judge() -> request -> login_hold(), login_take() -> LEND_TOKENS -> login_stored()
 *                                                             -> answered() -> login_print()
 *
 * Requests to the path of the login go one at a time, whatever connection they come by: the second
 * of two that refresh a token at the same moment goes with the token that the first one got. The
 * lender lets one at a time go of all runs (take(), give()), and what another run has stored
 * meanwhile is looked up before each of them. The refresh token goes into these requests and no
 * others, since their answers are rewritten.
 *
 * A code or a token is exchanged by POST alone (RFC 6749, 3.2): in the query of a GET it would be
 * in logs, and answers to reads are otherwise not looked at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "event/loop.h"
#include "inject/placeholders.h"
#include "inject/tokens.h"

struct http_request;
struct lend_tokens;
struct login_ask;

enum {
	LOGIN_STORES_MAX = 256,   /* answers with tokens in one run */
	LOGIN_TURN_MS = 60 * 1000 /* of a request, to its answer: others wait for it */
};

struct inject_login {
	const char *name, *path;
	struct loop *loop;
	const struct placeholders *placeholders;
	/* Hands tokens on. Negative: they cannot be. */
	int (*send)(void *context, const struct lend_tokens *t);
	/* A request is to go when no other run has one under way: login_turn() says when. give():
	 * it is over. NULL both: no other run matters. Negative: it cannot be asked. */
	int (*take)(void *context, uint64_t number);
	void (*give)(void *context, uint64_t number);
	/* A request is about to go: another run may have refreshed the token since. */
	void (*look)(void *context);
	void *context;

	/* private */
	uint64_t number, turns;
	unsigned stored;
	bool is_busy;            /* a request is on its way, or its tokens are being stored */
	struct login_ask *turn;  /* whose; NULL: its connection has ended */
	struct login_ask *first; /* who wait */
	struct timer wake, late;
};

enum login_state {
	LOGIN_NONE,
	LOGIN_QUEUED,
	LOGIN_WAITING, /* for other runs */
	LOGIN_CALLED,  /* they are done */
	LOGIN_TURN,
	LOGIN_STORING,
	LOGIN_STORED,
	LOGIN_DENIED,
};

/* Of one connection. Zeroed but for the first members: no request passes. */
struct login_ask {
	struct inject_login *login; /* NULL: the host has none */
	/* Go on: it is its turn, its tokens are stored, or they are not. */
	void (*answered)(struct login_ask *a);

	/* private */
	enum login_state state;
	/* Of the request: by POST; by GET and the like, without what is exchanged for tokens. */
	bool is_post, is_read, has_query;
	struct buffer body; /* of the request, as it came */
	enum tokens_form form;
	struct tokens tokens;
	struct buffer stand_ins[LEND_TOKENS_MAX];
	char why[512];
	struct login_ask *next;
};

void login_init(struct inject_login *l);
/* A request begins. 0: it passes. HTTP_HOLD: ask again once answered() was called. -EACCES, and
 * login_why() says why. */
int login_judge(struct login_ask *a, const struct http_request *q);
/* Of the body of that request, before anything is replaced. */
void login_body(struct login_ask *a, const void *data, size_t len);
/* Whether this secret may go into the body of that request. */
bool login_lends(const struct login_ask *a, const char *name);
/* An answer begins: an enum answers_hold, or -EACCES. */
int login_hold(struct login_ask *a, unsigned status, const char *type, size_t len);
/* It is complete: 0, it has no tokens; 1: wait for answered(); -EACCES. */
int login_take(struct login_ask *a, const char *body, size_t len, bool is_framed);
/* That it is too long for login_take(). Returns -EACCES. */
int login_too_long(struct login_ask *a);
/* The request and its answer have passed. */
void login_done(struct login_ask *a);
/* The turn of that number has come, or why it does not: "". */
void login_turn(struct inject_login *l, uint64_t number, const char *why);
/* By its number; values are in the placeholders by now. why "": the tokens are stored. */
void login_stored(struct inject_login *l, uint64_t number, const char *why);
/* LOGIN_STORED: the answer with placeholders. */
int login_print(struct login_ask *a, struct buffer *out);
const char *login_why(const struct login_ask *a);
/* The connection has ended. */
void login_leave(struct login_ask *a);
