/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The main loop of a back end: a program behind the broker's monitor that serves one service to one
 * sandbox (broker/service/table.h). Descriptor 3 is a SOCK_SEQPACKET socket. The first frame on it
 * is the setup (broker/service/setup.h); then the program opens what it serves, confines itself,
 * and takes calls by the rows of the method table, as the monitor takes them from its front.
 *
 *     static void clock_read(struct backend_call *c) { … backend_answer(c, &values); }
 *     static const struct backend_method methods[] = { { METHOD_CLOCK_READ, clock_read }, { 0 } };
 *     static const struct backend_service services[] = { { .name = "clock", .begin = clock_begin,
 *             .methods = methods, .probe = clock_probe }, { 0 } };
 *     int main(int argc, char **argv)
 *     { return backend_main(argc, argv, &(struct backend_program){ "corral-clock", services }); }
 *
 * The policy was asked before a call comes here, with the target that the call names. What only a
 * back end can see (the list of an item, where a redirect leads) it checks with backend_allows().
 *
 * One thread. A handler may block: other calls of this service wait then, and the monitor kills a
 * back end that does not answer in time. Or it answers later, with watchers and timers of
 * backend_loop(), and has a cancel hook. Each call ends by exactly one of backend_answer() and
 * backend_refuse(), after which it is gone; or by its cancel hook. When the monitor has gone, the
 * program ends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "broker/call.h"
#include "broker/rpc.h"
#include "event/loop.h"
#include "policy/permissions.h"
#include "wire/frame.h"

struct backend;

struct backend_call {
	struct backend *backend;
	struct broker_call call; /* texts live as long as this does; method NULL: a probe */
	struct arena arena;      /* for the handler too */
	/* Descriptors that the monitor sent along (contents of files: sealed memfds); -1: none, or
	 * taken. They are closed with the call. */
	int fds[FRAME_FDS_MAX];
	uint64_t until_ms; /* CLOCK_MONOTONIC: the monitor gives up then */
	/* Of a handler that answers later: ends what it does, frees its state, does not answer. */
	void (*cancel)(struct backend_call *c);
	void *state; /* the handler's own */
};

typedef void backend_handler(struct backend_call *c);

struct backend_method {
	enum method_id method;
	backend_handler *handle; /* NULL behind the last */
};

struct backend_service {
	const char *name; /* as in broker/service/table.h; NULL behind the last */
	/*
	 * Called once, after the setup: opens what is served, and confines the process
	 * (process/confinement.h). Negative, with a sentence and a hint: every call is refused with
	 * RPC_SERVICE and that sentence, and the process ends soon, so that the next call tries
	 * again.
	 */
	int (*begin)(struct backend *b, struct error *why);
	const struct backend_method *methods;
	/* Tries it for real, changes nothing: answers with backend_found(), or refuses. */
	backend_handler *probe;
};

struct backend_program {
	const char *name; /* for --version and messages */
	const struct backend_service *services;
};

/* The whole main(). */
int backend_main(int argc, char **argv, const struct backend_program *p);

/* What was set up */

/* A key of the section in services.yaml, or "password"; NULL: it is not there. Paths are absolute,
 * flags "true" or "false". */
const char *backend_config(const struct backend *b, const char *key);
/* The skill or sandbox that is served: a name for people. Never empty; not trusted. */
const char *backend_sandbox(const struct backend *b);
/* Does the policy allow this request: "reminders.write:Work"? What must be asked for, does not. */
bool backend_allows(const struct backend *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The bounds (range_seconds, max_size) for such a request; 0: none. */
void backend_bounds(const struct backend *b, const char *request, struct service_bounds *ret);
/* The i-th descriptor that came with the setup, now the caller's; -1: there is none. */
int backend_take_fd(struct backend *b, size_t i);
struct loop *backend_loop(struct backend *b);
/*
 * The program ends after this turn; the next call starts another. What it served has gone. Before
 * the answer to the call that found out: its caller may call again at once.
 */
void backend_stop(struct backend *b);
/* A pointer of the program's own. */
void backend_set_state(struct backend *b, void *state);
void *backend_state(const struct backend *b);

/* Answering */

/* The results of the method's row. */
void backend_answer(struct backend_call *c, const struct values *results);
/* hint: what to do; may be NULL. */
void backend_refuse(struct backend_call *c, enum rpc_class class, const char *hint,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with all that a refusal can have. */
void backend_refuse_with(struct backend_call *c, const struct rpc_refusal *why);
/* The answer to a probe: what was found, such as "dunst 1.9.0". */
void backend_found(struct backend_call *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* How long the monitor still waits, in ms: at least 1. For timeouts of what a handler asks. */
uint64_t backend_left_ms(const struct backend_call *c);
