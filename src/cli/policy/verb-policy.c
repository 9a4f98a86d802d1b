/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

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
