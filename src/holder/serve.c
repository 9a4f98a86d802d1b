/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "event/loop.h"
#include "holder/details.h"
#include "holder/join.h"
#include "holder/live.h"
#include "host/resolver.h"
#include "policy/format/image.h"
#include "wire/hold.h"
#include "wire/report.h"

enum {
	SERVE_SESSIONS_MAX = 1024,
	SERVE_ANSWER_MS = 5000, /* for a session to confirm; corrald waits for ten seconds */
	SERVE_TURN = 64,        /* frames of corrald that are read at once */
	SERVE_NOTES_MAX = 256,  /* that the program did not pull; further ones are counted */
	SERVE_NUMBER_SHIFT = 32,
};
/* Of a question: the session, and its own number there (lib/sandbox/live.c). */
#define SERVE_NUMBER_MASK ((uint64_t)INT32_MAX << SERVE_NUMBER_SHIFT)

struct serve_session {
	struct serve_session *next;
	struct holder_process *of;
	uint64_t number;
	uint64_t waits; /* for the answer to that change; 0: for none */
	bool is_new;    /* the program waits until it has what is granted */
	bool has_grants;
	struct watcher watch;
};

struct held_answer {
	uint64_t asker;
	struct answer a;
};

struct holder_process {
	struct loop *loop;
	int control;
	bool is_over;
	struct watcher control_watch, host_watch, connection_watch;
	struct timer patience;
	struct holder_join join;
	uint64_t connection; /* its number */
	struct holder_live live;
	struct frame frame; /* of whom it came from */
	/* What is declared. */
	uint32_t flags;
	struct limits limits;
	struct buffer declared, next; /* the body of the frame, which has the variables */
	struct variables variables;
	struct permissions *permissions; /* or NULL */
	const struct permissions *layers[HOLDER_LIVE_CEILING_MAX];
	uint64_t declaring; /* the id, while sessions give back what was granted; 0: not */
	/* Sessions, and the change that they have or get. */
	struct serve_session *sessions;
	size_t n_sessions;
	uint64_t last_number;
	uint64_t change;
	struct buffer list;  /* FRAME_GRANTS for them; empty: nothing was ever granted */
	struct buffer whole; /* the same with what only the program judges */
	size_t n_whole;
	bool has_grants, has_any, is_putting; /* sessions have some; the program, too */
	int code;                             /* of the change */
	struct error why;
	/* What the program is to pull. */
	bool has_news, has_whole;
	struct buffer *notes; /* encoded events */
	size_t n_notes, cap_notes;
	uint64_t n_missing;
	struct held_answer answers[HOLDER_LIVE_QUESTIONS_MAX];
	size_t n_answers;
	struct error failed; /* something cannot be taken back */
};

/* To the program */

static void serve_tell(struct holder_process *s, enum frame_type type, uint64_t id,
	const void *body, size_t len, int fd)
{
	/* It reads what it causes. One that does not is not held any more. */
	if (frame_send(s->control, type, id, body, len, &fd, fd >= 0) < 0)
		s->is_over = true;
}

static void serve_tell_news(struct holder_process *s)
{
	if (!s->has_news)
		serve_tell(s, FRAME_HOLD_NEWS, 0, NULL, 0, -1);
	s->has_news = true;
}

static void serve_on_pull(struct holder_process *s)
{
	s->has_news = false;
	for (size_t i = 0; i < s->n_notes; i++) {
		serve_tell(s, FRAME_EVENT, 0, s->notes[i].data, s->notes[i].len, -1);
		buffer_deinit(&s->notes[i]);
	}
	if (s->n_missing)
		serve_tell(s, FRAME_EVENT, s->n_missing, NULL, 0, -1);
	s->n_notes = 0;
	s->n_missing = 0;
	for (size_t i = 0; i < s->n_answers; i++) {
		auto_buffer body = { 0 };

		if (answer_encode(&s->answers[i].a, &body) == 0)
			serve_tell(s, FRAME_ANSWER, s->answers[i].asker, body.data, body.len, -1);
	}
	s->n_answers = 0;
	if (s->has_whole)
		serve_tell(s, FRAME_GRANTS, s->change, s->whole.data, s->whole.len, -1);
	s->has_whole = false;
	if (s->failed.text[0])
		serve_tell(s, FRAME_GONE, 0, s->failed.text, strlen(s->failed.text) + 1, -1);
	s->failed = (struct error){ 0 };
	serve_tell(s, FRAME_HOLD_PULL, 0, NULL, 0, -1);
}

/* Sessions */

static void serve_settle(struct holder_process *s);

/* With grants its warden ends. */
static void serve_drop_session(struct serve_session *x)
{
	struct serve_session **at = &x->of->sessions;
	int fd = x->watch.fd;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	x->of->n_sessions--;
	if (x->is_new)
		serve_tell(x->of, FRAME_HOLD_SESSION, x->number, NULL, 0, -1);
	loop_remove(x->of->loop, &x->watch);
	fd_close(&fd);
	free(x);
}

static struct serve_session *serve_find_session(struct holder_process *s, uint64_t number)
{
	struct serve_session *x = s->sessions;

	while (x && x->number != number)
		x = x->next;
	return x;
}

/* Gives it what is granted now. False: it is gone. */
static bool serve_put_session(struct serve_session *x)
{
	struct holder_process *s = x->of;

	if (frame_send(x->watch.fd, FRAME_GRANTS, s->change, s->list.data, s->list.len, NULL, 0) <
		0) {
		serve_drop_session(x);
		return false;
	}
	x->waits = s->change;
	x->has_grants = x->has_grants || s->has_grants;
	return true;
}

/* All of them; those that never had any need no empty list. */
static void serve_put_sessions(struct holder_process *s)
{
	struct serve_session *next;

	for (struct serve_session *x = s->sessions; x; x = next) {
		next = x->next;
		if (s->has_grants || x->has_grants)
			(void)serve_put_session(x);
	}
	(void)loop_start(s->loop, &s->patience, SERVE_ANSWER_MS);
}

/* -ENOTCONN: it has nothing that could enforce it, which only matters of the newest. */
static void serve_on_granted(struct serve_session *x, const struct refusal *r)
{
	struct holder_process *s = x->of;

	if (x->is_new)
		serve_tell(s, FRAME_HOLD_SESSION, x->number, NULL, 0, -1);
	/* What a session that comes later cannot enforce is not granted there. */
	if (r->error && !x->is_new && s->code == 0 &&
		(r->error != ENOTCONN || x->number == s->last_number)) {
		s->code = r->error == ENOTCONN ? -EOPNOTSUPP : -r->error;
		(void)error_set(&s->why, s->code, NULL, "%s", r->text);
	}
	if (r->error == 0)
		x->has_grants = s->has_grants;
	x->is_new = false;
	x->waits = 0;
}

static int serve_take_session_frame(struct serve_session *x, const struct frame *f)
{
	struct refusal r = { .text = "" };

	if (f->type != FRAME_GRANTS || f->n_fds != 0 || f->id == 0 || f->id > x->of->change ||
		(f->len && refusal_decode(&r, f->body, f->len) < 0))
		return -EPROTO;
	/* Of one before it, which is not waited for any more. */
	if (f->id == x->waits)
		serve_on_granted(x, &r);
	return 0;
}

static void serve_session_ready(struct watcher *w, uint32_t events)
{
	struct serve_session *x = container_of(w, struct serve_session, watch);
	struct holder_process *s = x->of;
	int r = frame_receive(w->fd, &s->frame);

	(void)events;
	if (r == 1)
		r = serve_take_session_frame(x, &s->frame) < 0 ? 0 : 1;
	frame_deinit(&s->frame);
	if (r != 1 && r != -EAGAIN && r != -EINTR)
		serve_drop_session(x);
	serve_settle(s);
}

static void serve_out_of_patience(struct timer *t)
{
	struct holder_process *s = container_of(t, struct holder_process, patience);
	struct serve_session *next;

	for (struct serve_session *x = s->sessions; x; x = next) {
		next = x->next;
		if (x->waits)
			serve_drop_session(x);
	}
	serve_settle(s);
}

/* Changes */

static int serve_check(
	const struct holder_process *s, const struct live_grant *grants, size_t n, struct error *e)
{
	if (!(s->flags & HOLD_ENFORCES))
		return error_set(e, -EOPNOTSUPP, NULL, "mode rwx does not confine anything");
	for (size_t i = 0; !(s->flags & (HOLD_BROKER | HOLD_JUDGES)) && i < n; i++)
		if (grants[i].op != OPERATION_NET_CONNECT)
			return error_set(e, -EOPNOTSUPP, NULL,
				"commands keep the files and programs that the program which runs "
				"them declared; with a broker they get others by sandbox-call");
	return 0;
}

static int serve_write_lists(struct holder_process *s, const struct live_grant *grants, size_t n)
{
	struct live_grant *some = calloc(n + 1, sizeof(*some));
	auto_buffer list = { 0 }, whole = { 0 };
	size_t k = 0;
	int r = some ? live_grants_encode(grants, n, &whole) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (grants[i].op == OPERATION_NET_CONNECT || !(s->flags & HOLD_JUDGES))
			some[k++] = grants[i];
	}
	if (r == 0)
		r = live_grants_encode(some, k, &list);
	free(some);
	if (r < 0)
		return r;
	buffer_deinit(&s->list);
	buffer_deinit(&s->whole);
	s->list = list;
	s->whole = whole;
	list = whole = (struct buffer){ 0 };
	s->has_grants = k > 0;
	s->n_whole = n;
	s->change++;
	s->code = 0;
	s->why = (struct error){ 0 };
	return 0;
}

static int serve_put(void *context, const struct live_grant *grants, size_t n, struct error *e)
{
	struct holder_process *s = context;
	int r = serve_check(s, grants, n, e);

	if (r == 0) {
		r = serve_write_lists(s, grants, n);
		if (r < 0)
			(void)error_set(e, r, NULL, "%s", strerror(-r));
	}
	if (r < 0)
		return r;
	s->is_putting = true;
	serve_put_sessions(s);
	serve_settle(s);
	return 0;
}

/* For a program that judges calls itself: it looks for news before each of them. */
static void serve_publish(struct holder_process *s)
{
	const bool had_any = s->has_any;

	s->has_any = s->n_whole > 0;
	if (!(s->flags & HOLD_JUDGES) || !(had_any || s->has_any))
		return;
	s->has_whole = true;
	serve_tell_news(s);
}

static void serve_declared(struct holder_process *s);

/* Whatever waited for the sessions goes on when none is waited for any more. */
static void serve_settle(struct holder_process *s)
{
	for (const struct serve_session *x = s->sessions; x; x = x->next)
		if (x->waits && !x->is_new)
			return;
	loop_stop(s->loop, &s->patience);
	if (s->declaring) {
		serve_declared(s);
	} else if (s->is_putting) {
		s->is_putting = false;
		/* Before it is confirmed: the program judges no call without having pulled it. */
		if (s->code == 0)
			serve_publish(s);
		holder_live_settled(&s->live, s->code, s->why.text);
	}
}

static void serve_fail(void *context, const char *why)
{
	struct holder_process *s = context;

	while (s->sessions)
		serve_drop_session(s->sessions);
	(void)error_set(&s->failed, -ECONNRESET, NULL,
		"the session was ended: a grant could not be taken back: %s", why);
	serve_tell_news(s);
}

static void held_answer(void *context, uint64_t asker, const struct answer *a)
{
	struct holder_process *s = context;
	const uint64_t number = (asker & SERVE_NUMBER_MASK) >> SERVE_NUMBER_SHIFT;
	struct serve_session *x = number ? serve_find_session(s, number) : NULL;
	struct answer copy = *a;
	auto_buffer body = { 0 };

	copy.pattern = "";
	if (number == 0 && s->n_answers < ROWS(s->answers)) {
		s->answers[s->n_answers++] = (struct held_answer){ asker, copy };
		serve_tell_news(s);
	} else if (x && answer_encode(&copy, &body) == 0 &&
		   frame_send(x->watch.fd, FRAME_ANSWER, asker & ~SERVE_NUMBER_MASK, body.data,
			   body.len, NULL, 0) < 0) {
		serve_drop_session(x);
	}
}

static void serve_note(void *context, const struct audit_event *e)
{
	struct holder_process *s = context;
	auto_buffer body = { 0 };

	/* Their texts are the live part's, and whole. */
	struct audit_event copy = *e;
	copy.session = copy.user = copy.sandbox = copy.program = copy.rule = "";
	audit_event_encode(&copy, &body);
	if (body.failed || s->n_notes >= SERVE_NOTES_MAX ||
		ARRAY_PUSH(s->notes, s->n_notes, s->cap_notes, body) < 0)
		s->n_missing++;
	else
		body = (struct buffer){ 0 };
	serve_tell_news(s);
}

/* What it may be granted is what was declared: the lines are the same. */
static void serve_describe(void *context)
{
	struct holder_process *s = context;
	struct join_details *d = calloc(1, sizeof(*d));
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	if (d && s->permissions) {
		memcpy(d->limits, s->limits.values, sizeof(d->limits));
		holder_details_add(
			s->permissions, &s->variables, &a, d->permissions, &d->n_permissions);
		d->n_ceiling = d->n_permissions;
		memcpy(d->ceiling, d->permissions, d->n_permissions * sizeof(d->permissions[0]));
		if (join_details_encode(d, &body) == 0)
			holder_join_send(&s->join, FRAME_JOIN_DETAILS, 0, &body);
	}
	free(d);
}

/* The program's frames */

static int serve_on_declare(struct holder_process *s, struct frame *f)
{
	struct hold_declare d;

	if (f->id == 0 || s->declaring || f->n_fds != 0 ||
		hold_declare_decode(&d, f->body, f->len) < 0)
		return -EPROTO;
	s->declaring = f->id;
	buffer_clear(&s->next);
	buffer_add(&s->next, f->body, f->len);
	if (s->next.failed)
		return -ENOMEM;
	s->is_putting = false;
	if (serve_write_lists(s, NULL, 0) < 0)
		return -ENOMEM;
	serve_put_sessions(s);
	serve_settle(s);
	return 0;
}

/* No session has a grant of before. */
static void serve_declared(struct holder_process *s)
{
	struct permissions *old = s->permissions;
	const uint64_t id = s->declaring;
	struct holder_live_ceiling ceiling = { .layers = s->layers,
		.options = { .variables = &s->variables, .resolver = &resolver_system } };
	struct hold_declare d = { .text = "" };
	int n;

	s->declaring = 0;
	(void)hold_declare_decode(&d, s->next.data, s->next.len);
	s->flags = d.flags;
	s->limits = d.limits;
	s->variables = d.variables;
	s->permissions = d.text[0] ? permissions_new() : NULL;
	n = s->permissions ? image_read_text(s->permissions, d.text) : -ENOENT;
	if (n == 0)
		n = permissions_layers(s->permissions, s->layers, HOLDER_LIVE_CEILING_MAX);
	/* Without a ceiling nothing can be granted. */
	ceiling.n_layers = n < 0 ? 0 : (size_t)n;
	serve_publish(s);
	serve_tell(s, FRAME_HOLD_DECLARE, id, NULL, 0, -1);
	holder_live_declare(&s->live, &ceiling);
	permissions_free(old);
	/* The variables are in there. */
	buffer_deinit(&s->declared);
	s->declared = s->next;
	s->next = (struct buffer){ 0 };
}

static int serve_on_session(struct holder_process *s, struct frame *f)
{
	struct serve_session *x;

	if (f->n_fds != 1 || f->len != 0 || f->id <= s->last_number || f->id > INT32_MAX)
		return -EPROTO;
	s->last_number = f->id;
	x = s->n_sessions < SERVE_SESSIONS_MAX ? calloc(1, sizeof(*x)) : NULL;
	if (x)
		x->watch.ready = serve_session_ready;
	/* It gets no grants. */
	if (!x || fcntl(f->fds[0], F_SETFL, O_NONBLOCK) < 0 ||
		loop_add(s->loop, &x->watch, f->fds[0], EPOLLIN) < 0) {
		free(x);
		serve_tell(s, FRAME_HOLD_SESSION, f->id, NULL, 0, -1);
		return 0;
	}
	(void)frame_take_fd(f, 0);
	x->of = s;
	x->number = f->id;
	x->next = s->sessions;
	s->sessions = x;
	s->n_sessions++;
	if (!s->has_grants) {
		serve_tell(s, FRAME_HOLD_SESSION, x->number, NULL, 0, -1);
		return 0;
	}
	x->is_new = true;
	if (serve_put_session(x))
		(void)loop_start(s->loop, &s->patience, SERVE_ANSWER_MS);
	return 0;
}

/* The program has it, too, so closing alone does not take it out of the loop. */
static void serve_unwatch_connection(struct holder_process *s)
{
	int fd = s->connection_watch.fd;

	loop_remove(s->loop, &s->connection_watch);
	fd_close(&fd);
}

static void serve_lose_connection(struct holder_process *s, const struct hold_lost *lost)
{
	serve_unwatch_connection(s);
	holder_join_lose(&s->join);
	serve_tell(s, FRAME_HOLD_CONNECTION, s->connection, lost, sizeof(*lost), -1);
}

static int serve_on_connection(struct holder_process *s, struct frame *f)
{
	auto_fd heard = -1;
	int fd, r;

	if (f->n_fds != 1 || f->len != 0)
		return -EPROTO;
	fd = frame_take_fd(f, 0);
	s->connection = f->id;
	serve_unwatch_connection(s);
	/* To hear: the join may close its own at any time. */
	heard = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	r = heard < 0 ? -errno : 0;
	if (r == 0)
		r = loop_add(s->loop, &s->connection_watch, heard, EPOLLIN);
	if (r == 0)
		(void)fd_take(&heard);
	if (r == 0)
		r = holder_join_adopt(&s->join, fd);
	else
		fd_close(&fd);
	serve_tell(s, FRAME_HOLD_CONNECTION, s->connection, NULL, 0, -1);
	if (r < 0)
		serve_lose_connection(s, &(struct hold_lost){ 0 });
	return 0;
}

static int serve_on_question(struct holder_process *s, struct frame *f)
{
	const uint64_t number = (f->id & SERVE_NUMBER_MASK) >> SERVE_NUMBER_SHIFT;
	const struct answer no = { .ttl_ms = 1, .pattern = "" };
	struct question q;
	int r;

	if (f->id == 0 || f->n_fds != 0 || question_decode(&q, f->body, f->len) < 0)
		return -EPROTO;
	r = holder_live_ask(&s->live, f->id, &q);
	if (number == 0) {
		const int32_t why = r;

		serve_tell(s, FRAME_QUESTION, f->id, &why, sizeof(why), -1);
	} else if (r != 0) {
		struct answer a = no;

		a.why = r > 0 ? (uint32_t)r : ANSWER_BY_USER;
		held_answer(s, f->id, &a);
	}
	return 0;
}

static int serve_on_over(struct holder_process *s, struct frame *f)
{
	struct hold_over o;

	if (f->n_fds != 0 || hold_over_decode(&o, f->body, f->len) < 0)
		return -EPROTO;
	holder_live_questions_over(&s->live, o.mask, f->id, (enum question_end)o.how);
	return 0;
}

static int serve_take_frame(struct holder_process *s, struct frame *f)
{
	switch (f->type) {
	case FRAME_HOLD_DECLARE:
		return serve_on_declare(s, f);
	case FRAME_HOLD_SESSION:
		return serve_on_session(s, f);
	case FRAME_HOLD_CONNECTION:
		return serve_on_connection(s, f);
	case FRAME_QUESTION:
		return serve_on_question(s, f);
	case FRAME_QUESTION_OVER:
		return serve_on_over(s, f);
	case FRAME_HOLD_PULL:
		serve_on_pull(s);
		return 0;
	default:
		return -EPROTO;
	}
}

static void serve_control_ready(struct watcher *w, uint32_t events)
{
	struct holder_process *s = container_of(w, struct holder_process, control_watch);
	int r = frame_receive(w->fd, &s->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r != 1 || serve_take_frame(s, &s->frame) < 0)
		s->is_over = true;
	frame_deinit(&s->frame);
}

static void serve_host_ready(struct watcher *w, uint32_t events)
{
	(void)events;
	container_of(w, struct holder_process, host_watch)->is_over = true;
}

/* corrald's frames */

/* All commands end now; the program starts no others when it hears of it. */
static void serve_stop(struct holder_process *s)
{
	struct serve_session *next;

	for (struct serve_session *x = s->sessions; x; x = next) {
		next = x->next;
		if (frame_send(x->watch.fd, FRAME_KILL, 0, NULL, 0, NULL, 0) < 0)
			serve_drop_session(x);
	}
}

/* False: it broke the protocol, or is gone. */
static bool serve_take_order(struct holder_process *s, struct frame *f)
{
	switch (f->type) {
	case FRAME_JOINED:
		serve_tell(s, f->type, f->id, f->body, f->len, f->n_fds ? f->fds[0] : -1);
		holder_join_accepted(&s->join);
		return true;
	case FRAME_JOIN_STOP:
		serve_tell(s, f->type, f->id, f->body, f->len, -1);
		serve_stop(s);
		return f->n_fds == 0;
	case FRAME_JOIN_ACK:
		serve_tell(s, f->type, f->id, f->body, f->len, -1);
		return f->n_fds == 0;
	case FRAME_ANSWER:
	case FRAME_GRANT:
	case FRAME_REVOKE:
		s->join.handler.order(s->join.handler.context, f->type, f->id, f->body, f->len);
		return f->n_fds == 0;
	default:
		return false;
	}
}

static void serve_connection_ready(struct watcher *w, uint32_t events)
{
	struct holder_process *s = container_of(w, struct holder_process, connection_watch);
	struct hold_lost lost = { 0 };
	int r = 1;

	(void)events;
	/* While other permissions are declared, orders wait in the socket. */
	for (int i = 0; r == 1 && i < SERVE_TURN && s->connection_watch.fd >= 0 && !s->declaring;
		i++) {
		r = frame_receive(s->connection_watch.fd, &s->frame);
		if (r == -EPROTONOSUPPORT) {
			lost.protocol = s->frame.peer_protocol;
			memcpy(lost.build, s->frame.peer_build, sizeof(lost.build));
		}
		if (r == 1 && !serve_take_order(s, &s->frame))
			r = 0;
		if (r != 1 && r != -EAGAIN && r != -EINTR)
			serve_lose_connection(s, &lost);
	}
	frame_deinit(&s->frame);
}

/* The loop */

static int serve_turn(struct holder_process *s)
{
	const uint32_t wanted = s->declaring ? 0 : EPOLLIN;
	int ms;

	serve_settle(s);
	if (!s->declaring)
		holder_live_tick(&s->live);
	(void)holder_join_dispatch(&s->join, false);
	/* Sending found out. */
	if (s->join.fd < 0 && s->connection_watch.fd >= 0)
		serve_lose_connection(s, &(struct hold_lost){ 0 });
	if (s->connection_watch.fd >= 0)
		(void)loop_change(s->loop, &s->connection_watch, wanted);
	ms = s->declaring ? -1 : holder_live_wait_ms(&s->live, -1);
	return loop_turn(s->loop, s->join.fd >= 0 ? holder_join_wait_ms(&s->join, ms) : ms);
}

static int serve_begin(struct holder_process *s, int host)
{
	const struct holder_live_hooks hooks = { .answer = held_answer,
		.put = serve_put,
		.fail = serve_fail,
		.describe = serve_describe,
		.note = serve_note,
		.context = s };
	int r = loop_new(&s->loop);

	if (r < 0)
		return r;
	s->join = HOLDER_JOIN_NONE;
	s->connection_watch = (struct watcher){ .ready = serve_connection_ready, .fd = -1 };
	s->control_watch.ready = serve_control_ready;
	s->host_watch.ready = serve_host_ready;
	s->patience.expired = serve_out_of_patience;
	holder_live_init(&s->live, &s->join, &hooks, &(struct holder_live_ceiling){ 0 });
	r = loop_add(s->loop, &s->control_watch, s->control, EPOLLIN);
	return r < 0 || host < 0 ? r : loop_add(s->loop, &s->host_watch, host, EPOLLIN);
}

int serve_holder(int control, int host)
{
	static struct holder_process s;
	int r;

	s = (struct holder_process){ .control = control };
	r = serve_begin(&s, host);
	while (r >= 0 && !s.is_over)
		r = serve_turn(&s);
	/* The rest goes with the process. */
	return r;
}
