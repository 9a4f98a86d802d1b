/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The requests on a connection whose TLS is opened for the policy (network.inspect). The injector
 * reads them and asks about each (net/lent.h); they are judged here, by the policy that is in force
 * at that moment, as requests of plain HTTP are (judge.h). One that the policy asks about waits for
 * the user's answer (asker.h); each that is denied makes a record.
 */
#include "net/asker.h"
#include "net/lent.h"

struct opened_request;

struct opened {
	/* A request was denied: j's target is "GET https://a.com:443/path". */
	void (*denied)(struct opened *o, const struct net_judgement *j);
	const struct net_judge *judge;
	const struct destination *destination; /* of the connection */
	struct asker *asker;                   /* NULL: no user can be asked */
	const char *program;                   /* for the user; NULL: not known */
	bool *asks;                            /* is true while some wait for the user */
	struct lent_queue *queue;              /* that it was handed over by */
	uint64_t id;                           /* as it was handed over with; 0: it was not */

	/* private: those that wait for an answer */
	struct opened_request *first;
};

/* The injector asks about r. What it asks beyond the bounds of the asker is denied. */
void opened_ask(struct opened *o, const struct lend_request *r);
/* The judge has another policy. */
void opened_review(struct opened *o);
/* The connection ends: no answer is waited for. */
void opened_deinit(struct opened *o);
