/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* corrald-http: the confined child that reads HTTP. It is started again when it dies. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/message.h"
#include "event/loop.h"
#include "warden/outbox.h"
#include "process/child.h"
#include "wire/frame.h"

enum {
	HTTP_STARTS_MAX = 5, /* of corrald-http in HTTP_STARTS_MS; more wait until those are over */
	HTTP_STARTS_MS = 10 * 1000,
};

struct supervisor;

/* Tabs of the page that know their key (daemon/proof.h), in a ring. */
struct tabs {
	struct message_tab rows[PROOF_TABS_MAX];
	size_t n; /* so far */
};

struct http_process {
	struct child child;
	struct watcher link;
	struct outbox out;
	struct timer again;
	uint64_t started[HTTP_STARTS_MAX]; /* ms: the last ones, in a ring */
	size_t n_started;
	struct frame frame;
	uint64_t last_call; /* that it made */
	bool is_heard;      /* calls of `frame` are under way */
	/* It was sent what there was: there may be room for more, or it broke a rule. */
	void (*flushed)(struct supervisor *s);
	struct tabs tabs;
	char label[PROOF_ID + 1]; /* the page's host is LABEL.localhost, for this start */
	char start[PROOF_ID + 1]; /* names this one: counts of tabs begin anew with it */
};

int http_process_start(struct supervisor *s);
void http_process_end(struct supervisor *s);
/* It broke a rule, has died, or does not answer: another one is started. */
void http_process_lose(struct supervisor *s, const char *why);
/* A connection; refusal: why all that it asks is refused, or "". */
void http_process_hand_over(struct supervisor *s, int fd, bool by_tcp, const char *refusal);
