/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The monitor of a broker: what may do something. It reads calls from its front as frames, by the
 * rows of the table (broker/method.h) and nothing else; asks the enclave of libcorral, which
 * decides, records and acts; and answers. The front parses what programs inside send, and may have
 * been taken over by them: whatever it sends gains no more than the same call of an honest front
 * would, and what breaks a rule ends it.
 *
 * A method has a handler, which its row in broker/method-table.h names. It runs in the loop's
 * thread and must not block there. It answers at once, or later:
 *
 *     it does something slow      monitor_work(): in one of a few threads, then back in the loop
 *     it waits for a descriptor   watchers and timers of monitor_loop(), and a cancel hook
 *     a question must be answered monitor_ask(): the handler is called again after each answer
 *
 * Each call ends by exactly one of monitor_answer(), monitor_refuse() and monitor_fail(), after
 * which it is gone; or by its cancel hook.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corral/enclave.h>

#include "audit/event.h"
#include "base/arena.h"
#include "broker/call.h"
#include "broker/rpc.h"
#include "event/loop.h"
#include "wire/broker.h"
#include "wire/question.h"

struct lending_secret;
struct monitor;

enum {
	MONITOR_CALLS_MAX = 1024,      /* under way, of all callers */
	MONITOR_CALLER_CALLS_MAX = 64, /* of one process */
	MONITOR_BYTES_MAX = 128 << 20, /* of parameters that wait, of all callers */
	MONITOR_CALLER_BYTES_MAX = 32 << 20,
	MONITOR_THREADS = 4,
};

/* One call that is under way. */
struct monitor_call {
	struct monitor *monitor;
	struct broker_call call; /* texts live as long as this does */
	struct arena arena;      /* for the handler too */
	struct corral_by by;     /* the caller, for the enclave */
	/*
	 * Of a handler that answers later: ends what it does and frees its state; it must not
	 * answer. Called when the caller or the front has gone. Not called while work of the call
	 * runs in a thread: then the work is finished first, and its `done` is replaced by this.
	 */
	void (*cancel)(struct monitor_call *c);
	/* Called when a note can be sent again after monitor_note() returned -EAGAIN; may be NULL.
	 */
	void (*resume)(struct monitor_call *c);
	void *state; /* the handler's own */
	/* waiting.h: what was injected into it, once it was taken. */
	const struct lending_secret *taken;
	size_t n_taken;
	bool has_taken;
};

typedef void monitor_handler(struct monitor_call *c);
/* By method; NULL: refused with RPC_SERVICE. */
extern monitor_handler *const monitor_handlers[METHOD_COUNT];

/* Answering */

/* The results of the method's row. Values that the row does not allow become an internal error. */
void monitor_answer(struct monitor_call *c, const struct values *results);
void monitor_refuse(struct monitor_call *c, const struct rpc_refusal *why);
/*
 * What a call of the enclave returned, with its error, which is freed: the class by the code, the
 * rule that decided, what is allowed for this operation instead, and what to do. -EINPROGRESS
 * becomes monitor_ask(). `class` is for codes that do not say it themselves (-EIO …).
 */
void monitor_fail(struct monitor_call *c, enum rpc_class class, int code, struct corral_error *e);
/*
 * Puts the call off until a question was answered: its handler is called again then. After the
 * setup's ask_ms it is refused with RPC_PERMISSION. The state must be as it was before the first
 * call of the handler.
 */
void monitor_ask(struct monitor_call *c, struct corral_error *e);
/*
 * A notification by the notes of the row. -EAGAIN: the caller has not read as many as
 * CALL_NOTES_MAX (broker/call.h) yet; wait for `resume`, or leave it out. -EINVAL: values that the
 * row does not allow.
 */
int monitor_note(struct monitor_call *c, const struct values *notes);

/* Waiting */

struct loop *monitor_loop(struct monitor *m);
/*
 * Runs work(c) in a thread, then done(c) in the loop. Work may use the enclave, c->call, c->arena
 * and c->state; nothing else of the monitor. One at a time for each call.
 */
int monitor_work(struct monitor_call *c, void (*work)(struct monitor_call *c),
	void (*done)(struct monitor_call *c));

/* What there is */

struct corral_enclave *monitor_enclave(struct monitor *m);
struct corral_audit *monitor_audit(struct monitor *m);
const struct broker_setup *monitor_setup(const struct monitor *m);
/* What the session uses, with all that the monitor started. NULL: nothing counts together. */
struct ledger *monitor_ledger(const struct monitor *m);

/* The monitor itself */

struct monitor_options {
	const struct broker_setup *setup; /* must outlive it */
	const int *ledger; /* stays the caller's; what is started counts there. NULL: apart */
	struct loop *loop;
	/* Hears of each event for the log, complete and redacted, in any thread. NULL: none. */
	void (*tell)(void *context, const struct audit_event *e);
	/* Whether what a call does can be reported now: else it does not begin. NULL: always. */
	bool (*may_act)(void *context);
	void *tell_context;
};

/* What can be wrong with a setup is found here: its permissions. */
int monitor_new(struct monitor **ret, const struct monitor_options *o, struct corral_error **e);
/*
 * The sandbox's tree stands: paths of calls lead below this root, which stays the caller's; -1:
 * paths are the host's. Once, and before a front is connected.
 */
int monitor_enter(struct monitor *m, int root, struct corral_error **e);
/* Before the process ends without monitor_free(): what calls owe to the log is added to it. Waits
 * for threads that are at it, so long at most, and for no others. */
void monitor_settle(struct monitor *m, uint64_t ms);
/* Ends all calls, and what they started. */
void monitor_free(struct monitor *m);
/*
 * The socket of a front, non-blocking; -1: there is none. Calls of the front before are cancelled.
 * The socket stays the caller's.
 */
int monitor_connect(struct monitor *m, int front);
/* Called when the front broke a rule or has gone; the caller starts another. */
void monitor_on_lost(struct monitor *m, void (*lost)(void *context, int code), void *context);
size_t monitor_calls(const struct monitor *m);

/* Who may be asked: whoever holds the session, and has a person to ask (wire/question.h). */
struct monitor_holder {
	/* Passes a question on; one of the same number was asked once more. Negative: it could not,
	 * and the call is refused. */
	int (*ask)(void *context, uint64_t id, const struct question *q);
	/* No call waits for it any more. */
	void (*over)(void *context, uint64_t id, enum question_end how);
	/* What became of monitor_grant(): 0, or a negative errno value and a sentence. */
	void (*granted)(void *context, uint64_t id, int code, const char *why);
	/* A grant whose time is over is still in force: the process must end. May be NULL. */
	void (*stuck)(void *context);
	void *context;
};
void monitor_on_questions(struct monitor *m, const struct monitor_holder *h);
/* What was answered. ANSWER_ALLOW: what it is about is granted already, or the call asks again. */
void monitor_take_answer(struct monitor *m, uint64_t question, const struct answer *a);
/* These are all that is granted beside the setup's permissions, each until its ends_ms. `granted`
 * is called later; until then there is no other. -EBUSY. */
int monitor_grant(struct monitor *m, uint64_t id, const struct live_grant *grants, size_t n);
