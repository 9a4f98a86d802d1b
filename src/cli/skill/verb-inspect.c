/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/skill/inspection.h"
#include "cli/options.h"
#include "cli/verb.h"

static int verb_inspect_run(struct call *c)
{
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	auto_inspection i = { .skill.fd = -1 };
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = inspection_open(&i, c, c->words[0]);
	if (r < 0)
		return r;
	if (json) {
		r = tree_print(&t, inspection_tree(&i, &t), c->error);
	} else {
		inspection_print(&i, &o);
		r = output_write(&o, STDOUT_FILENO, c->error);
	}
	return r < 0 ? r : inspection_is_risky(&i) ? STATUS_NO : STATUS_YES;
}

const struct verb verb_inspect = {
	.name = "inspect",
	.synopsis = "[OPTION]... DIR",
	.summary = "show what a skill asks for and what looks risky in it",
	.description =
		"Looks at the skill in DIR without running anything of it: what its permissions "
		"would let it do, in plain words; signs of risk in its text and scripts, each with "
		"file and line; its digest, and whether just this was approved.\n"
		"Exit status: 0 no signs of risk, or only minor ones; 1 there are; 2 it cannot be "
		"read. How much its permissions would let it do is the rating, not the status.",
	.examples = "corral inspect ./weather-skill\n"
		    "corral inspect --json ./weather-skill | jq .findings\n",
	.operand = "DIR",
	.min = 1,
	.max = 1,
	.run = verb_inspect_run,
};
