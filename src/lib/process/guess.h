/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Why a command line failed, as far as its text and the policy tell: the programs that it names and
 * that the policy does not let run. Nothing was seen to happen, so these denials are not exact; but
 * whatever else came to pass, such a program did not run.
 */
#include "lib/process/result.h"
#include "lib/sandbox/sandbox.h"

/* Adds to r what there is to say. Says less when out of memory, or about a line that is no shell.
 */
void guess_denials(const struct sandbox_setup *setup, const char *line, struct corral_result *r);
