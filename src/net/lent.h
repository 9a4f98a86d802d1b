/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Hosts with secrets that are lent to the sandbox. What is connected to them goes through the
 * injector (inject/server.h), or to a database through its logins (postgres/server.h), which has
 * the connection from then on: the relay keeps a stream to it in its place, so gate, limits and
 * records stay as they are. Of many at a moment, those for which the injector has no room yet wait
 * in a queue.
 *
 * Where TLS is opened for the policy (network.inspect), the injector asks about each request on a
 * connection, and nothing of it leaves before the answer. Asks are only read while no frame waits
 * to be sent, so whoever asks faster than it reads waits itself. The injector may also say that it
 * matters from now on which program connects to a host: the vault grants a secret to programs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"

struct net_lent {
	int socket;               /* to the injector: wire/lend.h */
	const char *const *hosts; /* HOST:PORT, as a judgement names its target */
	const bool *by_program;   /* of each: it matters which program connects; NULL: of none */
	size_t n;
};

enum { LENT_MAX = 2, LENT_WAITING_MAX = 4096 };

struct lend_answer;
struct lend_open;
struct lend_request;
struct lent_queue;

/* About the connection that was handed over with this id. Texts live until it returns. */
typedef void lent_asked(struct lent_queue *q, uint64_t id, const struct lend_request *r);

struct lent_queue {
	const struct net_lent *lent;
	bool *by_program; /* of each host: since it was said */
	bool is_heard;    /* the other end has broken no rule */
	lent_asked *asked;
	void *context;
	struct loop *loop;
	struct watcher watcher;
	struct lent_waiting *first, **end;
	size_t n;
};

bool lent_has(const struct net_lent *l, const char *target);
/* Whether the program that connects to it must be known (warden/socket-program.h). */
bool lent_needs_program(const struct lent_queue *q, const char *target);
/* asked NULL: nothing is asked. */
int lent_queue_init(struct lent_queue *q, const struct net_lent *l, struct loop *loop,
	lent_asked *asked, void *context);
/* Closes what waits. */
void lent_queue_deinit(struct lent_queue *q);
/* Hands the connection over; *fd is a stream in its place. Negative: it is as it was. If it cannot
 * be handed over later, the stream ends. */
int lent_open(struct lent_queue *q, uint64_t id, const struct lend_open *open, int *fd);
/* The answer to what was asked about that connection. If it cannot be sent, the request waits until
 * its connection ends. */
void lent_answer(struct lent_queue *q, uint64_t id, const struct lend_answer *a);
