/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/front/front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/front/internal.h"

/* What older headers lack. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Connections that are taken in one turn. */
enum { ACCEPT_MAX = 16 };

size_t front_clients(const struct front *f)
{
	return f->room.n_clients;
}

size_t front_bytes(const struct front *f)
{
	return f->room.bytes;
}

static void front_take_in(struct front *f, int *fd, bool is_http)
{
	struct peer *peer;

	/* Without room it is closed at once. */
	if (serve_room_enter(&f->room, *fd, &peer) < 0)
		return;
	if (client_new(f, peer, *fd, is_http) == 0)
		(void)fd_take(fd);
	else
		peer_put_connection(peer);
}

static void front_accept(struct front *f, const struct watcher *w)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		auto_fd fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			front_take_in(f, &fd, w == &f->http);
		/* Without a descriptor it would wait for ever. */
		else if (errno != EMFILE || !serve_room_make_place(&f->room))
			return;
	}
}

static void front_on_listener(struct watcher *w, uint32_t events)
{
	(void)events;
	front_accept(container_of(w, struct front, listener), w);
}

static void front_on_http(struct watcher *w, uint32_t events)
{
	(void)events;
	front_accept(container_of(w, struct front, http), w);
}

/* The monitor */

static void front_send_unsent(struct front *f)
{
	int r = 0;

	if (f->is_full)
		r = frame_send(f->o.monitor, FRAME_CALL, f->unsent_id, f->unsent.data,
			f->unsent.len, NULL, 0);
	if (r == -EAGAIN)
		return;
	if (front_lacks_descriptors(r)) {
		exchange_fail_unsent(f, f->unsent_id);
		r = 0;
	}
	buffer_deinit(&f->unsent);
	f->is_full = false;
	f->has_room = true;
	if (r == 0)
		r = loop_change(f->loop, &f->monitor, EPOLLIN);
	f->is_lost = f->is_lost || r < 0;
	exchange_send_words(f);
}

static void front_on_monitor(struct watcher *w, uint32_t events)
{
	struct front *f = container_of(w, struct front, monitor);

	if (events & EPOLLOUT)
		front_send_unsent(f);
	for (;;) {
		int r = frame_receive(f->o.monitor, &f->frame);

		if (r == -EAGAIN)
			return;
		if (r == 1 && f->frame.type == FRAME_CALL_NOTE) {
			exchange_note(f, &f->frame);
		} else if (r == 1 && (f->frame.type == FRAME_CALL_ANSWER ||
					     f->frame.type == FRAME_CALL_REFUSED)) {
			exchange_answer(f, &f->frame);
		} else {
			f->is_lost = true;
			return;
		}
	}
}

/* Turns */

static struct client *front_pop(struct link *list)
{
	struct client *c = container_of(list->next, struct client, queue);

	link_remove(&c->queue);
	return c;
}

/* Those that are ready now; who becomes so meanwhile waits for the next turn. */
static void front_work(struct front *f)
{
	struct link now;

	link_init(&now);
	link_move(&now, &f->ready);
	while (!link_is_alone(&now)) {
		struct client *c = front_pop(&now);

		if (*peer_work(&f->room, c->base.peer) > 0)
			client_work(c);
		else
			client_later(c);
	}
}

/* The one whose process has the fewest calls under way: it comes first. */
static void front_prefer_least(struct link *list)
{
	struct client *least = NULL;

	for (struct link *l = list->next; l != list; l = l->next) {
		struct client *c = container_of(l, struct client, queue);

		if (!least || c->base.peer->calls < least->base.peer->calls)
			least = c;
	}
	if (!least)
		return;
	link_remove(&least->queue);
	link_append(list->next, &least->queue);
}

/*
 * Those whose calls found no room, while there is some. Who still finds none, or wants more, is
 * behind all others the next time.
 */
static void front_work_blocked(struct front *f)
{
	struct link now;

	if (!f->has_room)
		return;
	f->has_room = false;
	link_init(&now);
	link_move(&now, &f->blocked);
	front_prefer_least(&now);
	while (!link_is_alone(&now) && !f->is_full && f->n_free > 0)
		client_work(front_pop(&now));
	/* Those that had no turn stay before those that had. */
	while (!link_is_alone(&f->blocked))
		link_append(&now, &front_pop(&f->blocked)->queue);
	link_move(&f->blocked, &now);
}

int front_turn(struct front *f, int ms)
{
	const bool waits = link_is_alone(&f->ready) && (!f->has_room || link_is_alone(&f->blocked));
	int r;

	f->room.turn++;
	r = loop_turn(f->loop, waits ? ms : 0);
	if (f->is_lost)
		exchange_lose_all(f);
	front_work_blocked(f);
	front_work(f);
	serve_room_hold_budget(&f->room);
	return r < 0 ? r : f->is_lost ? -EPIPE : 0;
}

/* Clients must name the port that they came by. */
static int front_open_http(struct front *f)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);

	if (strlen(f->o.token) < FRONT_TOKEN_LEAST)
		return -EINVAL;
	if (getsockname(f->o.http, (struct sockaddr *)&a, &len) < 0)
		return -errno;
	/* The port is in the same place for both families. */
	if (a.ss_family != AF_INET && a.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	f->guard.token = f->o.token;
	f->guard.port = ntohs(((struct sockaddr_in *)&a)->sin_port);
	return loop_add(f->loop, &f->http, f->o.http, EPOLLIN);
}

static void front_open_room(struct front *f)
{
	const struct serve_limits limits = { .clients = FRONT_CLIENTS_MAX,
		.bytes = FRONT_BYTES_MAX,
		.stall_ms = f->o.stall_ms,
		.close_ms = FRONT_CLOSE_MS,
		.turn_work = FRONT_PEER_TURN_MAX };

	serve_room_init(&f->room, f->loop, &limits);
}

int front_new(struct front **ret, const struct front_options *o)
{
	struct front *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->o = *o;
	if (f->o.stall_ms == 0)
		f->o.stall_ms = FRONT_STALL_MS;
	link_init(&f->ready);
	link_init(&f->blocked);
	/* Where the kernel can (Linux 6.16), whoever sends descriptors is refused at once. */
	(void)setsockopt(o->listener, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(int));
	f->listener = (struct watcher){ .ready = front_on_listener, .fd = -1 };
	f->http = (struct watcher){ .ready = front_on_http, .fd = -1 };
	f->monitor = (struct watcher){ .ready = front_on_monitor, .fd = -1 };
	for (size_t i = 0; i < FRONT_CALLS_MAX; i++)
		f->free_slots[f->n_free++] = (uint16_t)(FRONT_CALLS_MAX - 1 - i);
	r = loop_new(&f->loop);
	front_open_room(f);
	if (r == 0)
		r = loop_add(f->loop, &f->listener, o->listener, EPOLLIN);
	if (r == 0)
		r = loop_add(f->loop, &f->monitor, o->monitor, EPOLLIN);
	if (r == 0 && o->token)
		r = front_open_http(f);
	if (r < 0)
		front_free(f);
	else
		*ret = f;
	return r;
}

void front_free(struct front *f)
{
	if (!f)
		return;
	exchange_lose_all(f);
	serve_room_clear(&f->room);
	buffer_deinit(&f->unsent);
	buffer_deinit(&f->gone);
	frame_deinit(&f->frame);
	loop_free(f->loop);
	free(f);
}
