/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of the lookup share: one question on its way, and the answers that are kept. */
#include "net/dns/lookup.h"

/*
 * One question (a name and a type) and the way to its answer: from server to server, by UDP, and by
 * TCP where UDP does not do.
 */
struct lookup_question {
	/*
	 * Called once, from the loop, unless it is stopped. 0: `answer` is filled (DNS_OK or
	 * DNS_NO_NAME). -ETIMEDOUT, -EIO: no server had an answer; … It may free the question.
	 */
	void (*done)(struct lookup_question *q, int error);
	struct dns_answer answer;

	/* private */
	struct loop *loop;
	const struct lookup_config *config;
	const char *name;
	enum dns_type type;
	uint16_t id;
	unsigned turn; /* how often a server was asked */
	int error;     /* why the last one was no use */
	unsigned strays;
	struct timer timer;
	struct watcher watcher;
	const struct lookup_server *server;
	uint8_t *message; /* what goes by TCP, or comes: two bytes of length, then the message */
	size_t len, at;
};

/* The name must outlive it. -ENOMEM. */
int lookup_question_start(struct lookup_question *q, struct loop *l, const struct lookup_config *c,
	const char *name, enum dns_type type);
/* At any time; also if it was never started, in zeroed memory. */
void lookup_question_stop(struct lookup_question *q);

/*
 * Answers by name, for a while. Bounded: the one that was not asked for the longest time goes
 * first. The hash has a secret, since who is inside may choose names under a wildcard.
 *
 * An answer is shared and never changed: who holds one has a reference.
 */
enum { LOOKUP_CACHE_NAMES = 1024 };

struct lookup_answer {
	unsigned references;
	struct lookup_result result; /* its chain points into the names */
	char names[];
};

/* A copy of r with one reference. NULL: out of memory. */
struct lookup_answer *lookup_answer_new(const struct lookup_result *r);
/* NULL is fine. */
void lookup_answer_unref(struct lookup_answer *a);

struct lookup_cache;

int lookup_cache_new(struct lookup_cache **ret);
void lookup_cache_free(struct lookup_cache *c);

/* Borrowed, until the cache is used again; NULL: not known (any more). */
struct lookup_answer *lookup_cache_get(struct lookup_cache *c, const char *name, uint64_t now_ms);
/* Replaces what was known. Takes a reference of its own; out of memory, it keeps nothing. */
void lookup_cache_put(
	struct lookup_cache *c, const char *name, struct lookup_answer *a, uint64_t until_ms);
