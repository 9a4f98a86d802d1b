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
	LAUNCH_ASKING_PER_MINUTE = 64,
	LAUNCH_ASKING_NOES = 8, /* in a row, of one kind: then it is not asked for a while */
	LAUNCH_ASKING_KINDS = 16,
	LAUNCH_ASKING_MINUTE_MS = 60 * 1000,
	LAUNCH_ASKING_NO_MS = QUESTION_DENIED_MAX_S * 1000,
};

struct launch_asking_kind {
	uint64_t hash; /* 0: free */
	uint64_t last_ms;
	unsigned noes;
};

struct launch_asking {
	uint64_t minute_ms; /* when it began */
	unsigned n_minute;
	bool is_refusing; /* the last one was not asked; for who records that */
	struct launch_asking_kind kinds[LAUNCH_ASKING_KINDS];
	struct launch_asking_kind others; /* all that found no place among these */
};

/* Counts it. ANSWER_BY_USER: the user is asked. Else why not. */
enum answer_why launch_asking_admit(
	struct launch_asking *a, const struct question *q, uint64_t now_ms);
/* What the user said to one of this kind. */
void launch_asking_answered(
	struct launch_asking *a, const struct question *q, enum answer_kind how, uint64_t now_ms);
