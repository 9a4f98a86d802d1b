/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists under one lock: questions that wait, and approvals (with refusals among them) in the
 * order in which they were given. Numbers are never given twice, questions and approvals share
 * them.
 *
 * An approval that was handed on knows the one above it, which is always before it in the list. So
 * one pass from front to back finds all that are over, by themselves or because one above them is.
 * They are swept out before a new one is added; until then they are of no use, because every use
 * looks at the whole chain.
 *
 * Everything is bounded: how many wait, how many there are, how long the texts and the chains are.
 * So the lock is held for moments, and whoever finds it taken lets others go first.
 */
#include "consent/consent.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* In both structs the texts lie after the rest. */
struct consent_approval {
	uint64_t id;
	struct consent_scope scope; /* scope.count: how many uses are left */
	uint64_t until_ms;
	bool refusal;
	bool over; /* while sweeping */
	unsigned depth;
	struct consent_approval *above; /* NULL: it was not handed on */
	char texts[];
};

struct waiting {
	struct consent_question q;
	char texts[];
};

struct consent {
	atomic_flag lock; /* guards the rest */
	uint64_t last_id;
	struct waiting *questions[CONSENT_QUESTIONS_MAX];
	size_t n_questions;
	struct consent_approval *approvals[CONSENT_APPROVALS_MAX];
	size_t n_approvals;
};

struct consent *consent_new(void)
{
	struct consent *c = calloc(1, sizeof(*c));

	if (c)
		atomic_flag_clear(&c->lock);
	return c;
}

void consent_free(struct consent *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_questions; i++)
		free(c->questions[i]);
	for (size_t i = 0; i < c->n_approvals; i++)
		free(c->approvals[i]);
	free(c);
}

static struct consent *consent_lock(struct consent *c)
{
	while (atomic_flag_test_and_set_explicit(&c->lock, memory_order_acquire))
		(void)sched_yield();
	return c;
}

static void consent_unlock(struct consent **c)
{
	atomic_flag_clear_explicit(&(*c)->lock, memory_order_release);
}
/* To the end of the block. */
#define consent_hold(c) \
	__attribute__((cleanup(consent_unlock), unused)) struct consent *held_ = consent_lock(c)

/* Scopes */

static bool consent_is_text(const char *text)
{
	return text && strnlen(text, CONSENT_TEXT_MAX) < CONSENT_TEXT_MAX;
}

static bool consent_is_whole(const struct consent_scope *s)
{
	return (unsigned)s->op < OPERATION_COUNT && consent_is_text(s->object) &&
	       consent_is_text(s->actor) && s->ttl_ms > 0 && s->count > 0;
}

static bool consent_is_same(const struct consent_scope *a, const struct consent_scope *b)
{
	return a->op == b->op && strcmp(a->object, b->object) == 0 &&
	       strcmp(a->actor, b->actor) == 0;
}

bool consent_scope_fits(const struct consent_scope *inner, const struct consent_scope *outer)
{
	return consent_is_whole(inner) && consent_is_same(inner, outer) &&
	       inner->ttl_ms <= outer->ttl_ms && inner->count <= outer->count;
}

static uint64_t end_of(uint64_t now_ms, uint64_t ttl_ms)
{
	return ttl_ms > UINT64_MAX - now_ms ? UINT64_MAX : now_ms + ttl_ms;
}

static const char *consent_put(char **at, const char *text)
{
	char *start = *at;

	*at = stpcpy(start, text) + 1;
	return start;
}

/* Questions */

static struct waiting *waiting_new(const struct consent_question *q)
{
	size_t size = strlen(q->scope.object) + strlen(q->scope.actor) + strlen(q->rule) +
		      strlen(q->reason) + 4;
	struct waiting *w = malloc(sizeof(*w) + size);
	char *at;

	if (!w)
		return NULL;
	at = w->texts;
	w->q = *q;
	w->q.scope.object = consent_put(&at, q->scope.object);
	w->q.scope.actor = consent_put(&at, q->scope.actor);
	w->q.rule = consent_put(&at, q->rule);
	w->q.reason = consent_put(&at, q->reason);
	return w;
}

static int consent_queue(struct consent *c, struct waiting *w, uint64_t *ret_id)
{
	size_t of_actor = 0;

	for (size_t i = 0; i < c->n_questions; i++) {
		const struct consent_question *q = &c->questions[i]->q;

		if (consent_is_same(&q->scope, &w->q.scope)) {
			*ret_id = q->id;
			return 1;
		}
		of_actor += strcmp(q->scope.actor, w->q.scope.actor) == 0;
	}
	if (c->n_questions == CONSENT_QUESTIONS_MAX || of_actor >= CONSENT_QUESTIONS_PER_ACTOR)
		return -ENOSPC;
	w->q.id = ++c->last_id;
	c->questions[c->n_questions++] = w;
	*ret_id = w->q.id;
	return 0;
}

int consent_ask(struct consent *c, const struct consent_question *q, uint64_t *ret_id)
{
	struct waiting *w;
	int r;

	if (!consent_is_whole(&q->scope) || !consent_is_text(q->rule) ||
		!consent_is_text(q->reason))
		return -E2BIG;
	w = waiting_new(q);
	if (!w)
		return -ENOMEM;
	consent_hold(c);
	r = consent_queue(c, w, ret_id);
	if (r != 0)
		free(w);
	return r;
}

long consent_questions(struct consent *c, consent_visit *visit, void *context)
{
	struct waiting *copies[CONSENT_QUESTIONS_MAX] = { 0 };
	long n = 0, called = 0;
	bool end = false;

	{
		consent_hold(c);
		for (size_t i = 0; n >= 0 && i < c->n_questions; i++) {
			copies[i] = waiting_new(&c->questions[i]->q);
			n = copies[i] ? n + 1 : -ENOMEM;
		}
	}
	for (; called < n && !end; called++)
		end = visit(context, &copies[called]->q) != 0;
	for (size_t i = 0; i < CONSENT_QUESTIONS_MAX; i++)
		free(copies[i]);
	return n < 0 ? n : called;
}

/* Approvals */

static struct consent_approval *approval_new(const struct consent_scope *scope, uint64_t now_ms)
{
	size_t size = strlen(scope->object) + strlen(scope->actor) + 2;
	struct consent_approval *a = malloc(sizeof(*a) + size);
	char *at;

	if (!a)
		return NULL;
	*a = (struct consent_approval){ .scope = *scope,
		.until_ms = end_of(now_ms, scope->ttl_ms) };
	at = a->texts;
	a->scope.object = consent_put(&at, scope->object);
	a->scope.actor = consent_put(&at, scope->actor);
	return a;
}

/* By itself. */
static bool is_over(const struct consent_approval *a, uint64_t now_ms)
{
	return now_ms >= a->until_ms || a->scope.count == 0;
}

/* It and all above it. */
static bool is_good(const struct consent_approval *a, uint64_t now_ms)
{
	for (; a; a = a->above) {
		if (is_over(a, now_ms))
			return false;
	}
	return true;
}

/* Frees those that are marked, and those that were handed on from them. Returns how many. */
static int sweep_marked(struct consent *c)
{
	struct consent_approval *gone[CONSENT_APPROVALS_MAX];
	size_t n = 0, n_gone = 0;

	for (size_t i = 0; i < c->n_approvals; i++) {
		struct consent_approval *a = c->approvals[i];

		a->over = a->over || (a->above && a->above->over);
		if (a->over)
			gone[n_gone++] = a;
		else
			c->approvals[n++] = a;
	}
	c->n_approvals = n;
	for (size_t i = 0; i < n_gone; i++)
		free(gone[i]);
	return (int)n_gone;
}

static void sweep(struct consent *c, uint64_t now_ms)
{
	for (size_t i = 0; i < c->n_approvals; i++)
		c->approvals[i]->over = is_over(c->approvals[i], now_ms);
	(void)sweep_marked(c);
}

/* Takes over a, if there is room for it. */
static int consent_add(
	struct consent *c, struct consent_approval *a, uint64_t now_ms, uint64_t *ret_id)
{
	sweep(c, now_ms);
	if (c->n_approvals == CONSENT_APPROVALS_MAX)
		return -ENOSPC;
	a->id = ++c->last_id;
	c->approvals[c->n_approvals++] = a;
	*ret_id = a->id;
	return 0;
}

static struct consent_approval *consent_find(const struct consent *c, uint64_t id)
{
	for (size_t i = 0; i < c->n_approvals; i++) {
		if (c->approvals[i]->id == id)
			return c->approvals[i];
	}
	return NULL;
}

/* Answers */

static size_t consent_find_question(const struct consent *c, uint64_t id)
{
	size_t i = 0;

	while (i < c->n_questions && c->questions[i]->q.id != id)
		i++;
	return i;
}

static void consent_remove_question(struct consent *c, size_t i)
{
	free(c->questions[i]);
	c->n_questions--;
	memmove(&c->questions[i], &c->questions[i + 1],
		(c->n_questions - i) * sizeof(struct waiting *));
}

int consent_drop(struct consent *c, uint64_t question)
{
	size_t i;

	consent_hold(c);
	i = consent_find_question(c, question);
	if (i == c->n_questions)
		return -ENOENT;
	consent_remove_question(c, i);
	return 0;
}

int consent_answer(struct consent *c, uint64_t question, enum verdict v,
	const struct consent_scope *narrower, uint64_t now_ms, uint64_t *ret_id)
{
	const struct consent_scope *asked;
	struct consent_approval *a;
	size_t i;
	int r;

	consent_hold(c);
	i = consent_find_question(c, question);
	if (i == c->n_questions)
		return -ENOENT;
	asked = &c->questions[i]->q.scope;
	if (narrower && !consent_scope_fits(narrower, asked))
		return -EINVAL;
	a = approval_new(narrower ? narrower : asked, now_ms);
	if (!a)
		return -ENOMEM;
	a->refusal = v != VERDICT_ALLOW;
	r = consent_add(c, a, now_ms, ret_id);
	if (r < 0) {
		free(a);
		return r;
	}
	consent_remove_question(c, i);
	return 0;
}

int consent_give_used(
	struct consent *c, const struct consent_scope *scope, uint64_t now_ms, uint64_t *ret_id)
{
	struct consent_approval *a = consent_is_whole(scope) ? approval_new(scope, now_ms) : NULL;
	bool spent;
	int r = 0;

	if (!a)
		return consent_is_whole(scope) ? -ENOMEM : -EINVAL;
	spent = --a->scope.count == 0;
	consent_hold(c);
	/* Nothing of it is left to be remembered. */
	if (spent)
		*ret_id = ++c->last_id;
	else
		r = consent_add(c, a, now_ms, ret_id);
	if (spent || r < 0)
		free(a);
	return r;
}

/* Uses */

enum consent_outcome consent_use(struct consent *c, enum operation op, const char *object,
	const char *actor, uint64_t now_ms, uint64_t *ret_id)
{
	const struct consent_scope scope = { .op = op, .object = object, .actor = actor };
	enum consent_outcome outcome = CONSENT_NONE;
	struct consent_approval *found = NULL;

	consent_hold(c);
	for (size_t i = 0; outcome != CONSENT_REFUSED && i < c->n_approvals; i++) {
		struct consent_approval *a = c->approvals[i];

		if (!consent_is_same(&a->scope, &scope) || !is_good(a, now_ms))
			continue;
		if (a->refusal || outcome == CONSENT_NONE)
			found = a;
		outcome = a->refusal ? CONSENT_REFUSED : CONSENT_USED;
	}
	if (found && ret_id)
		*ret_id = found->id;
	if (outcome == CONSENT_USED) {
		for (struct consent_approval *a = found; a; a = a->above)
			a->scope.count--;
	}
	return outcome;
}

/* Handing on */

static const struct consent_approval *consent_root_of(const struct consent_approval *a)
{
	while (a->above)
		a = a->above;
	return a;
}

static int hand_on(struct consent *c, struct consent_approval *above,
	const struct consent_scope *scope, uint64_t now_ms, uint64_t *ret_id)
{
	const struct consent_approval *root = consent_root_of(above);
	struct consent_approval *a;
	size_t n = 0; /* how many there are of the same origin */
	int r;

	if (!consent_is_whole(scope) || above->scope.op != scope->op ||
		strcmp(above->scope.object, scope->object) != 0 ||
		scope->count > above->scope.count ||
		end_of(now_ms, scope->ttl_ms) > above->until_ms)
		return -EINVAL;
	sweep(c, now_ms);
	for (size_t i = 0; i < c->n_approvals; i++)
		n += c->approvals[i] != root && consent_root_of(c->approvals[i]) == root;
	if (above->depth + 1 >= CONSENT_DEPTH_MAX || n >= CONSENT_HANDS_MAX)
		return -ENOSPC;
	a = approval_new(scope, now_ms);
	if (!a)
		return -ENOMEM;
	a->above = above;
	a->depth = above->depth + 1;
	r = consent_add(c, a, now_ms, ret_id);
	if (r < 0)
		free(a);
	return r;
}

int consent_hand_on(struct consent *c, uint64_t approval, const struct consent_scope *scope,
	uint64_t now_ms, uint64_t *ret_id)
{
	struct consent_approval *above;

	consent_hold(c);
	above = consent_find(c, approval);
	if (!above || above->refusal || !is_good(above, now_ms))
		return -ENOENT;
	return hand_on(c, above, scope, now_ms, ret_id);
}

int consent_withdraw(struct consent *c, uint64_t approval)
{
	struct consent_approval *a;

	consent_hold(c);
	a = consent_find(c, approval);
	if (!a)
		return -ENOENT;
	for (size_t i = 0; i < c->n_approvals; i++)
		c->approvals[i]->over = c->approvals[i] == a;
	return sweep_marked(c);
}

uint64_t consent_left(struct consent *c, uint64_t approval, uint64_t now_ms)
{
	const struct consent_approval *a;

	consent_hold(c);
	a = consent_find(c, approval);
	return a && !a->refusal && !is_over(a, now_ms) ? a->scope.count : 0;
}
