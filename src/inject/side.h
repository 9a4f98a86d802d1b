/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One side of a connection that is led through: a socket that does not block, with TLS or without,
 * what was read of it, and what is to be written to it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "event/loop.h"

enum {
	SIDE_RECORD_MAX = 16 << 10, /* of TLS */
	SIDE_READ_MAX = 4 * SIDE_RECORD_MAX,
	SIDE_OUT_MAX =
		256 << 10, /* what waits for a side that does not read: then the other waits, too */
};

/* What is spoken within TLS, as ALPN names it. */
enum { SIDE_HTTP_1 = 1, SIDE_HTTP_2 = 2 };

/* What the user can do about a client that does not trust the sandbox's authority. */
#define SIDE_TRUST                                                                              \
	"Let it trust the file that SSL_CERT_FILE names inside. If it cannot, it reaches this " \
	"host only without --secret and network.inspect; --env shows it the value itself"

struct ssl_st;
struct ssl_ctx_st;

struct inject_side {
	void *owner;
	struct watcher watcher;
	int fd;
	struct ssl_st *ssl; /* NULL: as it is */
	struct buffer in;   /* was read, and not taken yet */
	struct buffer out;  /* is to be written */
	size_t written;     /* of `out` */
	uint32_t waits;     /* EPOLLIN, EPOLLOUT: what it waits for */
	bool wants_more;    /* nothing of `in` could be taken */
	int failed;         /* what the next call of side_read() returns; 0: it reads */
	bool ended;         /* it sends no more */
	bool cut;           /* and did not say so: anybody on the way could have ended it */
	bool closed;        /* and we sent our last */
	bool listens;       /* as a server: it waits behind the client's hello */
	unsigned offered;   /* what of ours the client offered in it, as bits; 0: it did not say */
	unsigned chosen;    /* what it gets of that; 0: nothing is said */
	const char *host;   /* that it may ask for, in such a hello */
};

/* How connections are read and written, to hosts and to clients. */
void side_prepare(struct ssl_ctx_st *c);
/* How hosts are verified: by the authorities in these files; NULL is behind the last. */
int side_client_new(struct ssl_ctx_st **ret, const char *const *authorities, struct error *e);
void side_client_free(struct ssl_ctx_st *c);

/*
 * TLS begins: to a host, whose name (without brackets) is verified, or as a server. protocol: as
 * ALPN has it, with its length. -ENOMEM.
 */
int side_connect(
	struct inject_side *s, struct ssl_ctx_st *client, const char *host, const char *protocol);
int side_accept(struct inject_side *s, struct ssl_ctx_st *server);
/* As a server that says what is spoken when it knows: the handshake waits behind the client's
 * hello, with s->offered, until side_choose(). One that asks for another server than host (SNI) is
 * refused; host stays the caller's, and outlives s. */
int side_listen(struct inject_side *s, struct ssl_ctx_st *server, const char *host);
/* A client that offered something else, and not this, is refused. */
void side_choose(struct inject_side *s, unsigned protocol);
/* 1: it is agreed on, or s->listens and the hello is there. 0: it waits. -EIO: TLS failed; -EPIPE:
 * the peer has gone; -EXDEV: the client asks for another server. */
int side_handshake(struct inject_side *s);
/* What the host chose; SIDE_HTTP_1 if it did not say. */
unsigned side_protocol(const struct inject_side *s);
/* Why TLS to this host failed, as a sentence. */
void side_explain(const struct inject_side *s, const char *host, char *text, size_t size);

/* Fills `in`; returns whether something came. Errors as above. */
int side_read(struct inject_side *s);
/* All that came was read, but for a part of a record of TLS. */
bool side_has_part(const struct inject_side *s);
/* Empties `out`; returns whether something went. */
int side_write(struct inject_side *s);
/* Takes the first n bytes of `in`. */
void side_take(struct inject_side *s, size_t n);
/* Our last bytes have left: says so, unless what they came from was cut. */
void side_close(struct inject_side *s, bool is_cut);
/* Has the loop wait for what it waits for. A side that hung up is reported whatever is waited for:
 * one that nothing is waited for of leaves the loop. */
int side_wait(struct inject_side *s, struct loop *loop);
/* Leaves the loop, closes its socket, and wipes what passed through. */
void side_deinit(struct inject_side *s, struct loop *loop);
