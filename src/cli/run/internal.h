/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The steps of a run (run.c) that only its own files know. */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/run/run.h"
#include "cli/run/terminal-filter.h"
#include "cli/run/terminal.h"
#include "wire/report.h"

/* stdio.c */

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
	struct stdio_copy copies[RUN_STDIO_COPIES];
	size_t n_copies;
	size_t n_input; /* the first of them carry input: their end is not waited for */
	struct stdio_budget budget;
	struct buffer kept[2]; /* output and error, with --json */
	struct terminal_filter
		filters[2]; /* of output and error, where they are the user's terminal */
	struct terminal_answers answers;
};

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

/* loop.c: from a plan to the end of a command: builds the session, starts, passes bytes and
 * signals. */

enum run_end {
	RUN_END_NONE, /* there was no session, or it did not take the command */
	RUN_END_EXITED,
	RUN_END_REFUSED,
	RUN_END_GONE,
};

struct run_outcome {
	enum run_end end;
	struct report report;
	struct refusal refusal; /* its texts are in the call's arena */
};

/* 0 once something has come of it; negative with the call's error filled if nothing ran. */
int run_loop(struct run *r, struct run_stdio *s, struct run_outcome *ret);

/* broker.c: starts a broker if one is wanted; then, once the log is open, what it has to know. */
int run_broker_begin(struct run *r);
int run_broker_configure(struct run *r);

/* result.c: what came of a command: the status to exit with, and what a person or a program is
 * told. */

/* Tells why the program was not run; returns the status. */
int run_refused(struct run *r, const struct refusal *refusal);
/* Whether a rule about arguments lets the command start; RUN_FORBIDDEN if not, with the reason. */
int run_judge_start(struct run *r);

/* inside.c */

/*
 * AgenShield's rules about arguments hold for the command, which Corral starts, and not for what
 * it starts: makes the layers that the jail holds, and says what they leave out. With --strict that
 * is refused.
 */
int run_inside(struct run *r);
/* The file of the program that is started; false: it is not known. */
bool run_inside_find(const struct run *r, char out[PATH_BYTES]);
void run_inside_deinit(struct run *r);
/* The status that stands for a report. */
int run_result_status(const struct report *report);
/* Tells what the exit status does not: limits that were met, hosts that were denied, files that run
 * later. report: NULL of a command whose end nobody saw; then just the latter two. */
void run_result_tell(const struct run *r, const struct run_stdio *s, const struct report *report);
/*
 * What came of it as one JSON object on standard output, with what the command printed. s: NULL if
 * nothing ran; report: NULL if nobody saw its end.
 */
void run_result_print(
	struct run *r, const struct run_stdio *s, const struct report *report, int status);

/* private.c: counts what is in the private folders, when all processes of the command are dead. */
void run_private_look(struct run *r);
struct output;
void run_private_tell(const struct run *r, struct output *o);
struct json_writer;
void run_private_print(const struct run *r, struct json_writer *w);
void run_private_end(struct run *r);
/* Opens what is in one of the private folders, by the number of its entry, by no link. */
int run_private_open(int own, const char *number, const char *path, uint64_t flags);

/* replaced.c: after the plan, and when all processes of the command are dead. */
int run_replaced_begin(struct run *r);
void run_replaced_finish(struct run *r);
void run_replaced_tell(const struct run *r, struct output *o);
void run_replaced_print(const struct run *r, struct json_writer *w);
void run_replaced_print_later(const struct run *r, struct json_writer *w);
struct holder_record;
void run_replaced_record(const struct run *r, const struct holder_record *to);
void run_replaced_end(struct run *r);

/* later.c: while there is nothing else to do; returns whether there is more. */
bool run_later_idle(struct run *r);
/* One of the two, once: what it left behind that other programs run. */
struct output;
void run_later_tell(const struct run *r, struct output *o);
/* Are other programs started by Claude Code's settings than before? */
bool run_claude_is_changed(const struct run *r);
void run_claude_tell(const struct run *r, struct output *o);
struct json_writer;
void run_later_print(const struct run *r, struct json_writer *w);

/* failed.c: what a command that failed most likely lacked. */
struct json_writer;
void run_failed_tell(const struct run *r, const struct report *report, struct output *o);
/* Names of the user's variables that it did not get: always. */
void run_failed_print(const struct run *r, struct json_writer *w);
