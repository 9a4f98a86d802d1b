/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One question (a name and a type) and the way to its answer: from server to server, by UDP, and by
 * TCP where UDP does not do.
 */
#include "net/dns/lookup.h"

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
