/* SPDX-License-Identifier: Apache-2.0 */
/* run and shell: the same but for what is run. */
#include <stdint.h>

#include "cli/project/project.h"
#include "cli/run/run.h"
#include "cli/verb.h"

static int verb_run_main(struct call *c)
{
	return run_main(c, false);
}

const struct verb verb_run = {
	.name = "run",
	.synopsis = "[OPTION]... [--] CMD [ARG]...  |  [OPTION]... --skill DIR [--] [ARG]...",
	.summary = "run a command in a sandbox",
	.description =
		"Runs CMD in a sandbox. By default it may write the current folder and read the "
		"system, and nothing else: no home, no network, few variables (the profile "
		"workspace). --policy, --skill, --mode and --profile replace this default; if "
		"several are given, all of them must allow. --read, --write, --net, --exec and "
		"--env add single grants, --deny removes them. A word that is a command of the "
		"project's corral.yaml runs that: `corral run test`.\n"
		"Exit status: that of the command; 124 it timed out, 125 Corral failed and "
		"nothing ran, 126 the command is not allowed or not executable, 127 command not "
		"found, 128+n killed by signal n.",
	.examples = "corral run -- make test\n"
		    "corral run --read ~/datasets --timeout 5m -- python3 train.py\n"
		    "corral run --net api.example.com:443 -- ./sync.sh\n"
		    "corral run --policy policy.yaml --json -- ./tool.sh\n"
		    "corral run --skill ./weather-skill Paris\n"
		    "corral run --skill ./web-fetch -- curl -s https://example.com\n"
		    "corral run --mode sandbox --data-dir ~/.agent -- claude\n",
	.operand = "CMD",
	.offer = project_offer,
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
	.summary = "start your shell in a sandbox",
	.description =
		"Starts your shell ($SHELL, else /bin/sh) in a sandbox, with the options and the "
		"exit status of `corral run`: a way to explore what a sandbox allows. ARGs are "
		"passed to the shell.",
	.examples = "corral shell\n"
		    "corral shell --profile readonly\n"
		    "corral shell --policy policy.yaml -- -c 'ls /'\n",
	.operand = "ARG",
	.min = 0,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = verb_shell_run,
};
