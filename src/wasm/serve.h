/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A worker that serves: calls come by standard input and answers go by standard output
 * (wire/skill-call.h), one at a time, until the input ends. The module is loaded once; each call
 * has an instance of its own, whose memory is the module's, copied where it is written. Nothing of
 * a call is there in the next: no memory, no descriptors of WASI, no output.
 */
#include "wasm/instance.h"

/* That the module is loaded (0), or why not; before the first call. */
int serve_announce(int status, const struct error *e);
/* Returns 0 at the end of the input, else FAILURE_WORKER. l->streams are its own to fill. */
int serve_calls(struct loaded *l);
