/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Standard input, output and error of a command. Files and pipes go in as they are, so that
 * redirections work and cost as without a sandbox. The user's terminal never goes in:
 *
 *   all three are a terminal    the command has a new one of its own, with job control
 *   input is a terminal         it is typed into a pipe
 *   output or error is one      they are a new terminal that only carries output
 *   output is bounded or kept   (--max-output, --json) they are pipes that are read here
 */
#include "cli/run/relay.h"
#include "cli/run/run.h"
#include "cli/run/terminal.h"

enum { RUN_STDIO_RELAYS = 3 };

struct run_stdio {
	bool is_terminal; /* the command gets a terminal of its own: START_TTY */
	int fds[3];       /* what it gets otherwise */
	bool owned[3];    /* and whether they are closed once it has them */
	int terminal;     /* the user's; -1: none */
	int master;       /* of the command's terminal, or of the one for output; -1: none */
	struct terminal raw;
	struct relay relays[RUN_STDIO_RELAYS];
	size_t n_relays;
	size_t n_input; /* the first of them carry input: nobody waits for their end */
	struct relay_budget budget;
	struct buffer kept[2]; /* output and error, with --json */
};

/* s is zeroed by the caller; it is large, so it is better not on the stack. */
int run_stdio_open(struct run_stdio *s, struct run *r);
/* The command has them: closes our copies. */
void run_stdio_given(struct run_stdio *s);
/* The command's terminal is there: starts passing bytes. */
void run_stdio_begin(struct run_stdio *s, int master);
/*
 * Looks who has the keyboard. From the background nothing is read and no mode is set: that would
 * stop us. True if it has to be looked at again, though nothing happens that poll() could tell.
 */
bool run_stdio_refresh(struct run_stdio *s);
/* Standard descriptors that are closed become nothing, so that no other takes their number. */
void run_stdio_reserve(void);
/* The window is gone: so is the terminal inside. */
void run_stdio_hang_up(struct run_stdio *s);
/* True if all output has passed. */
bool run_stdio_is_done(const struct run_stdio *s);
void run_stdio_close(struct run_stdio *s);
