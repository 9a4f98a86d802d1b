/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A WASM skill on its way to run: the worker of this machine, the skill's module compiled for it,
 * and the words that the worker is started with (wasm/options.h).
 *
 * The worker is corral-wasm, with libwasmtime.so beside it: those that were installed with Corral,
 * unless CORRAL_WASM names another (not in set-uid programs).
 */
#include "base/arena.h"
#include "base/error.h"
#include "jail/plan/plan.h"
#include "launch/skill.h"
#include "policy/policy.h"
#include "policy/variable.h"

/* Of the process, beside the module's memory: the engine, buffers of WASI, threads. */
#define LAUNCH_WASM_ALLOWANCE (UINT64_C(128) << 20)

struct launch_wasm {
	struct plan_worker_source files[PLAN_WORKER_FILES]; /* for the plan; in the arena */
};

/* Whether that is what the skill has to be run. */
static inline bool launch_wasm_is(const struct launch_skill *s)
{
	return s->manifest.wasm_file && !s->manifest.entry;
}

/*
 * Finds the worker and has the module compiled, unless it was before; for a worker that serves, if
 * `serves`, and only for that. -EOPNOTSUPP: this Corral was
 * built without; the sentence says what is missing. Else as module_cache_get().
 */
int launch_wasm_prepare(struct launch_wasm *ret, const struct launch_skill *s,
	const struct limits *limits, bool serves, struct arena *a, struct error *e);

struct launch_wasm_call {
	const struct variables *variables;
	const struct limits *limits;
	const char *const
		*granted; /* NAME=value of the variables that grants let in; ends with NULL */
	const char *const *call_env; /* the same of this call alone; or NULL */
	const char *const *args;
	size_t n_args;
	/* All that holds: a folder that it denies is left out, and one that it does not let be
	 * written is for reading. */
	const struct policy *policy;
	bool serves;    /* it answers calls (wire/skill-call.h) until its input ends */
	bool has_input; /* what is on standard input is the input, whatever the arguments are */
};

/*
 * Whether programs of the skill may have sockets of its broker. A script has connections of its own
 * to the hosts that are granted; a module has them by the capability network_socket alone: hosts of
 * its `http` are for requests. s may be NULL: no skill.
 */
bool launch_wasm_has_sockets(const struct launch_skill *s);

/* Whether the skill is granted what only a broker gives to a module: hosts, mail, a browser. */
bool launch_wasm_needs_broker(const struct launch_skill *s);

/* The memory of the process, where only that of the module is limited; *is_default is set then. */
void launch_wasm_limit(struct limits *limits, bool *is_default);

/* The words, in the arena; they end with NULL. */
int launch_wasm_command(const struct launch_skill *s, const struct launch_wasm_call *c,
	struct arena *a, const char ***ret, size_t *ret_n, struct error *e);
