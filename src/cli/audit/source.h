/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Which log is meant, and what to tell where it cannot be read. */
#include "audit/store/log.h"
#include "cli/verb.h"

/* The file that the i-th word names, or the user's own (audit/place.h) if there is none. */
int audit_source_find(struct call *c, size_t i, const char **ret);
/* A file beside the log: path with a suffix. Writers go where a link leads, and so does this. */
void audit_source_name(const char *path, const char *suffix, struct buffer *out);
/* The same, in the arena. */
int audit_source_beside(struct call *c, const char *path, const char *suffix, const char **ret);

/* audit_log_open(), with an error that says what to do. */
int audit_source_open(struct call *c, const char *path, struct audit_log **ret);

static inline void audit_source_closep(struct audit_log **l)
{
	audit_log_close(*l);
}
#define auto_audit_log __attribute__((cleanup(audit_source_closep))) struct audit_log
