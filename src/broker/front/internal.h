/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * front.c has the loop, the listener and the monitor; client.c the connections: bytes in and out;
 * exchange.c the calls of a line and their answers.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "broker/front/front.h"
#include "broker/rpc.h"
#include "net/loop.h"
#include "wire/frame.h"

/* One line: its calls, and what is answered to them, once all is there. */
struct exchange {
	struct client *client; /* NULL: it has gone; the answers are dropped */
	struct document doc;
	const struct node *next; /* the call that is read next */
	bool is_batch;
	size_t waiting; /* calls that the monitor has */
	struct buffer answers;
	size_t charged; /* bytes of both that its client was charged for */
};

/* A call that the monitor has. */
struct pending {
	struct exchange *exchange; /* NULL: the slot is free */
	const struct method *method;
	bool by_shield;
	int wanted;     /* encoding, or -1 */
	const char *id; /* in the exchange's document; NULL: it is not answered */
	uint32_t generation;
};

struct client {
	struct front *front;
	struct client *next, *previous; /* who was silent longest is first */
	struct client *next_ready;      /* has more to do than one turn allows */
	struct watcher watcher;
	struct timer stall;
	struct ucred peer;
	struct buffer in; /* bytes that are no whole line yet, from `start` on */
	size_t start, scanned;
	struct buffer out; /* answers, from `sent` on */
	size_t sent;
	struct exchange *feeding; /* the line that is worked on */
	unsigned calls;           /* under way */
	size_t held;              /* bytes that it is charged for */
	bool ended;               /* it sends no more */
	bool is_ready;
};

struct front {
	struct front_options o;
	struct loop *loop;
	struct watcher listener, monitor;
	struct client *first, *last, *ready;
	size_t n_clients, n_calls;
	size_t bytes;
	struct pending pending[FRONT_CALLS_MAX];
	size_t n_free;
	uint16_t free_slots[FRONT_CALLS_MAX];
	struct buffer unsent; /* a call that the monitor's socket had no room for */
	uint64_t unsent_id;
	bool is_full; /* there is one */
	bool is_lost; /* the monitor has gone */
	struct frame frame;
};

/* client.c */
int client_new(struct front *f, int fd);
/* With all that is its own; the monitor hears that its calls are not wanted. */
void client_free(struct client *c);
/* Takes up what it may: lines, calls, bytes to write. May free the client. */
void client_work(struct client *c);
/* Something of it has grown, or shrunk. */
void client_charge(struct client *c, size_t before, size_t now);
/* It has more to do when the others had their turn. */
void client_later(struct client *c);

/* exchange.c */
/* A line of a client. */
int exchange_new(struct client *c, const char *line, size_t len);
/*
 * Goes on with its calls. 1: all were taken, and it belongs to whoever answers now. 0: it must
 * wait for answers, or for others. Negative: out of memory.
 */
int exchange_feed(struct exchange *x, unsigned *calls);
/* An answer of the monitor's. */
void exchange_answer(struct front *f, const struct frame *frame);
/* Its answers are not wanted any more. */
void exchange_abandon(struct exchange *x);
/* All calls that the monitor had fail. */
void exchange_lose_all(struct front *f);
