/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A client of a server that repeats lines; whoever includes this says in echo_take() which wait. */
#include <stdbool.h>
#include <stdlib.h>

#include "serve/client.h"

struct echo {
	struct serve_client base;
	bool is_waiting;
	bool *is_there;   /* of the test's end; may be NULL */
	unsigned refills; /* that are left */
};

/* Takes one line of the input and answers it; false: there is none, or it has to wait. */
static bool echo_take(struct echo *e);

static inline void echo_free(struct serve_client *c)
{
	struct echo *e = container_of(c, struct echo, base);

	if (e->is_there)
		*e->is_there = false;
	serve_client_close(c);
	free(e);
}

static inline bool echo_is_idle(const struct serve_client *c)
{
	return !container_of(c, struct echo, base)->is_waiting;
}

static inline void echo_work(struct serve_client *c)
{
	struct echo *e = container_of(c, struct echo, base);
	int r;

	while (echo_take(e))
		;
	r = serve_client_write(c);
	if (r == 0)
		r = serve_client_wait(c, &(struct serve_wait){ .reads = !e->is_waiting,
						 .is_part = c->in.len > c->start,
						 .is_busy = e->is_waiting,
						 .is_unfinished = e->is_waiting,
						 .watches_end = e->is_waiting });
	if (r < 0)
		echo_free(c);
}
