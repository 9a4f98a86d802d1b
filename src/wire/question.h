/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Questions of a sandbox to its user, and what is changed in it while it runs: the bodies of the
 * frames between whoever holds the session and corrald, and between the holder and its broker.
 *
 *     broker -- QUESTION --> holder -- QUESTION --> corrald       a person, who has the token
 *     broker <-- ANSWER ---  holder <-- ANSWER ---  corrald
 *     broker <-- GRANTS ---  holder <-- GRANT, REVOKE -- corrald
 *
 * The relay of the network asks as the broker does, about net.connect only (net/asker.h).
 *
 * The holder decides: it knows the ceiling. Each order of corrald (ANSWER, GRANT, REVOKE) is
 * answered by JOIN_REPLY with the order's id. What is granted is announced by GRANTED, and its end
 * by GRANT_OVER; both again to a corrald that comes later, as are the questions that wait.
 *
 * All texts are UTF-8 without a NUL, of at most QUESTION_TEXT_MAX bytes. Decoding returns -EPROTO
 * for what encoding would not have written; texts point into the body.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/operation.h"

enum {
	QUESTION_TEXT_MAX = 4096,
	QUESTION_SCOPES_MAX = 4,
	QUESTION_WAIT_MAX_MS = 24 * 3600 * 1000, /* that a call waits */
	QUESTION_DENIED_MAX_S = 5 * 60,          /* that a no is remembered */
	QUESTION_GRANTS_MAX = 256,               /* of one sandbox, at one time */
};

/* For who holds a session: in the numbers of the relay's questions, which are not the broker's. */
#define QUESTION_OF_RELAY (UINT64_C(1) << 63)

/* FRAME_QUESTION; the id is the asker's. One that is sent again was asked once more. */
struct question {
	uint32_t op;      /* enum operation */
	uint32_t pid;     /* who asks, as the host sees it; 0: not known */
	uint32_t wait_ms; /* how long the answer is waited for, from now on */
	uint32_t n_scopes;
	const char *target, *program, *rule, *reason;
	const char *method; /* of the broker that it called; "" or NULL: none */
	/* What could be granted for a time: patterns, the narrowest first. */
	const char *scopes[QUESTION_SCOPES_MAX];
};
int question_encode(const struct question *q, struct buffer *out);
int question_decode(struct question *ret, const void *body, size_t len);

/* FRAME_QUESTION_OVER: one that is not waited for any more. */
enum question_end {
	QUESTION_ANSWERED,
	QUESTION_EXPIRED,  /* no answer came in time */
	QUESTION_GIVEN_UP, /* who asked has gone */
	QUESTION_END_COUNT,
};
int question_over_decode(enum question_end *ret, const void *body, size_t len);

/* FRAME_ANSWER. Zero denies. */
enum answer_kind { ANSWER_DENY, ANSWER_ONCE, ANSWER_ALLOW, ANSWER_KIND_COUNT };
/* Of a denial: who said so. The user, or the holder, which did not ask (holder/asking.h). */
enum answer_why { ANSWER_BY_USER, ANSWER_TOO_MANY, ANSWER_NO_BEFORE, ANSWER_WHY_COUNT };
/* In words; NULL: the user said so. */
const char *answer_why_text(uint32_t why);
struct answer {
	uint64_t question; /* its id */
	uint64_t ttl_ms;   /* of ALLOW: 0, while the sandbox lives; of DENY: 0, the usual time */
	uint32_t kind;
	uint32_t why;        /* enum answer_why; 0 but for DENY */
	const char *pattern; /* of ALLOW: one of the question's scopes; "": the target itself */
};
int answer_encode(const struct answer *a, struct buffer *out);
int answer_decode(struct answer *ret, const void *body, size_t len);

/* FRAME_GRANT: an order; FRAME_GRANTED: what is in force, by its id. Times are of the day, ms. */
enum grant_by { GRANT_BY_API, GRANT_BY_ANSWER, GRANT_BY_COUNT };
struct live_grant {
	uint64_t since_ms; /* 0 in an order */
	uint64_t until_ms; /* 0: while the sandbox lives; in an order, the time from now on */
	/* The same by CLOCK_BOOTTIME, which counts suspend and ignores changes of the time of day,
	 * for the process that enforces it; 0 in an order. */
	uint64_t ends_ms;
	uint32_t op; /* enum operation */
	uint32_t by; /* enum grant_by */
	const char *pattern;
};
int live_grant_encode(const struct live_grant *g, struct buffer *out);
int live_grant_decode(struct live_grant *ret, const void *body, size_t len);

/* Whether its time is over. */
static inline bool live_grant_is_over(const struct live_grant *g, uint64_t now_ms)
{
	return g->ends_ms && g->ends_ms <= now_ms;
}
/* The end of the first of those that had not ended at that time; UINT64_MAX: none of them ends. */
uint64_t live_grants_next_end(const struct live_grant *g, size_t n, uint64_t at_ms);

/* FRAME_GRANTS: all that are in force, from the holder to its broker. */
int live_grants_encode(const struct live_grant *g, size_t n, struct buffer *out);
/* Returns how many, at most QUESTION_GRANTS_MAX. */
int live_grants_decode(struct live_grant ret[QUESTION_GRANTS_MAX], const void *body, size_t len);

/* FRAME_JOIN_REPLY: done, and the id of what was made; or why not (wire/report.h). */
struct join_reply {
	uint64_t made; /* 0: nothing */
	int32_t error; /* an errno value, positive; 0: it was done */
	uint32_t reserved;
	const char *text; /* of an error; else "" */
};
int join_reply_encode(const struct join_reply *r, struct buffer *out);
int join_reply_decode(struct join_reply *ret, const void *body, size_t len);
