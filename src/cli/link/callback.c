/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link/callback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "event/wait.h"
#include "process/confinement.h"
#include "process/starting.h"
#include "serve/answer.h"
#include "serve/client.h"
#include "serve/guard.h"
#include "serve/peer.h"
#include "serve/room.h"
#include "wire/frame.h"

#define CALLBACK_PATH "/callback"

enum { CALLBACK_LAST_MS = 2000, CALLBACK_STALL_MS = 5000 };

/* What a page is answered: the other process chooses. */
enum callback_page { CALLBACK_OTHER, CALLBACK_GOOD, CALLBACK_BAD, CALLBACK_PAGES };

static const struct {
	unsigned status;
	const char *text;
} callback_pages[CALLBACK_PAGES] = {
	[CALLBACK_OTHER] = { 400, "This is not the login that Corral waits for." },
	[CALLBACK_GOOD] = { 200, "Corral has what it needs. You can close this page, and go back "
				 "to the terminal." },
	[CALLBACK_BAD] = { 400, "The login did not work. The terminal says why." },
};

/* The process that serves */

struct callback_server {
	int control;
	uint16_t port;
	struct loop *loop;
	struct watcher listener, link;
	struct serve_room room;
	struct callback_client *asking; /* whose query the other process has; NULL: none's */
	bool is_over;
	struct frame frame;
};

struct callback_client {
	struct serve_client base;
	bool is_waiting;
};

/* One, in a process of its own. */
static struct callback_server callback_server = { .listener.fd = -1, .link.fd = -1 };

static void callback_free(struct serve_client *base)
{
	struct callback_client *c = container_of(base, struct callback_client, base);

	if (callback_server.asking == c)
		callback_server.asking = NULL;
	serve_client_close(base);
	free(c);
}

static bool callback_is_idle(const struct serve_client *base)
{
	return !container_of(base, struct callback_client, base)->is_waiting;
}

static void callback_put(struct serve_client *c, unsigned status, const char *text)
{
	const struct serve_answer a = { .status = status,
		.type = "text/plain; charset=utf-8",
		.fields = status == 405 ? "Allow: GET\r\n" : NULL,
		.len = strlen(text) + 1,
		.is_last = true };

	serve_answer_begin(&c->out, &a);
	buffer_printf(&c->out, "%s\n", text);
	serve_client_finish(c);
}

/* 0: it is for the other process. */
static int callback_refuse(struct callback_client *c, const struct serve_request *r)
{
	const struct serve_guard guard = { .host = "127.0.0.1", .port = callback_server.port };
	const struct http_request *q = &r->head.request;
	struct serve_refusal why = { 0 };

	if (r->status)
		why = (struct serve_refusal){ r->status, r->reason };
	else if (serve_guard_place(&guard, r, &why) != 0)
		;
	else if (strcmp(q->path, CALLBACK_PATH) != 0)
		why = (struct serve_refusal){ 404, "there is nothing here" };
	else if (strcmp(q->method, "GET") != 0)
		why = (struct serve_refusal){ 405, "a call-back is a GET" };
	else if (!q->query || strlen(q->query) > CALLBACK_QUERY_MAX || r->head.length > 0 ||
		 r->head.chunked)
		why = (struct serve_refusal){ 400, "this is no call-back" };
	else if (callback_server.asking)
		why = (struct serve_refusal){ 503, "another call-back is looked at" };
	if (why.status)
		callback_put(&c->base, why.status, why.reason);
	return why.status ? 1 : 0;
}

static void callback_read(struct callback_client *c)
{
	static struct serve_request request;
	size_t len;
	const char *data = serve_client_input(&c->base, &len);

	if (serve_request_read(&request, data, len, &c->base.scanned) == 0)
		return;
	if (callback_refuse(c, &request) == 0) {
		const char *query = request.head.request.query;

		if (frame_send_now(callback_server.control, FRAME_CALLBACK_QUERY, 0, query,
			    strlen(query) + 1, NULL, 0) < 0) {
			callback_put(&c->base, 503, "nothing waits for it any more");
			return;
		}
		callback_server.asking = c;
		c->is_waiting = true;
		serve_client_take(&c->base, request.bytes);
	}
}

static void callback_settle(struct callback_client *c)
{
	int r = serve_client_write(&c->base);

	if (r == 0)
		r = serve_client_wait(&c->base, &(struct serve_wait){ .reads = !c->is_waiting,
							.is_part = c->base.in.len > c->base.start,
							.is_busy = c->is_waiting,
							.is_unfinished = c->is_waiting,
							.watches_end = c->is_waiting });
	if (r < 0)
		callback_free(&c->base);
}

static void callback_work(struct serve_client *base)
{
	struct callback_client *c = container_of(base, struct callback_client, base);

	if (!c->is_waiting && !base->is_last)
		callback_read(c);
	callback_settle(c);
}

static void callback_on_connection(struct watcher *w, uint32_t events)
{
	static const struct serve_class class = {
		.work = callback_work, .free = callback_free, .is_idle = callback_is_idle
	};
	struct callback_server *s = container_of(w, struct callback_server, listener);
	auto_fd fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct callback_client *c;
	struct peer *peer = NULL;

	(void)events;
	if (fd < 0 || serve_room_enter(&s->room, fd, &peer) < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c || serve_client_open(&c->base, &s->room, peer, fd, &class) < 0) {
		free(c);
		peer_put_connection(peer);
		return;
	}
	c->base.is_tcp = true;
	(void)fd_take(&fd);
}

static void callback_on_page(struct watcher *w, uint32_t events)
{
	struct callback_server *s = container_of(w, struct callback_server, link);
	struct callback_client *c = s->asking;
	const struct frame *f = &s->frame;
	const int r = frame_receive_now(w->fd, &s->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r != 1 || f->type != FRAME_CALLBACK_PAGE || f->id >= CALLBACK_PAGES) {
		s->is_over = true;
		return;
	}
	s->asking = NULL;
	if (!c)
		return;
	c->is_waiting = false;
	callback_put(&c->base, callback_pages[f->id].status, callback_pages[f->id].text);
	callback_settle(c);
}

static int callback_serve(int control, int listener, uint16_t port)
{
	static const struct serve_limits limits = { .clients = 64,
		.bytes = 1 << 20,
		.stall_ms = CALLBACK_STALL_MS,
		.idle_ms = CALLBACK_STALL_MS,
		.close_ms = 1000,
		.keeps_busy = true };
	struct callback_server *s = &callback_server;
	uint64_t until = WAIT_FOR_EVER;
	int r;

	s->control = control;
	s->port = port;
	s->listener.ready = callback_on_connection;
	s->link.ready = callback_on_page;
	r = loop_new(&s->loop);
	if (r < 0)
		return r;
	serve_room_init(&s->room, s->loop, &limits);
	r = loop_add(s->loop, &s->listener, listener, EPOLLIN);
	if (r == 0)
		r = loop_add(s->loop, &s->link, control, EPOLLIN);
	while (r == 0 && clock_ms(CLOCK_MONOTONIC) < until) {
		r = loop_turn(s->loop, s->is_over ? 100 : -1);
		if (s->is_over && until == WAIT_FOR_EVER) {
			loop_remove(s->loop, &s->listener);
			loop_remove(s->loop, &s->link);
			until = wait_until(CALLBACK_LAST_MS);
		}
		if (s->is_over && s->room.n_clients == 0)
			break;
	}
	return r;
}

static _Noreturn void callback_child(int control, int listener, uint16_t port, pid_t parent)
{
	int *const kept[] = { &control, &listener };
	int r = getppid() == parent ? fd_keep_only(kept, 2) : -ESRCH;

	(void)signal(SIGINT, SIG_IGN);
	if (r == 0)
		r = confinement_begin(PROCESS_CALLBACK);
	if (r == 0)
		r = confinement_enter(PROCESS_CALLBACK, NULL);
	if (r == 0)
		r = frame_send_now(control, FRAME_READY, 0, NULL, 0, NULL, 0);
	if (r == 0)
		r = callback_serve(control, listener, port);
	_exit(r < 0);
}

/* The process that waits */

static int callback_listen(uint16_t port, int *ret, uint16_t *ret_port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(to);
	const int on = 1;

	/* What is left of the connections of the last login does not count. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(fd, 16) < 0 ||
		getsockname(fd, (struct sockaddr *)&to, &len) < 0)
		return -errno;
	*ret_port = ntohs(to.sin_port);
	*ret = fd_take(&fd);
	return 0;
}

/* Its answers, of one process that waits at a time. */
static struct frame callback_heard;

static int callback_await_ready(const struct callback *c)
{
	if (wait_for_one(c->control, POLLIN, wait_until(10 * 1000)) <= 0 ||
		frame_receive_now(c->control, &callback_heard) != 1 ||
		callback_heard.type != FRAME_READY)
		return -EPERM;
	return 0;
}

int callback_start(struct callback *ret, uint16_t port, struct error *e)
{
	struct callback c = CALLBACK_NONE;
	const pid_t self = getpid();
	auto_fd listener = -1;
	auto_fd theirs = -1;
	uint16_t own = 0;
	int pair[2], r = callback_listen(port ? port : CALLBACK_PORT, &listener, &own);

	if (r == -EADDRINUSE && port == 0)
		r = callback_listen(0, &listener, &own);
	if (r < 0)
		return error_set(e, r, NULL, "cannot listen on 127.0.0.1:%u for the call-back: %s",
			port ? port : CALLBACK_PORT, strerror(-r));
	r = frame_pair(pair);
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	c.control = pair[0];
	theirs = pair[1];
	(void)snprintf(c.uri, sizeof(c.uri), "http://127.0.0.1:%u" CALLBACK_PATH, own);
	c.pid = starting_copy(0, NULL);
	if (c.pid == 0)
		callback_child(theirs, listener, own, self);
	r = c.pid < 0 ? (int)c.pid : 0;
	fd_close(&theirs);
	if (r == 0)
		r = callback_await_ready(&c);
	if (r < 0) {
		callback_end(&c);
		return error_set(e, r, NULL,
			"cannot start the process that waits for the call-back: %s",
			r == -EPERM ? "this kernel cannot confine it (`corral doctor`)"
				    : strerror(-r));
	}
	*ret = c;
	return 0;
}

int callback_wait(struct callback *c, uint64_t until_ms, char *query, struct error *e)
{
	const struct frame *f = &callback_heard;
	int r;

	if (wait_for_one(c->control, POLLIN, until_ms) <= 0)
		return 0;
	r = frame_receive_now(c->control, &callback_heard);
	if (r != 1 || f->type != FRAME_CALLBACK_QUERY || f->len == 0 ||
		f->len > CALLBACK_QUERY_MAX + 1)
		return error_set(
			e, -EPIPE, NULL, "the process that waits for the call-back has ended");
	/* As a text: what stands behind a NUL is not looked at. */
	memcpy(query, f->body, f->len);
	query[f->len - 1] = '\0';
	return 1;
}

void callback_answer(struct callback *c, bool is_ours, bool is_good)
{
	const enum callback_page page = !is_ours  ? CALLBACK_OTHER
					: is_good ? CALLBACK_GOOD
						  : CALLBACK_BAD;

	(void)frame_send_now(c->control, FRAME_CALLBACK_PAGE, page, NULL, 0, NULL, 0);
}

void callback_end(struct callback *c)
{
	fd_close(&c->control);
	if (c->pid <= 0)
		return;
	for (const uint64_t until = wait_until(2 * CALLBACK_LAST_MS);
		waitpid(c->pid, NULL, WNOHANG) == 0;) {
		if (clock_ms(CLOCK_MONOTONIC) > until)
			(void)kill(c->pid, SIGKILL);
		(void)poll(NULL, 0, 5);
	}
	c->pid = 0;
}
