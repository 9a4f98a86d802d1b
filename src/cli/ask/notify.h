/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A question on the user's desktop, where there is no terminal to ask in. It only points to the
 * question: it has no buttons, and its words are Corral's. It is shown by the back end of
 * notifications (services/desktop/notify.h) in a process of its own, `corral questions notify`,
 * which the run does not wait for, and which says nothing where there is no desktop.
 *
 * One rate for all runs of the user: ASK_NOTIFY_MAX in a minute. What is beyond it is found in
 * `corral questions` like the others.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "broker/method.h"
#include "cli/verb.h"
#include "policy/operation.h"

struct run;

enum { ASK_NOTIFY_MAX = 4, ASK_NOTIFY_MS = 60 * 1000, ASK_NOTIFY_NAME = 160 };

/* Of one run: so that a command that asks without end does not start processes without end. */
struct ask_notify {
	uint64_t sent_ms[ASK_NOTIFY_MAX]; /* a ring, of CLOCK_MONOTONIC */
	unsigned n;
};

/* A new question, about this. is_later: of a command that has failed. */
void ask_notify(struct run *r, uint32_t op, const char *target, bool is_later);

/* `corral questions notify`: 0: it was shown. 1: not, because there were too many of late. */
int ask_notify_show(struct call *c, enum operation op, const char *target, bool is_later);
/* How the back end is called. */
extern const struct method ask_notify_method;
/* What it says. */
void ask_notify_words(enum operation op, const char *target, bool is_later, struct buffer *title,
	struct buffer *body);
