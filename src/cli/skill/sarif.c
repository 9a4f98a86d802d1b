/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as SARIF 2.1.0 (OASIS), which code hosts show beside the lines. */
#include "cli/skill/sarif.h"

static const char *sarif_level(enum skill_severity severity)
{
	static const char *const levels[] = { "note", "warning", "error" };

	return levels[severity];
}

static void sarif_put_message(
	struct json_tree *t, struct node *map, const char *key, const char *text)
{
	tree_put_text(t, tree_put_map(t, map, key), "text", text);
}

static void sarif_put_rules(struct json_tree *t, struct node *driver)
{
	struct node *rules = tree_put_list(t, driver, "rules");

	for (size_t k = 0; k < skill_rules_count(); k++) {
		const struct skill_rule r = skill_rules_at(k);
		struct node *rule = tree_append_map(t, rules);

		tree_put_text(t, rule, "id", r.id);
		sarif_put_message(t, rule, "shortDescription", r.what);
		sarif_put_message(t, rule, "help", r.check);
		tree_put_text(t, tree_put_map(t, rule, "defaultConfiguration"), "level",
			sarif_level(r.severity));
	}
}

static void sarif_put_place(struct json_tree *t, struct node *result, const struct skill_finding *f)
{
	struct node *location = tree_append_map(t, tree_put_list(t, result, "locations"));
	struct node *place = tree_put_map(t, location, "physicalLocation");

	tree_put_text(t, tree_put_map(t, place, "artifactLocation"), "uri", f->file);
	if (f->line) {
		struct node *region = tree_put_map(t, place, "region");

		tree_put_number(t, region, "startLine", f->line);
		if (f->excerpt[0])
			sarif_put_message(t, region, "snippet", f->excerpt);
	}
}

static void sarif_put_result(
	struct json_tree *t, struct node *results, const struct skill_finding *f)
{
	struct node *result = tree_append_map(t, results);
	const char *text = arena_printf(t->arena, "%s; check %s", f->what, f->check);

	t->failed = t->failed || !text;
	tree_put_text(t, result, "ruleId", f->id);
	tree_put_text(t, result, "level", sarif_level(f->severity));
	sarif_put_message(t, result, "message", text ? text : "");
	sarif_put_place(t, result, f);
	if (f->reason) {
		struct node *why = tree_append_map(t, tree_put_list(t, result, "suppressions"));

		tree_put_text(t, why, "kind", "external");
		tree_put_text(t, why, "justification", f->reason);
	}
}

struct node *sarif_tree(const struct skill_inspection *i, struct json_tree *t)
{
	struct node *root = tree_map(t), *run, *driver, *results;

	tree_put_text(t, root, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	tree_put_text(t, root, "version", "2.1.0");
	run = tree_append_map(t, tree_put_list(t, root, "runs"));
	driver = tree_put_map(t, tree_put_map(t, run, "tool"), "driver");
	tree_put_text(t, driver, "name", "corral inspect");
	sarif_put_rules(t, driver);
	results = tree_put_list(t, run, "results");
	for (size_t k = 0; k < i->findings.n; k++)
		sarif_put_result(t, results, &i->findings.items[k]);
	return root;
}
