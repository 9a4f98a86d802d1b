/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What came of a command: the status to exit with, and what a person or a program is told. */
#include "cli/run/loop.h"

/* The status that stands for a report. */
int run_result_status(const struct report *report);
/* Tells what the exit status does not: limits that were met, hosts that were denied, files that run
 * later. */
void run_result_tell(const struct run *r, const struct run_stdio *s, const struct report *report);
/* Just the latter two: of a command whose end nobody saw. */
void run_result_tell_rest(const struct run *r);
/* What came of it as one JSON object on standard output, with what the command printed. */
int run_result_print(
	const struct run *r, const struct run_stdio *s, const struct report *report, int status);
