/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The broker's methods, as data. One row says how a method is called, what it takes and gives, what
 * the policy is asked before it runs, and where it can be called. Reading a request, the frames
 * between front and monitor, the printed result, help, documentation and fuzzing all follow the
 * rows, so that none of them can disagree with another.
 *
 * Many methods have two names. `name` is Corral's (fs.read); `shield` is AgenShield's (file_read),
 * or nanocrab's (send_email). A caller that uses the second gets AgenShield's codes and names of
 * fields (`also` of their rows).
 *
 * To add a method: its row in method-table.h, and its handler in the monitor.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/schema.h"
#include "policy/operation.h"

enum method_id {
#define METHOD(id, handler, ...) METHOD_##id,
#define METHOD_ASIDE(id, ...) METHOD_##id,
#include "broker/method-table.h"
	METHOD_COUNT,
};

enum {
	METHOD_PARAMS_MAX = 13, /* one more than any method has: the last row is empty */
	METHOD_RESULTS_MAX = 8, /* the same */
	METHOD_NOTES_MAX = 4,   /* the same */
	METHOD_DATA_MAX = 4 << 20,
	METHOD_SOCKET_MAX = 1 << 20, /* bytes of one socket.read or socket.write */
	METHOD_TARGETS_MAX = 4,      /* one more than any method has beside the first */
};

/* Where a method can be called. */
enum { CHANNEL_SOCKET = 1 << 0, CHANNEL_HTTP = 1 << 1 };

struct method {
	enum method_id id;
	const char *name;   /* Corral's; NULL: it has none */
	const char *shield; /* AgenShield's; NULL: it has none */
	const char *help;
	unsigned channels;
	/* What the policy is asked: the operation, for the parameter of that name; NULL: nothing.
	 */
	enum operation op;
	const char *target;
	/*
	 * Of a method that a back end does (OPERATION_SERVICE): its row in broker/service/table.h,
	 * and what the policy is asked, "reminders.read", with the value of `target` and of each of
	 * more_targets behind a colon; of a list, with each word. A target that was not given: with
	 * nothing behind it, which a grant with a scope does not cover. With `filters` a call that
	 * names no target is done for all that is granted, and the back end leaves out the rest.
	 */
	const char *service, *grant;
	const char *more_targets[METHOD_TARGETS_MAX];
	bool filters;
	/* Targets are mailboxes (broker/service/mailbox.h): the policy is asked for the address of
	 * each, and the back end gets them in the one form that is read in one way only. */
	bool mailboxes;
	unsigned per_minute; /* calls, where the policy has no rate_limit; 0: no bound */
	unsigned seconds;    /* it may take, where no `timeout` is given; 0: 30 */
	bool is_last;        /* its back end ends with the answer, a flag: did it run at all? */
	const char *record;  /* a result, a text, that the log has; NULL: none */
	struct schema_field params[METHOD_PARAMS_MAX];
	struct schema_field results[METHOD_RESULTS_MAX];
	/* What may be said while a call runs: the notification's name, and its fields beside `id`,
	 * which is that of the call. NULL: nothing. */
	const char *note;
	struct schema_field notes[METHOD_NOTES_MAX];
	bool lone_words;     /* in JSON a text stands for a list (SCHEMA_WORDS) of that one */
	bool is_lossy;       /* a result's bytes that are no text may become U+FFFD */
	const char *refused; /* why it is never done; parameters are not looked at then */
};

extern const struct method method_rows[METHOD_COUNT];
/* What `encoding` can say, and what is meant (enum encoding, codec/encoding.h). */
extern const char *const method_encodings[];

/* The row with this name, and whether it is AgenShield's. NULL: there is none. */
const struct method *method_find(const char *name, size_t len, bool *ret_shield);
/* The name by which it was called: for answers and messages. Never NULL. */
const char *method_called(const struct method *m, bool by_shield);
/* What a field is called by that name of the method; NULL: it has none. */
static inline const char *method_called_field(const struct schema_field *f, bool by_shield)
{
	if (!by_shield || !f->also)
		return f->name;
	return f->also[0] ? f->also : NULL;
}
/* The place of a parameter by its name, whoever calls it so; -1: there is none. */
int method_param(const struct method *m, const char *name, bool by_shield);
/* How long a call may take, in ms: what its `timeout` says, or its row. */
struct values;
uint64_t method_timeout_ms(const struct method *m, const struct values *params);
