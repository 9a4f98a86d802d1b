/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a session reports about its commands, as events of an audit log (audit/trail.h): one
 * translation, whoever holds the session. Text of a command's choice goes in as it is; who prints
 * it makes it visible.
 */
#include <stdbool.h>
#include <stdint.h>

#include "audit/trail.h"
#include "base/buffer.h"
#include "policy/permissions.h"
#include "wire/record.h"
#include "wire/report.h"

/* In the record of a confinement: whether files and programs that are denied are recorded. */
#define HOLDER_FILES_WATCHED "files: watched"
#define HOLDER_FILES_NOT_WATCHED "files: not watched"

/* Of which command, and when. */
struct holder_record {
	struct audit_trail *trail;
	uint64_t time_ns;    /* 0: now */
	const char *program; /* the actor, where the report names no other */
	uint64_t command;    /* its number, where one sandbox has several; 0: none */
};

/* How it ended. */
struct holder_end {
	const struct report *report;
	const struct limits *limits; /* that it had; NULL: not known */
	uint64_t printed;            /* bytes of output; 0: not known */
	uint64_t dropped;            /* bytes beyond the limit of output */
	bool is_truncated;           /* there were some; their number is not known */
};

/* A request that was denied; of a variable only the name is recorded. */
struct holder_denial {
	enum operation op;
	const char *target, *rule, *reason;
	bool is_exact;
	uint64_t count;
	uint32_t pid;
};

/*
 * The values of these variables ("NAME=value" …; ends with NULL) are never to be in the log. Before
 * the first event about a command that has them. -E2BIG: they are too many; -ENOMEM.
 */
int holder_record_secrets(struct audit_trail *t, const char *const *env);
/* A connection, or what came of an attempt to make one or to look up a name. */
void holder_record_network(const struct holder_record *r, const struct record *record);
void holder_record_denial(const struct holder_record *r, const struct holder_denial *d);
/*
 * What a broker did (FRAME_EVENT): an encoded event, which gets this log's session and number, and
 * before it how many are missing. len 0: only that. -EBADMSG: it is no event.
 */
int holder_record_call(
	const struct holder_record *r, const void *data, size_t len, uint64_t missing);
/* A change of files by Corral for the command, or one that came to nothing; reason: a sentence. */
void holder_record_files(const struct holder_record *r, enum audit_decision decision,
	const char *path, const char *reason, uint64_t count);
/* Its end, after an event for each limit that it met. */
void holder_record_end(const struct holder_record *r, const struct holder_end *end);

/* A limit in words: "timeout 5s", "memory 64M". */
void holder_record_limit(enum limit which, uint64_t value, struct buffer *out);
