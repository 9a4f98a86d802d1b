/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker needs no place in the plan's tree, as its folder is in the private /dev. What is decided
 * here is whether sandbox-call is there: it runs whatever lists of programs say, since all that it
 * does is to call the broker, which asks the policy about each call; but a rule that denies it
 * keeps it out, by its name on the host or by that inside.
 */
#include <errno.h>
#include <string.h>

#include "host/links.h"
#include "jail/plan/internal.h"

int plan_broker_decide(struct planner *p)
{
	const char *caller = p->options->caller;
	struct plan_place place = { 0 };
	struct plan *plan = p->plan;
	char real[PATH_BYTES];

	plan->has_broker = p->options->broker;
	plan->has_http = plan->has_broker && p->options->http;
	if (plan->has_http && plan->network == PLAN_NETWORK_HOST) {
		(void)error_set(p->error, -EOPNOTSUPP, NULL,
			"commands have the host's network, so a broker's HTTP would be open to all "
			"of the host's programs");
		error_hint(p->error, "use the broker's Unix socket (SANDBOX_SOCKET)");
		return -EOPNOTSUPP;
	}
	if (!plan->has_broker || !caller || links_follow(caller, NULL, NULL, real) < 0 ||
		plan_look_at(real, &place) < 0 || place.is_dir)
		return 0;
	if (plan_exec_is_denied(p, PLAN_BROKER_FOLDER "/" PLAN_BROKER_CALLER) ||
		plan_exec_is_denied(p, caller) || plan_exec_is_denied(p, real))
		return 0;
	plan->caller = (struct plan_entry){ .kind = PLAN_BIND,
		.path = arena_strdup(&plan->arena, real),
		.exec = true,
		.dev = place.dev,
		.ino = place.ino };
	return plan->caller.path ? 0 : -ENOMEM;
}
