/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reading a log: by a connection of its own, also while another process writes. It keeps no
 * writer out, and waits only where SQLite must put its index in order, two seconds at most; a
 * reader that stays in the middle keeps the write-ahead file growing. What is read is not verified
 * by that (verify.h); only its form is.
 */
#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"
#include "audit/store/merkle.h"
#include "base/error.h"

struct audit_query {
	uint64_t from, to; /* numbers; 0: no bound */
	uint64_t since_ns, until_ns;
	const char *session;  /* NULL: any */
	int action, decision; /* -1: any */
	/*
	 * A pattern over the whole target, or NULL: one that starts with "/" as in a grant
	 * (policy/match/glob.h), for paths; any other with `*`, `?` and `[…]` over all characters,
	 * for hosts, programs, names.
	 */
	const char *target;
	uint64_t limit; /* 0: none */
	bool newest_first;
};

struct audit_row {
	uint64_t number;
	struct audit_event event;
	struct hash hash; /* of the chain */
};

struct audit_log;

/* -ENOENT, -EBADMSG: it is no log. */
int audit_log_open(struct audit_log **ret, const char *path, struct error *e);
void audit_log_close(struct audit_log *l);

/* The numbers of the first and the last record; both 0 if there is none. */
int audit_log_range(struct audit_log *l, uint64_t *ret_first, uint64_t *ret_last, struct error *e);

/*
 * Calls back for each row, whose texts live until it returns; a non-zero return ends the reading
 * and is returned. -EINVAL: the pattern is none. -EBADMSG: a row is no record.
 */
typedef int audit_log_visit(void *context, const struct audit_row *row);
int audit_log_read(struct audit_log *l, const struct audit_query *q, audit_log_visit *visit,
	void *context, struct error *e);
