/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spare init waits at any time, so that a command costs no more than a message and an exec. When
 * its command is over, an init is a spare again; the zygote makes another only if none is left.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "warden/session/internal.h"

enum {
	SPARES = 1,   /* inits that wait for a command, at least */
	LOST_MAX = 3, /* inits of one command that may die before they take it */
};

/* Inits. */

void session_ask_for_inits(struct session *s)
{
	/* One that was lent is the next command's, most likely. */
	size_t want = s->starved || s->lent ? 0 : SPARES;

	if (s->o.single || s->gone)
		return;
	for (const struct command *c = s->commands; c; c = c->next)
		want += c->socket < 0 && !c->ended;
	while (s->n_asked + s->n_spares < want) {
		if (frame_send(s->socket, FRAME_SPAWN, 0, NULL, 0, NULL, 0) < 0)
			return;
		s->n_asked++;
	}
}

/* Hands a waiting command to an init. The init's descriptors are the command's from here on. */
static void assign(struct session *s, struct command *c, struct spare *init)
{
	int r;

	c->socket = init->socket;
	c->pidfd = init->pidfd;
	*init = (struct spare){ -1, -1 };
	r = session_charge(c);
	if (r == 0)
		r = frame_send(c->socket, FRAME_START, c->id, c->body.data, c->body.len, c->stdio,
			c->stdio[0] >= 0 ? 3 : 0);
	/* If nobody is there any more, it said why before it went, and whoever builds hears it. */
	if (r == -EPIPE && s->building)
		r = 0;
	/* What was to reach it while it waited. */
	for (uint32_t n = 1; r == 0 && c->signals > 0; n++, c->signals >>= 1)
		if (c->signals & 1)
			r = frame_send(c->socket, FRAME_SIGNAL, c->id, &n, sizeof(n), NULL, 0);
	if (r == 0)
		r = session_watch_command(s, c);
	for (size_t i = 0; i < 3; i++)
		fd_close(&c->stdio[i]);
	buffer_deinit(&c->body);
	if (r == 0 && c->timeout_ms > 0 && !c->doomed) {
		c->deadline = clock_ms(CLOCK_MONOTONIC) + c->timeout_ms;
		session_set_timer(s);
	}
	if (r < 0)
		session_refuse(s, c, r, strerror(-r));
}

/* The oldest command without an init. */
struct command *session_next_waiting(const struct session *s)
{
	struct command *oldest = NULL;

	for (struct command *c = s->commands; c; c = c->next)
		if (c->socket < 0 && !c->ended)
			oldest = c;
	return oldest;
}

void session_spare_deinit(struct spare *init)
{
	fd_close(&init->socket);
	fd_close(&init->pidfd);
}

/* It waits unwatched; somebody outside may have killed it, and no command shall pay for that. */
static bool spare_is_alive(const struct spare *init)
{
	struct pollfd p = { .fd = init->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

void session_use_spares(struct session *s)
{
	struct command *c;

	while (s->n_spares > 0 && (c = session_next_waiting(s))) {
		struct spare *init;

		/* What the tree is made of is not the command's. */
		if (s->building && c->cgroup)
			return;
		init = &s->spares[--s->n_spares];

		/* The only one of a single command is not replaced. */
		if (!s->o.single && !spare_is_alive(init))
			session_spare_deinit(init);
		else
			assign(s, c, init);
	}
}

/*
 * An init that is dead before it was given anything: if it failed to confine itself it said why,
 * and the next would fail as well. Else somebody killed it, and another may do.
 */
static void session_inits_bury(struct session *s, struct command *c, struct spare *init)
{
	struct refusal refusal;

	if (frame_receive(init->socket, &s->frame) == 1 && s->frame.type == FRAME_FAILED &&
		refusal_decode(&refusal, s->frame.body, s->frame.len) == 0)
		session_refuse_as(s, c, &refusal);
	else if (++c->n_lost == LOST_MAX)
		session_refuse(s, c, -ECONNRESET, "several inits died before they could start");
	session_spare_deinit(init);
}

void session_keep_spare(struct session *s, int socket, int pidfd)
{
	struct command *c = session_next_waiting(s);
	struct spare init = { socket, pidfd };

	if (c && !spare_is_alive(&init)) {
		session_inits_bury(s, c, &init);
	} else if (c) {
		assign(s, c, &init);
	} else if (s->n_spares < SESSION_SPARES_MAX) {
		s->spares[s->n_spares++] = init;
	} else {
		session_spare_deinit(&init);
	}
}

void session_give_back(struct session *s, struct command *c)
{
	if (s->o.single || c->cgroup || c->init_killed || c->socket < 0 ||
		s->n_spares == SESSION_SPARES_MAX)
		return;
	loop_remove(s->loop, &c->watch);
	s->spares[s->n_spares++] = (struct spare){ fd_take(&c->socket), fd_take(&c->pidfd) };
}

int session_lend(struct session *s, int *ret_socket, int *ret_pidfd)
{
	struct spare *init;

	if (s->gone || s->o.single || s->n_spares == 0 || session_next_waiting(s))
		return -EAGAIN;
	init = &s->spares[--s->n_spares];
	if (!spare_is_alive(init)) {
		session_spare_deinit(init);
		return -EAGAIN;
	}
	*ret_socket = init->socket;
	*ret_pidfd = init->pidfd;
	s->lent = true;
	return 0;
}

void session_lost(struct session *s)
{
	s->lent = false;
	session_ask_for_inits(s);
}
