/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/socket.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/monitor/internal.h"

enum {
	READ_DEFAULT = 65536, /* bytes */
	PIECE = 64 << 10,     /* that are read at once */
	LINGER_MS = 2000,
};

static const struct rpc_refusal socket_was_closed = { .class = RPC_NETWORK,
	.message = "the socket was closed" };

/* Its end */

static struct loop *socket_loop(const struct broker_socket *s)
{
	return monitor_loop(s->monitor);
}

void socket_free(struct broker_socket *s)
{
	struct loop *l = monitor_loop(s->monitor);
	struct broker_socket **at = &s->monitor->sockets;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	loop_remove(l, &s->input);
	loop_remove(l, &s->output);
	loop_remove(l, &s->process_end);
	loop_stop(l, &s->linger);
	corral_process_free(s->process);
	corral_error_free(s->error);
	fd_close(&s->in);
	fd_close(&s->out);
	record_reader_deinit(&s->reader);
	buffer_deinit(&s->received);
	arena_deinit(&s->arena);
	free(s);
}

void socket_wake(struct monitor_call *c)
{
	struct socket_wait *w = c->state;
	struct broker_socket *s = w ? w->socket : NULL;

	if (!s)
		return;
	loop_stop(socket_loop(s), &w->timer);
	if (s->reading == c) {
		s->reading = NULL;
		loop_remove(socket_loop(s), &s->output);
	}
	if (s->writing == c) {
		s->writing = NULL;
		loop_remove(socket_loop(s), &s->input);
	}
	c->cancel = NULL;
	c->state = NULL;
}

static void socket_on_linger(struct timer *t)
{
	socket_free(container_of(t, struct broker_socket, linger));
}

static void socket_on_left(struct watcher *w, uint32_t events)
{
	struct broker_socket *s = container_of(w, struct broker_socket, process_end);

	(void)events;
	if (corral_process_dispatch(s->process) != 0)
		socket_free(s);
}

void socket_close(struct broker_socket *s)
{
	struct monitor_call *calls[] = { s->reading, s->writing };

	if (s->is_leaving)
		return;
	s->is_leaving = true;
	for (size_t i = 0; i < 2; i++) {
		if (!calls[i])
			continue;
		socket_wake(calls[i]);
		monitor_refuse(calls[i], &socket_was_closed);
	}
	loop_remove(socket_loop(s), &s->process_end);
	fd_close(&s->in);
	fd_close(&s->out);
	s->process_end.ready = socket_on_left;
	s->linger.expired = socket_on_linger;
	if (s->is_broken || s->monitor->is_ending ||
		loop_add(socket_loop(s), &s->process_end, corral_process_fd(s->process), EPOLLIN) <
			0 ||
		loop_start(socket_loop(s), &s->linger, LINGER_MS) < 0)
		socket_free(s);
}

/* Why it broke */

void socket_say(struct broker_socket *s, enum rpc_class class, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (s->why.message)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	s->why = (struct rpc_refusal){ .class = class, .message = arena_strdup(&s->arena, text) };
	if (!s->why.message)
		s->why.message = "out of memory";
}

/* The relay's words say more than "connection reset". */
static bool socket_was_denied(struct broker_socket *s, const struct corral_result *result)
{
	for (size_t i = 0; i < corral_result_denials(result); i++) {
		const struct corral_denial *d = corral_result_denial(result, i);

		if (d->op != CORRAL_NET_CONNECT || !hop_is_of(s->origin, d->target))
			continue;
		s->why = (struct rpc_refusal){ 0 };
		socket_say(s, RPC_PERMISSION, "permission denied: %s: %s", d->target, d->reason);
		s->why.rule = d->rule[0] ? arena_strdup(&s->arena, d->rule) : NULL;
		s->why.hint = d->remedy[0] ? arena_strdup(&s->arena, d->remedy) : NULL;
		return true;
	}
	return false;
}

static void socket_explain(struct broker_socket *s)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	/* What is denied fails at once. */
	const bool is_late = s->why.message && s->why.class == RPC_TIMEOUT;
	int r = corral_process_wait(s->process, 0, &result, &e);

	if (r == 0 && (is_late || !socket_was_denied(s, result))) {
		if (corral_result_timed_out(result))
			socket_say(s, RPC_TIMEOUT, "a socket lives at most %d s",
				SOCKET_LIFE_MS / 1000);
		else if (corral_result_out_of_memory(result) || corral_result_too_many_pids(result))
			socket_say(s, RPC_RATE, "the limit of %s of this session is used up",
				corral_result_out_of_memory(result) ? "memory" : "pids");
	}
	socket_say(s, RPC_NETWORK, "%s: the connection has ended", s->origin);
	corral_result_free(result);
	corral_error_free(e);
}

void socket_fail_opening(struct broker_socket *s)
{
	struct monitor_call *c = s->opening;
	struct rpc_refusal why = s->why;

	socket_wake(c);
	/* The words are the socket's. */
	why.message = arena_strdup(&c->arena, why.message);
	why.hint = why.hint ? arena_strdup(&c->arena, why.hint) : NULL;
	why.rule = why.rule ? arena_strdup(&c->arena, why.rule) : NULL;
	if (!why.message)
		why.message = "out of memory";
	socket_free(s);
	monitor_refuse(c, &why);
}

static void socket_on_process_end(struct watcher *w, uint32_t events)
{
	struct broker_socket *s = container_of(w, struct broker_socket, process_end);

	(void)events;
	if (corral_process_dispatch(s->process) == 0)
		return;
	socket_explain(s);
	s->is_explained = true;
	loop_remove(socket_loop(s), w);
	if (s->opening) {
		socket_fail_opening(s);
		return;
	}
	if (s->writing)
		socket_go_on_writing(s);
	if (s->reading)
		(void)socket_give(s->reading, s);
}

/* Nothing more comes; why, the process says by its end. */
static void socket_break(struct broker_socket *s)
{
	if (s->is_broken)
		return;
	s->is_broken = true;
	loop_remove(socket_loop(s), &s->input);
	loop_remove(socket_loop(s), &s->output);
	s->process_end.ready = socket_on_process_end;
	fd_close(&s->in);
	fd_close(&s->out);
	if (loop_add(socket_loop(s), &s->process_end, corral_process_fd(s->process), EPOLLIN) < 0) {
		socket_say(s, RPC_INTERNAL, "out of memory");
		s->is_explained = true;
	}
}

/* What comes from it */

static void socket_opened(struct broker_socket *s)
{
	struct monitor_call *c = s->opening;
	struct values v = { 0 };

	s->opening = NULL;
	loop_remove(socket_loop(s), &s->output);
	loop_stop(socket_loop(s), &((struct socket_wait *)c->state)->timer);
	c->cancel = NULL;
	c->state = NULL;
	if (s->is_gone) {
		socket_close(s);
		monitor_refuse(c, &socket_was_closed);
		return;
	}
	s->number = ++s->monitor->n_sockets;
	v.v[0] = value_number(SCHEMA_NUMBER, s->number);
	monitor_answer(c, &v);
}

static int socket_on_record(void *context, const struct fetch_record *r)
{
	static const enum rpc_class classes[] = {
		[RECORD_CAUSE_NETWORK] = RPC_NETWORK,
		[RECORD_CAUSE_TIMEOUT] = RPC_TIMEOUT,
		[RECORD_CAUSE_SIZE] = RPC_NETWORK,
		[RECORD_CAUSE_TLS] = RPC_NETWORK,
		[RECORD_CAUSE_REQUEST] = RPC_NETWORK,
		[RECORD_CAUSE_INTERNAL] = RPC_INTERNAL,
	};
	struct broker_socket *s = context;

	switch (r->kind) {
	case RECORD_HEAD:
		break;
	case RECORD_BODY:
		if (r->len > SOCKET_BYTES_MAX - s->n_received) {
			socket_say(s, RPC_RATE, "a socket receives at most %d MiB",
				SOCKET_BYTES_MAX >> 20);
			return -EDQUOT;
		}
		s->n_received += r->len;
		buffer_add(&s->received, r->data, r->len);
		return s->received.failed ? -ENOMEM : 0;
	case RECORD_END:
		s->has_ended = true;
		break;
	case RECORD_ERROR:
		socket_say(s, classes[r->values.v[RECORD_CAUSE].number], "%s: %s", s->origin,
			r->values.v[RECORD_MESSAGE].text);
		break;
	}
	return 0;
}

/* Reads one piece. Whoever waits is answered as far as there is something to say. */
static void socket_on_output(struct watcher *w, uint32_t events)
{
	static char piece[PIECE];
	struct broker_socket *s = container_of(w, struct broker_socket, output);
	ssize_t n = read(s->out, piece, sizeof(piece));
	int r = 0;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		r = record_reader_feed(&s->reader, piece, (size_t)n, socket_on_record, s);
	if (r == -EPROTO)
		socket_say(s, RPC_INTERNAL, "what corral-fetch sent was not understood");
	if (r < 0) {
		socket_say(s, RPC_INTERNAL, "out of memory");
		(void)corral_process_kill(s->process);
	}
	if (n <= 0 || r < 0 || s->why.message)
		socket_break(s);
	if (s->opening && s->reader.has_head)
		socket_opened(s);
	else if (s->reading)
		(void)socket_give(s->reading, s);
}

int socket_begin(struct broker_socket *s)
{
	struct socket_wait *w = s->opening->state;
	int r;

	s->in = corral_process_take_fd(s->process, CORRAL_STDIN);
	s->out = corral_process_take_fd(s->process, CORRAL_STDOUT);
	s->output = (struct watcher){ .ready = socket_on_output, .fd = -1 };
	r = s->in < 0 || s->out < 0 ? -EBADF
				    : loop_add(socket_loop(s), &s->output, s->out, EPOLLIN);
	/* Its time is counted from now: before, it waited for a thread, and for a sandbox. */
	return r < 0 ? r : loop_start(socket_loop(s), &w->timer, s->connect_ms);
}

/* Waiting */

static void socket_cancel(struct monitor_call *c)
{
	struct socket_wait *w = c->state;
	struct broker_socket *s = w->socket;
	const bool opens = s->opening == c;

	socket_wake(c);
	if (opens)
		socket_free(s);
}

static void socket_on_timeout(struct timer *t)
{
	struct socket_wait *w = container_of(t, struct socket_wait, timer);
	struct broker_socket *s = w->socket;
	struct monitor_call *c = w->call;
	const size_t written = w->written;
	struct rpc_refusal why = { .class = RPC_TIMEOUT,
		.message = s->reading == c ? "nothing was received in this time"
					   : "nothing could be sent in this time" };
	struct values v = { 0 };

	if (s->opening == c) {
		socket_say(s, RPC_TIMEOUT, "%s: no connection in this time", s->origin);
		socket_fail_opening(s);
		return;
	}
	socket_wake(c);
	v.v[0] = value_number(SCHEMA_NUMBER, written);
	if (written > 0)
		monitor_answer(c, &v);
	else
		monitor_refuse(c, &why);
}

int socket_await(struct monitor_call *c, struct broker_socket *s)
{
	struct socket_wait *w = arena_calloc(&c->arena, 1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->call = c;
	w->socket = s;
	w->timer.expired = socket_on_timeout;
	c->state = w;
	c->cancel = socket_cancel;
	return loop_start(
		socket_loop(s), &w->timer, method_timeout_ms(c->call.method, &c->call.params));
}

/* Reading */

bool socket_give(struct monitor_call *c, struct broker_socket *s)
{
	enum { SOCKET, MAX };
	enum { DATA, SAYS, END };
	const struct value *max = &c->call.params.v[MAX];
	const size_t wanted = max->type == SCHEMA_NONE ? READ_DEFAULT : max->number;
	const size_t left = s->received.len - s->taken;
	const size_t n = left < wanted ? left : wanted;
	struct values v = { 0 };

	if (left == 0 && !s->has_ended && !s->is_explained)
		return false;
	socket_wake(c);
	if (left == 0 && !s->has_ended) {
		monitor_refuse(c, &s->why);
		return true;
	}
	v.v[DATA] = (struct value){
		.type = SCHEMA_DATA, .text = n > 0 ? s->received.data + s->taken : "", .len = n
	};
	v.v[END] = value_number(SCHEMA_FLAG, s->has_ended && n == left);
	s->taken += n;
	monitor_answer(c, &v);
	if (s->taken == s->received.len) {
		buffer_clear(&s->received);
		s->taken = 0;
	}
	return true;
}

/* Writing */

/* Hands on what the pipe takes. */
static void socket_send(struct broker_socket *s, struct socket_wait *w)
{
	const struct value *data = &w->call->call.params.v[1];

	while (s->in >= 0 && w->written < data->len) {
		ssize_t n = write(s->in, data->text + w->written, data->len - w->written);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			socket_break(s);
		w->written += n < 0 ? 0 : (size_t)n;
		s->n_sent += n < 0 ? 0 : (size_t)n;
	}
}

/* There is room in the pipe; or its reader has gone, and its end says why. */
void socket_go_on_writing(struct broker_socket *s)
{
	struct monitor_call *c = s->writing;
	struct socket_wait *w = c->state;
	const size_t len = c->call.params.v[1].len;
	struct values v = { 0 };

	socket_send(s, w);
	if (w->written < len && !s->is_explained)
		return;
	v.v[0] = value_number(SCHEMA_NUMBER, w->written);
	socket_wake(c);
	if (w->written < len)
		monitor_refuse(c, &s->why);
	else
		monitor_answer(c, &v);
}

void socket_on_input(struct watcher *w, uint32_t events)
{
	(void)events;
	socket_go_on_writing(container_of(w, struct broker_socket, input));
}
