/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the policy. A mount knows two rights, to read and to write as well, and so two
 * questions make an answer. What nobody grants and what somebody forbids are told apart: the
 * essentials may stand where nothing is granted, never where something is forbidden.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "jail/plan/internal.h"

/* A rule, or a deny list, of any layer. */
static bool plan_ask_is_forbidden(const struct planner *p, const struct request *r,
	const struct decision *d, struct plan_answer *a)
{
	if (d->verdict == VERDICT_ALLOW)
		return false;
	a->source = d->source;
	a->baseline = d->why == DECISION_BASELINE ? d->baseline : NULL;
	if (d->why == DECISION_BASELINE || d->why == DECISION_RULE)
		return true;
	/* The strictest verdict was one of several: another layer may have a reason of its own. */
	for (size_t i = 0; d->n_deny > 1 && i < policy_layers(p->policy); i++) {
		struct decision one;

		if (policy_decide_layer(p->policy, i, r, &one) < 0)
			return true;
		if (one.verdict != VERDICT_ALLOW && one.why == DECISION_RULE) {
			a->source = one.source;
			return true;
		}
	}
	a->source = NULL;
	return false;
}

int plan_ask(const struct planner *p, const char *path, struct plan_answer *ret)
{
	struct request r = { .op = OPERATION_FS_READ, .target = path };
	struct decision d;
	bool readable;
	int err = policy_decide(p->policy, &r, &d);

	*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
	if (err < 0)
		return error_set(p->error, err, NULL, "the policy cannot judge %s", path);
	readable = d.verdict == VERDICT_ALLOW;
	if (plan_ask_is_forbidden(p, &r, &d, ret))
		return 0;
	r.op = OPERATION_FS_WRITE;
	err = policy_decide(p->policy, &r, &d);
	if (err < 0)
		return error_set(p->error, err, NULL, "the policy cannot judge %s", path);
	ret->limit = plan_ask_is_forbidden(p, &r, &d, ret) ? PLAN_READ : PLAN_WRITE;
	if (readable)
		ret->grant = d.verdict == VERDICT_ALLOW ? PLAN_WRITE : PLAN_READ;
	return 0;
}

int plan_ask_socket(const struct planner *p, const char *path, struct plan_answer *ret)
{
	char target[PATH_BYTES + 8];
	struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision d;
	int err;

	*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
	(void)snprintf(target, sizeof(target), "unix:%s", path);
	err = policy_decide(p->policy, &r, &d);
	if (err < 0)
		return error_set(p->error, err, NULL, "the policy cannot judge %s", target);
	if (plan_ask_is_forbidden(p, &r, &d, ret))
		return 0;
	ret->limit = PLAN_WRITE;
	ret->grant = d.verdict == VERDICT_ALLOW ? PLAN_WRITE : PLAN_NONE;
	return 0;
}

int plan_ask_inside(const struct planner *p, const char *path, struct plan_answer *ret)
{
	char below[PATH_BYTES];
	int n = snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", p->probe);

	if (n >= (int)sizeof(below)) {
		*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
		return 0;
	}
	return plan_ask(p, below, ret);
}

int plan_ask_whole(const struct planner *p, const char *path, struct plan_answer *ret)
{
	struct plan_answer self = { 0 }, inside = { 0 };
	int r = plan_ask(p, path, &self);

	if (r == 0)
		r = plan_ask_inside(p, path, &inside);
	if (r < 0)
		return r;
	*ret = inside.limit < self.limit ? inside : self;
	ret->grant = plan_least(self.grant, inside.grant);
	return 0;
}

const char *plan_ask_who(struct planner *p, const struct plan_answer *a)
{
	const char *text = NULL;

	if (a->baseline)
		text = arena_printf(&p->arena, "the baseline (%s)", a->baseline);
	else if (a->source && a->source->id)
		text = arena_printf(&p->arena, "the rule %s (%s)", a->source->id, a->source->text);
	else if (a->source)
		text = arena_printf(&p->arena, "%s (%s)", a->source->list, a->source->text);
	return text ? text : "the policy";
}
