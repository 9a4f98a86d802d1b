/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/algebra/subset.h"

#include <unistd.h>

#include "base/array.h"
#include "cli/load.h"
#include "cli/tree.h"
#include "cli/verb.h"

static const char *const answers[] = {
	[SUBSET_TOO_COMPLEX] = "too complex",
	[SUBSET_NO] = "no",
	[SUBSET_YES] = "yes",
};

static int verb_subset_print_text(const struct subset *s, struct error *e)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, s->answer == SUBSET_YES ? OUTPUT_GREEN : OUTPUT_RED, answers[s->answer]);
	if (s->answer == SUBSET_NO) {
		buffer_printf(&o.text, ": %s ", s->what);
		output_foreign(&o, buffer_text(&s->witness));
	} else if (s->answer == SUBSET_TOO_COMPLEX) {
		buffer_adds(&o.text, ": ");
		output_foreign(&o, buffer_text(&s->reason));
	}
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, e);
}

static int verb_subset_print_tree(const struct subset *s, struct call *c)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	tree_put_flag(&t, root, "subset", s->answer == SUBSET_YES);
	tree_put_text(&t, root, "answer", answers[s->answer]);
	tree_put_text(&t, root, "op", s->answer == SUBSET_NO ? s->what : NULL);
	tree_put_buffer(&t, root, "target", &s->witness);
	tree_put_buffer(&t, root, "reason", &s->reason);
	return tree_print(&t, root, c->error);
}

static int verb_subset_run(struct call *c)
{
	bool json = false;
	auto_load l = { 0 };
	auto_subset s = { 0 };
	const struct options_row rows[] = { LOAD_SET(&l), OPTIONS_JSON(&json) };
	struct policy_options options;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = load_begin(&l, c);
	if (r == 0)
		r = load_add_all(&l, c, (const char *const *)c->words, c->n, MANIFEST_UNKNOWN);
	if (r < 0)
		return r;
	options = load_options(&l);
	r = subset_compare(&s, l.files[0].permissions, l.files[1].permissions, &options, c->error);
	if (r == 0)
		r = json ? verb_subset_print_tree(&s, c) : verb_subset_print_text(&s, c->error);
	return r < 0 ? r : s.answer == SUBSET_YES ? STATUS_YES : STATUS_NO;
}

const struct verb verb_subset = {
	.name = "subset",
	.synopsis = "[OPTION]... A B",
	.summary = "does B allow everything that A allows?",
	.description = "Answers whether everything that A allows is allowed by B as well: `yes`, "
		       "`no` with something that A allows and B does not, or `too complex`, which "
		       "counts as no.\n"
		       "Exit status: 0 yes, 1 no, 2 no answer (an error).",
	.examples =
		"corral policy subset skill/SKILL.md company.json || echo 'it asks for too much'\n",
	.operand = "FILE",
	.min = 2,
	.max = 2,
	.run = verb_subset_run,
};
