/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sandboxes ask, and what they were granted while they run. Both belong to whoever holds the
 * session and are only shown here: an answer is an order to the holder (orders.c), which tells what
 * became of it. A connection that is lost takes its questions with it; they come again with it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/json-writer.h"
#include "daemon/api/tool.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/supervisor.h"
#include "host/session-bus.h"
#include "policy/operation-names.h"
#include "wire/join.h"
#include "wire/question.h"

enum {
	QUESTIONS_MAX = 64, /* of one sandbox, as its holder has */
	QUESTIONS_PAST = 64,
	QUESTIONS_SOON_MS = 5 * 60 * 1000, /* or the second half of a shorter time */
};

struct asked {
	uint64_t number; /* 0: the place is free */
	uint64_t asked_ms, expires_ms, count;
	struct arena arena;
	struct question q;
};

struct granted {
	uint64_t number;
	struct arena arena;
	struct live_grant g;
};

struct questions {
	struct asked asked[QUESTIONS_MAX];
	struct granted granted[QUESTION_GRANTS_MAX];
	/* The last ones that are over, in a ring. */
	struct past {
		uint64_t number;
		enum question_end how;
	} past[QUESTIONS_PAST];
	size_t n_past;
};

static int questions_text(struct arena *a, const char **text)
{
	*text = arena_strdup(a, *text);
	return *text ? 0 : -ENOMEM;
}

/* Printing */

static void questions_put_id(const struct sandbox *b, uint64_t number, struct json_writer *w)
{
	json_put_format(w, "id", "%s.%" PRIu64, b->who.id, number);
	json_put_text(w, "sandbox", b->who.id);
}

static void questions_print_one(
	const struct sandbox *b, const struct asked *x, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	questions_put_id(b, x->number, w);
	json_put_text(w, "name", b->who.name);
	json_put_text(w, "command", b->who.command);
	json_put_text(w, "program", x->q.program);
	json_put_text(w, "method", x->q.method);
	json_put_count(w, "pid", x->q.pid);
	json_put_text(w, "action", operation_names[x->q.op]);
	json_put_text(w, "target", x->q.target);
	json_put_text(w, "rule", x->q.rule);
	json_put_text(w, "reason", x->q.reason);
	json_put_count(w, "asked_ms", x->asked_ms);
	json_put_count(w, "expires_ms", x->expires_ms);
	json_put_count(w, "count", x->count);
	json_open_list(w, "scopes");
	for (size_t i = 0; i < x->q.n_scopes; i++)
		json_put_text(w, NULL, x->q.scopes[i]);
	json_close(w);
	json_close(w);
}

static void questions_print_grant(
	const struct sandbox *b, const struct granted *x, struct json_writer *w, const char *key)
{
	static const char *const by[GRANT_BY_COUNT] = { "api", "answer" };

	json_open_map(w, key);
	questions_put_id(b, x->number, w);
	json_put_text(w, "action", operation_names[x->g.op]);
	json_put_text(w, "target", x->g.pattern);
	json_put_count(w, "since_ms", x->g.since_ms);
	if (x->g.until_ms)
		json_put_count(w, "expires_ms", x->g.until_ms);
	else
		json_put_null(w, "expires_ms");
	json_put_text(w, "by", by[x->g.by]);
	json_close(w);
}

void questions_print_grants(const struct sandbox *b, struct json_writer *w)
{
	for (size_t i = 0; b->questions && i < QUESTION_GRANTS_MAX; i++)
		if (b->questions->granted[i].number)
			questions_print_grant(b, &b->questions->granted[i], w, NULL);
}

size_t questions_count(const struct sandbox *b)
{
	size_t n = 0;

	for (size_t i = 0; b->questions && i < QUESTIONS_MAX; i++)
		n += b->questions->asked[i].number != 0;
	return n;
}

void questions_print(const struct supervisor *s, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_open_list(&w, "questions");
	for (const struct link *l = s->peers.sandboxes.next; l != &s->peers.sandboxes;
		l = l->next) {
		const struct sandbox *b = container_of(l, struct sandbox, link);

		for (size_t i = 0; b->questions && i < QUESTIONS_MAX; i++)
			if (b->questions->asked[i].number)
				questions_print_one(b, &b->questions->asked[i], &w, NULL);
	}
	json_end_line(&w);
}

void questions_print_all_grants(const struct supervisor *s, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_open_list(&w, "grants");
	for (const struct link *l = s->peers.sandboxes.next; l != &s->peers.sandboxes; l = l->next)
		questions_print_grants(container_of(l, struct sandbox, link), &w);
	json_end_line(&w);
}

/* Telling */

/* What is too long for an event is named only: a client that gets it reads the rest. */
static void questions_publish(const struct sandbox *b, const char *type, const char *state,
	uint64_t number, const struct buffer *json)
{
	auto_buffer brief = { 0 };
	struct json_writer w = { .out = &brief };

	if (!json->failed && json->len <= MESSAGE_EVENT_MAX) {
		bus_publish(b->s, type, json->data);
		return;
	}
	json_open_map(&w, NULL);
	json_put_text(&w, "state", state);
	json_open_map(&w, type);
	questions_put_id(b, number, &w);
	json_close(&w);
	json_close(&w);
	if (!brief.failed)
		bus_publish(b->s, type, brief.data);
}

static void questions_tell(const struct sandbox *b, const struct asked *x, const char *state)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	json_open_map(&w, NULL);
	json_put_text(&w, "state", state);
	questions_print_one(b, x, &w, "question");
	json_close(&w);
	questions_publish(b, "question", state, x->number, &json);
}

static void questions_tell_grant(
	const struct sandbox *b, const struct granted *x, const char *state)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	json_open_map(&w, NULL);
	json_put_text(&w, "state", state);
	questions_print_grant(b, x, &w, "grant");
	json_close(&w);
	questions_publish(b, "grant", state, x->number, &json);
}

/* On the desktop */

static void questions_notified(struct supervisor *s, int status, struct buffer *text)
{
	(void)s;
	(void)status;
	(void)text;
}

/*
 * Points to a new question of a library's sandbox or an enclave; a run does that itself, as it
 * knows whether it has a terminal. One rate for all of them: a sandbox that asks without end starts
 * no processes without end. `corral questions notify` has a rate for all of the user's as well.
 */
static void questions_notify(const struct sandbox *b, const struct asked *x)
{
	struct supervisor *s = b->s;
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t *oldest = &s->peers.notified_ms[s->peers.n_notified % PEERS_NOTIFIED_MAX];
	const char *argv[] = { "questions", "notify", "--", operation_names[x->q.op], x->q.target,
		NULL };

	if (b->who.kind == JOIN_RUN || s->is_system || !session_bus_is_watched() ||
		(s->peers.n_notified >= PEERS_NOTIFIED_MAX && now - *oldest < PEERS_NOTIFIED_MS))
		return;
	*oldest = now;
	s->peers.n_notified++;
	/* Whether it is shown or not: the question is in the list. */
	(void)tool_start_own(s, &(struct tool_request){ .argv = argv, .take = questions_notified });
}

/* Frames */

static struct asked *questions_at(struct questions *q, uint64_t number)
{
	for (size_t i = 0; i < QUESTIONS_MAX; i++)
		if (q->asked[i].number == number)
			return &q->asked[i];
	return NULL;
}

static struct granted *questions_grant_at(struct questions *q, uint64_t number)
{
	for (size_t i = 0; i < QUESTION_GRANTS_MAX; i++)
		if (q->granted[i].number == number)
			return &q->granted[i];
	return NULL;
}

static int questions_copy(struct asked *x, const struct question *q)
{
	int r = 0;

	x->q = *q;
	r = questions_text(&x->arena, &x->q.target);
	r = r < 0 ? r : questions_text(&x->arena, &x->q.program);
	r = r < 0 ? r : questions_text(&x->arena, &x->q.rule);
	r = r < 0 ? r : questions_text(&x->arena, &x->q.reason);
	r = r < 0 ? r : questions_text(&x->arena, &x->q.method);
	for (size_t i = 0; r == 0 && i < q->n_scopes; i++)
		r = questions_text(&x->arena, &x->q.scopes[i]);
	return r;
}

static int questions_on_question(struct sandbox *b, const struct frame *f)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);
	struct question q;
	struct asked *x;

	if (f->id == 0 || question_decode(&q, f->body, f->len) < 0)
		return -EPROTO;
	x = questions_at(b->questions, f->id);
	if (!x) {
		x = questions_at(b->questions, 0);
		if (!x)
			return -EPROTO;
		if (questions_copy(x, &q) < 0) {
			arena_deinit(&x->arena);
			return -ENOMEM;
		}
		x->number = f->id;
		x->asked_ms = now;
		questions_notify(b, x);
	}
	x->count++;
	x->expires_ms = now + q.wait_ms;
	questions_tell(b, x, "asked");
	return 0;
}

static void questions_end(struct sandbox *b, struct asked *x, enum question_end how)
{
	struct questions *q = b->questions;

	q->past[q->n_past++ % QUESTIONS_PAST] = (struct past){ x->number, how };
	questions_tell(b, x, how == QUESTION_ANSWERED ? "answered" : "expired");
	arena_deinit(&x->arena);
	*x = (struct asked){ 0 };
}

static int questions_on_over(struct sandbox *b, const struct frame *f)
{
	struct asked *x = f->id ? questions_at(b->questions, f->id) : NULL;
	enum question_end how;

	if (question_over_decode(&how, f->body, f->len) < 0)
		return -EPROTO;
	if (x)
		questions_end(b, x, how);
	return 0;
}

static int questions_on_granted(struct sandbox *b, const struct frame *f)
{
	struct granted *x;
	struct live_grant g;

	if (f->id == 0 || live_grant_decode(&g, f->body, f->len) < 0 ||
		questions_grant_at(b->questions, f->id))
		return -EPROTO;
	x = questions_grant_at(b->questions, 0);
	if (!x)
		return -EPROTO;
	if (questions_text(&x->arena, &g.pattern) < 0)
		return -ENOMEM;
	x->number = f->id;
	x->g = g;
	questions_tell_grant(b, x, "granted");
	return 0;
}

static int questions_on_grant_over(struct sandbox *b, const struct frame *f)
{
	struct granted *x = f->id ? questions_grant_at(b->questions, f->id) : NULL;

	if (f->len != 0)
		return -EPROTO;
	if (!x)
		return 0;
	questions_tell_grant(b, x, "ended");
	arena_deinit(&x->arena);
	*x = (struct granted){ 0 };
	return 0;
}

int questions_on_frame(struct sandbox *b, const struct frame *f)
{
	if (!b->who.id)
		return -EPROTO;
	if (!b->questions)
		b->questions = calloc(1, sizeof(*b->questions));
	if (!b->questions)
		return -ENOMEM;
	switch (f->type) {
	case FRAME_QUESTION:
		return questions_on_question(b, f);
	case FRAME_QUESTION_OVER:
		return questions_on_over(b, f);
	case FRAME_GRANTED:
		return questions_on_granted(b, f);
	case FRAME_GRANT_OVER:
		return questions_on_grant_over(b, f);
	default:
		return -EPROTO;
	}
}

void questions_free(struct sandbox *b)
{
	struct questions *q = b->questions;

	for (size_t i = 0; q && i < QUESTIONS_MAX; i++)
		if (q->asked[i].number)
			questions_end(b, &q->asked[i], QUESTION_GIVEN_UP);
	for (size_t i = 0; q && i < QUESTION_GRANTS_MAX; i++)
		arena_deinit(&q->granted[i].arena);
	free(q);
	b->questions = NULL;
}

/* Ids */

/* "SANDBOX.N"; NULL: there is no such sandbox. */
static struct sandbox *questions_owner(
	const struct supervisor *s, const char *id, uint64_t *ret_number)
{
	const char *dot = strchr(id, '.');
	char name[JOIN_ID_MAX + 1];
	char *end = NULL;
	struct sandbox *b;

	if (!dot || dot == id || (size_t)(dot - id) > JOIN_ID_MAX || dot[1] < '1' || dot[1] > '9')
		return NULL;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(dot - id), id);
	errno = 0;
	*ret_number = strtoull(dot + 1, &end, 10);
	b = *end || errno ? NULL : peers_find(s, name);
	return b && b->questions ? b : NULL;
}

enum questions_state questions_find(
	struct supervisor *s, const char *id, struct sandbox **ret, uint64_t *ret_number)
{
	uint64_t number = 0;
	struct sandbox *b = questions_owner(s, id, &number);

	if (!b)
		return QUESTIONS_UNKNOWN;
	*ret = b;
	*ret_number = number;
	if (questions_at(b->questions, number))
		return QUESTIONS_OPEN;
	for (size_t i = 0; i < QUESTIONS_PAST; i++)
		if (b->questions->past[i].number == number)
			return b->questions->past[i].how == QUESTION_ANSWERED ? QUESTIONS_ANSWERED
									      : QUESTIONS_EXPIRED;
	return QUESTIONS_UNKNOWN;
}

struct sandbox *questions_find_grant(struct supervisor *s, const char *id, uint64_t *ret_number)
{
	struct sandbox *b = questions_owner(s, id, ret_number);

	return b && questions_grant_at(b->questions, *ret_number) ? b : NULL;
}

/* Ending */

static bool questions_lasts_longer(const struct live_grant *a, const struct live_grant *b)
{
	return !a->until_ms || (b->until_ms && a->until_ms > b->until_ms);
}

static bool questions_is_ending(const struct questions *q, const struct granted *x, uint64_t now)
{
	const struct live_grant *g = &x->g;
	const uint64_t half = g->until_ms > g->since_ms ? (g->until_ms - g->since_ms) / 2 : 0;
	const uint64_t soon = half < QUESTIONS_SOON_MS ? half : QUESTIONS_SOON_MS;

	if (!x->number || !g->until_ms || g->until_ms <= now || g->until_ms - now > soon)
		return false;
	for (size_t i = 0; i < QUESTION_GRANTS_MAX; i++) {
		const struct granted *other = &q->granted[i];

		if (other->number && other->g.op == g->op &&
			strcmp(other->g.pattern, g->pattern) == 0 &&
			questions_lasts_longer(&other->g, g))
			return false;
	}
	return true;
}

void questions_each_ending(struct supervisor *s, questions_taker *take)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);

	for (const struct link *l = s->peers.sandboxes.next; l != &s->peers.sandboxes;
		l = l->next) {
		const struct sandbox *b = container_of(l, struct sandbox, link);
		const struct questions *q = b->questions;

		for (size_t i = 0; q && i < QUESTION_GRANTS_MAX; i++) {
			const struct granted *x = &q->granted[i];

			if (questions_is_ending(q, x, now))
				take(s, &(struct questions_ending){ .sandbox = b,
						.number = x->number,
						.until_ms = x->g.until_ms,
						.action = operation_names[x->g.op],
						.pattern = x->g.pattern });
		}
	}
}
