/* SPDX-License-Identifier: Apache-2.0 */
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
