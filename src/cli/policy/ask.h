/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What `check` and `explain` share: their options, and the way from them to a judgement. */
#include <stdbool.h>

#include "cli/policy/judge.h"
#include "cli/load.h"
#include "cli/options.h"

struct ask {
	struct options_list policies, arguments;
	struct request request;
	bool is_whole; /* the request has all arguments that there are, not just those given */
	struct load load;
	bool json;
	struct policy *policy;
	struct judgement judgement;
};

/* Everything up to the answer. 1: --help was printed. *a is zeroed by the caller. */
int ask_run(struct ask *a, struct call *c);
void ask_deinit(struct ask *a);
#define auto_ask __attribute__((cleanup(ask_deinit))) struct ask

/* The status that stands for the verdict. */
int ask_status(const struct ask *a);
