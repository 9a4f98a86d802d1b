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
#include "holder/sessions.h"
#include "host/resolver.h"
#include "policy/format/image.h"
#include "wire/hold.h"

enum {
	SERVE_TURN = 64,       /* frames of corrald that are read at once */
	SERVE_NOTES_MAX = 256, /* that the program did not pull; further ones are counted */
	SERVE_NUMBER_SHIFT = 32,
};
/* Of a question: the session, and its own number there (lib/sandbox/live.c). */
#define SERVE_NUMBER_MASK ((uint64_t)INT32_MAX << SERVE_NUMBER_SHIFT)

struct held_answer {
	uint64_t asker;
	struct answer a;
};

struct holder_process {
	struct loop *loop;
	int control;
	bool is_over;
	struct watcher control_watch, host_watch, connection_watch;
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
	struct holder_sessions sessions;
	struct buffer whole; /* grants, with those that only the program judges */
	size_t n_whole;
	bool has_any, is_putting; /* the program has some; a change is under way */
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
		serve_tell(s, FRAME_GRANTS, s->sessions.change, s->whole.data, s->whole.len, -1);
	s->has_whole = false;
	if (s->failed.text[0])
		serve_tell(s, FRAME_GONE, 0, s->failed.text, strlen(s->failed.text) + 1, -1);
	s->failed = (struct error){ 0 };
	serve_tell(s, FRAME_HOLD_PULL, 0, NULL, 0, -1);
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

static int serve_put_lists(struct holder_process *s, const struct live_grant *grants, size_t n)
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
	buffer_deinit(&s->whole);
	s->whole = whole;
	whole = (struct buffer){ 0 };
	s->n_whole = n;
	holder_sessions_put(&s->sessions, &list, k > 0);
	return 0;
}

static void serve_settle(void *context);

static int serve_put(void *context, const struct live_grant *grants, size_t n, struct error *e)
{
	struct holder_process *s = context;
	int r = serve_check(s, grants, n, e);

	if (r < 0)
		return r;
	r = serve_put_lists(s, grants, n);
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	s->is_putting = true;
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
static void serve_settle(void *context)
{
	struct holder_process *s = context;

	if (!holder_sessions_are_settled(&s->sessions))
		return;
	if (s->declaring) {
		serve_declared(s);
	} else if (s->is_putting) {
		s->is_putting = false;
		/* Before it is confirmed: the program judges no call without having pulled it. */
		if (s->sessions.code == 0)
			serve_publish(s);
		holder_live_settled(&s->live, s->sessions.code, s->sessions.why.text);
	}
}

static void serve_fail(void *context, const char *why)
{
	struct holder_process *s = context;

	holder_sessions_drop(&s->sessions);
	(void)error_set(&s->failed, -ECONNRESET, NULL,
		"the session was ended: a grant could not be taken back: %s", why);
	serve_tell_news(s);
}

static void serve_answer(void *context, uint64_t asker, const struct answer *a)
{
	struct holder_process *s = context;
	const uint64_t number = (asker & SERVE_NUMBER_MASK) >> SERVE_NUMBER_SHIFT;
	struct answer copy = *a;

	copy.pattern = "";
	if (number) {
		holder_sessions_answer(&s->sessions, number, asker & ~SERVE_NUMBER_MASK, &copy);
	} else if (s->n_answers < ROWS(s->answers)) {
		s->answers[s->n_answers++] = (struct held_answer){ asker, copy };
		serve_tell_news(s);
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

/* What it may be granted is what was declared: the lines are the same, but with HOLD_CEILING. */
static void serve_describe_lists(
	const struct holder_process *s, struct arena *a, struct join_details *d)
{
	const struct permissions *p = s->permissions;
	bool apart = s->flags & HOLD_CEILING && p->n_all_of >= 2;

	holder_details_add(
		apart ? p->all_of[0] : p, &s->variables, a, d->permissions, &d->n_permissions);
	for (size_t i = 1; apart && i < p->n_all_of; i++)
		holder_details_add(p->all_of[i], &s->variables, a, d->ceiling, &d->n_ceiling);
	if (apart)
		return;
	d->n_ceiling = d->n_permissions;
	memcpy(d->ceiling, d->permissions, d->n_permissions * sizeof(d->permissions[0]));
}

static void serve_describe(void *context)
{
	struct holder_process *s = context;
	struct join_details *d = calloc(1, sizeof(*d));
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	if (d && s->permissions) {
		memcpy(d->limits, s->limits.values, sizeof(d->limits));
		serve_describe_lists(s, &a, d);
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
	if (serve_put_lists(s, NULL, 0) < 0)
		return -ENOMEM;
	serve_settle(s);
	return 0;
}

/* HOLD_CEILING: the first of its layers are what is in force, and the others stand in for them. */
static void serve_part_ceiling(const struct holder_process *s, struct holder_live_ceiling *c)
{
	const struct permissions *own[HOLDER_LIVE_CEILING_MAX];
	int n = -1;

	if (!(s->flags & HOLD_CEILING) || c->n_layers == 0)
		return;
	if (s->permissions->n_all_of >= 2)
		n = permissions_layers(s->permissions->all_of[0], own, HOLDER_LIVE_CEILING_MAX);
	if (n < 0 || (size_t)n >= c->n_layers) {
		c->n_layers = 0;
		return;
	}
	c->declared = c->layers + n;
	c->n_declared = c->n_layers - (size_t)n;
	c->n_layers = c->n_replaced = (size_t)n;
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
	serve_part_ceiling(s, &ceiling);
	serve_publish(s);
	serve_tell(s, FRAME_HOLD_DECLARE, id, NULL, 0, -1);
	holder_live_declare(&s->live, &ceiling);
	permissions_free(old);
	/* The variables are in there. */
	buffer_deinit(&s->declared);
	s->declared = s->next;
	s->next = (struct buffer){ 0 };
}

static void serve_added(void *context, uint64_t number)
{
	serve_tell(context, FRAME_HOLD_SESSION, number, NULL, 0, -1);
}

static int serve_on_session(struct holder_process *s, struct frame *f)
{
	if (f->n_fds != 1 || f->len != 0)
		return -EPROTO;
	return holder_sessions_add(&s->sessions, f->id, frame_take_fd(f, 0));
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
	/* To hear: the join may close its own at any time. Nothing here waits for corrald. */
	heard = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	r = heard < 0 || fcntl(heard, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
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
		serve_answer(s, f->id, &a);
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
		/* The program starts no further sessions after this frame. */
		holder_sessions_stop(&s->sessions);
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

int serve_turn(struct holder_process *s, int most)
{
	const uint32_t wanted = s->declaring ? 0 : EPOLLIN;
	int ms, r;

	serve_settle(s);
	if (!s->declaring)
		holder_live_tick(&s->live);
	(void)holder_join_dispatch(&s->join, false);
	/* Sending found out. */
	if (s->join.fd < 0 && s->connection_watch.fd >= 0)
		serve_lose_connection(s, &(struct hold_lost){ 0 });
	if (s->connection_watch.fd >= 0)
		(void)loop_change(s->loop, &s->connection_watch, wanted);
	ms = s->declaring ? most : holder_live_wait_ms(&s->live, most);
	r = loop_turn(s->loop, s->join.fd >= 0 ? holder_join_wait_ms(&s->join, ms) : ms);
	return r < 0 ? r : !s->is_over;
}

static int serve_begin(struct holder_process *s, int host)
{
	const struct holder_live_hooks hooks = { .answer = serve_answer,
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
	s->sessions = (struct holder_sessions){
		.loop = s->loop, .on_added = serve_added, .on_heard = serve_settle, .context = s
	};
	holder_live_init(&s->live, &s->join, &hooks, &(struct holder_live_ceiling){ 0 });
	r = loop_add(s->loop, &s->control_watch, s->control, EPOLLIN);
	return r < 0 || host < 0 ? r : loop_add(s->loop, &s->host_watch, host, EPOLLIN);
}

int serve_new(struct holder_process **ret, int control, int host)
{
	struct holder_process *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->control = control;
	r = serve_begin(s, host);
	if (r < 0)
		serve_free(s);
	else
		*ret = s;
	return r;
}

void serve_free(struct holder_process *s)
{
	if (!s)
		return;
	if (s->loop) {
		serve_unwatch_connection(s);
		holder_sessions_deinit(&s->sessions);
		/* Its events are the program's: none is left in a file. */
		s->join.is_on = false;
		(void)holder_join_close(&s->join, NULL);
		holder_live_deinit(&s->live);
	}
	for (size_t i = 0; i < s->n_notes; i++)
		buffer_deinit(&s->notes[i]);
	free(s->notes);
	frame_deinit(&s->frame);
	buffer_deinit(&s->whole);
	buffer_deinit(&s->declared);
	buffer_deinit(&s->next);
	permissions_free(s->permissions);
	loop_free(s->loop);
	free(s);
}
