/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a skill says it requires (`requires: {bins, env}`), compared with what a command of it would
 * find: is the program there and may it run, is the variable set and passed on? A need grants
 * nothing, and a need that is not met refuses nothing: people are told before it runs.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "launch/skill.h"
#include "policy/policy.h"

enum launch_need_state {
	LAUNCH_NEED_ABSENT = 0, /* there is no such program; the variable is not set */
	LAUNCH_NEED_DENIED,     /* the policy does not let it run, or does not pass it on */
	LAUNCH_NEED_MET,
};

struct launch_need {
	const char *name;
	bool is_program; /* else a variable */
	enum launch_need_state state;
};

struct launch_needs {
	struct launch_need *items;
	size_t n, cap;
};

/*
 * Fills *ret, in the arena: programs first, as the manifests name them. env: of the command, ends
 * with NULL. cwd: where it starts, for programs by a relative path. -ENOMEM.
 */
int launch_needs_find(const struct launch_skill *s, const struct policy *p, const char *const *env,
	const char *cwd, struct arena *a, struct launch_needs *ret);
/* "met", "denied", "absent". */
const char *launch_need_state_name(enum launch_need_state s);
/* What is wrong with one, as a clause: "which is not installed". Empty if it is met. */
const char *launch_need_fault(const struct launch_need *n);
