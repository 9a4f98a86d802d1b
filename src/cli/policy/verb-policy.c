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

static const struct verb *const verbs[] = {
	&verb_check,
	&verb_explain,
	&verb_show,
	&verb_merge,
	&verb_intersect,
	&verb_subset,
	&verb_lint,
	NULL,
};

const struct verb verb_policy = {
	.name = "policy",
	.synopsis = "COMMAND [OPTION]... [FILE]...",
	.summary = "ask, show, combine and check permissions",
	.description = "Works on permissions. Every FILE may be permissions in YAML or JSON, a "
		       "skill.yaml, a SKILL.md, a manifest.yaml of a WASM skill, a JSON file with "
		       "rules, or Enclave grants: which one it is, is found out.",
	.examples =
		"corral policy check -p policy.yaml --op net.connect --target api.example.com:443\n"
		"corral policy explain -p policy.yaml --op fs.read --target /etc/shadow\n"
		"corral policy intersect skill/SKILL.md company.json\n"
		"corral policy lint policy.yaml\n",
	.verbs = verbs,
};
