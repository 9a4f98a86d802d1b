/* SPDX-License-Identifier: Apache-2.0 */
#include "services/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "broker/service/grants.h"
#include "broker/service/setup.h"

enum {
	SOCKET = 3,
	PROBE_MS = 30 * 1000,
	TEXT_MAX = 4096,
};

/* A call, and what only the loop knows of it. */
struct backend_under_way {
	struct backend_call call; /* first: handlers have a pointer to it */
	backend_handler *handle;  /* NULL: it was called */
	uint64_t id;
	char *body; /* texts of the call point into it */
	struct backend_under_way *next, *previous;
};

struct backend {
	const struct backend_service *service;
	struct service_setup setup;
	struct policy *policy;
	struct loop *loop;
	struct watcher watcher;
	struct frame setup_frame, frame;
	struct arena arena;
	struct backend_under_way *first;
	void *state;
	int ended; /* not 0: why the loop ends */
};

/* What was set up */

const char *backend_config(const struct backend *b, const char *key)
{
	for (size_t i = 0; i < b->setup.n_config; i++)
		if (strcmp(b->setup.config[i].key, key) == 0)
			return b->setup.config[i].text;
	return NULL;
}

const char *backend_sandbox(const struct backend *b)
{
	return b->setup.sandbox;
}

bool backend_allows(const struct backend *b, const char *format, ...)
{
	char *request = NULL;
	bool is_allowed;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&request, format, args);
	va_end(args);
	if (n < 0)
		return false;
	is_allowed = grants_allow(b->policy, request);
	free(request);
	return is_allowed;
}

void backend_bounds(const struct backend *b, const char *request, struct service_bounds *ret)
{
	grants_bounds(b->policy, request, ret);
}

int backend_take_fd(struct backend *b, size_t i)
{
	return frame_take_fd(&b->setup_frame, i);
}

struct loop *backend_loop(struct backend *b)
{
	return b->loop;
}

void backend_set_state(struct backend *b, void *state)
{
	b->state = state;
}

void *backend_state(const struct backend *b)
{
	return b->state;
}

void backend_stop(struct backend *b)
{
	b->ended = b->ended ? b->ended : -EPIPE;
	/* A call that is sent from now on fails, and goes to another process. */
	(void)shutdown(SOCKET, SHUT_RD);
}

/* Answering */

static void backend_free_call(struct backend_under_way *u)
{
	struct backend *b = u->call.backend;

	*(u->previous ? &u->previous->next : &b->first) = u->next;
	if (u->next)
		u->next->previous = u->previous;
	for (size_t i = 0; i < FRAME_FDS_MAX; i++)
		fd_close(&u->call.fds[i]);
	arena_deinit(&u->call.arena);
	free(u->body);
	free(u);
}

/* The socket blocks: a monitor that does not read makes us wait, and kills us in the end. */
static int backend_send(struct backend *b, enum frame_type type, uint64_t id, struct buffer *body)
{
	int r = body->failed ? -ENOMEM
			     : frame_send(SOCKET, type, id, body->data, body->len, NULL, 0);

	if (r < 0)
		b->ended = r;
	return r;
}

void backend_answer(struct backend_call *c, const struct values *results)
{
	struct backend_under_way *u = (struct backend_under_way *)(void *)c;
	auto_buffer body = { 0 };
	int r = values_encode(
		c->call.method ? c->call.method->results : service_probe_fields, results, &body);

	if (r == -EINVAL || body.len > FRAME_MEMFD_MAX) {
		backend_refuse(c, RPC_INTERNAL, NULL, "the result does not fit into an answer");
		return;
	}
	(void)backend_send(c->backend, FRAME_CALL_ANSWER, u->id, &body);
	backend_free_call(u);
}

static void backend_encode_refusal(const struct rpc_refusal *why, struct buffer *out)
{
	struct values v = rpc_refusal_values(why);

	if (values_encode(rpc_refusal_fields, &v, out) == -EINVAL) {
		const struct rpc_refusal plain = { .class = why->class,
			.message = "the call failed" };

		v = rpc_refusal_values(&plain);
		buffer_clear(out);
		(void)values_encode(rpc_refusal_fields, &v, out);
	}
}

void backend_refuse_with(struct backend_call *c, const struct rpc_refusal *why)
{
	struct backend_under_way *u = (struct backend_under_way *)(void *)c;
	auto_buffer body = { 0 };

	backend_encode_refusal(why, &body);
	(void)backend_send(c->backend, FRAME_CALL_REFUSED, u->id, &body);
	backend_free_call(u);
}

void backend_refuse(
	struct backend_call *c, enum rpc_class class, const char *hint, const char *format, ...)
{
	char text[TEXT_MAX];
	auto_buffer visible = { 0 };
	struct rpc_refusal why = { .class = class, .message = "the call failed", .hint = hint };
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buffer_add_visible(&visible, text, strlen(text));
	if (!visible.failed)
		why.message = buffer_text(&visible);
	backend_refuse_with(c, &why);
}

void backend_found(struct backend_call *c, const char *format, ...)
{
	char text[TEXT_MAX];
	auto_buffer visible = { 0 };
	struct values v = { 0 };
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buffer_add_visible(&visible, text, strlen(text));
	v.v[SERVICE_PROBE_FOUND] = value_text(buffer_text(&visible), visible.len);
	backend_answer(c, &v);
}

static uint64_t backend_now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

uint64_t backend_left_ms(const struct backend_call *c)
{
	const uint64_t now = backend_now_ms();

	return c->until_ms > now ? c->until_ms - now : 1;
}

/* Calls */

static backend_handler *backend_handler_of(const struct backend *b, const struct method *m)
{
	for (const struct backend_method *row = b->service->methods; row->handle; row++)
		if (row->method == m->id)
			return row->handle;
	return NULL;
}

static struct backend_under_way *backend_new_call(struct backend *b, struct frame *f)
{
	struct backend_under_way *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->body = malloc(f->len + 1);
	if (!u->body) {
		free(u);
		return NULL;
	}
	memcpy(u->body, f->body, f->len);
	u->id = f->id;
	u->call.backend = b;
	for (size_t i = 0; i < FRAME_FDS_MAX; i++)
		u->call.fds[i] = i < f->n_fds ? frame_take_fd(f, i) : -1;
	u->next = b->first;
	if (u->next)
		u->next->previous = u;
	b->first = u;
	return u;
}

static int backend_on_call(struct backend *b, struct frame *f)
{
	struct backend_under_way *u = backend_new_call(b, f);
	struct backend_call *c;
	int r;

	if (!u)
		return -ENOMEM;
	c = &u->call;
	r = call_decode(&c->call, u->body, f->len, &c->arena);
	if (r < 0)
		return r;
	u->handle = backend_handler_of(b, c->call.method);
	c->until_ms = backend_now_ms() + method_timeout_ms(c->call.method, &c->call.params);
	return u->handle ? 0 : -EPROTO;
}

static int backend_on_probe(struct backend *b, struct frame *f)
{
	struct backend_under_way *u = f->len == 0 ? backend_new_call(b, f) : NULL;

	if (!u)
		return f->len == 0 ? -ENOMEM : -EPROTO;
	u->call.until_ms = backend_now_ms() + PROBE_MS;
	u->handle = b->service->probe;
	return 0;
}

static int backend_on_cancel(struct backend *b, struct frame *f)
{
	struct backend_under_way *u = b->first;

	while (u && u->id != f->id)
		u = u->next;
	if (!u)
		return 0;
	if (u->call.cancel)
		u->call.cancel(&u->call);
	backend_refuse(&u->call, RPC_INTERNAL, NULL, "the call was cancelled");
	return 0;
}

static int (*const backend_takers[FRAME_TYPE_COUNT])(struct backend *b, struct frame *f) = {
	[FRAME_CALL] = backend_on_call,
	[FRAME_CALL_CANCEL] = backend_on_cancel,
	[FRAME_SERVICE_PROBE] = backend_on_probe,
};

static void backend_take(struct backend *b)
{
	int r = frame_receive(SOCKET, &b->frame);

	if (r == 1)
		r = backend_takers[b->frame.type] ? backend_takers[b->frame.type](b, &b->frame)
						  : -EPROTO;
	else
		r = r == 0 ? -EPIPE : r;
	if (r < 0 && r != -EINTR && r != -EAGAIN)
		b->ended = r;
}

/* All frames that are there. */
static void backend_take_all(struct backend *b)
{
	struct pollfd p = { .fd = SOCKET, .events = POLLIN };

	while (b->ended == 0 && poll(&p, 1, 0) == 1)
		backend_take(b);
}

/* The one that waits longest: ids grow. */
static struct backend_under_way *backend_next(const struct backend *b)
{
	struct backend_under_way *next = NULL;

	for (struct backend_under_way *u = b->first; u; u = u->next)
		if (u->handle && (!next || u->id < next->id))
			next = u;
	return next;
}

/*
 * A handler may block, and a call behind it be given up meanwhile: its caller has the answer
 * already. So what has come is read before the next one begins.
 */
static void backend_on_frame(struct watcher *w, uint32_t events)
{
	struct backend *b = container_of(w, struct backend, watcher);
	struct backend_under_way *u;

	(void)events;
	backend_take_all(b);
	while (b->ended == 0 && (u = backend_next(b))) {
		backend_handler *handle = u->handle;

		u->handle = NULL;
		handle(&u->call);
		backend_take_all(b);
	}
}

/* The beginning */

static int backend_receive(struct backend *b, const struct backend_program *p)
{
	struct frame *f = &b->setup_frame;
	struct error e = { 0 };
	int r = frame_receive(SOCKET, f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	r = f->type == FRAME_SERVICE ? service_setup_decode(&b->setup, f->body, f->len, &b->arena)
				     : -EPROTO;
	if (r < 0)
		return r;
	for (b->service = p->services; b->service->name; b->service++)
		if (strcmp(b->service->name, b->setup.backend) == 0)
			break;
	if (!b->service->name)
		return -EPROTO;
	return grants_compile(&b->policy, b->setup.layers, b->setup.n_layers, &e);
}

static int backend_begin(struct backend *b)
{
	struct error why = { 0 };
	int r = b->service->begin(b, &why);
	const struct rpc_refusal refusal = { .class = RPC_SERVICE,
		.message = why.text[0] ? why.text : strerror(-r),
		.hint = why.hint[0] ? why.hint : NULL };
	auto_buffer body = { 0 };

	if (r == 0)
		return frame_send(SOCKET, FRAME_READY, 0, NULL, 0, NULL, 0);
	backend_encode_refusal(&refusal, &body);
	(void)frame_send(SOCKET, FRAME_FAILED, 0, body.data, body.len, NULL, 0);
	return r;
}

static int backend_serve(const struct backend_program *p)
{
	static struct backend b;
	int r = backend_receive(&b, p);

	if (r == 0)
		r = loop_new(&b.loop);
	if (r == 0)
		r = backend_begin(&b);
	b.watcher = (struct watcher){ .ready = backend_on_frame, .fd = -1 };
	if (r == 0)
		r = loop_add(b.loop, &b.watcher, SOCKET, EPOLLIN);
	while (r == 0 && b.ended == 0)
		r = loop_turn(b.loop, -1);
	return r < 0 ? r : b.ended;
}

static int backend_explain(int argc, char **argv, const struct backend_program *p)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("%s %s\n", p->name, CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return printf("%s: serves a sandbox behind its broker.\n"
			      "It is started by corral-broker, with a socket as descriptor 3; "
			      "there is "
			      "nothing to\nstart by hand. See corral-services(5) and `corral "
			      "service`.\n",
			       p->name) < 0;
	(void)fprintf(stderr,
		"%s: descriptor 3 is not a socket of the broker; this program is started by "
		"corral-broker, see corral-services(5)\n",
		p->name);
	return 2;
}

int backend_main(int argc, char **argv, const struct backend_program *p)
{
	int r, type = 0;
	socklen_t len = sizeof(type);

	if (argc != 1 || getsockopt(SOCKET, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
		type != SOCK_SEQPACKET || fcntl(SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		return backend_explain(argc, argv, p);
	r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
	(void)signal(SIGPIPE, SIG_IGN);
	if (r == 0 && syscall(SYS_close_range, SOCKET + 1U, ~0U, 0U) < 0)
		r = -errno;
	if (r == 0)
		r = backend_serve(p);
	return r < 0 && r != -EPIPE;
}
