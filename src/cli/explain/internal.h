/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of run-explain share; explain/explain.h is for everybody else. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/path.h"
#include "cli/explain/denial.h"
#include "cli/explain/explain.h"
#include "cli/run/run.h"
#include "holder/witness.h"

enum {
	DENIALS_MAX = 2048, /* kept; the rest is counted */
	GROUPS_SHOWN = 10,
};

/* By kind. */
extern const struct denial_row run_explain_kinds[];

/* explain/judge.c: EXPLAIN_DENIED: *ret says what (but program, count and last); path: memory
 * for its path. */
enum {
	EXPLAIN_NOTHING,
	EXPLAIN_DENIED,
	EXPLAIN_RUNS, /* a program, which runs */
	EXPLAIN_MADE, /* path is made in a place of the sandbox's own */
};
int run_explain_judge(
	const struct run *r, const struct sight *s, struct denial *ret, char path[PATH_BYTES]);
/* Whether a grant of the path alone would be refused, because of a link on its way
 * (host/planted.h); and where it leads. */
bool run_explain_is_planted(const struct run *r, const char *path, char real[PATH_BYTES]);
/* What of the skill that runs a path is: of its copy, or live in its folder (jail/plan/plan.h). */
enum explain_skill { EXPLAIN_NO_SKILL, EXPLAIN_SKILL_COPY, EXPLAIN_SKILL_LIVE };
enum explain_skill run_explain_skill(const struct run *r, const char *path);
/* The last part of a path. */
const char *run_explain_name(const char *path);

/* explain/host.c: what runs a file. */
enum explain_interpreter {
	EXPLAIN_NO_INTERPRETER,
	EXPLAIN_SCRIPT, /* the program that its first line names */
	EXPLAIN_LOADER, /* of a dynamic program */
};
enum explain_interpreter run_explain_interpreter(const char *path, char out[PATH_BYTES]);

/* explain/host.c: the same for an address. */
int run_explain_loopback(
	const struct run *r, const struct sight *s, struct denial *ret, char path[PATH_BYTES]);

/* explain/host.c: where a name alone makes the host act. list: as in /proc/self/mountinfo. */
struct explain_mount {
	const char *path;
	bool acts;
};
struct explain_mounts {
	struct explain_mount *items;
	size_t n, cap;
};
int run_explain_mounts_read(struct explain_mounts *m, struct arena *a, const char *list);
bool run_explain_mounts_act(const struct explain_mounts *m, const char *path);

/* explain/sandbox.c: a program that wants a sandbox of its own. */
int run_explain_sandbox(const struct sight *s, struct denial *ret, char path[PATH_BYTES]);
struct denial_words;
void run_explain_sandbox_words(const struct denial *d, struct denial_words *w);

/* explain/group.c: as few as are enough, what is likely to matter first. -ENOMEM. */
int run_explain_group(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret);

/* The same list, not gathered; what no folder around it would help, and what was found elsewhere,
 * is marked. -ENOMEM. */
int run_explain_copy(
	const struct run *r, const struct denials *from, struct arena *a, struct denials *ret);
/* The same with the places of a run. */
bool run_explain_is_protected(const struct run *r, const char *folder);

/* explain/line.c: the words of a denial. */
struct denial_words {
	struct buffer option, word; /* "--read" and its value; empty: no option helps */
	struct buffer real; /* where that leads, if that has to be granted by its own name, too */
	struct buffer line; /* what a person is told to add; empty: `reason` says why nothing */
	struct buffer reason, rule;
};
void run_explain_words(const struct run *r, const struct denial *d, struct denial_words *w);
void run_explain_words_deinit(struct denial_words *w);
#define auto_words __attribute__((cleanup(run_explain_words_deinit))) struct denial_words

/* explain/line.c: what stands in the way of a line that grants it. */
enum denial_state run_explain_state(const struct run *r, const struct denial *d);

/* explain/explain.c */
const struct denials *run_explain_denials(const struct run *r);
/* A program of that name was run: whoever looked for it in several folders has found one. */
bool run_explain_found(const struct run *r, const char *name);
uint64_t run_explain_missed(const struct run *r);
/* The beginning of a file in /proc, as a text; "" if it cannot be read. Returns its length. */
size_t explain_read(const char *file, char *out, size_t size);
/* Not to be looked at, as even that would have effects. */
bool run_explain_acts(const struct run *r, const char *path);
