/* SPDX-License-Identifier: Apache-2.0 */
#include "net/asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/algebra/ceiling.h"
#include "wire/frame.h"

enum { ASKER_AGAIN_MS = 10, ASKER_MINUTE_MS = 60 * 1000 };

struct asker_question {
	struct asker *all;
	uint64_t id;    /* 0: the place is free */
	bool is_sent;   /* the holder has received it */
	bool is_closed; /* no further connection joins it */
	bool is_over;   /* and FRAME_QUESTION_OVER is to be sent */
	enum question_end how;
	bool is_request; /* no other one joins it: `once` is for one request */
	bool is_flow;
	struct timer patience;
	struct net_judgement judgement;
	char what[NET_REQUEST_BYTES]; /* is asked about */
	struct asker_wait *first, *last;
};

/* The user answered no. */
struct asker_refusal {
	uint64_t until_ms; /* 0: the place is free */
	char what[NET_REQUEST_BYTES];
};

struct asker {
	struct loop *loop;
	int socket;
	uint32_t wait_ms;
	uint64_t last_id;
	size_t n_waiting, n_flows;
	uint64_t minute_ms; /* when it began, and how many were asked since */
	unsigned n_minute, n_minute_flows;
	struct timer again; /* runs while the socket takes nothing */
	struct asker_question questions[ASKER_QUESTIONS_MAX];
	struct asker_refusal refusals[ASKER_REFUSALS_MAX];
	size_t next_refusal;
};

static const char disagreed[] = "the user did not agree to it";

/* Sending to the holder */

static int asker_send_question(struct asker *a, const struct asker_question *q)
{
	const uint64_t now = loop_now(a->loop);
	const struct net_judgement *j = &q->judgement;
	auto_buffer scope = { 0 }, body = { 0 };
	struct question asked = { .op = OPERATION_NET_CONNECT,
		.wait_ms = q->patience.due_ms > now ? (uint32_t)(q->patience.due_ms - now) : 0,
		.target = q->what,
		.program = q->first ? q->first->program : NULL,
		.rule = j->rule,
		.reason = j->reason };
	char pattern[NET_REQUEST_BYTES];
	int r;

	/* Patterns know no queries. */
	memcpy(pattern, q->what, sizeof(pattern));
	pattern[strcspn(pattern, "?")] = '\0';
	r = ceiling_pattern_of(OPERATION_NET_CONNECT, pattern, &scope);

	asked.n_scopes = r == 0 && scope.len > 0 && !scope.failed;
	asked.scopes[0] = buffer_text(&scope);
	r = question_encode(&asked, &body);
	return r < 0 ? r
		     : frame_send(a->socket, FRAME_QUESTION, q->id, body.data, body.len, NULL, 0);
}

/* Sends what is due about it. -EAGAIN: not now. */
static int asker_send(struct asker *a, struct asker_question *q)
{
	const uint32_t how = q->how;
	int r = 0;

	if (!q->is_closed && !q->is_sent)
		r = asker_send_question(a, q);
	else if (q->is_over && q->is_sent)
		r = frame_send(a->socket, FRAME_QUESTION_OVER, q->id, &how, sizeof(how), NULL, 0);
	if (r == -EAGAIN)
		return r;
	q->is_sent = q->is_sent || !q->is_closed;
	if (q->is_over)
		*q = (struct asker_question){ 0 };
	return 0;
}

static void asker_flush(struct asker *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ASKER_QUESTIONS_MAX; i++)
		if (a->questions[i].id)
			r = asker_send(a, &a->questions[i]);
	/* Without memory for a timer the next question tries again. */
	if (r < 0 && a->again.place == 0)
		(void)loop_start(a->loop, &a->again, ASKER_AGAIN_MS);
}

static void asker_on_again(struct timer *t)
{
	asker_flush(container_of(t, struct asker, again));
}

/* Refusals */

static bool asker_is_refused(const struct asker *a, const char *what)
{
	for (size_t i = 0; i < ASKER_REFUSALS_MAX; i++)
		if (a->refusals[i].until_ms > loop_now(a->loop) &&
			strcmp(a->refusals[i].what, what) == 0)
			return true;
	return false;
}

static void asker_remember(struct asker *a, const char *what, uint64_t ttl_ms)
{
	struct asker_refusal *r = &a->refusals[a->next_refusal++ % ASKER_REFUSALS_MAX];

	r->until_ms = loop_now(a->loop) +
		      (ttl_ms && ttl_ms < ASKER_REFUSED_MS ? ttl_ms : ASKER_REFUSED_MS);
	memcpy(r->what, what, strlen(what) + 1);
}

static bool asker_refuse(struct net_judgement *j, const char *why)
{
	char reason[sizeof(j->reason)];

	memcpy(reason, j->reason, sizeof(reason));
	(void)snprintf(j->reason, sizeof(j->reason), "%.400s, and %s", reason, why);
	return false;
}

/* Waiting */

static void asker_take_out(struct asker_wait *w)
{
	struct asker_question *q = w->question;

	*(w->previous ? &w->previous->next : &q->first) = w->next;
	*(w->next ? &w->next->previous : &q->last) = w->previous;
	w->next = w->previous = NULL;
	w->question = NULL;
	q->all->n_waiting--;
	q->all->n_flows -= w->is_flow;
}

static void asker_end(struct asker_question *q, enum question_end how)
{
	loop_stop(q->all->loop, &q->patience);
	q->is_closed = q->is_over = true;
	q->how = how;
	asker_flush(q->all);
}

/* For all connections that wait; `done` may close any of them. */
static void asker_finish(struct asker_question *q, enum asker_end how, const char *why)
{
	struct net_judgement j = q->judgement;

	if (how == ASKER_REFUSED)
		(void)asker_refuse(&j, why);
	/* A connection that comes meanwhile asks anew. */
	q->is_closed = true;
	while (q->first) {
		struct asker_wait *w = q->first;

		asker_take_out(w);
		w->done(w, how, &j);
	}
}

static void asker_on_patience(struct timer *t)
{
	struct asker_question *q = container_of(t, struct asker_question, patience);

	asker_finish(q, ASKER_REFUSED, "the user did not agree to it in time");
	asker_end(q, QUESTION_EXPIRED);
}

/* The question about a connection to there that others may join. */
static struct asker_question *asker_find(struct asker *a, const char *target)
{
	for (size_t i = 0; i < ASKER_QUESTIONS_MAX; i++) {
		struct asker_question *q = &a->questions[i];

		if (q->id && !q->is_closed && !q->is_request && strcmp(q->what, target) == 0)
			return q;
	}
	return NULL;
}

/* A place for one more question; NULL: there are too many. */
static struct asker_question *asker_find_place(struct asker *a, bool is_flow)
{
	const uint64_t now = loop_now(a->loop);
	struct asker_question *q = NULL;
	unsigned n_flows = 0;

	if (now - a->minute_ms >= ASKER_MINUTE_MS) {
		a->minute_ms = now;
		a->n_minute = a->n_minute_flows = 0;
	}
	for (size_t i = 0; i < ASKER_QUESTIONS_MAX; i++) {
		n_flows += a->questions[i].is_flow;
		if (!q && !a->questions[i].id)
			q = &a->questions[i];
	}
	if (is_flow && (n_flows >= ASKER_FLOW_QUESTIONS_MAX ||
			       a->n_minute_flows >= ASKER_FLOWS_PER_MINUTE))
		return NULL;
	return a->n_minute < ASKER_PER_MINUTE ? q : NULL;
}

/* NULL: j's reason says why there is none. */
static struct asker_question *asker_begin(
	struct asker *a, struct net_judgement *j, const char *request, bool is_flow)
{
	struct asker_question *q = asker_find_place(a, is_flow);

	if (!q) {
		(void)asker_refuse(j, "too many questions were asked: try again later");
		return NULL;
	}
	*q = (struct asker_question){
		.all = a, .judgement = *j, .is_request = request, .is_flow = is_flow
	};
	(void)snprintf(q->what, sizeof(q->what), "%s", request ? request : j->target);
	q->patience.expired = asker_on_patience;
	if (loop_start(a->loop, &q->patience, a->wait_ms) < 0) {
		(void)asker_refuse(j, "there is no memory to ask");
		*q = (struct asker_question){ 0 };
		return NULL;
	}
	q->id = ++a->last_id;
	a->n_minute++;
	a->n_minute_flows += is_flow;
	return q;
}

bool asker_join(struct asker *a, struct asker_wait *w, struct net_judgement *j, const char *request)
{
	struct asker_question *q = request ? NULL : asker_find(a, j->target);

	if (request && strlen(request) >= NET_REQUEST_BYTES)
		return asker_refuse(j, "it is too long to be shown");
	if (asker_is_refused(a, request ? request : j->target))
		return asker_refuse(j, disagreed);
	if (a->n_waiting >= ASKER_CONNECTIONS_MAX || (w->is_flow && a->n_flows >= ASKER_FLOWS_MAX))
		return asker_refuse(j, w->is_flow ? "too many datagrams wait for an answer"
						  : "too many connections wait for an answer");
	if (!q)
		q = asker_begin(a, j, request, w->is_flow);
	if (!q)
		return false;
	w->question = q;
	w->next = NULL;
	w->previous = q->last;
	*(q->last ? &q->last->next : &q->first) = w;
	q->last = w;
	a->n_waiting++;
	a->n_flows += w->is_flow;
	asker_flush(a);
	return true;
}

void asker_leave(struct asker_wait *w, enum question_end how)
{
	struct asker_question *q = w->question;

	if (!q)
		return;
	asker_take_out(w);
	if (!q->first && !q->is_closed)
		asker_end(q, how);
}

/* A no to one request is one to those that are the same. */
static void asker_refuse_equal(const struct asker_question *answered)
{
	struct asker *a = answered->all;

	for (size_t i = 0; i < ASKER_QUESTIONS_MAX; i++) {
		struct asker_question *q = &a->questions[i];

		if (!q->id || q->is_closed || strcmp(q->what, answered->what) != 0)
			continue;
		asker_finish(q, ASKER_REFUSED, disagreed);
		asker_end(q, QUESTION_ANSWERED);
	}
}

void asker_answer(struct asker *a, uint64_t id, const struct answer *answer)
{
	struct asker_question *q = NULL;

	for (size_t i = 0; !q && id && i < ASKER_QUESTIONS_MAX; i++)
		if (a->questions[i].id == id && !a->questions[i].is_closed)
			q = &a->questions[i];
	if (!q)
		return;
	if (answer->kind == ANSWER_DENY && !answer->why)
		asker_remember(a, q->what, answer->ttl_ms);
	loop_stop(a->loop, &q->patience);
	asker_finish(q,
		answer->kind == ANSWER_ONCE    ? ASKER_AGREED
		: answer->kind == ANSWER_ALLOW ? ASKER_GRANTED
					       : ASKER_REFUSED,
		answer_why_text(answer->why) ? answer_why_text(answer->why) : disagreed);
	if (answer->kind == ANSWER_DENY && !answer->why)
		asker_refuse_equal(q);
	/* The holder answered, so it needs no FRAME_QUESTION_OVER. */
	*q = (struct asker_question){ 0 };
}

int asker_new(struct asker **ret, struct loop *l, int socket, uint32_t wait_ms)
{
	struct asker *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->loop = l;
	a->socket = socket;
	a->wait_ms = wait_ms;
	a->again.expired = asker_on_again;
	a->minute_ms = loop_now(l);
	*ret = a;
	return 0;
}

void asker_free(struct asker *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < ASKER_QUESTIONS_MAX; i++)
		loop_stop(a->loop, &a->questions[i].patience);
	loop_stop(a->loop, &a->again);
	free(a);
}
