/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What `check` and `explain` share: from their options to a judgement, and how it is printed. */
#include <stdbool.h>

#include "cli/policy/judge.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stored/stored.h"

struct ask {
	struct options_list policies, arguments;
	struct stored_named stored;
	struct request request;
	bool is_whole; /* the request has all arguments that there are, not just those given */
	struct load load;
	bool json;
	struct policy *policy;
	struct judgement judgement;
};

/* How an answer is printed for people. */
typedef void report_printer(struct output *o, const struct ask *a, struct arena *arena);

/* "allow  fs.read /srv/x  (policy.yaml:3: /srv/**)" and a newline. */
report_printer report_line;
/* All that led to it. */
report_printer report_explain;

/* All of check and explain, which differ only in the printer; with --json neither is used (man
 * corral-policy has the keys). Returns as a verb does. */
int report_run(struct call *c, report_printer *print);
