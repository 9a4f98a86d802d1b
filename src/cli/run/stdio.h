/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What passes between the user and the command: its standard input, output and error. */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/run/terminal-filter.h"
#include "cli/run/terminal.h"

struct run;

/*
 * Bytes from one descriptor to another, or into memory, without ever waiting: poll() says when
 * there is something to do. What is on the other side of standard output belongs to others as well,
 * so nothing is made non-blocking: a write is as small as one that poll() has promised room for.
 */

/* How much may pass through one or several relays, and how much was dropped. */
struct stdio_budget {
	uint64_t left, dropped;
};

struct stdio_copy {
	int from, to; /* owned if close_from, close_to; to is -1 with `kept` */
	bool close_from, close_to;
	struct buffer *kept;              /* gathers instead of writing */
	struct stdio_budget *budget;      /* NULL: no bound */
	struct terminal_filter *filter;   /* to is the user's terminal; NULL: it is not */
	struct terminal_answers *answers; /* from is: counts what it answered; or NULL */
	bool is_keyboard;                 /* from is a terminal that others may want to read, too */
	bool is_paused; /* nothing is to be taken from it now; whoever set it looks again */
	bool is_done;
	size_t at, len; /* what waits to be written */
	char bytes[1 << 16];
};

/* Fills one or none of p; returns whether it is to be polled. */
bool stdio_copy_poll(struct stdio_copy *r, struct pollfd *p);
/* After poll() has found something in p. */
void stdio_copy_run(struct stdio_copy *r, const struct pollfd *p);
/* Closes what it owns; it is done. */
void stdio_copy_close(struct stdio_copy *r);

/*
 * Standard input, output and error of a command. Files and pipes are the session's matter. The
 * user's terminal never goes in, and gets what terminal-filter.h lets pass:
 *
 *   all three are a terminal    the command has a new one of its own, with job control
 *   input is a terminal         it is typed into a pipe
 *   output or error is one      they are a new terminal that only carries output
 *   output is bounded or kept   (--max-output, --json) they are pipes that are read here
 */
enum { RUN_STDIO_COPIES = 3 };

struct run_stdio {
	bool is_terminal; /* the command gets a terminal of its own: START_TTY */
	int fds[3];       /* what it gets otherwise */
	bool owned[3];    /* and whether they are closed once it has them */
	int terminal;     /* the user's; -1: none */
	int master;       /* of the command's terminal, or of the one for output; -1: none */
	struct terminal raw;
	bool is_stopped; /* run_stdio_stop(): what it undid is not set again yet */
	bool is_held;    /* run_stdio_hold(): the keyboard and the screen are ours */
	struct stdio_copy copies[RUN_STDIO_COPIES];
	size_t n_copies;
	size_t n_input; /* the first of them carry input: their end is not waited for */
	struct stdio_budget budget;
	struct buffer kept[2]; /* output and error, with --json */
	struct terminal_filter
		filters[2]; /* of output and error, where they are the user's terminal */
	struct terminal_answers answers;
};

/* The command of such a run has a terminal of its own. */
bool run_stdio_is_interactive(const struct run *r);
/* s is zeroed by the caller; it is large, so it is better not on the stack. */
int run_stdio_open(struct run_stdio *s, struct run *r);
/* The command has them: closes our copies. */
void run_stdio_given(struct run_stdio *s);
/* The command's terminal is there: starts passing bytes. */
void run_stdio_begin(struct run_stdio *s, int master);
/*
 * Looks who has the keyboard. From the background nothing is read and no mode is set: that would
 * stop us. Nor is the terminal asked anything: the shell would read the answer. True if it has to
 * be looked at again, though nothing happens that poll() could tell.
 */
bool run_stdio_refresh(struct run_stdio *s);
/* We are going to be stopped: makes the user's terminal as it was, until run_stdio_refresh() finds
 * us in the foreground again. */
void run_stdio_stop(struct run_stdio *s);
/*
 * A question of ours is on the terminal: what the command changed there is undone, what it prints
 * waits, and what is typed does not reach it, until run_stdio_release(). Only while the terminal is
 * raw, which means that we have the keyboard.
 */
void run_stdio_hold(struct run_stdio *s);
void run_stdio_release(struct run_stdio *s);
/* Standard descriptors that are closed become nothing, so that no other takes their number. */
void run_stdio_reserve(void);
/* The window is gone: so is the terminal inside. */
void run_stdio_hang_up(struct run_stdio *s);
/* The command reads single keys from its terminal, so it draws what is on it. */
bool run_stdio_is_drawn(const struct run_stdio *s);
/* Writes lines of ours on standard error while the command runs. */
void run_stdio_say(const struct run_stdio *s, const char *text);
/* The command has ended: makes the user's terminal as it was, and takes its answers out of it. */
void run_stdio_settle(struct run_stdio *s);
/* True if all output has passed. */
bool run_stdio_is_done(const struct run_stdio *s);
void run_stdio_close(struct run_stdio *s);
