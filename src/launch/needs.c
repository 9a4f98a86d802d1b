/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/needs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/program.h"

static enum launch_need_state needs_judge_program(
	const char *name, const struct policy *p, const char *const *env, const char *cwd)
{
	const char *const argv[] = { name, NULL };
	struct launch_program program = {
		.policy = p, .argv = argv, .env = env, .host_path = getenv("PATH"), .cwd = cwd
	};

	switch (launch_program_why(&program)) {
	case LAUNCH_ALLOWED:
		return LAUNCH_NEED_MET;
	case LAUNCH_FORBIDDEN:
		return LAUNCH_NEED_DENIED;
	case LAUNCH_NOT_FOUND:
	case LAUNCH_NOT_EXECUTABLE:
		break;
	}
	return LAUNCH_NEED_ABSENT;
}

static enum launch_need_state needs_judge_variable(const char *name, const char *const *env)
{
	size_t len = strlen(name);

	for (; env && *env; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return LAUNCH_NEED_MET;
	}
	return getenv(name) ? LAUNCH_NEED_DENIED : LAUNCH_NEED_ABSENT;
}

static int needs_add(struct launch_needs *n, struct arena *a, struct launch_need need)
{
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i].is_program == need.is_program &&
			strcmp(n->items[i].name, need.name) == 0)
			return 0;
	}
	need.name = arena_strdup(a, need.name);
	return need.name ? ARENA_PUSH(a, n->items, n->n, n->cap, need) : -ENOMEM;
}

int launch_needs_find(const struct launch_skill *s, const struct policy *p, const char *const *env,
	const char *cwd, struct arena *a, struct launch_needs *ret)
{
	const struct manifest *both[] = { &s->manifest, &s->about };
	struct launch_needs all = { 0 };
	int r = 0;

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; r == 0 && i < both[k]->n_requires_bins; i++) {
			struct launch_need need = { both[k]->requires_bins[i], true, 0 };

			need.state = needs_judge_program(need.name, p, env, cwd);
			r = needs_add(&all, a, need);
		}
	}
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; r == 0 && i < both[k]->n_requires_env; i++) {
			struct launch_need need = { both[k]->requires_env[i], false, 0 };

			need.state = needs_judge_variable(need.name, env);
			r = needs_add(&all, a, need);
		}
	}
	if (r == 0)
		*ret = all;
	return r;
}

const char *launch_need_state_name(enum launch_need_state s)
{
	static const char *const names[] = {
		[LAUNCH_NEED_ABSENT] = "absent",
		[LAUNCH_NEED_DENIED] = "denied",
		[LAUNCH_NEED_MET] = "met",
	};

	return names[s];
}

const char *launch_need_fault(const struct launch_need *n)
{
	static const char *const faults[][2] = {
		[LAUNCH_NEED_ABSENT] = { "which is not set", "which is not installed" },
		[LAUNCH_NEED_DENIED] = { "which is not passed on", "which may not run" },
		[LAUNCH_NEED_MET] = { "", "" },
	};

	return faults[n->state][n->is_program];
}
