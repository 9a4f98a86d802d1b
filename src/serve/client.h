/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One connection: bytes in and out, time, and its end. What the bytes mean is the server's matter,
 * whose struct has this one as a member:
 *
 *     work()        bytes came, or some were written: serve_client_input() has what is not taken
 *                   yet, serve_client_take() takes it, answers are appended to `out`
 *     free()        it goes: the server frees its own and calls serve_client_close()
 *     is_idle()     nothing is under way for it
 *     refill()      all was written: a stream may append more; or NULL
 *     on_rights()   it sent descriptors, which are closed, and is about to be freed: last words
 *
 * A client that asked for something and then sends no more gets its answer. By TCP one that has
 * closed its connection looks the same: an interim answer, which says nothing, makes its kernel
 * reset the connection. Behind the last answer (`is_last`) what comes is read and thrown away until
 * the client closes: to close at once would take the answer from one that still sends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/link.h"
#include "event/loop.h"

struct peer;
struct serve_client;
struct serve_room;

struct serve_class {
	void (*work)(struct serve_client *c); /* may free it */
	void (*free)(struct serve_client *c);
	bool (*is_idle)(const struct serve_client *c);
	void (*refill)(struct serve_client *c);
	void (*on_rights)(struct serve_client *c);
	bool is_heard_out; /* what it sent before it went is still done */
};

struct serve_client {
	const struct serve_class *class;
	struct serve_room *room;
	struct peer *peer; /* whom it is charged to */
	struct link link;
	struct watcher watcher;
	struct timer timer;
	struct buffer in, out;
	size_t start;    /* of `in`: what is before was taken */
	size_t scanned;  /* behind start: where the server's search goes on */
	size_t sent;     /* of `out` */
	size_t held;     /* bytes that it is charged for */
	size_t buffered; /* of them those of in and out */
	bool is_tcp;     /* the server sets it: one that waits is probed when it sends no more */
	bool has_ended;  /* it sends no more */
	bool is_deaf;    /* what it sends is thrown away */
	bool is_last;    /* all is answered: it ends when that is written */
	bool is_shut;    /* it is written */
};

#define serve_client_for_each(c, r)                                                               \
	for (struct serve_client *c = container_of((r)->clients.next, struct serve_client, link), \
				 *next_ = container_of(c->link.next, struct serve_client, link);  \
		&c->link != &(r)->clients;                                                        \
		c = next_, next_ = container_of(c->link.next, struct serve_client, link))

/* Takes over the descriptor and the peer's connection (serve_room_enter()), unless it fails; then
 * the caller calls peer_put_connection(). */
int serve_client_open(struct serve_client *c, struct serve_room *r, struct peer *peer, int fd,
	const struct serve_class *class);
void serve_client_close(struct serve_client *c);

/* What is not taken yet. */
static inline const char *serve_client_input(const struct serve_client *c, size_t *ret_len)
{
	*ret_len = c->in.len - c->start;
	return buffer_text(&c->in) + c->start;
}
/* A request was taken, of so many bytes. */
void serve_client_take(struct serve_client *c, size_t len);
/* What is there is taken, and nothing behind it is looked at: it was refused, or is the last by the
 * client's wish. The connection ends with what is answered. */
void serve_client_finish(struct serve_client *c);
/* in or out has changed; the calls below do it. */
void serve_client_settle(struct serve_client *c);
/* Something of it that is in no buffer of this struct has grown, or shrunk. */
void serve_client_charge(struct serve_client *c, size_t before, size_t now);
static inline bool serve_client_is_written(const struct serve_client *c)
{
	return c->sent == c->out.len;
}
/* Writes what the socket takes, and charges for what is left. Negative: the client has gone, or
 * there is no memory. */
int serve_client_write(struct serve_client *c);

/* What it waits for now. */
struct serve_wait {
	bool reads;         /* for more bytes */
	bool is_part;       /* some of a request are there */
	bool is_busy;       /* for us: no time passes */
	bool is_unfinished; /* more is to be answered */
	bool watches_end;   /* and it is to be seen if the client goes meanwhile */
};
/* Negative: it has said and heard all, and is to be freed. */
int serve_client_wait(struct serve_client *c, const struct serve_wait *w);
