/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/front/front.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/front/internal.h"

/* Connections that are taken in one turn. */
enum { ACCEPT_MAX = 16 };

size_t front_clients(const struct front *f)
{
	return f->n_clients;
}

size_t front_bytes(const struct front *f)
{
	return f->bytes;
}

/* Makes room for a new client: the one that was silent longest, and waits for nothing, is closed.
 */
static bool front_make_room(struct front *f)
{
	for (struct client *c = f->first; f->n_clients >= FRONT_CLIENTS_MAX && c; c = c->next) {
		if (c->calls == 0 && !c->feeding) {
			client_free(c);
			break;
		}
	}
	return f->n_clients < FRONT_CLIENTS_MAX;
}

static void front_on_listener(struct watcher *w, uint32_t events)
{
	struct front *f = container_of(w, struct front, listener);

	(void)events;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		auto_fd fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		/* Without room it is closed at once. */
		if (front_make_room(f) && client_new(f, fd) == 0)
			(void)fd_take(&fd);
	}
}

/* The monitor */

static void front_send_unsent(struct front *f)
{
	int r;

	if (!f->is_full)
		return;
	r = frame_send(
		f->o.monitor, FRAME_CALL, f->unsent_id, f->unsent.data, f->unsent.len, NULL, 0);
	if (r == -EAGAIN)
		return;
	buffer_deinit(&f->unsent);
	f->is_full = false;
	if (r == 0)
		r = loop_change(f->loop, &f->monitor, EPOLLIN);
	f->is_lost = f->is_lost || r < 0;
	for (struct client *c = f->first; c; c = c->next)
		client_later(c);
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
		if (r != 1 || (f->frame.type != FRAME_CALL_ANSWER &&
				      f->frame.type != FRAME_CALL_REFUSED)) {
			f->is_lost = true;
			return;
		}
		exchange_answer(f, &f->frame);
	}
}

/* Turns */

/* Those that are ready now; who becomes so meanwhile waits for the next turn. */
static void front_work(struct front *f)
{
	struct client *ready = f->ready;

	f->ready = NULL;
	while (ready) {
		struct client *c = ready;

		/* One that frees another would cut this list: client_work() frees its own alone. */
		ready = c->next_ready;
		c->is_ready = false;
		client_work(c);
	}
}

/* Who holds most goes, until the rest fits. */
static void front_hold_budget(struct front *f)
{
	while (f->bytes > FRONT_BYTES_MAX) {
		struct client *most = f->first;

		for (struct client *c = f->first; c; c = c->next) {
			if (c->held > most->held)
				most = c;
		}
		if (!most)
			return;
		client_free(most);
	}
}

int front_turn(struct front *f, int ms)
{
	int r = loop_turn(f->loop, f->ready ? 0 : ms);

	if (f->is_lost)
		exchange_lose_all(f);
	front_work(f);
	front_hold_budget(f);
	return r < 0 ? r : f->is_lost ? -EPIPE : 0;
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
	f->listener = (struct watcher){ .ready = front_on_listener, .fd = -1 };
	f->monitor = (struct watcher){ .ready = front_on_monitor, .fd = -1 };
	for (size_t i = 0; i < FRONT_CALLS_MAX; i++)
		f->free_slots[f->n_free++] = (uint16_t)(FRONT_CALLS_MAX - 1 - i);
	r = loop_new(&f->loop);
	if (r == 0)
		r = loop_add(f->loop, &f->listener, o->listener, EPOLLIN);
	if (r == 0)
		r = loop_add(f->loop, &f->monitor, o->monitor, EPOLLIN);
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
	while (f->first)
		client_free(f->first);
	buffer_deinit(&f->unsent);
	frame_deinit(&f->frame);
	loop_free(f->loop);
	free(f);
}
