/* SPDX-License-Identifier: Apache-2.0 */
/* run and shell: the same but for what is run. */
#include <stdint.h>

#include "cli/run/run.h"
#include "cli/verb.h"

static int verb_run_main(struct call *c)
{
	return run_main(c, false);
}

const struct verb verb_run = {
	.name = "run",
	.synopsis = "[OPTION]... [--] CMD [ARG]...  |  [OPTION]... --skill DIR [ARG]...",
	.summary = "run a command with just what it was granted",
	.description =
		"Runs CMD in a sandbox. Without options it may write the current folder, read the "
		"system, and nothing else: no home, no network, few variables (the profile "
		"workspace). --policy, --skill, --mode and --profile say otherwise, and all that "
		"are given must allow; the single grants --read, --write, --net, --exec and --env "
		"are added to them, --deny is taken away.\n"
		"Exit status: that of the command; 124 its time was over, 125 Corral failed and "
		"nothing ran, 126 the command may not be run, 127 there is no such program, 128+n "
		"ended by signal n.",
	.examples = "corral run -- make test\n"
		    "corral run --read ~/datasets --timeout 5m -- python3 train.py\n"
		    "corral run --net api.example.com:443 -- ./sync.sh\n"
		    "corral run --policy policy.yaml --json -- ./tool.sh\n"
		    "corral run --skill ./weather-skill Paris\n"
		    "corral run --mode sandbox --data-dir ~/.agent -- claude\n",
	.operand = "CMD",
	.min = 0,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = verb_run_main,
};

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
