/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/report.h"
#include "cli/verb.h"

static int verb_explain_run(struct call *c)
{
	return report_run(c, report_explain);
}

const struct verb verb_explain = {
	.name = "explain",
	.synopsis = "--policy FILE... --op OP --target TARGET [OPTION]...",
	.summary = "the same at length: why, by which rule, and what would allow it",
	.description = "Judges one request as `corral policy check` does and tells what led to the "
		       "answer: the rule with its file and line, what each layer said, and the "
		       "line that would allow it. A command line is taken apart; what is only "
		       "known when it runs is marked.\n"
		       "Exit status: 0 allow, 1 deny, 3 ask, 2 no answer (an error).",
	.examples = "corral policy explain -p policy.yaml --op fs.read --target /etc/shadow\n"
		    "corral policy explain -p policy.yaml --op exec --target 'git pull; rm -r x'\n"
		    "corral policy explain -p weather/ -p company.json --op env --target HOME\n",
	.run = verb_explain_run,
};
