/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What stands behind joined.h: joined.c sends and hears, joined-live.c talks to the holder. */
#include <pthread.h>

#include "holder/join.h"
#include "holder/live.h"
#include "lib/api/joined.h"

/* For the log: an event whose texts are its own. */
struct joined_note {
	enum audit_action action;
	enum audit_decision decision;
	char *target, *reason;
	uint64_t count;
};

struct joined_answer {
	uint64_t asker;
	struct answer a;
};

/* The holder, and what it said. */
struct joined_live {
	int socket, pidfd; /* -1: there is no holder, or it has ended */
	bool was_started;
	uint64_t last_session, last_declared;
	bool has_news; /* to be pulled */
	/* The last answer to something that is waited for. */
	enum frame_type replied;
	uint64_t replied_id;
	int32_t replied_why;
	/* For a thread that can wait. */
	struct joined_change change;
	uint64_t changes, taken,
		applied; /* how many came; the one that was taken, and is in force */
	bool must_end;
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
	char *warden;
	struct joined_live live;
	struct corral_audit *audit; /* without a file: it redacts */
	struct corral_audit *host;  /* redacts, too; or NULL */
};

/* With the lock held. */

/* Sends and hears, without waiting. */
void joined_hear(struct joined *j);
/* What the holder says, for holder_join_handler. NULL: it has ended. */
void joined_live_frame(void *context, struct frame *f);
/* Pulls what there is to be pulled. */
void joined_live_pull(struct joined *j);
/* Whether there is something for a thread that can wait. */
bool joined_live_is_due(const struct joined_live *l);
/* Ends the holder. The join must not use it any more. */
void joined_live_deinit(struct joined_live *l);
