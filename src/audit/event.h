/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What happened: one struct for everything that Corral tells of. The texts belong to whoever made
 * the event and are never NULL ("" if there is nothing to say); secrets were taken out before
 * (redact.h).
 *
 * The encoding is what is hashed, stored and sent: each field as a number of its own, little-endian
 * and length-prefixed texts, in this order, so that two different events never have the same bytes.
 * docs/audit.md is its specification.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/operation.h"

struct buffer;

enum audit_action {
	AUDIT_COMMAND_START,
	AUDIT_COMMAND_END,
	AUDIT_FS_READ,
	AUDIT_FS_WRITE,
	AUDIT_FS_LIST,
	AUDIT_FS_DELETE,
	AUDIT_NET_CONNECT,
	AUDIT_NET_CLOSE, /* a connection is over: sent, received */
	AUDIT_NET_NAME,  /* a name was asked for */
	AUDIT_EXEC,
	AUDIT_ENV,
	AUDIT_SERVICE,
	AUDIT_POLICY,      /* it was changed, or an attempt was made */
	AUDIT_APPROVAL,    /* asked for, given, used, refused */
	AUDIT_CONFINEMENT, /* which walls stand: proof of confinement */
	AUDIT_LIMIT,       /* time, memory … used up */
	AUDIT_SESSION,     /* begins, ends, is lost */
	AUDIT_STORE,       /* the store itself: opened, rotated, records lost by a slow reader */
	AUDIT_ACTION_COUNT,
};

enum audit_decision {
	AUDIT_NONE, /* nothing was decided: it is reported, that is all */
	AUDIT_ALLOWED,
	AUDIT_DENIED,
	AUDIT_ASKED,
	AUDIT_FAILED, /* allowed, but it did not work */
	AUDIT_DECISION_COUNT,
};

struct audit_event {
	uint64_t time_ns;                     /* of the day, since 1970 */
	uint64_t sequence;                    /* in its session, from 1 */
	const char *session, *user, *sandbox; /* ids, as text */
	uint32_t pid;                         /* 0: not known */
	const char *program;                  /* the actor */
	enum audit_action action;
	const char *target;
	enum audit_decision decision;
	const char *rule, *reason;
	bool exact;       /* false: advisory, found out by other means than the wall itself */
	uint64_t cost_ns; /* what the decision, or the command, took */
	uint64_t sent, received; /* bytes */
	int64_t status;          /* of a command's end: exit code, or -signal */
	uint64_t count;          /* how often; at least 1 */
};

/* "net.connect", "command.start" …, by number; NULL after the last. */
extern const char *const audit_actions[AUDIT_ACTION_COUNT + 1];
extern const char *const audit_decisions[AUDIT_DECISION_COUNT + 1];
/* "unknown" for a number that there is not; the number for a word, or -EINVAL. */
const char *audit_action_name(enum audit_action a);
int audit_action_parse(const char *word);
/* What a request for an operation is in the log. */
enum audit_action audit_action_of(enum operation op);
const char *audit_decision_name(enum audit_decision d);
int audit_decision_parse(const char *word);

enum { AUDIT_EVENT_TEXTS = 7, AUDIT_TEXT_MAX = 4096, AUDIT_EVENT_MAX = 16 << 10 };

/* For what treats all texts alike, by their places in the encoding; "" for NULL. */
const char *audit_event_text(const struct audit_event *e, size_t i);
void audit_event_set_text(struct audit_event *e, size_t i, const char *text);

/*
 * Texts longer than AUDIT_TEXT_MAX are cut, with "…" at the end, and so are the longest ones if
 * all of them together would go beyond AUDIT_EVENT_MAX. An action or a decision that there is not
 * makes the buffer fail.
 */
void audit_event_encode(const struct audit_event *e, struct buffer *out);
/*
 * The same into `room` bytes at out, at least AUDIT_EVENT_LEAST, with texts cut until they fit.
 * Returns how many were written; 0: there is no such action or decision.
 */
enum { AUDIT_EVENT_LEAST = 256 };
size_t audit_event_pack(const struct audit_event *e, void *out, size_t room);
/* The texts point into data (each is followed by a NUL there). -EBADMSG; *ret is untouched then. */
int audit_event_decode(struct audit_event *ret, const void *data, size_t len);
