/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Turns a request into a running program: from pid 1 of a pid namespace, as by vfork, so that
 * nothing is copied and a failure is known at once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "wire/report.h"
#include "wire/start.h"

struct spawn {
	const struct start *start;
	int stdio[3]; /* with a terminal: three times the same one */
	int rules;    /* walls that the program still has to be put behind (confine.h), or -1 */
	/* Its calls are to be watched (jail/notify.h): where the listener goes; -1: they are not.
	 */
	int witness;
	uint64_t id; /* of the command, for that */
	/* The terminal is that of our own session: the program is a job in it, and can be stopped
	 * (a group without a parent in its session cannot). */
	bool is_job;
	bool tied; /* it dies with us; in a jail its pid namespace sees to that */
};

enum spawn_step {
	SPAWN_RUN, /* the program could not be run */
	SPAWN_CWD, /* its folder is not there */
	SPAWN_SETUP,
};

/*
 * 0 and the pid (in this namespace); or a negative errno and the step that failed. The program is
 * the leader of a session (unless it is a job) and of a process group of its own, with default
 * signals but for those that the start says, and no descriptors beside its three.
 */
int spawn_program(const struct spawn *l, pid_t *ret, enum spawn_step *ret_step);
/* A copy of the caller behind the walls of a command; it ends when `run` returns, or with its
 * parent. rules: of Landlock; -1: the caller is behind them. */
pid_t spawn_confined(int rules, void (*run)(void *data), void *data);
/* The body of FRAME_REFUSED. `folder` says what is wrong with the folder: "is not there". */
int spawn_refuse(const struct start *s, int error, enum spawn_step step, const char *folder,
	struct buffer *out);
/* Adds what a process used, as wait4() says; each is counted once. */
void spawn_count(struct report *to, const struct rusage *used);
/* How it ended, as wait4() says, and how long that took since began_ns of CLOCK_MONOTONIC. */
void spawn_end(struct report *to, int status, uint64_t began_ns);
/*
 * A new terminal of the size that s says: of the jail's private instance, inside. The master goes
 * to the host, the other side is the command's stdio; both are the caller's.
 */
int spawn_terminal(const struct start *s, int *ret_master, int *ret_slave);
