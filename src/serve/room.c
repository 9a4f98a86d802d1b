/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/room.h"

#include <errno.h>

#include "serve/client.h"
#include "serve/peer.h"

void serve_room_init(struct serve_room *r, struct loop *l, const struct serve_limits *limits)
{
	*r = (struct serve_room){ .loop = l, .limits = *limits };
	link_init(&r->clients);
	link_init(&r->peers);
}

/* The longest silent of those whose process has so many connections, or of one process. */
static struct serve_client *serve_room_find_silent(
	struct serve_room *r, size_t connections, const struct peer *peer, bool idle)
{
	serve_client_for_each(c, r)
	{
		if ((peer ? c->peer == peer : c->peer->connections == connections) &&
			(!idle || c->class->is_idle(c)))
			return c;
	}
	return NULL;
}

/* One that waits for nothing, of a process that has at least as many as the newcomer's. */
static struct serve_client *serve_room_find_idle(struct serve_room *r, size_t own)
{
	serve_client_for_each(c, r)
	{
		if (c->peer->connections >= own && c->class->is_idle(c))
			return c;
	}
	return NULL;
}

/*
 * Who goes for a new connection of a process that has `own` others (peer; NULL: it is not known).
 * One that waits for nothing, if there is one; but from a process that has hardly more than the
 * newcomer only that, or the two would take turns in closing each other's.
 */
static struct serve_client *serve_room_find_victim(
	struct serve_room *r, const struct peer *peer, size_t own)
{
	const bool takes_busy = !r->limits.keeps_busy;
	struct serve_client *victim = NULL;
	size_t most = 0;

	serve_client_for_each(c, r)
	{
		if (c->peer->connections > most)
			most = c->peer->connections;
	}
	if (most > own)
		victim = serve_room_find_silent(r, most, NULL, true);
	if (!victim && takes_busy && most > own && (own == 0 || most > own + 1))
		victim = serve_room_find_silent(r, most, NULL, false);
	if (!victim && peer)
		victim = serve_room_find_silent(r, 0, peer, true);
	/* Of programs that cannot be told apart a newcomer may be another one. */
	if (!victim && takes_busy && peer && peer_is_unknown(peer))
		victim = serve_room_find_silent(r, 0, peer, false);
	if (!victim && !takes_busy)
		victim = serve_room_find_idle(r, own);
	return victim;
}

static bool serve_room_drop_for(struct serve_room *r, const struct peer *peer, size_t own)
{
	struct serve_client *victim = serve_room_find_victim(r, peer, own);

	if (victim)
		victim->class->free(victim);
	return victim;
}

bool serve_room_make_place(struct serve_room *r)
{
	return serve_room_drop_for(r, NULL, 0);
}

int serve_room_enter(struct serve_room *r, int fd, struct peer **ret)
{
	struct peer *peer;
	int error = peer_get(r, fd, &peer);

	if (error < 0)
		return error;
	if (r->n_clients < r->limits.clients ||
		serve_room_drop_for(r, peer, peer->connections - 1)) {
		*ret = peer;
		return 0;
	}
	peer_put_connection(peer);
	return -EBUSY;
}

void serve_room_hold_budget(struct serve_room *r)
{
	while (r->bytes > r->limits.bytes) {
		struct serve_client *most = NULL;

		serve_client_for_each(c, r)
		{
			if (!most || c->peer->bytes > most->peer->bytes ||
				(c->peer == most->peer && c->held > most->held))
				most = c;
		}
		if (!most)
			return;
		most->class->free(most);
	}
}

void serve_room_clear(struct serve_room *r)
{
	while (!link_is_alone(&r->clients)) {
		struct serve_client *c = container_of(r->clients.next, struct serve_client, link);

		c->class->free(c);
	}
}
