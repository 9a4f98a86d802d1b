/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/http/internal.h"
#include "daemon/openapi.h"

size_t server_clients(const struct server *s)
{
	return s->room.n_clients;
}

/* Connections */

static void server_on_client(struct server *s, struct frame *f)
{
	auto_fd fd = frame_take_fd(f, 0);

	if (fd < 0 || f->id > 1 || f->len == 0 || !memchr(f->body, '\0', f->len)) {
		s->is_lost = true;
		return;
	}
	if (api_client_new(s, fd, f->id == 0, f->body) == 0)
		(void)fd_take(&fd);
}

static void server_on_tab(struct server *s, const struct frame *f)
{
	struct message_tab t;
	struct proof_tab *tab = &s->tabs[s->n_tabs % PROOF_TABS_MAX];

	if (message_tab_decode(&t, f->body, f->len) < 0) {
		s->is_lost = true;
		return;
	}
	*tab = (struct proof_tab){ 0 };
	memcpy(tab->id, t.id, sizeof(tab->id));
	memcpy(tab->key, t.key, sizeof(tab->key));
	s->n_tabs++;
}

/* corrald */

static void server_on_answer(struct server *s, const struct frame *f)
{
	struct message_answer a;

	if (message_answer_decode(&a, f->body, f->len) < 0 || s->n_calls == 0) {
		s->is_lost = true;
		return;
	}
	s->n_calls--;
	serve_client_for_each(base, &s->room)
	{
		struct api_client *c = api_client_of(base);

		if (c->call == f->id) {
			api_client_answer(c, &a);
			return;
		}
	}
}

static void server_on_event(struct server *s, const struct frame *f)
{
	struct message_event e;

	if (message_event_decode(&e, f->body, f->len) < 0 || f->id <= s->stream.last_id) {
		s->is_lost = true;
		return;
	}
	(void)stream_add(&s->stream, f->id, e.type, e.json);
	s->has_news = true;
}

static void server_on_frame(struct server *s)
{
	switch (s->frame.type) {
	case FRAME_API_ANSWER:
		server_on_answer(s, &s->frame);
		break;
	case FRAME_API_EVENT:
		server_on_event(s, &s->frame);
		break;
	case FRAME_API_CLIENT:
		server_on_client(s, &s->frame);
		break;
	case FRAME_API_TAB:
		server_on_tab(s, &s->frame);
		break;
	default:
		s->is_lost = true;
	}
}

static void server_on_supervisor(struct watcher *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, link);

	(void)events;
	while (!s->is_lost) {
		int r = frame_receive(s->supervisor, &s->frame);

		if (r == -EAGAIN)
			return;
		if (r == 1)
			server_on_frame(s);
		else
			s->is_lost = true;
	}
}

/* Time */

static void server_on_heartbeat(struct timer *t)
{
	struct server *s = container_of(t, struct server, heartbeat);

	serve_client_for_each(base, &s->room)
	{
		struct api_client *c = api_client_of(base);

		if (c->is_streaming)
			api_client_beat(c);
	}
	if (loop_start(s->loop, t, s->setup.heartbeat_ms) < 0)
		s->is_lost = true;
}

static void server_on_second(struct timer *t)
{
	struct server *s = container_of(t, struct server, second);

	s->n_notes = 0;
	/* The last of those that were too many stands for all of them. */
	if (s->n_unsaid > 0) {
		s->n_unsaid--;
		server_note(s, &s->unsaid, false);
	}
	if (loop_start(s->loop, t, 1000) < 0)
		s->is_lost = true;
}

int server_turn(struct server *s, int ms)
{
	int r = loop_turn(s->loop, ms);

	if (s->has_news) {
		s->has_news = false;
		serve_client_for_each(base, &s->room)
		{
			struct api_client *c = api_client_of(base);

			if (c->is_streaming)
				api_client_stream(c);
		}
	}
	serve_room_hold_budget(&s->room);
	return r < 0 ? r : s->is_lost ? -EPIPE : 0;
}

static const struct serve_limits server_limits = { .clients = SERVER_CLIENTS_MAX,
	.bytes = SERVER_BYTES_MAX,
	.stall_ms = SERVER_HEAD_MS,
	.idle_ms = SERVER_IDLE_MS,
	.close_ms = SERVER_CLOSE_MS,
	.keeps_busy = true };

int server_new(struct server **ret, const struct server_options *o)
{
	struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->setup = *o->setup;
	s->supervisor = o->supervisor;
	s->version = o->version;
	s->link = (struct watcher){ .ready = server_on_supervisor, .fd = -1 };
	s->heartbeat = (struct timer){ .expired = server_on_heartbeat };
	s->second = (struct timer){ .expired = server_on_second };
	openapi_print(&s->openapi, o->version);
	r = s->openapi.failed ? -ENOMEM : loop_new(&s->loop);
	serve_room_init(&s->room, s->loop, &server_limits);
	if (r == 0)
		r = loop_add(s->loop, &s->link, o->supervisor, EPOLLIN);
	if (r == 0)
		r = loop_start(s->loop, &s->heartbeat, s->setup.heartbeat_ms);
	if (r == 0)
		r = loop_start(s->loop, &s->second, 1000);
	if (r < 0)
		server_free(s);
	else
		*ret = s;
	return r;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	serve_room_clear(&s->room);
	stream_deinit(&s->stream);
	buffer_deinit(&s->openapi);
	frame_deinit(&s->frame);
	loop_free(s->loop);
	free(s);
}
