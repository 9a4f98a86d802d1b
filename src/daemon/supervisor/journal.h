/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The log, whose one writer the daemon is while it runs, and the lines for people. */
#include <stdint.h>

#include "audit/trail.h"
#include "base/buffer.h"
#include "base/error.h"
#include "daemon/config.h"

struct supervisor;

struct journal {
	struct audit_trail *trail;
	int failure; /* of which a line was said; 0: none */
	struct buffer path;
	int fd; /* for people */
};

int journal_open(struct supervisor *s, struct error *e);
void journal_close(struct supervisor *s);
void journal_say(struct supervisor *s, enum config_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A record of the log: who asked the API for what. Returns its number in the trail's ring; 0: it is
 * in none. */
uint64_t journal_record(struct supervisor *s, const struct audit_event *event);
/* A line when the log cannot be written any more, and when it can again. */
void journal_tell_failure(struct supervisor *s);
/* All records so far are in the log when this returns 0. Waits for other programs that write it. */
int journal_commit(struct supervisor *s, struct error *e);
