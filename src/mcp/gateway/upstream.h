/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The client's side of one connection to a server: lines go out, lines come in. Nothing here reads
 * or writes a descriptor.
 *
 * It begins with the handshake (2025-11-25), which most servers have. One that refuses it is asked
 * as 2026-07-28 has it. Then its tools are listed, all pages, and what else is wanted of it and it
 * has; whenever it says that one of these changed, all once more (UPSTREAM_STALE), and no call goes
 * out before these lists are there.
 *
 * What a server asks of its client (sampling, elicitation, roots) is refused, but for `ping`. What
 * it answers that was not asked, says that is no message, or announces beside its progress, is
 * dropped.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "mcp/gateway/listing.h"
#include "mcp/message.h"

enum {
	UPSTREAM_PAGES_MAX = 64,
	UPSTREAM_OUT_MAX = 32 << 20,     /* that a server does not read */
	UPSTREAM_REFUSED_MAX = 64 << 10, /* bytes of refusals that it does not read */
};

enum upstream_state {
	UPSTREAM_NEW,
	UPSTREAM_HANDSHAKE, /* initialize went out */
	UPSTREAM_DISCOVER,  /* server/discover did */
	UPSTREAM_LISTING,
	UPSTREAM_READY,
	UPSTREAM_STALE,  /* its tools changed: upstream_list() */
	UPSTREAM_BROKEN, /* it cannot be used: it has to be started anew */
};

struct upstream_call {
	uint64_t id;
	void *owner;
	struct upstream_call *next;
};

struct upstream_host {
	/* What it has is there: u->lists. */
	void (*listed)(void *context);
	/* MCP_RESULT or MCP_ERROR; the call is gone. */
	void (*answered)(void *context, void *owner, const struct mcp_message *m);
	void (*progressed)(void *context, void *owner, const struct node *params);
	void *context;
};

struct upstream {
	struct upstream_host host;
	const char *version;        /* Corral's */
	struct buffer out;          /* lines for the server */
	bool wants[UPSTREAM_LISTS]; /* beside tools: the owner's */
	enum upstream_state state;
	const char *why; /* UPSTREAM_BROKEN: a sentence's end */
	/* Lists of definitions; empty: there are none. UPSTREAM_READY: they are whole. */
	struct upstream_items lists[UPSTREAM_LISTS];
	bool completes;
	/* Private. */
	struct upstream_items coming[UPSTREAM_LISTS]; /* that are being fetched */
	enum upstream_list at;                        /* the one that is asked for */
	bool has[UPSTREAM_LISTS];                     /* it says that it does */
	size_t pages;
	bool is_modern, is_stale;
	uint64_t last, waits; /* ids: of the last request, and of the one that leads on */
	struct upstream_call *calls;
};

/* A call as it goes out. */
enum upstream_method { UPSTREAM_CALL, UPSTREAM_GET, UPSTREAM_READ, UPSTREAM_COMPLETE };

struct upstream_request {
	enum upstream_method method;
	const char *name;             /* of the tool or prompt; the URI; of what is completed */
	bool is_prompt;               /* UPSTREAM_COMPLETE: the name is one of a prompt */
	const struct node *arguments; /* a map; NULL: none */
	const struct node *argument, *context; /* UPSTREAM_COMPLETE; context: NULL: none */
	const char *traceparent, *tracestate;
	bool wants_progress;
	void *owner;
};

void upstream_begin(struct upstream *u);
/* A line of the server's; NULL: one that was too long. */
void upstream_line(struct upstream *u, const char *line, size_t len);
/* UPSTREAM_STALE: lists what it has once more. Listing costs, so the owner says when. */
void upstream_list(struct upstream *u);
/* UPSTREAM_READY. -ENOBUFS: the server does not read; -ENOMEM. */
int upstream_call(struct upstream *u, const struct upstream_request *r);
/* It is not wanted any more; nothing is heard of it. */
void upstream_cancel(struct upstream *u, const void *owner, const char *reason);
/* The list; NULL: there is none yet. */
const struct node *upstream_listed(const struct upstream *u, enum upstream_list list);
/* As at the beginning, but for the lists: a resource stays that of its server while that is started
 * again. Calls are forgotten without a word. */
void upstream_reset(struct upstream *u);
void upstream_deinit(struct upstream *u);
