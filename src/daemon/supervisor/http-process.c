/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrald-http, as a child: it gets the token, the keys of tabs and connections, and is started
 * anew when it dies, at a bounded rate. Answers to the clients that it had are dropped; a call that
 * it sends against the rules is its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "codec/encoding.h"
#include "daemon/api/api.h"
#include "daemon/api/tool-queue.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/listeners.h"
#include "daemon/supervisor/supervisor.h"

enum { HTTP_WAITING_MAX = 64 };

static void http_process_on_again(struct timer *t)
{
	(void)http_process_start(
		container_of(container_of(t, struct http_process, again), struct supervisor, http));
}

void http_process_lose(struct supervisor *s, const char *why)
{
	journal_say(s, CONFIG_WARN, "corrald-http %s; it is started again", why);
	http_process_end(s);
	(void)http_process_start(s);
}

static void http_process_on_flushed(struct supervisor *s)
{
	if (s->http.out.broken)
		http_process_lose(s, "ended, or broke a rule");
	else if (http_link_has_room(s))
		listeners_go_on(s);
}

static void http_process_on_frame(struct supervisor *s, const struct frame *f)
{
	struct message_note refused;
	struct route_call call;

	/* Numbers only go up: by one of two calls with the same, the log would tell of the other.
	 */
	if (f->type == FRAME_API_CALL && f->id > s->http.last_call &&
		route_call_decode(&call, f->body, f->len) == 0) {
		s->http.last_call = f->id;
		api_call(s, f->id, &call);
	} else if (f->type == FRAME_API_NOTE && message_note_decode(&refused, f->body, f->len) == 0)
		api_note(s, &refused);
	else if (f->type == FRAME_API_GONE && f->len == 0)
		tool_queue_leave(s, f->id);
	else
		s->http.out.broken = true;
}

static void http_process_on_link(struct watcher *w, uint32_t events)
{
	struct http_process *p = container_of(w, struct http_process, link);
	struct supervisor *s = container_of(p, struct supervisor, http);

	if (events & EPOLLOUT)
		outbox_flush(&p->out);
	p->is_heard = true;
	/* Not without end: others wait, too. */
	for (int i = 0; i < 64 && !p->out.broken; i++) {
		int r = frame_receive(p->out.socket, &p->frame);

		if (r == -EAGAIN)
			break;
		if (r == 1)
			http_process_on_frame(s, &p->frame);
		else
			p->out.broken = true;
	}
	p->is_heard = false;
	http_link_flush(s);
}

/* Whoever has the port while this daemon is away must not guess where the next one has its page:
 * browsers keep scripts and files for a host. */
static int http_process_name_page(struct supervisor *s)
{
	uint8_t bytes[PROOF_ID / 2];

	if (s->http.label[0])
		return 0;
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	encoding_hex(bytes, sizeof(bytes), s->http.label);
	return 0;
}

static int http_process_equip(struct supervisor *s)
{
	struct message_setup m = { .heartbeat_ms = s->config.heartbeat_ms,
		.port = s->listeners.port };
	const size_t n = s->http.tabs.n < PROOF_TABS_MAX ? s->http.tabs.n : PROOF_TABS_MAX;
	uint8_t bytes[PROOF_ID / 2];
	auto_buffer body = { 0 };
	int r;

	if (http_process_name_page(s) < 0 ||
		getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	encoding_hex(bytes, sizeof(bytes), s->http.start);
	memcpy(m.start, s->http.start, sizeof(m.start));
	memcpy(m.label, s->http.label, sizeof(m.label));
	memcpy(m.token, s->folder.token, sizeof(m.token));
	r = message_setup_encode(&m, &body);
	if (r == 0)
		outbox_add(&s->http.out, FRAME_API_SETUP, 0, body.data, body.len, -1);
	for (size_t i = s->http.tabs.n - n; r == 0 && i < s->http.tabs.n; i++)
		r = http_link_send_tab(s, &s->http.tabs.rows[i % PROOF_TABS_MAX]);
	if (r == 0)
		bus_repeat(s);
	return r < 0 ? r : s->http.out.broken ? -EPIPE : 0;
}

static int http_process_try(struct supervisor *s)
{
	const char *named = secure_getenv("CORRALD_HTTP");
	struct http_process *p = &s->http;
	const char *const argv[] = { "corrald-http", NULL };
	struct child child;
	int r = child_start(&child, named && *named ? named : CORRALD_HTTP_PATH, argv, NULL);

	if (r < 0)
		return r;
	p->child = child;
	p->last_call = 0;
	p->flushed = http_process_on_flushed;
	p->out = (struct outbox){ .socket = child.socket };
	p->link = (struct watcher){ .ready = http_process_on_link, .fd = -1 };
	r = loop_add(s->loop, &p->link, p->out.socket, EPOLLIN);
	if (r == 0)
		r = http_process_equip(s);
	if (r < 0)
		http_process_end(s);
	return r;
}

int http_process_start(struct supervisor *s)
{
	struct http_process *p = &s->http;
	const uint64_t now = loop_now(s->loop), oldest = p->started[p->n_started % HTTP_STARTS_MAX];
	uint64_t wait = 1000;
	int r = -EAGAIN;

	if (p->n_started >= HTTP_STARTS_MAX && now - oldest < HTTP_STARTS_MS) {
		wait = HTTP_STARTS_MS - (now - oldest);
	} else {
		p->started[p->n_started++ % HTTP_STARTS_MAX] = now;
		r = http_process_try(s);
	}
	if (r == 0)
		return 0;
	if (r != -EAGAIN)
		journal_say(s, CONFIG_ERROR, "cannot start corrald-http: %s", strerror(-r));
	p->again.expired = http_process_on_again;
	if (loop_start(s->loop, &p->again, wait) < 0)
		s->is_over = true;
	return r;
}

void http_process_end(struct supervisor *s)
{
	struct http_process *p = &s->http;

	if (p->child.pid == 0)
		return;
	loop_remove(s->loop, &p->link);
	outbox_deinit(&p->out);
	child_end(&p->child);
	frame_deinit(&p->frame);
	tool_queue_clear(s);
	api_forget_calls(s);
}

void http_process_hand_over(struct supervisor *s, int fd, bool by_tcp, const char *refusal)
{
	const size_t len = strlen(refusal) + 1;
	int r = -EAGAIN;

	/* Without room it is closed. */
	if (s->http.child.pid == 0 || s->http.out.n >= HTTP_WAITING_MAX)
		return;
	if (http_link_has_room(s))
		r = frame_send(s->http.out.socket, FRAME_API_CLIENT, by_tcp, refusal, len, &fd, 1);
	/* Other processes of this user have too many descriptors under way: this client is closed,
	 * and corrald-http stays. */
	if (r == 0 || r == -ETOOMANYREFS)
		return;
	outbox_add(&s->http.out, FRAME_API_CLIENT, by_tcp, refusal, len, fd);
	http_link_flush(s);
}
