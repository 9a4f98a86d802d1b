/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How a command ended. Filled once, by whoever dispatched its end; then shared and not changed. */
#include <stdatomic.h>
#include <stddef.h>

#include "corral/sandbox.h"
#include "lib/process/stream.h"
#include "lib/sandbox/backend.h"
#include "wire/report.h"

struct corral_result {
	atomic_uint refs;
	const struct sandbox_backend *backend; /* that ran it */
	struct report report;
	struct printed out, err;
	/* While the command runs these are guarded by the sandbox's lock. */
	struct corral_denial **denials;
	size_t n_denials;
	size_t n_noted; /* the first of them: told and counted when they happened */
};

/* One reference. NULL when out of memory. */
struct corral_result *result_new(const struct sandbox_backend *backend);
struct corral_result *result_ref(struct corral_result *r);
/* Takes over d, also on failure. d NULL: out of memory. */
int result_add_denial(struct corral_result *r, struct corral_denial *d);
/*
 * One that happened just now, before all others were added. The same once more (target and reason)
 * is counted; no more than RESULT_NOTED_MAX are kept.
 */
enum { RESULT_NOTED_MAX = 256 };
void result_note_denial(struct corral_result *r, const struct corral_denial *d);
