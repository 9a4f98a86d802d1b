/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Questions about connections, flows of datagrams, and requests of HTTP, that the policy says to
 * ask about. They wait here until the holder of the session has passed an answer on
 * (wire/question.h), or their time is over.
 *
 *     relay -- QUESTION --> holder           one for each target, however many connections wait;
 *                                            one for each request
 *     relay <-- ANSWER ---- holder           and none that the holder could not have refused itself
 *     relay -- QUESTION_OVER --> holder      no connection waits for the answer any more
 *
 * What programs inside can make of it is bounded: so many questions at a time and in a minute, so
 * many connections that wait. Beyond that a connection is refused at once, as it is without a
 * daemon. A no is remembered for a while, so that the same question is not repeated until the user
 * agrees. Flows may use half of each bound: a datagram costs its sender nothing, and a flood of
 * them must leave room for connections. A later question never replaces one that waits: the list
 * must not change while the user answers.
 */
#include "net/judge.h"
#include "event/loop.h"
#include "wire/question.h"

enum {
	ASKER_QUESTIONS_MAX = 16, /* that wait */
	ASKER_PER_MINUTE = 64,
	ASKER_CONNECTIONS_MAX = 256, /* that wait, flows and requests included */
	ASKER_FLOW_QUESTIONS_MAX = ASKER_QUESTIONS_MAX / 2,
	ASKER_FLOWS_PER_MINUTE = ASKER_PER_MINUTE / 2,
	ASKER_FLOWS_MAX = ASKER_CONNECTIONS_MAX / 2,
	ASKER_REFUSALS_MAX = 64, /* that are remembered; a person gave each of them */
	ASKER_REFUSED_MS = 5 * 60 * 1000,
};

struct asker;

enum asker_end {
	ASKER_REFUSED, /* the judgement's reason says why */
	ASKER_AGREED,  /* to this connection, or request */
	ASKER_GRANTED, /* the policy was changed: ask that */
};

struct asker_wait {
	/* It waits no more, and may be freed here. Never called before asker_join() returns. */
	void (*done)(struct asker_wait *w, enum asker_end how, const struct net_judgement *j);
	bool is_flow;
	const char *program; /* for the user: that waits; NULL: not known */

	/* private */
	struct asker_question *question; /* NULL: it does not wait */
	struct asker_wait *next, *previous;
};

/* wait_ms: how long an answer is waited for. The socket is the holder's, non-blocking. */
int asker_new(struct asker **ret, struct loop *l, int socket, uint32_t wait_ms);
/* No connection may wait any more. */
void asker_free(struct asker *a);
/*
 * Waits for an answer about j, which the policy asks about: about j's target, or about a single
 * request to it, by the text that shows it (judge.h); NULL: the target. False: it is refused now,
 * and j's reason says why.
 */
bool asker_join(
	struct asker *a, struct asker_wait *w, struct net_judgement *j, const char *request);
/* It does not wait any more. QUESTION_ANSWERED: a change of the policy let it go on. */
void asker_leave(struct asker_wait *w, enum question_end how);
/* An answer of the holder to the question of that number; ignored if no connection waits for it. */
void asker_answer(struct asker *a, uint64_t id, const struct answer *answer);
