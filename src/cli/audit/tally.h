/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a log comes to: counts, in a space that does not depend on what is in it. */
#include "audit/store/log.h"
#include "cli/audit/top.h"
#include "cli/verb.h"

struct audit_tally {
	uint64_t records;
	uint64_t events; /* a record may stand for several */
	uint64_t by[AUDIT_ACTION_COUNT][AUDIT_DECISION_COUNT];
	uint64_t sent, received;
	uint64_t from_ns, to_ns;  /* the earliest and the latest */
	struct audit_top *denied; /* targets; kind: the action */
	struct audit_top *programs;
};

int audit_tally_init(struct audit_tally *t);
void audit_tally_deinit(struct audit_tally *t);
#define auto_audit_tally __attribute__((cleanup(audit_tally_deinit))) struct audit_tally

/* Counts a record; the context is the tally. */
audit_log_visit audit_tally_add;
/* All that was counted; ready to be printed. */
void audit_tally_finish(struct audit_tally *t);
uint64_t audit_tally_of_action(const struct audit_tally *t, unsigned action);
uint64_t audit_tally_of_decision(const struct audit_tally *t, unsigned decision);

/* For people, and for programs; `path` is the log's. */
int audit_tally_print(const struct audit_tally *t, struct error *e);
int audit_tally_print_tree(struct call *c, const char *path, const struct audit_tally *tally);
