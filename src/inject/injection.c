/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/injection.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "inject/answers.h"
#include "inject/h2/h2.h"
#include "inject/inspection.h"
#include "inject/login.h"
#include "inject/requests.h"
#include "inject/side.h"
#include "net/gate/http-requests.h"
#include "vault/format.h"

enum {
	HTTPS_PORT = 443,
	SECURITY_LEVEL = 2, /* keys and digests of 112 bits, whatever openssl.cnf says */
	HANDSHAKE_MS = 30000,
	IDLE_MS = 200,  /* then the last bytes of an answer that goes on do not wait any more */
	PASSES_MAX = 8, /* before other connections have their turn */
	TLS_RECORD = 0x16,
	/* A client that sends a body gets the reason before the connection is closed. */
	REFUSED_MS = 2000,
	REFUSED_BYTES = 64 << 20,
};

/* The client says what it speaks (HELLO), the host chooses of that (OUTER), and the client is given
 * that (INNER). */
enum injection_state {
	INJECTION_FIRST,
	INJECTION_HELLO,
	INJECTION_OUTER,
	INJECTION_INNER,
	INJECTION_OPEN,
	INJECTION_REFUSED, /* a request was: its answer goes out, and nothing else */
};

enum injection_side_name { INNER, OUTER };

struct injection {
	struct injection_options o;
	enum injection_state state;
	struct inject_side sides[2];
	struct inject_requests *requests;
	struct inject_answers *answers;
	struct h2 *h2;             /* in place of those two */
	struct timer timer;        /* of the handshakes */
	struct timer idle, again;  /* once it is open */
	bool rests;                /* HTTP/1.1: `idle` has expired since the host's last byte */
	char authority[64 + 256];  /* as a request names it */
	struct inspection_ask ask; /* about the request that is next */
	struct login_ask login;    /* with the request that passes */
	const char *denied;        /* why that request is; NULL: it is not */
	bool is_head;              /* it is HEAD */
	bool has_left;             /* the client, before it sent anything */
	size_t dropped;            /* of a client whose request was refused */
};

/* TLS */

static int injection_start_hello(struct injection *x)
{
	struct error e = { 0 };
	SSL_CTX *server;

	x->state = INJECTION_HELLO;
	return authority_server(x->o.authority, x->o.host, &server, &e) < 0 ||
			       side_listen(&x->sides[INNER], server, x->o.host) < 0
		       ? -ENOMEM
		       : 1;
}

/* Of what the client offered, the host chooses. */
static int injection_start_outer(struct injection *x)
{
	const unsigned offered = x->sides[INNER].offered;
	/* Streams are not shown to the policy, and their answers not kept back. */
	const bool has_h2 =
		h2_is_there() && !x->o.inspection && !x->o.login && (offered & SIDE_HTTP_2);
	const char *protocols = !has_h2                 ? "\x08http/1.1"
				: offered & SIDE_HTTP_1 ? "\x02h2\x08http/1.1"
							: "\x02h2";

	x->state = INJECTION_OUTER;
	return side_connect(&x->sides[OUTER], x->o.client, x->o.host, protocols) < 0 ? -ENOMEM : 1;
}

static int injection_start_inner(struct injection *x)
{
	x->state = INJECTION_INNER;
	side_choose(&x->sides[INNER], side_protocol(&x->sides[OUTER]));
	return 1;
}

/* Ends */

void injection_free(struct injection *x)
{
	loop_stop(x->o.loop, &x->timer);
	loop_stop(x->o.loop, &x->idle);
	loop_stop(x->o.loop, &x->again);
	for (int i = 0; i < 2; i++)
		side_deinit(&x->sides[i], x->o.loop);
	inspection_leave(&x->ask);
	login_leave(&x->login);
	inject_requests_free(x->requests);
	inject_answers_free(x->answers);
	h2_free(x->h2);
	free(x);
}

static void injection_end(struct injection *x, const char *text)
{
	x->o.done(x->o.context, x, text);
	injection_free(x);
}

/* A client that compares certificates after the handshake closes without a word. One that only
 * connects in advance does, too, but not to a host to which nothing was ever sent. */
static const char *injection_explain_end(const struct injection *x)
{
	return x->has_left && !*x->o.is_used
		       ? "the client closed the connection before it sent a request: it may pin "
			 "the host's certificate. " SIDE_TRUST
		       : NULL;
}

static const char *injection_explain_inner(int r)
{
	static const struct {
		int error;
		const char *text;
	} rows[] = {
		{ -EXDEV, "a request, or its TLS (SNI), names another host than the one that it "
			  "was sent to" },
		{ -EINVAL, "it is not the HTTP that was agreed on, or two readers could read it "
			   "differently" },
		{ -EKEYREJECTED, "a request is signed in its URL, in each chunk of its body, for "
				 "another time than now, or without its host (AWS): what can be "
				 "signed again is a signature in the Authorization header" },
		{ -E2BIG, "a head is too long, too many requests wait, or too many frames come "
			  "that bring nothing" },
		{ -EOPNOTSUPP, "an answer is compressed, or a part of one, although that was not "
			       "asked for, so it cannot be searched for the secret" },
		{ -EPROTO, "it does not begin with TLS, and a secret goes nowhere without" },
		{ -EPROTONOSUPPORT, "the client speaks HTTP/2 alone, and the host, this build of "
				    "Corral, or the way to a host of network.inspect or --login "
				    "does not" },
		{ -EIO, "the client does not accept the sandbox's certificate: it trusts a list of "
			"its own, or pins the host's. " SIDE_TRUST },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].error == r)
			return rows[i].text;
	return NULL;
}

/* HTTP */

static int injection_begins(void *context, const struct http_request *q)
{
	struct injection *x = context;
	int r = 0;

	/* One at a time: who answers two could be made to mix them up. */
	if (!inject_answers_are_complete(x->answers))
		return HTTP_HOLD;
	x->is_head = strcmp(q->method, "HEAD") == 0;
	r = login_judge(&x->login, q);
	if (r == 0 && x->o.inspection)
		r = inspection_judge(&x->ask, q);
	return r == 0 ? inject_answers_expect(x->answers, q->method, q->upgrade) : r;
}

static bool injection_may(void *context, const struct placeholder *p, uint32_t place,
	const char *field, size_t field_len)
{
	struct injection *x = context;

	if (place & (VAULT_BODY | VAULT_FORM) && login_lends(&x->login, p->name))
		place = VAULT_LOGIN;
	return x->o.may(x->o.context, p, place, field, field_len);
}

static void injection_body(void *context, const void *data, size_t len)
{
	struct injection *x = context;

	login_body(&x->login, data, len);
}

static int injection_hold(void *context, unsigned status, const char *type, size_t type_len)
{
	struct injection *x = context;

	return login_hold(&x->login, status, type, type_len);
}

static int injection_held(void *context, const char *body, size_t len, bool is_framed)
{
	struct injection *x = context;

	return login_take(&x->login, body, len, is_framed);
}

static void injection_upgraded(void *context, bool accepted)
{
	struct injection *x = context;

	inject_requests_upgraded(x->requests, accepted);
}

static void injection_note(const struct injection *x, const char *text)
{
	if (text && x->o.note)
		x->o.note(x->o.context, text);
}

static void injection_refused(void *context, int error)
{
	injection_note(context, injection_explain_inner(error));
}

/* Of a stream. */
static const char *injection_denied(void *context)
{
	const struct injection *x = context;
	const char *why = x->o.denied ? x->o.denied(x->o.context) : NULL;

	injection_note(x, why);
	return why;
}

static int injection_start_h2(struct injection *x)
{
	const struct h2_options o = { .placeholders = x->o.placeholders,
		.masking = x->o.masking,
		.host = x->authority,
		.port = x->o.port,
		.usual_port = HTTPS_PORT,
		.may = injection_may,
		.rewrites = x->o.rewrites,
		.denied = injection_denied,
		.refused = injection_refused,
		.context = x,
		.budget = x->o.budget };
	int r = h2_new(&x->h2, &o);

	if (r == 0)
		x->state = INJECTION_OPEN;
	return r;
}

static int injection_start_http(struct injection *x)
{
	const struct inject_requests_options requests = { .placeholders = x->o.placeholders,
		.host = x->authority,
		.port = x->o.port,
		.usual_port = HTTPS_PORT,
		.may = injection_may,
		.rewrites = x->o.rewrites,
		.is_plain = x->o.is_plain,
		.begins = injection_begins,
		.body = x->o.login ? injection_body : NULL,
		.context = x };
	const struct inject_answers_options answers = { .masking = x->o.masking,
		.hold = x->o.login ? injection_hold : NULL,
		.held = injection_held,
		.upgraded = injection_upgraded,
		.context = x };
	int r;

	if (x->sides[INNER].chosen == SIDE_HTTP_2)
		return x->o.inspection || x->o.login ? -EPROTONOSUPPORT : injection_start_h2(x);
	r = inject_requests_new(&x->requests, &requests);
	if (r == 0)
		r = inject_answers_new(&x->answers, &answers);
	if (r == 0)
		x->state = INJECTION_OPEN;
	return r;
}

/* From one side's `in` to the other's `out`. Returns whether something moved. */
static int injection_move(struct injection *x, enum injection_side_name from)
{
	struct inject_side *s = &x->sides[from], *to = &x->sides[!from];
	bool last = from == OUTER && s->ended;
	ssize_t n;

	if (to->out.len - to->written >= SIDE_OUT_MAX)
		return 0;
	if (s->in.len == 0 && !(last && !to->closed)) {
		return 0;
	} else if (from == INNER) {
		n = inject_requests_feed(
			x->requests, (const uint8_t *)s->in.data, s->in.len, &to->out);
		x->denied = n > 0 && x->o.denied ? x->o.denied(x->o.context) : NULL;
		n = x->denied ? -EACCES : n;
	} else {
		n = inject_answers_feed(x->answers, (const uint8_t *)buffer_text(&s->in), s->in.len,
			last, &to->out);
		if (n == -E2BIG && x->login.state == LOGIN_TURN)
			n = login_too_long(&x->login);
		if (n >= 0 && inject_answers_are_complete(x->answers))
			login_done(&x->login);
	}
	s->wants_more = n == 0;
	if (n > 0)
		side_take(s, (size_t)n);
	return n < 0 ? (int)n : n > 0;
}

/* What was read of a side goes into its session, and what that has to say, out. */
static int injection_move_h2(struct injection *x, enum injection_side_name side)
{
	struct inject_side *s = &x->sides[side];
	const enum h2_side from = side == INNER ? H2_CLIENT : H2_HOST;
	const size_t came = s->in.len, before = s->out.len;
	int r = 0;

	if (came > 0)
		r = h2_receive(x->h2, from, (const uint8_t *)s->in.data, came, loop_now(x->o.loop));
	if (came > 0)
		side_take(s, came);
	if (side == OUTER && s->ended)
		h2_host_ended(x->h2);
	if (r == 0)
		r = h2_send(x->h2, from, &s->out, s->written + SIDE_OUT_MAX);
	/* Why was said already. */
	return r < 0 ? -ECANCELED : came > 0 || s->out.len > before;
}

/* A client that does not read its answer is not read either. */
static bool injection_reads(const struct injection *x, enum injection_side_name side)
{
	const struct inject_side *s = &x->sides[side];

	return !x->h2 || s->out.len - s->written < SIDE_OUT_MAX;
}

/* One pass over everything. 1: something moved, so it is worth another one. */
static int injection_pass(struct injection *x)
{
	int moved = 0;

	for (int from = INNER; from <= OUTER; from++) {
		const bool had_ended = x->sides[from].ended;
		int steps[3] = { side_write(&x->sides[from]), 0, 0 };

		/* A peer that has gone may have said something before. */
		if (steps[0] == -EPIPE && from == INNER)
			return -EPIPE;
		if (injection_reads(x, (enum injection_side_name)from))
			steps[1] = side_read(&x->sides[from]);
		if (steps[1] == -EPIPE || (steps[1] == -EIO && from == OUTER))
			x->sides[from].ended = x->sides[from].cut = true;
		else if (steps[1] < 0)
			return steps[1];
		steps[2] = x->h2 ? injection_move_h2(x, (enum injection_side_name)from)
				 : injection_move(x, (enum injection_side_name)from);
		if (steps[2] < 0)
			return steps[2];
		if (from == OUTER && steps[1] > 0) {
			loop_stop(x->o.loop, &x->idle);
			x->rests = false;
		}
		if (from == INNER && steps[1] > 0)
			*x->o.is_used = true;
		if (from == INNER && x->sides[INNER].ended && !x->sides[OUTER].ended)
			x->has_left = !*x->o.is_used;
		/* An end brings no bytes, and lets those go that waited for it. */
		moved |= steps[0] > 0 || steps[1] > 0 || steps[2] > 0 ||
			 x->sides[from].ended != had_ended;
	}
	return moved;
}

static bool injection_is_over_h2(struct injection *x)
{
	struct inject_side *inner = &x->sides[INNER];

	if (inner->ended)
		return true;
	if (!h2_is_over(x->h2) || inner->out.len > inner->written)
		return false;
	side_close(inner, false);
	side_close(&x->sides[OUTER], false);
	return true;
}

static bool injection_is_over(struct injection *x)
{
	if (x->h2)
		return injection_is_over_h2(x);
	/* The host may have ended: its answer is still to come. */
	if (inject_answers_is_held(x->answers))
		return x->sides[INNER].ended;
	for (int from = INNER; from <= OUTER; from++) {
		struct inject_side *s = &x->sides[from], *to = &x->sides[!from];

		if (s->ended && s->in.len == 0 && to->out.len == to->written)
			side_close(to, s->cut);
	}
	return x->sides[INNER].closed;
}

static int injection_wait(struct injection *x)
{
	int r = side_wait(&x->sides[INNER], x->o.loop);

	return r < 0 ? r : side_wait(&x->sides[OUTER], x->o.loop);
}

/* Nothing of the host is here any more, and nothing is on its way that we know of. */
static bool injection_has_all(const struct injection *x)
{
	return x->sides[OUTER].waits & EPOLLIN && !side_has_part(&x->sides[OUTER]);
}

/* The last bytes of an answer wait for what follows; but not for ever. */
static int injection_wait_idle_h2(struct injection *x)
{
	const struct inject_side *outer = &x->sides[OUTER];
	const uint64_t now = loop_now(x->o.loop);
	uint64_t due;

	if (!injection_has_all(x) || outer->out.len > outer->written)
		return 0;
	if (h2_flush(x->h2, now))
		return loop_start(x->o.loop, &x->again, 0);
	due = h2_rest(x->h2, now);
	if (due == UINT64_MAX) {
		loop_stop(x->o.loop, &x->idle);
		return 0;
	}
	return loop_start(x->o.loop, &x->idle, due > now ? due - now : 0);
}

static int injection_wait_idle(struct injection *x)
{
	struct inject_side *inner = &x->sides[INNER];
	int r;

	if (x->h2)
		return injection_wait_idle_h2(x);
	/* While the client has no room, what follows may be here already. */
	if (x->idle.place > 0 || !inject_answers_waits(x->answers) || !injection_has_all(x) ||
		inner->out.len - inner->written >= SIDE_OUT_MAX)
		return 0;
	if (!x->rests)
		return loop_start(x->o.loop, &x->idle, IDLE_MS);
	x->rests = false;
	r = inject_answers_flush(x->answers, &inner->out);
	return r < 0 ? r : loop_start(x->o.loop, &x->again, 0);
}

/* A request that was refused */

static void injection_refused_step(struct injection *x)
{
	struct inject_side *s = &x->sides[INNER];
	int r = 1;

	s->waits = 0;
	for (int i = 0; r > 0 && i < PASSES_MAX; i++)
		r = side_write(s);
	if (s->out.len == s->written)
		side_close(s, false);
	for (int i = 0; r >= 0 && i < PASSES_MAX && s->in.len + x->dropped < REFUSED_BYTES; i++) {
		r = side_read(s);
		x->dropped += s->in.len;
		side_take(s, s->in.len);
		if (r == 0)
			break;
	}
	if (r > 0)
		r = loop_start(x->o.loop, &x->again, 0);
	if (r < 0 || s->ended || x->dropped >= REFUSED_BYTES || side_wait(s, x->o.loop) < 0)
		injection_end(x, NULL);
}

static void injection_on_refused_late(struct timer *t)
{
	injection_end(container_of(t, struct injection, timer), NULL);
}

/* All answers before it have been passed on: one request is served at a time. */
static void injection_refuse(struct injection *x)
{
	const char *why = x->denied ? x->denied : login_why(&x->login);
	struct buffer *out = &x->sides[INNER].out;
	auto_buffer text = { 0 };

	injection_note(x, why);
	buffer_printf(&text, "corral: denied: %s\n", why ? why : inspection_why(&x->ask));
	buffer_printf(out,
		"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		text.len);
	if (!x->is_head)
		buffer_add(out, buffer_text(&text), text.len);
	x->state = INJECTION_REFUSED;
	x->timer.expired = injection_on_refused_late;
	loop_stop(x->o.loop, &x->idle);
	loop_stop(x->o.loop, &x->again);
	side_deinit(&x->sides[OUTER], x->o.loop);
	x->sides[OUTER] = (struct inject_side){ .owner = x, .fd = -1 };
	x->sides[OUTER].watcher.fd = -1;
	side_take(&x->sides[INNER], x->sides[INNER].in.len);
	login_leave(&x->login);
	if (text.failed || out->failed || loop_start(x->o.loop, &x->timer, REFUSED_MS) < 0)
		injection_end(x, NULL);
	else
		injection_refused_step(x);
}

static void injection_open_step(struct injection *x)
{
	int r = 1;

	for (int i = 0; r > 0 && i < PASSES_MAX; i++)
		r = injection_pass(x);
	/* In the middle of an answer nothing can be said. */
	if (r == -EACCES && x->denied && inject_answers_have_begun(x->answers)) {
		injection_end(x, x->denied);
		return;
	}
	if (r == -EACCES) {
		injection_refuse(x);
		return;
	}
	if (r == 0 && injection_is_over(x)) {
		injection_end(x, injection_explain_end(x));
		return;
	}
	/* While more is there, nothing of it rests. */
	if (r > 0)
		r = loop_start(x->o.loop, &x->again, 0);
	else if (r == 0)
		r = injection_wait_idle(x);
	if (r < 0 || injection_wait(x) < 0)
		injection_end(x, injection_explain_inner(r));
}

static void injection_on_again(struct timer *t)
{
	struct injection *x = container_of(t, struct injection, again);

	x->sides[INNER].waits = x->sides[OUTER].waits = 0;
	if (x->state == INJECTION_REFUSED)
		injection_refused_step(x);
	else
		injection_open_step(x);
}

static void injection_on_answered(struct inspection_ask *a)
{
	struct injection *x = container_of(a, struct injection, ask);

	x->sides[INNER].waits = x->sides[OUTER].waits = 0;
	injection_open_step(x);
}

/* Its turn has come, or its tokens are stored, or they are not. */
static void injection_on_login(struct login_ask *a)
{
	struct injection *x = container_of(a, struct injection, login);
	auto_buffer body = { 0 };

	if (x->state != INJECTION_OPEN)
		return;
	x->sides[INNER].waits = x->sides[OUTER].waits = 0;
	if (login_why(a) && inject_answers_have_begun(x->answers)) {
		injection_end(x, login_why(a));
		return;
	}
	if (login_why(a)) {
		injection_refuse(x);
		return;
	}
	if (a->state == LOGIN_STORED &&
		(login_print(a, &body) < 0 || inject_answers_release(x->answers, buffer_text(&body),
						      body.len, &x->sides[INNER].out) < 0)) {
		injection_end(x, NULL);
		return;
	}
	login_done(a);
	injection_open_step(x);
}

static void injection_on_idle(struct timer *t)
{
	struct injection *x = container_of(t, struct injection, idle);

	/* What the host has sent meanwhile is read first. */
	x->rests = true;
	x->sides[INNER].waits = x->sides[OUTER].waits = 0;
	injection_open_step(x);
}

/* Handshakes */

static void injection_on_late(struct timer *t)
{
	injection_end(container_of(t, struct injection, timer), "TLS was not agreed on in time");
}

/* 1: go on. 0: wait. Negative: it has ended. */
static int injection_first(struct injection *x)
{
	uint8_t byte;
	ssize_t n = recv(x->sides[INNER].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		x->sides[INNER].waits = EPOLLIN;
		return 0;
	}
	return n == 1 && byte == TLS_RECORD ? injection_start_hello(x) : -EPROTO;
}

static void injection_fail(struct injection *x, int r)
{
	const struct inject_side *inner = &x->sides[INNER];
	char text[512];

	if (x->state == INJECTION_HELLO && r == -EIO)
		r = -EPROTO;
	if (x->state == INJECTION_INNER && r == -EIO && inner->offered &&
		!(inner->offered & inner->chosen))
		r = -EPROTONOSUPPORT;
	if (x->state != INJECTION_OUTER) {
		injection_end(x, injection_explain_inner(r));
		return;
	}
	side_explain(&x->sides[OUTER], x->o.host, text, sizeof(text));
	injection_end(x, text);
}

static int injection_shake(struct injection *x)
{
	int r = 1;

	if (x->state == INJECTION_FIRST)
		r = injection_first(x);
	if (r == 1 && x->state == INJECTION_HELLO) {
		r = side_handshake(&x->sides[INNER]);
		if (r == 1)
			r = injection_start_outer(x);
	}
	if (r == 1 && x->state == INJECTION_OUTER) {
		r = side_handshake(&x->sides[OUTER]);
		if (r == 1)
			r = injection_start_inner(x);
	}
	if (r == 1 && x->state == INJECTION_INNER) {
		r = side_handshake(&x->sides[INNER]);
		if (r == 1)
			r = injection_start_http(x) < 0 ? -ENOMEM : 1;
	}
	if (r == 1)
		loop_stop(x->o.loop, &x->timer);
	return r;
}

static void injection_step(struct injection *x)
{
	int r = 1;

	if (x->state == INJECTION_REFUSED) {
		injection_refused_step(x);
		return;
	}
	x->sides[INNER].waits = x->sides[OUTER].waits = 0;
	if (x->state != INJECTION_OPEN)
		r = injection_shake(x);
	if (r == 1)
		injection_open_step(x);
	else if (r < 0 || injection_wait(x) < 0)
		injection_fail(x, r);
}

static void injection_on_ready(struct watcher *w, uint32_t events)
{
	(void)events;
	injection_step(container_of(w, struct inject_side, watcher)->owner);
}

int injection_new(struct injection **ret, const struct injection_options *o, int inner, int outer)
{
	struct injection *x = calloc(1, sizeof(*x));
	const int fds[2] = { inner, outer };
	int r = 0;

	if (!x) {
		fd_close(&inner);
		fd_close(&outer);
		return -ENOMEM;
	}
	x->o = *o;
	(void)snprintf(
		x->authority, sizeof(x->authority), strchr(o->host, ':') ? "[%s]" : "%s", o->host);
	x->ask = (struct inspection_ask){
		.all = o->inspection, .connection = o->id, .answered = injection_on_answered
	};
	x->login = (struct login_ask){ .login = o->login, .answered = injection_on_login };
	x->timer.expired = injection_on_late;
	x->idle.expired = injection_on_idle;
	x->again.expired = injection_on_again;
	for (int i = 0; i < 2; i++) {
		x->sides[i] = (struct inject_side){ .owner = x, .fd = fds[i] };
		x->sides[i].watcher = (struct watcher){ .ready = injection_on_ready, .fd = -1 };
	}
	for (int i = 0; r == 0 && i < 2; i++)
		r = loop_add(o->loop, &x->sides[i].watcher, fds[i], EPOLLIN);
	if (r == 0)
		r = loop_start(o->loop, &x->timer, HANDSHAKE_MS);
	if (r < 0) {
		injection_free(x);
		return r;
	}
	*ret = x;
	return 0;
}
