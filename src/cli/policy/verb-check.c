/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/report.h"
#include "cli/verb.h"

static int verb_check_run(struct call *c)
{
	return report_run(c, report_line);
}

const struct verb verb_check = {
	.name = "check",
	.synopsis = "--policy FILE... --op OP --target TARGET [OPTION]...",
	.summary = "may this happen? one line, and the exit status",
	.description =
		"Judges one request and says allow, ask or deny, and which line of which file "
		"decided. Files are judged as they are named and as what their links lead to; in a "
		"command line every program is judged. The strictest answer counts.\n"
		"Exit status: 0 allow, 1 deny, 3 ask, 2 no answer (an error).",
	.examples =
		"corral policy check -p policy.yaml --op net.connect --target api.example.com:443\n"
		"corral policy check -p policy.yaml --op fs.write --target ./build/out.o\n"
		"corral policy check -p weather/ -p company.json --op exec --target 'curl -s x'\n"
		"corral policy check -p policy.yaml --op exec --target git --arg push\n",
	.run = verb_check_run,
};
