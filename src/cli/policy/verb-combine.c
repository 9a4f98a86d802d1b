/* SPDX-License-Identifier: Apache-2.0 */
/* merge and intersect: the same but for the operation. */
#include "base/array.h"
#include "cli/policy/canonical.h"
#include "cli/load.h"
#include "cli/verb.h"
#include "policy/algebra/algebra.h"

static int verb_combine_run(struct call *c, load_operation *operation)
{
	struct canonical how = { 0 };
	const struct options_row rows[] = { CANONICAL_ROWS(&how) };
	auto_load l = { 0 };
	auto_permissions *p = NULL;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = load_add_all(&l, c, (const char *const *)c->words, c->n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = load_combine(&l, c, operation, &p);
	if (r == 0)
		r = canonical_print(&how, c, p);
	return r < 0 ? r : STATUS_YES;
}

static int run_merge(struct call *c)
{
	return verb_combine_run(c, algebra_merge);
}

static int run_intersect(struct call *c)
{
	return verb_combine_run(c, algebra_intersect);
}

const struct verb verb_merge = {
	.name = "merge",
	.synopsis = "[OPTION]... A B...",
	.summary = "print what any of them allows, less what any of them denies",
	.description = "Prints the union of permissions: what any of the files allows, less what "
		       "any of them denies. A limit becomes the widest of them.",
	.examples = "corral policy merge base.yaml project.yaml > agent.yaml\n",
	.operand = "FILE",
	.min = 2,
	.max = SIZE_MAX,
	.run = run_merge,
};

const struct verb verb_intersect = {
	.name = "intersect",
	.synopsis = "[OPTION]... A B...",
	.summary = "print exactly what all of them allow",
	.description = "Prints the intersection of permissions: exactly what every one of the "
		       "files allows, no more and no less. A limit becomes the narrowest of them.",
	.examples = "corral policy intersect skill/SKILL.md company.json\n"
		    "corral policy intersect skill.yaml agent.yaml company.json > run.yaml\n",
	.operand = "FILE",
	.min = 2,
	.max = SIZE_MAX,
	.run = run_intersect,
};
