/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral learn -- CMD`: the smallest policy under which a command passes.
 *
 *     policy -> round: run, watched and enforced -> what was denied -> lines -> policy -> …
 *            -> proof: run under the very bytes of the result, not watched
 *
 * No round is permissive: what a round may do is what its policy says, so a round is a run like any
 * other. What it was denied is added if it may be learnt (explain/denial.h) and was agreed to
 * (consent.c); then the command runs again. docs/learn.md has the rules, decision 0133 the reasons.
 */
#include "base/buffer.h"
#include "cli/explain/denial.h"
#include "cli/explain/report.h"
#include "cli/options.h"
#include "cli/run/run.h"

enum {
	LEARN_ROUNDS = 16,     /* unless --rounds says otherwise */
	LEARN_ROUNDS_MAX = 50, /* of --rounds */
	LEARN_SEEN_MAX = 4096, /* of all rounds; more are counted */
	LEARN_LINES_MAX = 200, /* of one policy: more is no policy that a person reads */
};

/* What was seen in any round, and what became of it. */
struct learn_sight {
	struct denial denial;
	bool is_accepted, is_refused; /* neither: it was not needed */
};

/* Where a round's writes into the project go. */
struct learn_apart {
	char path[40]; /* "": nowhere, and there is no lock */
	int lock;
};

struct learn {
	struct call *call;
	struct options_list read, write, net, listen, env, with;
	const char *profile, *output, *timeout, *memory, *pids;
	uint64_t rounds, status;
	bool yes, all, in_place, json;

	struct explain_place place;
	struct policy *consent; /* what --read, --write and --net agree to */
	struct buffer base;     /* the policy that it begins with */
	bool is_new;            /* there was no file */
	bool base_has_hosts;

	struct learn_sight *sights;
	size_t n, cap;
	uint64_t missed;
	struct denials lines; /* what was accepted, gathered */
	struct buffer text;   /* base, with the lines */
	const char **hosts;   /* that were reached in the last round */
	size_t n_hosts;

	bool is_named_only; /* agrees to nothing but what options name */
	unsigned n_rounds, n_runs;
	int last_status;
	bool is_passed, is_proven;
};

/* What messages call the policy. */
static inline const char *learn_name(const struct learn *l)
{
	return l->output ? l->output : "the learnt policy";
}

struct load;
/* begin.c: refuses an --output that could not be written. */
int learn_begin_output(struct learn *l);
/* Refuses a profile that every run would refuse, and says that a project's file is not used. */
int learn_begin_check(struct learn *l, struct load *load);

/* learn.c: runs until it passes and that is proven, or nothing is left to try. */
int learn_rounds(struct learn *l);

/* round.c: runs the command under l->text; -EINTR: the user interrupted it. */
int learn_round(struct learn *l, bool is_watched, struct explain_report *ret);

/* apart.c: a folder for it. Negative errno. */
int learn_apart_new(struct learn_apart *ret);
void learn_apart_free(struct learn_apart *a);
/* In the process of the round: puts it over the project, and goes there. Negative errno: it cannot
 * be done here, and the process must end. */
int learn_apart_enter(const struct learn_apart *a, const char *project);

/* consent.c: compiles l->consent. */
int learn_consent_begin(struct learn *l);
/* Is this line to be added? */
bool learn_agrees(const struct learn *l, const struct denial *line, bool has_hosts);
/* May it be learnt at all? What a link leads to only if an option names that. */
bool learn_consent_may(const struct learn *l, const struct denial *d);
/* A question on the user's terminal; false if there is none. */
bool learn_ask(const char *question);
bool learn_can_ask(void);

/* text.c: the policy as text. base: the first one; puts what was given by options into it. */
int learn_text_begin(struct learn *l);
/* The part of it that reads no file: l->base is there. */
int learn_text_give(struct learn *l);
/* l->text from l->base and l->lines. */
int learn_text_make(struct learn *l);
/* A pattern that means exactly this, as YAML. */
void learn_text_pattern(const struct learn *l, const struct denial *d, struct buffer *out);

/* show.c: what was seen beside what was granted; and the result for a program. */
void learn_show(const struct learn *l, struct output *o);
int learn_print_json(struct learn *l, bool is_written);
/* The line that covers it; NULL: none does. */
const struct denial *learn_covering(const struct learn *l, const struct denial *d);
/* Why it was not granted, in a few words. */
const char *learn_why_not(const struct learn_sight *s);
