/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * front.c has the loop, the listeners and the monitor; client.c the connections: bytes in and out;
 * exchange.c the calls of a line and their answers; http.c the requests of those that speak HTTP.
 * Bytes, time and charging are serve/'s.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/buffer.h"
#include "broker/front/front.h"
#include "broker/front/http.h"
#include "broker/rpc.h"
#include "event/loop.h"
#include "serve/client.h"
#include "serve/peer.h"
#include "serve/room.h"
#include "wire/frame.h"

/* One line: its calls, and what is answered to them, once all is there. */
struct exchange {
	struct client *client; /* NULL: it has gone; the answers are dropped */
	struct document doc;
	const struct node *next; /* the call that is read next */
	bool is_batch;
	bool has_call; /* it was read, and waits until it can be sent */
	struct rpc_call call;
	size_t waiting; /* calls that the monitor has */
	struct buffer answers;
	size_t charged; /* bytes of both that its client was charged for */
};

/* A call that the monitor has. */
struct pending {
	struct exchange *exchange; /* NULL: the slot is free */
	struct peer *peer;
	const struct method *method;
	bool by_shield;
	int wanted;     /* encoding, or -1 */
	const char *id; /* in the exchange's document; NULL: it is not answered */
	uint32_t generation;
	uint64_t began;    /* it was the how many-th */
	bool is_cancelled; /* the monitor is still to hear of it */
	unsigned notes;    /* that were taken, and the monitor is still to hear of it */
};

struct client {
	struct serve_client base;
	struct front *front;
	struct link queue;        /* in the front's list `ready` or `blocked`, or in none */
	struct exchange *feeding; /* the line that is worked on */
	unsigned calls;           /* under way */
	bool is_http;             /* lines come in requests, one at a time */
	bool has_opened;          /* the monitor is to hear when it goes */
	uint64_t number;          /* of the connection, never used again */
	bool has_more;            /* there may be lines that it cannot begin yet */
};

struct front {
	struct front_options o;
	struct loop *loop;
	struct watcher listener, http, monitor;
	struct http_guard guard;
	struct serve_room room;
	struct link ready;   /* clients that have more to do than a turn allows */
	struct link blocked; /* clients whose next call found no room */
	size_t n_calls;
	uint64_t n_begun; /* calls */
	uint64_t n_connected;
	struct buffer gone; /* numbers of connections that the monitor is still to hear of */
	struct pending pending[FRONT_CALLS_MAX];
	size_t n_free;
	uint16_t free_slots[FRONT_CALLS_MAX];
	struct buffer unsent; /* a call that the monitor's socket had no room for */
	uint64_t unsent_id;
	bool is_full;   /* there is one */
	bool has_room;  /* there is some again, for those that are blocked */
	bool is_lost;   /* the monitor has gone */
	size_t n_words; /* that the monitor is still to hear: cancelled calls, taken notes */
	struct frame frame;
};

/* An error of frame_send() that says nothing of the monitor. */
static inline bool front_lacks_descriptors(int r)
{
	return r == -ETOOMANYREFS || r == -EMFILE || r == -ENFILE;
}

/* client.c */
/* Takes one connection of the peer's over, and the descriptor, unless it fails. */
int client_new(struct front *f, struct peer *peer, int fd, bool is_http);
/* With all that is its own; the monitor hears that its calls are not wanted. */
void client_free(struct client *c);
/* Takes up what it may: lines, calls, bytes to write. May free the client. */
void client_work(struct client *c);
/* It has more to do when the others had their turn. */
void client_later(struct client *c);
/* The same once there is room for calls again. */
void client_block(struct client *c);
/* It does not read what it was answered. */
bool client_is_clogged(const struct client *c);
/* Nothing is under way for it. */
bool client_is_idle(const struct client *c);

/* exchange.c */
/* A line of a client. */
int exchange_new(struct client *c, const char *line, size_t len);
/*
 * Goes on with its calls. 1: all were taken, and it belongs to whoever answers now. 0: it must
 * wait for answers, or for others. Negative: out of memory.
 */
int exchange_feed(struct exchange *x, unsigned *work);
/* What the monitor says of a call that runs. */
void exchange_note(struct front *f, const struct frame *frame);
/* An answer of the monitor's. */
void exchange_answer(struct front *f, const struct frame *frame);
/* The call with this number cannot be sent. */
void exchange_fail_unsent(struct front *f, uint64_t id);
/* The client goes: its answers are not wanted any more. */
void exchange_abandon_all(struct client *c);
/* The client opened something, and goes. */
void exchange_tell_gone(struct front *f, uint64_t connection);
/* What the monitor is still to hear, as far as there is room. */
void exchange_send_words(struct front *f);
/* All calls that the monitor had fail. */
void exchange_lose_all(struct front *f);
