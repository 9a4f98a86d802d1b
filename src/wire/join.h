/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of FRAME_JOIN: who announces a sandbox to the daemon, and what it is. Texts are for
 * people; nothing is decided by them. What the daemon must rely on (uid, pid, whether the peer is
 * inside a sandbox) it asks the kernel.
 *
 * Events are kept until JOIN_ACK. corral run sends them after JOINED; programs that use the library
 * do not wait for it. JOINED and JOIN_ACK have a number of the log: events without JOIN_ACK that
 * are in the log have higher numbers. The id of JOIN is that number plus 1 if the holder was
 * connected before and sends such events again, and else 0.
 *
 * The id of JOIN_EVENT is JOIN_EVENT_WRITTEN if the holder wrote the event to the daemon's log
 * itself, and else 0.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/permissions.h"

enum { JOIN_ID_MAX = 32, JOIN_TEXT_MAX = 4096, JOIN_EVENT_WRITTEN = 1 };

/* What holds the session: `corral run`, a warden for a program, or an enclave. */
enum join_kind { JOIN_RUN, JOIN_SESSION, JOIN_ENCLAVE, JOIN_KIND_COUNT };
extern const char *const join_kinds[JOIN_KIND_COUNT];

struct join {
	uint64_t started_ms; /* time of day */
	uint64_t kind;       /* enum join_kind */
	const char *id;      /* of the session, as in its records: [0-9a-f], 8 to JOIN_ID_MAX */
	const char *name;    /* of the sandbox: a skill, a mode, a policy */
	const char *command; /* without secrets */
	const char *folder;  /* where it started */
	const char *policy;  /* where its permissions come from */
};

/* Appends it; texts are cut to JOIN_TEXT_MAX. -EINVAL: the id; -ENOMEM. NULL is "". */
int join_encode(const struct join *j, struct buffer *out);
/* Texts point into the body. -EPROTO. */
int join_decode(struct join *ret, const void *body, size_t len);

/*
 * The body of FRAME_JOIN_DETAILS: what the sandbox may do, in plain sentences, and what it may be
 * granted at most. It comes when the command is on its way, and again when it has changed.
 */
enum { JOIN_LINES_MAX = 256 };
struct join_details {
	uint64_t limits[LIMIT_COUNT]; /* LIMIT_NONE: none */
	uint32_t n_permissions, n_ceiling;
	const char *permissions[JOIN_LINES_MAX], *ceiling[JOIN_LINES_MAX];
};
int join_details_encode(const struct join_details *d, struct buffer *out);
int join_details_decode(struct join_details *ret, const void *body, size_t len);
