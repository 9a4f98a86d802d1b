/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrald-enclave, as a child: it does what /api/invoke/… asks for. It is started at the first
 * call, and at the next one if it died; calls that it had are answered with 503. What set_policy
 * set last goes to the next one: it holds as long as this daemon does, or until a file is changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "daemon/api/api.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/enclave-process.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

static void enclave_process_answer(
	struct supervisor *s, struct invoked_call *c, unsigned status, const char *json, size_t len)
{
	if (c->generation == s->http.n_started)
		api_reply(s, c->id, status, json, len);
	buffer_deinit(&c->policy.call);
	*c = (struct invoked_call){ 0 };
}

static void enclave_process_lose(struct supervisor *s)
{
	static const char gone[] =
		"{\"error\":\"the enclave ended before it answered; the call may have been "
		"carried out\"}\n";
	struct enclave_process *p = &s->enclave;

	journal_say(s, CONFIG_WARN, "corrald-enclave ended, or broke a rule");
	enclave_process_end(s);
	for (size_t i = 0; i < ROWS(p->calls); i++)
		if (p->calls[i].number)
			enclave_process_answer(s, &p->calls[i], 503, gone, strlen(gone));
	http_link_flush(s);
}

static int enclave_process_on_answer(struct supervisor *s, const struct frame *f)
{
	struct enclave_process *p = &s->enclave;
	struct message_answer a;

	if (message_answer_decode(&a, f->body, f->len) < 0)
		return -EPROTO;
	for (size_t i = 0; i < ROWS(p->calls); i++) {
		struct invoked_call *c = &p->calls[i];

		if (c->number != f->id || f->id == 0)
			continue;
		if (a.status == 200 && c->policy.call.len) {
			buffer_deinit(&p->policy.call);
			p->policy = c->policy;
			c->policy = (struct enclave_policy){ 0 };
		}
		enclave_process_answer(s, c, a.status, a.json, a.len);
		http_link_flush(s);
		return 0;
	}
	return -EPROTO;
}

static int enclave_process_on_event(struct supervisor *s, const struct frame *f)
{
	struct message_event e;

	if (message_event_decode(&e, f->body, f->len) < 0 ||
		(strcmp(e.type, "output") != 0 && strcmp(e.type, "policy") != 0))
		return -EPROTO;
	bus_publish(s, e.type, e.json);
	return 0;
}

static void enclave_process_on_link(struct watcher *w, uint32_t events)
{
	struct enclave_process *p = container_of(w, struct enclave_process, link);
	struct supervisor *s = container_of(p, struct supervisor, enclave);
	int r = 0;

	if (events & EPOLLOUT)
		outbox_flush(&p->out);
	/* Not without end: others wait, too. */
	for (int i = 0; r == 0 && i < 64; i++) {
		r = frame_receive(p->out.socket, &p->frame);
		if (r == 1)
			r = p->frame.type == FRAME_API_ANSWER
				    ? enclave_process_on_answer(s, &p->frame)
			    : p->frame.type == FRAME_API_EVENT
				    ? enclave_process_on_event(s, &p->frame)
				    : -EPROTO;
		else if (r == 0)
			r = -EPIPE;
	}
	if (r == -EAGAIN)
		r = 0;
	if (r == 0 && !p->out.broken)
		r = loop_change(
			s->loop, &p->link, EPOLLIN | (outbox_is_empty(&p->out) ? 0 : EPOLLOUT));
	if (r < 0 || p->out.broken)
		enclave_process_lose(s);
}

/* The policy's files as they are now; zeroes for one that is not there. */
static void enclave_process_look(const struct supervisor *s, struct stat files[static 2])
{
	static const char *const endings[] = { "yaml", "json" };

	for (size_t i = 0; i < ROWS(endings); i++) {
		auto_buffer path = { 0 };

		buffer_printf(&path, "%s/enclave.%s", buffer_text(&s->config_folder), endings[i]);
		if (path.failed || stat(buffer_text(&path), &files[i]) < 0)
			files[i] = (struct stat){ 0 };
	}
}

/* Whether no file has taken the place of what was set since. */
static bool enclave_process_is_current(const struct supervisor *s, const struct enclave_policy *p)
{
	struct stat now[2];
	bool is_same = true;

	enclave_process_look(s, now);
	for (size_t i = 0; i < ROWS(now); i++)
		is_same = is_same && now[i].st_dev == p->files[i].st_dev &&
			  now[i].st_ino == p->files[i].st_ino &&
			  now[i].st_size == p->files[i].st_size &&
			  now[i].st_ctim.tv_sec == p->files[i].st_ctim.tv_sec &&
			  now[i].st_ctim.tv_nsec == p->files[i].st_ctim.tv_nsec;
	return is_same;
}

static int enclave_process_start(struct supervisor *s)
{
	const char *named = secure_getenv("CORRALD_ENCLAVE");
	const char *const argv[] = { "corrald-enclave", buffer_text(&s->config_folder), NULL };
	struct enclave_process *p = &s->enclave;
	struct child child;
	int r = s->config_folder.len ? 0 : -ENOENT;

	if (r == 0)
		r = child_start(&child, named && *named ? named : CORRALD_ENCLAVE_PATH, argv,
			(const char *const *)environ);
	if (r < 0)
		return r;
	p->child = child;
	p->n_started++;
	p->out = (struct outbox){ .socket = child.socket };
	p->link = (struct watcher){ .ready = enclave_process_on_link, .fd = -1 };
	r = loop_add(s->loop, &p->link, child.socket, EPOLLIN);
	if (r < 0) {
		enclave_process_end(s);
		return r;
	}
	if (p->policy.call.len && enclave_process_is_current(s, &p->policy))
		outbox_add(&p->out, FRAME_API_CALL, 0, p->policy.call.data, p->policy.call.len, -1);
	else
		buffer_deinit(&p->policy.call);
	return 0;
}

void enclave_process_end(struct supervisor *s)
{
	struct enclave_process *p = &s->enclave;

	if (p->child.pid == 0)
		return;
	loop_remove(s->loop, &p->link);
	outbox_deinit(&p->out);
	child_end(&p->child);
	frame_deinit(&p->frame);
}

void enclave_process_close(struct supervisor *s)
{
	enclave_process_end(s);
	for (size_t i = 0; i < ROWS(s->enclave.calls); i++)
		buffer_deinit(&s->enclave.calls[i].policy.call);
	buffer_deinit(&s->enclave.policy.call);
}

void enclave_process_call(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	struct enclave_process *p = &s->enclave;
	struct invoked_call *call = NULL;
	auto_buffer body = { 0 };
	int r;

	for (size_t i = 0; i < ROWS(p->calls) && !call; i++)
		call = p->calls[i].number == 0 ? &p->calls[i] : NULL;
	if (!call) {
		api_fail(s, id, 429, "too many requests are under way; try again");
		return;
	}
	r = route_call_encode(c, &body);
	if (r == 0 && p->child.pid == 0)
		r = enclave_process_start(s);
	if (r < 0) {
		journal_say(s, CONFIG_ERROR, "cannot start corrald-enclave: %s", strerror(-r));
		api_fail(s, id, 503, "the enclave cannot be started");
		return;
	}
	*call = (struct invoked_call){
		.number = ++p->n_calls, .id = id, .generation = s->http.n_started
	};
	/* Before it is sent: a file that changes from here on counts more. */
	if (c->route == &routes[ROUTE_SET_POLICY])
		enclave_process_look(s, call->policy.files);
	outbox_add(&p->out, FRAME_API_CALL, call->number, body.data, body.len, -1);
	if (c->route == &routes[ROUTE_SET_POLICY]) {
		call->policy.call = body;
		body = (struct buffer){ 0 };
	}
	if (p->out.broken || loop_change(s->loop, &p->link,
				     EPOLLIN | (outbox_is_empty(&p->out) ? 0 : EPOLLOUT)) < 0)
		enclave_process_lose(s);
}
