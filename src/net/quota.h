/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The limits of network use: new connections per window (rate_limit, of the session as a whole) and
 * bytes per destination (max_bytes, both directions together), the strictest of all layers. A
 * destination is a target text, "api.example.com:443". No allocation per connection to a
 * destination that is known; at most 65536 destinations, then none but those.
 */
#include <stdint.h>

#include "policy/policy.h"
#include "wire/ledger.h"

enum { QUOTA_DESTINATIONS_MAX = 65536 };

struct quota;
struct quota_account; /* of one destination; lives as long as the quota. NULL: no limit */

/* The policy must outlive it, and so must the ledger, with which others count too; NULL: none do.
 */
int quota_new(struct quota **ret, const struct policy *p, struct ledger *shared);
void quota_free(struct quota *q);
/*
 * Another policy, which must outlive it too. What was counted so far stays: bytes of destinations,
 * and connections in windows of the same length. Every account that is in use has to be reviewed
 * then. On failure nothing has changed.
 */
int quota_change(struct quota *q, const struct policy *p);
/* Of a connection by which so many bytes have passed. Negative: it may not go on; reason says why.
 */
int quota_review(struct quota *q, struct quota_account **account, const char *target,
	uint64_t bytes, char reason[256]);
/*
 * A new connection, at that time (ms). -EDQUOT: too many in this window, or the destination's bytes
 * are used up; reason is then the sentence ("more than 10 connections in 60 s: policy.yaml"). What
 * is refused does not count. -ENOSPC, -ENOMEM; reason is set then, too.
 */
int quota_open(struct quota *q, const char *target, uint64_t now_ms, struct quota_account **ret,
	char reason[256]);
/* Would quota_open() let it pass? Nothing is counted. */
int quota_ask(struct quota *q, const char *target, uint64_t now_ms, char reason[256]);
/* How many more bytes may pass to and from there; UINT64_MAX: no limit. */
uint64_t quota_left(const struct quota_account *a);
/* They passed. */
void quota_charge(struct quota_account *a, uint64_t sent, uint64_t received);
/* The sentence for an account with nothing left. */
void quota_explain(const struct quota_account *a, char reason[256]);
