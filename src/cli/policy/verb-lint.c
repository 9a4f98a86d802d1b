/* SPDX-License-Identifier: Apache-2.0 */
#include "advice/lint/lint.h"

#include <unistd.h>

#include "base/array.h"
#include "cli/load.h"
#include "cli/tree.h"
#include "cli/verb.h"

static enum output_style style_of(enum lint_severity s)
{
	return s == LINT_ERROR ? OUTPUT_RED : s == LINT_WARNING ? OUTPUT_YELLOW : OUTPUT_DIM;
}

/* "policy.yaml:3: warning: text (id)" and the hint below it. */
static void verb_lint_print_finding(struct output *o, const struct lint_finding *f)
{
	if (f->where.file) {
		output_foreign(o, f->where.file);
		if (f->where.line)
			buffer_printf(&o->text, ":%u", f->where.line);
		buffer_adds(&o->text, ": ");
	}
	output_styled(o, style_of(f->severity), lint_severity_name(f->severity));
	buffer_adds(&o->text, ": ");
	if (f->pattern && *f->pattern) {
		output_foreign(o, f->pattern);
		buffer_adds(&o->text, ": ");
	}
	output_foreign(o, f->text);
	buffer_printf(&o->text, " (%s)\n", f->id);
	if (f->hint && *f->hint) {
		buffer_adds(&o->text, "  ");
		output_foreign(o, f->hint);
		buffer_addc(&o->text, '\n');
	}
}

static int verb_lint_print_text(const struct lint_findings *all, struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);

	for (size_t i = 0; i < all->n; i++)
		verb_lint_print_finding(&o, &all->items[i]);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static struct node *verb_lint_finding_tree(struct json_tree *t, const struct lint_finding *f)
{
	struct node *n = tree_map(t);

	tree_put_text(t, n, "severity", lint_severity_name(f->severity));
	tree_put_text(t, n, "id", f->id);
	tree_put_text(t, n, "file", f->where.file);
	tree_put_number(t, n, "line", f->where.line);
	tree_put_number(t, n, "column", f->where.column);
	tree_put_text(t, n, "pattern", f->pattern);
	tree_put_text(t, n, "text", f->text);
	tree_put_text(t, n, "hint", f->hint);
	return n;
}

static int verb_lint_print_tree(const struct lint_findings *all, struct call *c, bool clean)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list = tree_list(&t);

	for (size_t i = 0; i < all->n; i++)
		tree_append(&t, list, verb_lint_finding_tree(&t, &all->items[i]));
	tree_put_flag(&t, root, "clean", clean);
	tree_put(&t, root, "findings", list);
	return tree_print(&t, root, c->error);
}

/* The findings of all files, in the order of the files. */
static int lint(const struct load *l, struct call *c, struct lint_findings *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		struct lint_findings found = { 0 };
		int r = lint_permissions_with(
			l->files[i].permissions, &l->variables, c->arena, &found);

		for (size_t k = 0; r == 0 && k < found.n; k++)
			r = ARENA_PUSH(c->arena, ret->items, ret->n, ret->cap, found.items[k]);
		if (r < 0)
			return error_no_memory(c->error);
	}
	return 0;
}

static bool is_clean(const struct lint_findings *all)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->items[i].severity != LINT_NOTE)
			return false;
	}
	return true;
}

static int verb_lint_run(struct call *c)
{
	bool json = false;
	auto_load l = { 0 };
	struct lint_findings all = { 0 };
	const struct options_row rows[] = { LOAD_SET(&l), OPTIONS_JSON(&json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = load_begin(&l, c);
	if (r == 0)
		r = load_add_all(&l, c, (const char *const *)c->words, c->n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = lint(&l, c, &all);
	if (r == 0)
		r = json ? verb_lint_print_tree(&all, c, is_clean(&all))
			 : verb_lint_print_text(&all, c);
	return r < 0 ? r : is_clean(&all) ? STATUS_YES : STATUS_NO;
}

const struct verb verb_lint = {
	.name = "lint",
	.synopsis = "[OPTION]... FILE...",
	.summary = "point at what is legal but likely a mistake",
	.description =
		"Points at what is legal but likely a mistake: grants that are wider than they "
		"look, lines without effect, grants that the baseline forbids anyway. No finding "
		"changes a decision.\n"
		"Exit status: 0 nothing but notes, 1 warnings or errors, 2 a file cannot be read.",
	.examples = "corral policy lint policy.yaml\n"
		    "corral policy lint --json skill/SKILL.md rules/\n",
	.operand = "FILE",
	.min = 1,
	.max = SIZE_MAX,
	.run = verb_lint_run,
};
