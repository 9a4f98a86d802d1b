/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "cli/run/run.h"
#include "cli/verb.h"

static int verb_shell_run(struct call *c)
{
	return run_main(c, true);
}

const struct verb verb_shell = {
	.name = "shell",
	.synopsis = "[OPTION]... [ARG]...",
	.summary = "your shell, with just what it was granted",
	.description =
		"Starts your shell ($SHELL, else /bin/sh) as `corral run` starts a command, with "
		"the same options and the same exit status: a way to look around in a sandbox. "
		"ARGs are the shell's.",
	.examples = "corral shell\n"
		    "corral shell --profile readonly\n"
		    "corral shell --policy policy.yaml -- -c 'ls /'\n",
	.operand = "ARG",
	.min = 0,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = verb_shell_run,
};
