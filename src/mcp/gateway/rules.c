/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "mcp/gateway/config.h"
#include "mcp/gateway/shape.h"

/* In one pass back to the last *: names come from servers. */
static bool rule_names(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			from = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Its depth is that of a document. */
static bool rule_has_long(const struct node *n)
{
	if (n->type == NODE_STRING)
		return strlen(n->text) > GATEWAY_TEXT_MAX;
	node_for_each(child, n) {
		if (rule_has_long(child))
			return true;
	}
	return false;
}

const char *gateway_kind_name(enum gateway_kind kind)
{
	static const char *const names[GATEWAY_KINDS] = { "tool", "prompt", "resource" };

	return names[kind];
}

struct gateway_decision gateway_decide(const struct gateway_server *s, enum gateway_kind kind,
	const char *name, const struct node *arguments)
{
	static const char *const approved[GATEWAY_KINDS] = { "the user approved the tool",
		"the user approved the prompt", "the gateway's file has resources of the server" };
	const struct gateway_rules *rules = &s->rules[kind];
	static const struct node none = { .type = NODE_MAP };
	struct gateway_decision d = { VERDICT_DENY, NULL,
		"no rule of the gateway's file allows it" };
	const struct node *given = arguments ? arguments : &none;

	if (!rules->is_on)
		return d;
	if (rules->has_patterns && rule_has_long(given)) {
		d.reason = "an argument is longer than the patterns of the rules may look at";
		return d;
	}
	if (!rules->has_allow) {
		d.verdict = VERDICT_ALLOW;
		d.reason = approved[kind];
	}
	for (size_t i = 0; i < rules->n; i++) {
		const struct gateway_rule *r = &rules->items[i];

		if (d.rule && r->verdict >= d.rule->verdict)
			continue;
		if (!rule_names(r->name, name) ||
			(r->arguments && !shape_fits(r->arguments, given)))
			continue;
		d = (struct gateway_decision){ r->verdict, r,
			r->verdict == VERDICT_DENY  ? "a rule of the gateway's file denies it"
			: r->verdict == VERDICT_ASK ? "a rule of the gateway's file asks about it"
						    : "a rule of the gateway's file allows it" };
	}
	return d;
}

enum verdict gateway_best(const struct gateway_server *s, enum gateway_kind kind, const char *name)
{
	const struct gateway_rules *rules = &s->rules[kind];
	enum verdict best = rules->has_allow || !rules->is_on ? VERDICT_DENY : VERDICT_ALLOW;
	bool asks = false;

	for (size_t i = 0; i < rules->n; i++) {
		const struct gateway_rule *r = &rules->items[i];

		if (!rule_names(r->name, name))
			continue;
		if (r->verdict == VERDICT_DENY && !r->arguments)
			return VERDICT_DENY;
		asks = asks || (r->verdict == VERDICT_ASK && !r->arguments);
		if (r->verdict > best)
			best = r->verdict;
	}
	return asks ? VERDICT_ASK : best;
}
