/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A worker of a loaded skill: the program corral-wasm, a command of the skill's sandbox, which
 * answers one call after the other (wire/skill-call.h) by its pipes. One thread at a time uses it.
 *
 * It may have been taken over by its module, so what it sends is bounded and checked; a worker that
 * breaks the protocol, ends, or takes too long is killed and not used again.
 */
#include <stdbool.h>

#include "corral/skill.h"
#include "lib/sandbox/sandbox.h"

struct skill_worker {
	struct corral_process *process;
	int in, out, err; /* our ends; non-blocking */
	struct skill_worker *next;
};

/* Starts one and waits until the module is loaded. -ENOEXEC: it cannot be. */
int skill_worker_new(struct skill_worker **ret, struct corral_sandbox *s, struct corral_error **e);
/* Kills it, if it runs. Accepts NULL. */
void skill_worker_free(struct skill_worker *w);
/* False: it ended, or sends something that was not asked for. */
bool skill_worker_is_idle(const struct skill_worker *w);

/*
 * One call, of an input and arguments that are within bounds; timeout_ms -1: no bound. *ret, the
 * caller's, says how it ended; also if the worker died of it, or it timed out. 1: the worker
 * serves on; 0: it is of no more use. Negative errno: it is not known what came of the call, and
 * the worker is of no more use either.
 */
int skill_worker_call(struct skill_worker *w, const struct corral_skill_request *request,
	int64_t timeout_ms, struct corral_result **ret, struct error *e);
