/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/policy/report.h"
#include "policy/explain.h"

static struct node *rule_tree(struct tree *t, const struct decision *d)
{
	const struct source *s = d->source;
	struct node *rule;

	if (!s)
		return NULL;
	rule = tree_map(t);
	tree_put_text(t, rule, "file", s->where.file);
	tree_put_number(t, rule, "line", s->where.line);
	tree_put_number(t, rule, "column", s->where.column);
	tree_put_text(t, rule, "list", s->list);
	tree_put_text(t, rule, "id", s->id);
	tree_put_text(t, rule, "pattern", s->text);
	return rule;
}

/* What every judged thing has: verdict, reason, rule. */
static void put_answer(struct tree *t, struct node *to, const struct judged *j)
{
	auto_buffer reason = { 0 };

	judge_reason(j, &reason);
	tree_put_buffer(t, to, "reason", &reason);
	tree_put(t, to, "rule", j->kind == JUDGED_REQUEST ? rule_tree(t, &j->decision) : NULL);
}

static struct node *layers_tree(struct tree *t, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *list = tree_list(t);

	for (size_t i = 0; j->kind == JUDGED_REQUEST && i < policy_layers(a->policy); i++) {
		struct judged there = { .request = j->request };
		struct node *layer = tree_map(t);

		if (policy_decide_layer(a->policy, i, &there.request, &there.decision) < 0)
			continue;
		tree_put_text(t, layer, "verdict", verdict_name(there.decision.verdict));
		tree_put_text(t, layer, "origin", policy_layer(a->policy, i)->origin);
		put_answer(t, layer, &there);
		tree_append(t, list, layer);
	}
	return list;
}

static struct node *commands_tree(struct tree *t, const struct ask *a)
{
	static const char *const kinds[] = {
		[JUDGED_REQUEST] = "judged",
		[JUDGED_BUILTIN] = "builtin",
		[JUDGED_UNKNOWN] = "unknown",
	};
	struct node *list = tree_list(t);

	for (size_t i = 0; a->judgement.is_line && i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];
		bool asked = j->kind == JUDGED_REQUEST;
		struct node *command = tree_map(t);

		tree_put_text(t, command, "verdict", verdict_name(j->verdict));
		tree_put_text(t, command, "text", j->text);
		tree_put_text(t, command, "kind", kinds[j->kind]);
		tree_put_text(t, command, "op", asked ? operation_name(j->request.op) : NULL);
		tree_put_text(t, command, "judged", asked ? j->request.target : NULL);
		put_answer(t, command, j);
		tree_put_flag(t, command, "dynamic", j->is_dynamic || j->kind == JUDGED_UNKNOWN);
		tree_put_number(t, command, "depth", j->depth);
		tree_append(t, list, command);
	}
	return list;
}

static struct node *notes_tree(struct tree *t, const struct ask *a)
{
	struct options_list notes = { 0 };
	struct node *list = tree_list(t);

	if (report_notes(a, t->arena, &notes) < 0)
		t->failed = true;
	for (size_t i = 0; i < notes.n; i++)
		tree_append_text(t, list, notes.items[i]);
	return list;
}

struct node *report_tree(struct tree *t, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *root = tree_map(t);
	struct request request = judge_remedy_request(j);
	auto_buffer remedy = { 0 }, line = { 0 };
	bool asked = j->kind == JUDGED_REQUEST;

	if (asked) {
		explain_remedy(&request, &j->decision, &remedy);
		explain_line(&request, &j->decision, &line);
	}
	tree_put_text(t, root, "verdict", verdict_name(j->verdict));
	tree_put_text(t, root, "op", operation_name(a->request.op));
	tree_put_text(t, root, "target", a->request.target);
	tree_put_text(t, root, "judged", asked ? j->request.target : NULL);
	tree_put_text(t, root, "real", j->real);
	put_answer(t, root, j);
	tree_put_buffer(t, root, "remedy", &remedy);
	tree_put_buffer(t, root, "line", &line);
	tree_put_text(t, root, "would",
		asked && j->decision.monitored ? verdict_name(j->decision.would) : NULL);
	tree_put(t, root, "layers", layers_tree(t, a));
	tree_put(t, root, "commands", commands_tree(t, a));
	tree_put(t, root, "notes", notes_tree(t, a));
	return root;
}
