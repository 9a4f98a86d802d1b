/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The steps of a run (run.c) that only its own files know. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/run/run.h"
#include "cli/run/stdio.h"
#include "wire/report.h"

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

/* guard.c: the files that were read, and the folders of Corral itself. */
int run_guard_sources(struct run *r, const struct load *l);
int run_guard_own(struct run *r);

/* broker.c: starts a broker if one is wanted; then, once the log is open, what it has to know. */
int run_broker_begin(struct run *r);
int run_broker_configure(struct run *r);
/* An event of the broker's: says what is opened in the user's browser. */
void run_broker_tell_page(struct run *r, const struct run_stdio *s, const void *event, size_t len);
/* ssh-agent.c: its socket is readable: a signature, or a refusal; all that are left, when all
 * processes of the command are dead; and what could not be said. */
void run_ssh_agent_dispatch(struct run *r, const struct run_stdio *s);
void run_ssh_agent_finish(struct run *r, const struct run_stdio *s);
struct output;
void run_ssh_agent_tell_rest(const struct run *r, struct output *o);
/*
 * wrapped.c: what the filter of a server says (mcp/filter.h). -EPIPE: it has ended, so nothing more
 * passes; once. What it asks is answered when all that was denied until then is known.
 */
int run_wrapped_fd(const struct run *r);
int run_wrapped_hear(struct run *r, const struct run_stdio *s);
bool run_wrapped_is_asked(const struct run *r);
void run_wrapped_answer(struct run *r);
/* And at the end, what could not be said in between. */
struct output;
void run_broker_tell_rest(const struct run *r, struct output *o);

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

/* undo.c: before the command starts; when all processes of the command are dead. */
int run_undo_begin(struct run *r);
void run_undo_finish(struct run *r);
void run_undo_tell(const struct run *r, struct output *o);
void run_undo_print(const struct run *r, struct json_writer *w);

/* later.c: while there is nothing else to do; returns whether there is more. */
bool run_later_idle(struct run *r);
/* The second look, when all processes of the command are dead. */
void run_later_look(struct run *r);
/* "created 12, changed 3 files", with "at least" where there may be more; nothing if there are
 * none. Returns how many. */
size_t run_later_put_count(const struct run *r, struct buffer *out);
/* What it left behind that other programs run. */
struct output;
void run_later_tell(const struct run *r, struct output *o);
/* Both, after a server whose tools are over. */
void run_later_serve(struct run *r);
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
