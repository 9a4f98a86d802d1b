/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether the user of a sandbox is asked once more: one rate, and one memory of "no", for all that
 * asks in it (commands by the broker, connections by the relay, calls of an enclave). A command
 * chooses what it asks about; so questions are counted by their kind, which is the operation and
 * the rule that asks, and not by their target.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/operation.h"
#include "wire/question.h"

enum {
	HOLDER_ASKING_PER_MINUTE = 64,
	/* Where everything that is denied becomes a question (--ask-denied): no policy bounds what
	 * a command can ask about. */
	HOLDER_ASKING_FEW = 6,
	HOLDER_ASKING_NOES = 8, /* in a row, of one kind: then it is not asked for a while */
	HOLDER_ASKING_KINDS = 16,
	HOLDER_ASKING_MINUTE_MS = 60 * 1000,
	HOLDER_ASKING_NO_MS = QUESTION_DENIED_MAX_S * 1000,
};

struct holder_asking_kind {
	uint64_t hash; /* 0: free */
	uint64_t last_ms;
	unsigned noes;
};

struct holder_asking {
	bool is_few;        /* HOLDER_ASKING_FEW in a minute */
	uint64_t minute_ms; /* when it began */
	unsigned n_minute;
	bool is_refusing; /* the last one was not asked; for who records that */
	struct holder_asking_kind kinds[HOLDER_ASKING_KINDS];
	struct holder_asking_kind others; /* all that found no place among these */
};

/* Counts it. ANSWER_BY_USER: the user is asked. Else why not. */
enum answer_why holder_asking_admit(
	struct holder_asking *a, const struct question *q, uint64_t now_ms);
/* What the user said to one of this kind. */
void holder_asking_answered(
	struct holder_asking *a, const struct question *q, enum answer_kind how, uint64_t now_ms);
