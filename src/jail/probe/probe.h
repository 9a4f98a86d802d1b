/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What this kernel lets us hold, found by doing it: each check runs in a short-lived child of its
 * own and tries what a session would do. Nothing is concluded from a sysctl or a version; those are
 * read only to choose a hint for something that has just failed.
 *
 * The caller is not disturbed: no process, mount or descriptor is left behind, SIGCHLD is neither
 * raised nor needed (ignored or handled by the caller, both are fine), other children are not
 * waited for. A check that hangs is ended by its own alarm. It takes some tens of
 * milliseconds in all.
 *
 * Threads: safe to call from any, and from several at once. A child is a fork, so a program with
 * much memory pays for copying its page tables once per check: meant for `corral doctor` and for
 * the warden, not for a host program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum probe_weight {
	PROBE_REQUIRED, /* tier 1 cannot do without */
	PROBE_USEFUL,   /* used where it is there; needed_for says what is lost without it */
	PROBE_LATER,    /* for tiers and parts that do not exist yet; for information */
};

struct probe_finding {
	const char *name;       /* "user namespaces"; a constant, unique */
	const char *needed_for; /* half a sentence: "all other namespaces, without root" */
	enum probe_weight weight;
	bool held;
	int error;        /* positive errno where it is not held; ETIMEDOUT: it hung */
	char detail[160]; /* held: what exactly ("ABI 7"), or ""; else: which step failed and how */
	char hint[320];   /* not held: what to do; "" if there is nothing to say */
};

enum { PROBE_FINDINGS_MAX = 40, PROBE_TIERS = 5 };

/* The rows of docs/tiers.md, the strongest first. */
struct probe_tier {
	const char *name;  /* "1", "2", "2b", "3", "4" */
	const char *needs; /* half a sentence */
	const char *holds;
	bool implemented;  /* by this version of Corral */
	bool by_name;      /* only where it is asked for: it enforces less than a policy says */
	bool possible;     /* this kernel has what it needs */
	char missing[256]; /* names of findings that it lacks, separated by ", "; "" if possible */
};

struct probe_result {
	char kernel[128];          /* "Linux 6.18.0 aarch64", for people only */
	int landlock_abi;          /* 0: none */
	char landlock_rights[512]; /* names of the rights this ABI has, separated by " " */
	struct probe_finding findings[PROBE_FINDINGS_MAX];
	size_t n_findings;
	struct probe_tier tiers[PROBE_TIERS];
};

/* 0, or a negative errno if no child could be made (*ret is untouched then). */
int probe_run(struct probe_result *ret);

/* The strongest tier that is possible and implemented, and not only by name; NULL: none is. */
const struct probe_tier *probe_best(const struct probe_result *r);
/* The finding of that name, or NULL. */
const struct probe_finding *probe_find(const struct probe_result *r, const char *name);

/*
 * Only what tier 1 requires, up to the first thing that is missing: call it when building a session
 * failed. -EOPNOTSUPP: e says what is missing, what it is needed for, and how to get it. 0: nothing
 * is missing (the failure has another cause; e is untouched).
 */
int probe_tier1(struct error *e);
