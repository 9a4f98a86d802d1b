/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What reading, verifying and proving share: how a log is opened, what a row of it looks like. */
#include "audit/store/chain.h"
#include "audit/store/log.h"
#include "audit/store/sql.h"

enum { LOG_RECORD_MAX = CHAIN_NUMBER_BYTES + AUDIT_EVENT_MAX };

struct audit_log {
	struct sql sql;
	char *path;
};

/* A row as it lies there, as long as its statement is not stepped on. */
struct log_record {
	uint64_t number;
	const uint8_t *data; /* the number, the encoded event: what was hashed */
	size_t len;
	struct hash hash;
};

/* SELECT number, event, hash. -EBADMSG: it has not the form of one (ret->number is filled). */
int log_record_read(sqlite3_stmt *st, struct log_record *ret);
/* The number that the record itself says it has. */
static inline uint64_t log_record_claim(const struct log_record *r)
{
	return chain_get_number(r->data);
}

/* Several questions about the same moment. */
int log_freeze(struct audit_log *l, struct error *e);
void log_thaw(struct audit_log *l);
