/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What stands behind joined.h: joined.c sends and hears, joined-live.c takes orders. */
#include <pthread.h>

#include "holder/join.h"
#include "holder/live.h"
#include "lib/api/joined.h"

/* For the log: an event whose texts are its own. */
struct joined_note {
	enum audit_action action;
	enum audit_decision decision;
	char *target, *reason;
};

struct joined_answer {
	uint64_t asker;
	struct answer a;
};

/* With a ceiling it takes orders. */
struct joined_live {
	struct holder_live live;
	struct permissions *declared;
	const struct permissions *layers[HOLDER_LIVE_CEILING_MAX];
	struct limits limits;
	const struct variables *variables;
	/* What a thread that can wait is to take. */
	struct joined_change change;
	bool has_change, must_end;
	struct error why; /* it must */
	struct joined_answer answers[HOLDER_LIVE_QUESTIONS_MAX];
	size_t n_answers;
	struct joined_note *notes;
	size_t n_notes, cap_notes;
};

struct joined {
	/*
	 * Guards the rest, but for `audit`. No other lock is taken while it is held: events come
	 * here from logs that are locked.
	 */
	pthread_mutex_t lock;
	struct holder_join join;
	bool is_stopped, is_muted;
	struct joined_live *live;   /* NULL: it takes no orders */
	struct corral_audit *audit; /* without a file: it redacts */
	struct corral_audit *host;  /* redacts, too; or NULL */
};

/* Accepts NULL. The join must be there still. */
void joined_live_free(struct joined_live *l);
