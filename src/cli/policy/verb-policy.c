/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "advice/lint/lint.h"
#include "base/array.h"
#include "cli/load.h"
#include "cli/policy/report.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/verb.h"
#include "policy/algebra/subset.h"

static int verb_check_run(struct call *c)
{
	return report_run(c, report_line);
}

static const struct verb verb_check = {
	.name = "check",
	.synopsis = "[--policy FILE]... --op OP --target TARGET [OPTION]...",
	.summary = "decide about one request; prints one line",
	.description =
		"Decides about one request: prints allow, ask or deny, and the file and line "
		"that decided. For files, both the path as given and the path that symbolic "
		"links resolve to are checked; in a command line, every program. The strictest "
		"answer counts. Without --policy it is what `corral run` without one would do "
		"here: the profile workspace, and your stored policies.\n"
		"Exit status: 0 allow, 1 deny, 3 ask, 2 an error.",
	.examples =
		"corral policy check --op fs.read --target ~/.ssh/id_ed25519\n"
		"corral policy check -p policy.yaml --op net.connect --target example.com:443\n"
		"corral policy check -p policy.yaml --op fs.write --target ./build/out.o\n"
		"corral policy check -p weather/ -p company.json --op exec --target 'curl -s x'\n"
		"corral policy check -p policy.yaml --op exec --target git --arg push\n",
	.run = verb_check_run,
};

static int verb_explain_run(struct call *c)
{
	return report_run(c, report_explain);
}

static const struct verb verb_explain = {
	.name = "explain",
	.synopsis = "[--policy FILE]... --op OP --target TARGET [OPTION]...",
	.summary = "like check, with the reason, the rule, and what would allow it",
	.description =
		"Decides about one request as `corral policy check` does, and prints how: "
		"the rule with its file and line, the answer of each layer, and the line that "
		"would allow it. A command line is parsed; parts that are only known at run time "
		"are marked.\n"
		"Exit status: 0 allow, 1 deny, 3 ask, 2 an error.",
	.examples = "corral policy explain -p policy.yaml --op fs.read --target /etc/shadow\n"
		    "corral policy explain -p policy.yaml --op exec --target 'git pull; rm -r x'\n"
		    "corral policy explain -p weather/ -p company.json --op env --target HOME\n",
	.run = verb_explain_run,
};

static const char *const answers[] = {
	[SUBSET_TOO_COMPLEX] = "too complex",
	[SUBSET_NO] = "no",
	[SUBSET_YES] = "yes",
};

static int verb_subset_print(const struct subset *s, struct call *c, bool json)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	if (json) {
		tree_put_flag(&t, root, "subset", s->answer == SUBSET_YES);
		tree_put_text(&t, root, "answer", answers[s->answer]);
		tree_put_text(&t, root, "op", s->answer == SUBSET_NO ? s->what : NULL);
		tree_put_buffer(&t, root, "target", &s->witness);
		tree_put_buffer(&t, root, "reason", &s->reason);
		return tree_print(&t, root, c->error);
	}
	output_styled(&o, s->answer == SUBSET_YES ? OUTPUT_GREEN : OUTPUT_RED, answers[s->answer]);
	if (s->answer == SUBSET_NO) {
		buffer_printf(&o.text, ": %s ", s->what);
		output_foreign(&o, buffer_text(&s->witness));
	} else if (s->answer == SUBSET_TOO_COMPLEX) {
		buffer_adds(&o.text, ": ");
		output_foreign(&o, buffer_text(&s->reason));
	}
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, c->error);
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
		r = verb_subset_print(&s, c, json);
	return r < 0 ? r : s.answer == SUBSET_YES ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_subset = {
	.name = "subset",
	.synopsis = "[OPTION]... A B",
	.summary = "check that B allows everything that A allows",
	.description =
		"Checks whether B allows everything that A allows. Prints `yes`, `no` "
		"with an example that A allows and B does not, or `too complex`, which counts as "
		"no.\n"
		"Exit status: 0 yes, 1 no, 2 an error.",
	.examples = "corral policy subset skill/SKILL.md company.json || echo 'too much'\n",
	.operand = "FILE",
	.min = 2,
	.max = 2,
	.run = verb_subset_run,
};

/* "policy.yaml:3: warning: text (id)" and the hint below it. */
static void verb_lint_print_finding(struct output *o, const struct lint_finding *f)
{
	static const enum output_style styles[] = {
		[LINT_ERROR] = OUTPUT_RED, [LINT_WARNING] = OUTPUT_YELLOW, [LINT_NOTE] = OUTPUT_DIM
	};

	if (f->where.file) {
		output_foreign(o, f->where.file);
		if (f->where.line)
			buffer_printf(&o->text, ":%u", f->where.line);
		buffer_adds(&o->text, ": ");
	}
	output_styled(o, styles[f->severity], lint_severity_name(f->severity));
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

static int verb_lint_print(
	const struct lint_findings *all, struct call *c, bool json, bool is_clean)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list;

	for (size_t i = 0; !json && i < all->n; i++)
		verb_lint_print_finding(&o, &all->items[i]);
	if (!json)
		return output_write(&o, STDOUT_FILENO, c->error);
	tree_put_flag(&t, root, "clean", is_clean);
	list = tree_put_list(&t, root, "findings");
	for (size_t i = 0; i < all->n; i++) {
		const struct lint_finding *f = &all->items[i];
		struct node *n = tree_append_map(&t, list);

		tree_put_text(&t, n, "severity", lint_severity_name(f->severity));
		tree_put_text(&t, n, "id", f->id);
		tree_put_text(&t, n, "file", f->where.file);
		tree_put_number(&t, n, "line", f->where.line);
		tree_put_number(&t, n, "column", f->where.column);
		tree_put_text(&t, n, "pattern", f->pattern);
		tree_put_text(&t, n, "text", f->text);
		tree_put_text(&t, n, "hint", f->hint);
	}
	return tree_print(&t, root, c->error);
}

/* The findings of all files, in the order of the files; clean: nothing but notes. */
static int lint(const struct load *l, struct call *c, struct lint_findings *ret, bool *ret_is_clean)
{
	*ret_is_clean = true;
	for (size_t i = 0; i < l->n; i++) {
		struct lint_findings found = { 0 };
		struct permissions *p = l->files[i].permissions;
		int r;

		/* A built-in profile has limits of its own, which are not in its permissions. */
		for (size_t k = 0; p == l->builtin.permissions && k < LIMIT_COUNT; k++)
			if (p->limits.values[k] == LIMIT_NONE)
				p->limits.values[k] = l->builtin.limits.values[k];
		r = lint_permissions_with(p, &l->variables, c->arena, &found);

		for (size_t k = 0; r == 0 && k < found.n; k++) {
			/* Of a profile that the file extends: there is nothing to mend in it. */
			if (profile_is_origin(found.items[k].where.file))
				continue;
			*ret_is_clean = *ret_is_clean && found.items[k].severity == LINT_NOTE;
			r = ARENA_PUSH(c->arena, ret->items, ret->n, ret->cap, found.items[k]);
		}
		if (r < 0)
			return error_no_memory(c->error);
	}
	return 0;
}

static int verb_lint_run(struct call *c)
{
	bool json = false, is_clean = false;
	auto_load l = { 0 };
	struct lint_findings all = { 0 };
	struct stored_named stored = { 0 };
	const struct options_row rows[] = { STORED_NAMED(&stored), LOAD_SET(&l),
		OPTIONS_JSON(&json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = load_begin(&l, c);
	if (r == 0)
		r = load_add_all(&l, c, (const char *const *)c->words, c->n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = stored_load_named(&l, c, &stored);
	if (r == 0 && l.n == 0)
		r = options_misused(c, "missing argument: FILE");
	if (r == 0)
		r = lint(&l, c, &all, &is_clean);
	if (r == 0)
		r = verb_lint_print(&all, c, json, is_clean);
	return r < 0 ? r : is_clean ? STATUS_YES : STATUS_NO;
}

static const struct verb verb_lint = {
	.name = "lint",
	.synopsis = "[OPTION]... FILE...",
	.summary = "find likely mistakes",
	.description =
		"Reports what is valid but probably a mistake: grants that are broader than they "
		"look, lines without effect, grants that the baseline denies anyway. Findings do "
		"not change decisions.\n"
		"Exit status: 0 no findings or only notes, 1 warnings or errors, 2 a file cannot "
		"be read.",
	.examples = "corral policy lint policy.yaml\n"
		    "corral policy lint --json skill/SKILL.md rules/\n",
	.operand = "FILE",
	.max = SIZE_MAX,
	.run = verb_lint_run,
};

static const struct verb *const verbs[] = {
	&verb_check,
	&verb_explain,
	&verb_show,
	&verb_replay,
	&verb_shrink,
	&verb_merge,
	&verb_intersect,
	&verb_subset,
	&verb_lint,
	&verb_stored_list,
	&verb_stored_history,
	&verb_stored_save,
	&verb_stored_remove,
	&verb_stored_undo,
	&verb_stored_record,
	&verb_stored_rules,
	NULL,
};

const struct verb verb_policy = {
	.name = "policy",
	.synopsis = "COMMAND [OPTION]... [FILE]...",
	.summary = "check, explain, show, combine and store policies",
	.description = "Works with policies. FILE may be permissions in YAML or JSON, a "
		       "skill.yaml, a SKILL.md, a manifest.yaml of a WASM skill, a JSON file with "
		       "rules, or Enclave grants; the format is detected.",
	.examples = "corral policy check -p policy.yaml --op net.connect --target example.com:443\n"
		    "corral policy explain -p policy.yaml --op fs.read --target /etc/shadow\n"
		    "corral policy intersect skill/SKILL.md company.json\n"
		    "corral policy lint policy.yaml\n",
	.verbs = verbs,
};
