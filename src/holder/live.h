/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What changes in a sandbox while it runs, for whoever holds its session: questions that wait for
 * a person, and grants. The daemon gives orders (wire/question.h); here they are carried out, below
 * the ceiling that the host declared, or refused with a sentence.
 *
 *     the host's hooks <-- holder_live --> holder_join --> corrald
 *
 * Grants end by their own time here, daemon or not. A corrald that comes later hears of all
 * questions and grants. One change is under way at a time; orders wait for it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "holder/asking.h"
#include "holder/join.h"
#include "policy/algebra/ceiling.h"
#include "policy/policy.h"
#include "wire/question.h"

enum {
	HOLDER_LIVE_QUESTIONS_MAX = 64,
	HOLDER_LIVE_ORDERS_MAX = 16, /* that wait */
	HOLDER_LIVE_CEILING_MAX = 64,
	HOLDER_LIVE_DESCRIBE_MS = 50,
};

struct holder_live_hooks {
	/* To who asked, by its own number. */
	void (*answer)(void *context, uint64_t asker, const struct answer *a);
	/*
	 * These are all grants, from now on. holder_live_settled() follows, sooner or later, unless
	 * it returns a negative value with a sentence.
	 */
	int (*put)(void *context, const struct live_grant *grants, size_t n, struct error *e);
	/* Something that was granted cannot be taken back: the sandbox must end. */
	void (*fail)(void *context, const char *why);
	/*
	 * What a daemon shows of the sandbox. Comes HOLDER_LIVE_DESCRIBE_MS after the daemon has
	 * let us in: to put it in words takes longer than many a command. May be NULL.
	 */
	void (*describe)(void *context);
	/* For the log. */
	void (*note)(void *context, const struct audit_event *event);
	/* For who asks the user here, beside the daemon (holder_live_answer()): one does not wait
	 * any more; and an answer was refused, with a sentence. Both may be NULL. */
	void (*over)(void *context, uint64_t question, enum question_end how);
	void (*refused)(void *context, uint64_t question, const char *why);
	void *context;
};

/* What a sandbox may be granted. The layers must outlive it. */
struct holder_live_ceiling {
	const struct permissions *const *layers; /* of the sandbox: they stay in force */
	size_t n_layers;
	/* What the host declared beside them; none: what the layers allow or ask about. */
	const struct permissions *const *declared;
	size_t n_declared;
	/* With a declared one: how many of the layers, from the first, it stands in for. */
	size_t n_replaced;
	struct policy_options options;
};

struct holder_live_question {
	uint64_t id, asker; /* 0: the place is free */
	uint64_t until_ms;  /* of CLOCK_BOOTTIME */
	bool is_left;       /* while it is being answered: it was not waited for any more */
	enum question_end how;
	struct arena arena; /* of the texts */
	struct question q;
};

struct holder_live_grant {
	uint64_t id;
	bool is_new, is_over; /* not in force yet; not to be any more, and a change leaves it out */
	bool is_out;          /* the change that is under way leaves it out */
	struct live_grant g;  /* its pattern is its own */
};

struct holder_live_order {
	enum frame_type type; /* FRAME_NONE: the time of a grant was over */
	uint64_t id;
	struct buffer body;
};

struct holder_live {
	struct holder_live_hooks hooks;
	struct holder_live_ceiling ceiling;
	struct holder_join *join;
	uint64_t next_id;
	uint64_t describe_ms; /* of CLOCK_BOOTTIME: when to; 0: not */
	struct holder_asking asking;
	struct holder_live_question questions[HOLDER_LIVE_QUESTIONS_MAX];
	struct holder_live_grant *grants;
	size_t n_grants, cap_grants;
	/* One more, which no daemon takes away: that the time of a grant was over. */
	struct holder_live_order waiting[HOLDER_LIVE_ORDERS_MAX + 1];
	size_t n_waiting;
	/* The change that is under way. */
	bool is_busy;
	uint64_t order;    /* of the daemon, or the user's here; 0: none */
	uint64_t here;     /* the question that the user answered here last */
	uint64_t made;     /* the grant */
	uint64_t question; /* that it answers; 0: none */
	bool is_undoing;
};

/* The join must outlive it; from here on it gives its orders here. */
void holder_live_init(struct holder_live *l, struct holder_join *join,
	const struct holder_live_hooks *hooks, const struct holder_live_ceiling *ceiling);
void holder_live_deinit(struct holder_live *l);

/* A question of the broker or the relay, by its own number; the same number again is asked once
 * more. Positive: it is not asked, and why (enum answer_why). -ENOMEM …: the same. */
int holder_live_ask(struct holder_live *l, uint64_t asker, const struct question *q);
/* It does not wait any more. asker 0: all of the broker's, which has ended. */
void holder_live_question_over(struct holder_live *l, uint64_t asker, enum question_end how);
/* The same of all whose number has these bits, and no others of the mask. */
void holder_live_questions_over(
	struct holder_live *l, uint64_t mask, uint64_t bits, enum question_end how);
/* The question after that one that waits, in the order in which they were asked; NULL: none. */
const struct holder_live_question *holder_live_next(const struct holder_live *l, uint64_t after);
/* The user answered here. It takes the way of the daemon's answers, with the same checks. */
void holder_live_answer(struct holder_live *l, const struct answer *a);
/*
 * The host declared something else, and it is in force: all grants that were made below the former
 * ceiling are over. A change that is under way is given up; holder_live_settled() does not follow.
 */
void holder_live_declare(struct holder_live *l, const struct holder_live_ceiling *ceiling);
/* What became of `put`: 0, or a negative errno value with a sentence. */
void holder_live_settled(struct holder_live *l, int code, const char *why);

/* Ends what is over by now; and how long poll() may wait for that (-1: for ever). */
void holder_live_tick(struct holder_live *l);
int holder_live_wait_ms(const struct holder_live *l, int otherwise);

/* Whether the permissions allow some hosts, or ask about them. */
bool holder_live_names_hosts(const struct permissions *p);
/*
 * Permissions for a relay: what the layers say about the network, without grants, as an image with
 * the places of rules (policy/format/image.h).
 */
int holder_live_network(
	const struct permissions *const *layers, size_t n, struct buffer *out, struct error *e);
