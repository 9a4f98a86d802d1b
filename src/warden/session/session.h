/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A session: namespaces built once from a plan, and the commands that run in them. The warden
 * program holds one for its host; `corral run` holds one itself, without a second program.
 *
 *     session_prepare()  ->  clone: zygote, pid 1 of the namespaces (zygote.c)
 *     session_build()  ->  the zygote carries out the plan
 *     session_start()  ->  an init of its own for each command (init.c), mostly made ahead of time
 *
 * Nothing here blocks once the session stands, but the end of a command waits a second at most for
 * the relay's last records: turn its loop, or poll session_fd() for reading and
 * call session_dispatch(); what happened is reported by the callback. One thread at a time.
 *
 * If the process that holds a session dies, everything inside dies with it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "jail/plan/plan.h"
#include "wire/broker.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "wire/record.h"
#include "wire/report.h"
#include "wire/start.h"

struct loop;
struct session;

enum session_event_kind {
	SESSION_STARTED, /* the program runs; fd: the master of its terminal, yours now, or -1 */
	SESSION_REFUSED, /* it does not run: `refusal` */
	SESSION_EXITED,  /* `report` */
	SESSION_STOPPED, /* as by Ctrl-Z; `report.signal`: by which signal. Of a single command, on
			    a terminal; SIGCONT lets it go on */
	SESSION_GONE,    /* the zygote died, all commands with it (no more events for them) */
	SESSION_RECORD,  /* `record`: of the network; which command it was is not known. Without a
			    network: a name that was asked for, without a reason */
	SESSION_POLICY,  /* the relay holds what session_change() gave it; or does not: `refusal` */
	SESSION_BROKER,  /* the broker died; `refusal`: how, and whether it was started again */
	/* The broker or the relay asks (wire/question.h): `question`, by its number; no call or
	 * connection waits for it any more: `end`; and session_grant() came into force, or did not:
	 * `refusal`. */
	SESSION_QUESTION,
	SESSION_QUESTION_OVER,
	SESSION_GRANTS,
	SESSION_CALL,    /* the broker did something, or was asked to and did not: `call_body`, an
			    event for the log (audit/event.h), and `id`: how many before it are
			    missing. Without a body only that */
	SESSION_WITNESS, /* of a single command with a plan that is watched, before STARTED; fd: for
			    listener_new(), yours now. The command waits until it is answered there
			  */
};

struct session_event {
	enum session_event_kind kind;
	uint64_t id; /* of the command; of the change */
	int fd;
	struct report report;
	struct refusal refusal;
	const struct record *record; /* for the call only, as the next */
	const struct question *question;
	enum question_end end;
	const void *call_body;
	size_t call_len;
};

struct session_options {
	bool single;       /* one command only: pid 1 runs it itself, the fastest way for one */
	bool host_network; /* what the plan will most likely say */
	bool host_root;    /* the same */
};

struct session_handler {
	void (*event)(void *context, const struct session_event *event);
	void *context;
	/*
	 * While session_build() waits for the zygote, which works on another processor: does a few
	 * microseconds' work of the caller's, and returns whether there is more. May be NULL.
	 */
	bool (*idle)(void *context);
	/* While it waits longer than that, about every 100 ms. May be NULL. */
	void (*waits)(void *context);
};

/*
 * Building takes two steps, so that the kernel works on the namespaces while the policy is compiled
 * and the plan is made. The sentence in e says what failed, and what to do.
 */
int session_prepare(struct session **ret, const struct session_options *o, struct error *e);
/*
 * What its commands use, and its network, counts together with other sandboxes of the same ledger
 * (wire/ledger.h), of which this is a descriptor; it stays the caller's. Before
 * session_build_begin().
 */
int session_share(struct session *s, int ledger, struct error *e);
/*
 * A broker for the session (broker-process.h), where the plan is going to have one: starts its
 * program. The earlier, the less is waited for it. The broker's sandboxes share a ledger with the
 * session's relay, and with its command if that is its only one (`single`).
 */
int session_broker_start(struct session *s, const char *program, struct error *e);
/*
 * What it has to know, of which a copy is kept; the session's own folders, and where programs start
 * if nothing is said of that, come from the plan. Between session_build_begin() and
 * session_build_finish(), which waits until the broker has accepted it. Calls wait for the broker
 * after that.
 */
int session_broker_configure(struct session *s, const struct broker_setup *given, struct error *e);
/* Ends it, for good. */
void session_broker_end(struct session *s);
/*
 * For the broker, or the relay: what was answered to a question of its number. For the broker: all
 * that is granted beside the permissions of the setup, of which a copy is kept for a broker that is
 * started again. The outcome comes as an event with that id. -ENOTCONN: there is no broker;
 * -EAGAIN: it does not listen.
 */
int session_answer(struct session *s, uint64_t question, const struct answer *a);
int session_grant(struct session *s, uint64_t id, const struct live_grant *grants, size_t n);
/*
 * The holder is about to confine itself: if the broker dies later, another process starts it again.
 * Negative: it is not.
 */
int session_broker_keep(struct session *s);
/* The plan must outlive the session. On failure the session is only good for session_free(). */
int session_build(struct session *s, const struct plan *plan, const struct session_handler *h,
	struct error *e);
/*
 * The same in two steps. Between them the only command of a session may be started: its START lies
 * in the zygote's socket while the plan is carried out, and is read by the very process that has
 * carried it out, after its last step. If a step fails, that process ends, and the START with it:
 * no command ever runs in what was not built to its end. (Where there is a relay, which has to
 * serve first, the START waits here.)
 */
int session_build_begin(struct session *s, const struct plan *plan, const struct session_handler *h,
	struct error *e);
int session_build_finish(struct session *s, struct error *e);
/*
 * Of a single command that was built: the folder in which its private folders are (PLAN_TMP), each
 * by the number of its entry in the plan. Now the caller's; -1: it is not there. It shows them
 * without what is mounted on them inside, and outlives the session.
 */
int session_take_own(struct session *s);
/* The process of its relay, from session_build_begin() on; 0: it has none. */
pid_t session_relay_pid(const struct session *s);
/*
 * For the end, when no command runs any more: what they sent last leaves, and all records of the
 * relay and the broker are reported. Takes a moment where there is one of them, and nothing
 * otherwise. Once.
 */
void session_finish(struct session *s);
/*
 * All processes of the only command are dead, by the word of their init, and nothing else belongs
 * to the session but that init, which ends by itself: session_free(), which waits for it, may come
 * as late as its holder likes.
 */
bool session_is_empty(const struct session *s);
/* Kills everything inside, for a holder that calls session_finish() next. */
void session_stop(struct session *s);
/*
 * Kills everything inside and waits for it. Then what it used counts as used by us, for whoever
 * waits for us (getrusage(RUSAGE_CHILDREN), the shell's `time`).
 */
void session_free(struct session *s);

/* Its loop, for a holder that adds what else it waits for, and turns it. */
struct loop *session_loop(const struct session *s);
/* Nothing comes of it any more. */
bool session_is_gone(const struct session *s);
/* For a holder with a poll() of its own: to be polled for reading, and then dispatched. */
int session_fd(const struct session *s);
/* Handles what is there, without waiting. Negative: the session is of no use any more. */
int session_dispatch(struct session *s);

/*
 * Runs a command; stdio are the three descriptors it gets (the caller's stay open), or NULL with
 * START_TTY. The outcome comes as an event. -EEXIST: the id is in use; -EMFILE …: nothing was
 * started.
 */
int session_start(struct session *s, uint64_t id, const struct start *start, const int stdio[3],
	struct error *e);
/*
 * Hands out an init, for a holder that gives it commands itself: its socket (non-blocking) and its
 * pidfd are the caller's from here on. -EAGAIN: none is idle now.
 */
int session_lend(struct session *s, int *ret_socket, int *ret_pidfd);
/* The lent init is no more. */
void session_lost(struct session *s);

/*
 * Other permissions for the network (a body as in wire/configure.h), at once and for all commands.
 * The outcome comes as an event with that id. -ENOTCONN: there is no relay to hold them.
 */
int session_change(struct session *s, uint64_t id, const void *body, size_t len);

/* -ESRCH: no such command. */
int session_signal(struct session *s, uint64_t id, int signal);
int session_kill(struct session *s, uint64_t id);
void session_kill_all(struct session *s);
/* How many commands run. */
size_t session_commands(const struct session *s);
