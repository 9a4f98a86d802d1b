/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `--explain`: what a command was denied, and the line that would allow each.
 *
 *     calls (holder/witness.h) -> judge: denied? -> denials -> groups -> table, JSON
 *
 * Nothing here is part of the wall. A file counts as denied if the host has it, the policy does not
 * let the command have it, and it is not there inside; what the host has not either is a program
 * looking around. All of that is advisory, as it is seen from outside and a moment before the call.
 * What the relay says of hosts is exact.
 *
 * A command can ask for any number of files: what is kept has a bound, and what is beyond it is
 * counted.
 */
#include <stdint.h>

#include "cli/output.h"
#include "wire/record.h"

struct run;
struct run_explain;

/* With --json alone there is no witness, and just what is known for sure is kept. */

int run_explain_new(struct run_explain **ret, const struct run *r);
void run_explain_free(struct run_explain *e);
/* Takes over what SESSION_WITNESS brought. */
int run_explain_watch(struct run_explain *e, int listener);
/* To be polled for reading; -1: nothing is to be seen (any more). e may be NULL. */
int run_explain_fd(const struct run_explain *e);
void run_explain_dispatch(struct run_explain *e);
/* What the relay said. e may be NULL. */
void run_explain_heard(struct run_explain *e, const struct record *record);
/* The policy forbids what was to be started, or where: OPERATION_EXEC or OPERATION_FS_READ. e may
 * be NULL. */
void run_explain_refused(struct run_explain *e, enum operation op, const char *path);

/* What to do about a program that makes a sandbox of its own. */
const char *run_explain_sandbox_line(const char *program);
/* For a person: a table of what mattered most likely. status: what the command came to. */
void run_explain_tell(const struct run *r, int status, struct output *o);
/*
 * For the caller of a tool of a program that goes on running: the rows of that table for what was
 * denied after a moment, and the moment of now.
 */
uint64_t run_explain_now(const struct run *r);
void run_explain_tell_since(const struct run *r, uint64_t moment, struct output *o);
/* Whether that table has a row which programs do not do without. */
bool run_explain_is_denied(const struct run *r, int status);
/* Whether that table offers an option, or a line of a policy. */
bool run_explain_is_offered(const struct run *r, int status);
/* For a program: all of it, each in a line of its own, and how many are missing. */
struct json_writer;
void run_explain_print(const struct run *r, struct json_writer *w);
/*
 * What a user could be asked to allow of files and programs, what mattered most likely first: each
 * an option that may be given as it is, and that no link, rule or secret stands in the way of.
 * Looks and what programs do without are left out. Texts are in the arena; returns how many.
 */
enum { EXPLAIN_OFFERS_MAX = 3 };
struct explain_offer {
	enum operation op;
	const char *option, *word; /* "--read", and its value */
	const char *path;
	bool is_folder; /* all in it */
};
struct arena;
size_t run_explain_offers(
	const struct run *r, struct arena *a, struct explain_offer ret[EXPLAIN_OFFERS_MAX]);
/* For the log: what was denied of files and programs (explain/audit-denials.c). */
void run_explain_audit(struct run *r);
