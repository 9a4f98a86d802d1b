/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* From a plan to the end of a command: builds the session, starts, passes bytes and signals. */
#include "cli/run/stdio.h"
#include "cli/run/run.h"
#include "wire/report.h"

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
