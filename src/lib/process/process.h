/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A command that runs. Frames for it are noted by whoever reads the control socket (sandbox.h);
 * everything else, such as reading its output, calling callbacks and finishing, is done by the one
 * thread that holds `pump`. That mutex is held while callbacks run; they may write, signal and
 * kill, but not dispatch or wait for their own process (-EDEADLK).
 */
#include <pthread.h>
#include <stdbool.h>

#include "lib/process/result.h"
#include "lib/process/stream.h"
#include "lib/sandbox/sandbox.h"

enum process_state {
	PROCESS_STARTING,
	PROCESS_RUNNING,
	PROCESS_EXITED,  /* `report` */
	PROCESS_REFUSED, /* `error` */
	PROCESS_LOST,    /* `error` */
};

/* What a process waits for. */
enum process_slot {
	PROCESS_SLOT_WAKE,
	PROCESS_SLOT_LINK,
	PROCESS_SLOT_STDIN,
	PROCESS_SLOT_STDOUT,
	PROCESS_SLOT_STDERR,
	PROCESS_SLOT_DAEMON,
	PROCESS_SLOTS,
};

struct corral_process {
	struct corral_sandbox *sandbox; /* a reference */
	struct sandbox_setup *setup;    /* by which it was started; a reference */
	uint64_t id;
	char *program; /* for events */
	char *target;  /* argv[0]; "" for the shell of a command line: no rule decides about it */
	char *cwd;
	bool unreported; /* that it begins and ends is nothing to report */
	unsigned flags;  /* of the call */
	int wake;        /* an eventfd, raised when something came for it */
	struct stream_input input;

	/* Guarded by the sandbox's lock. */
	struct warden_link *link; /* a reference; NULL when finished */
	struct corral_process *next, *previous;
	enum process_state state;
	int master; /* of the terminal, until the pump takes it; or -1 */
	struct report report;
	struct error error;
	int code; /* of error */
	bool waiting;
	bool quiet;  /* that it runs is not told before its end */
	bool direct; /* it was given to the link's lent init, by its channel */
	bool timed;  /* and the warden keeps its time */

	pthread_mutex_t pump; /* guards the rest */
	bool told_started, finished;
	struct stream_output out, err;
	struct corral_result *result;
	struct corral_denial *denial;
	int epoll;
	int watched[PROCESS_SLOTS];
};

/* A command as the library knows it. */
struct process_command {
	const char *const *argv; /* ends with NULL */
	const char *shown;       /* for people: the line, or the program */
	bool implied;            /* argv[0] is the shell of a command line */
	/* argv[0] runs the module of a skill; SERVER: for call after call, each of which has its
	 * own time and is reported by itself (lib/skill/worker.h). */
	enum process_worker {
		PROCESS_WORKER_NONE,
		PROCESS_WORKER_ONCE,
		PROCESS_WORKER_SERVER
	} worker;
};

/* Starts a command; the calls of corral/sandbox.h are this with words of their own. */
int process_start(struct corral_process **ret, struct corral_sandbox *s,
	const struct process_command *c, const struct corral_call *call, struct corral_error **e);
/*
 * The words that run the module of the sandbox's skill, with its permissions as they are in
 * `setup`; in the arena. call_env: "NAME=value" …, NULL at the end; or NULL. -EOPNOTSUPP …: it
 * cannot be run, and the sentence says why.
 */
int process_worker_command(const struct sandbox_setup *setup, const char *const *args,
	const char *const *call_env, bool serves, struct arena *a, struct process_command *ret,
	struct error *e);
/* Raises the eventfd. */
void process_wake(struct corral_process *p);
/* Everything that it holds. There is no reference to it any more. */
void process_destroy(struct corral_process *p);
