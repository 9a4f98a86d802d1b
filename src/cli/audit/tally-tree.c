/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/tally.h"
#include "cli/audit/time.h"
#include "cli/tree.h"

enum { TOP = 100 };

static void audit_tally_tree_put_number(
	struct tree *t, struct node *map, const char *key, uint64_t n)
{
	tree_put_number(t, map, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static struct node *counts_tree(struct tree *t, const struct audit_tally *tally, unsigned action)
{
	struct node *map = tree_map(t);

	for (unsigned d = 0; d < AUDIT_DECISION_COUNT; d++)
		audit_tally_tree_put_number(
			t, map, audit_decision_name((enum audit_decision)d), tally->by[action][d]);
	return map;
}

static struct node *actions_tree(struct tree *t, const struct audit_tally *tally)
{
	struct node *map = tree_map(t);

	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++) {
		if (audit_tally_of_action(tally, a))
			tree_put(t, map, audit_action_name((enum audit_action)a),
				counts_tree(t, tally, a));
	}
	return map;
}

static struct node *decisions_tree(struct tree *t, const struct audit_tally *tally)
{
	struct node *map = tree_map(t);

	for (unsigned d = 0; d < AUDIT_DECISION_COUNT; d++)
		audit_tally_tree_put_number(t, map, audit_decision_name((enum audit_decision)d),
			audit_tally_of_decision(tally, d));
	return map;
}

static struct node *top_tree(
	struct tree *t, const struct audit_top *top, const char *key, bool has_actions)
{
	struct node *list = tree_list(t);

	for (size_t i = 0; i < top->n && i < TOP; i++) {
		const struct audit_top_entry *e = &top->entries[i];
		struct node *map = tree_map(t);

		if (has_actions)
			tree_put_text(
				t, map, "action", audit_action_name((enum audit_action)e->kind));
		tree_put_text(t, map, key, e->text);
		audit_tally_tree_put_number(t, map, "at_least", audit_top_surely(e));
		audit_tally_tree_put_number(t, map, "at_most", e->count);
		tree_append(t, list, map);
	}
	return list;
}

static void audit_tally_tree_put_time(struct tree *t, struct node *map, const char *key,
	const struct audit_tally *tally, uint64_t ns)
{
	char time[AUDIT_TIME_UTC_BYTES];

	tree_put_text(t, map, key, tally->records ? audit_time_print_utc(ns, time) : NULL);
}

int audit_tally_print_tree(struct call *c, const char *path, const struct audit_tally *tally)
{
	struct tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	tree_put_text(&t, root, "file", path);
	audit_tally_tree_put_number(&t, root, "records", tally->records);
	audit_tally_tree_put_number(&t, root, "events", tally->events);
	audit_tally_tree_put_time(&t, root, "from", tally, tally->from_ns);
	audit_tally_tree_put_time(&t, root, "to", tally, tally->to_ns);
	audit_tally_tree_put_number(&t, root, "sent", tally->sent);
	audit_tally_tree_put_number(&t, root, "received", tally->received);
	tree_put(&t, root, "decisions", decisions_tree(&t, tally));
	tree_put(&t, root, "actions", actions_tree(&t, tally));
	tree_put(&t, root, "denied", top_tree(&t, tally->denied, "target", true));
	tree_put_flag(&t, root, "denied_approximate", tally->denied->is_approximate);
	tree_put(&t, root, "programs", top_tree(&t, tally->programs, "program", false));
	tree_put_flag(&t, root, "programs_approximate", tally->programs->is_approximate);
	return tree_print(&t, root, c->error);
}
