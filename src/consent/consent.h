/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a person agreed to, where the policy says "ask": exactly what they were shown, for as long
 * and as often as they said, and nothing else. Thread-safe; the clock comes from the caller.
 *
 *     question  --answer-->  approval  --use-->  …  until its count or its time is used up
 *                               |
 *                               +--hand on-->  approval of another actor, smaller in everything
 *
 * A use of what was handed on is a use of every approval above it; if one of them has none left, it
 * is refused. So no number of threads, and no chain of hands, gets more uses than were agreed to.
 *
 * A refusal is remembered, too, for the time that was asked for: who asks again in that time is
 * told so, and nobody is bothered twice. It is stronger than any approval.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/operation.h"

struct consent;

enum {
	CONSENT_QUESTIONS_MAX = 256,      /* that wait; one more is refused */
	CONSENT_QUESTIONS_PER_ACTOR = 32, /* so that one actor does not fill the queue */
	CONSENT_APPROVALS_MAX = 4096,     /* refusals included */
	CONSENT_DEPTH_MAX = 32,           /* how often an approval is handed on, hand to hand */
	CONSENT_HANDS_MAX = 256,          /* and to how many hands: nobody fills the list alone */
	CONSENT_TEXT_MAX = 4096,          /* with its NUL: what is longer cannot be shown */
};

struct consent_scope {
	enum operation op;
	const char *object; /* compared as bytes */
	const char *actor;
	uint64_t ttl_ms; /* from when it is agreed to */
	uint64_t count;
};

struct consent_question {
	uint64_t id;
	struct consent_scope scope;
	const char *rule, *reason;
};

struct consent *consent_new(void);
void consent_free(struct consent *c);

/* True if inner has the same operation, object and actor, and is nowhere larger. */
bool consent_scope_fits(const struct consent_scope *inner, const struct consent_scope *outer);

/*
 * Queues a question (q->id does not matter). 0: a new one; 1: the same operation, object and actor
 * wait already, and *ret_id is that one. -ENOSPC: too many wait; -E2BIG: a text is too long.
 */
int consent_ask(struct consent *c, const struct consent_question *q, uint64_t *ret_id);
/*
 * Calls back with copies of all that wait, oldest first, without a lock; a return of not 0 ends
 * it. Returns how many it was called with, or -ENOMEM.
 */
typedef int consent_visit(void *context, const struct consent_question *q);
long consent_questions(struct consent *c, consent_visit *visit, void *context);

/*
 * Takes a question out of the queue. VERDICT_ALLOW makes an approval of what was asked for, or of
 * `narrower` if that is not NULL; any other verdict a refusal, for the time of either. *ret_id is
 * its number. -ENOENT: no such question; -EINVAL: it is larger, or for nothing; -ENOSPC: too many.
 * On failure the question goes on waiting.
 */
int consent_answer(struct consent *c, uint64_t question, enum verdict v,
	const struct consent_scope *narrower, uint64_t now_ms, uint64_t *ret_id);
/* Takes one out of the queue without an answer. -ENOENT. */
int consent_drop(struct consent *c, uint64_t question);
/* Agreed to without a question in the queue, and used once at the same time. */
int consent_give_used(
	struct consent *c, const struct consent_scope *scope, uint64_t now_ms, uint64_t *ret_id);

enum consent_outcome {
	CONSENT_NONE,    /* there is no answer, or not any more */
	CONSENT_USED,    /* it was agreed to, and is used once */
	CONSENT_REFUSED, /* the answer was no */
};
/* *ret_id (may be NULL) is the number of what was used, or of the refusal. */
enum consent_outcome consent_use(struct consent *c, enum operation op, const char *object,
	const char *actor, uint64_t now_ms, uint64_t *ret_id);

/*
 * A part of it for another actor: scope must have its operation and object, and neither last longer
 * than it does nor be for more uses than it has left. -ENOENT: there is no such approval, or it is
 * over; -EINVAL: it is larger, or for nothing; -ENOSPC: too many, or from too many hands.
 */
int consent_hand_on(struct consent *c, uint64_t approval, const struct consent_scope *scope,
	uint64_t now_ms, uint64_t *ret_id);
/* Takes an approval back with all that was handed on, or a refusal. Returns how many these were, or
 * -ENOENT. */
int consent_withdraw(struct consent *c, uint64_t approval);
/* How many uses an approval has left by itself, whatever those above it have; 0: it is over. */
uint64_t consent_left(struct consent *c, uint64_t approval, uint64_t now_ms);
