/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What went wrong, as a sentence, and the status that the worker exits with. What a module can do
 * wrong is reported as the end of the module, not as an error of Corral.
 */
#include <wasmtime.h>

#include "base/error.h"
#include "wasm/options.h"

enum {
	FAILURE_REPORTED = 1,  /* the skill says {"success": false} */
	FAILURE_TIME = 124,    /* its time was up; only in a worker that serves */
	FAILURE_WORKER = 125,  /* the worker could not do its part */
	FAILURE_MODULE = 126,  /* the module cannot be run as it is */
	FAILURE_STOPPED = 134, /* the module was stopped: as a process that aborts */
};

/* Prints "corral: SENTENCE" on standard error; returns the status. */
int failure_tell(int status, const struct error *e);
/*
 * The end of a call by an error or a trap, either of which may be NULL; both are deleted. Returns
 * the status: that of proc_exit(), or FAILURE_STOPPED or FAILURE_TIME with *e filled.
 */
int failure_of_call(const struct worker_options *o, wasmtime_error_t *error, wasm_trap_t *trap,
	struct error *e);
/* Fills *e with what the engine says, behind `what`; deletes it. Returns status. */
int failure_of_engine(int status, const char *what, wasmtime_error_t *error, struct error *e);
