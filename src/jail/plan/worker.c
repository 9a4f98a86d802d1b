/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a WASM worker. They run whatever lists of programs say, as the skill was granted to
 * run and these are what runs it; nothing else becomes executable by them. A rule that denies the
 * worker by its name is obeyed: then there is no run.
 */
#include <errno.h>
#include <string.h>

#include "host/links.h"
#include "jail/plan/internal.h"

const char *const plan_worker_names[PLAN_WORKER_FILES] = {
	[PLAN_WORKER_PROGRAM] = "corral-wasm",
	[PLAN_WORKER_LIBRARY] = "libwasmtime.so",
	[PLAN_WORKER_MODULE] = "module",
};

static int plan_worker_add(
	struct planner *p, const struct plan_worker_source *from, struct plan_entry *ret)
{
	struct plan_place place = { 0 };
	char real[PATH_BYTES];
	int r = links_follow(from->path, NULL, NULL, real);

	if (r == 0)
		r = plan_look_at(real, &place);
	if (r == 0 && place.is_dir)
		r = -EISDIR;
	if (r == 0 && from->ino && (from->ino != place.ino || from->dev != place.dev))
		r = -ESTALE;
	if (r < 0)
		return error_set(p->error, r, NULL, "cannot use %s for a WASM skill: %s",
			from->path, strerror(-r));
	*ret = (struct plan_entry){ .kind = PLAN_BIND,
		.path = arena_strdup(&p->plan->arena, real),
		.exec = true,
		.dev = place.dev,
		.ino = place.ino };
	return ret->path ? 0 : -ENOMEM;
}

int plan_worker_decide(struct planner *p)
{
	const struct plan_worker_source *from = p->options->worker;
	int r = 0;

	if (!from)
		return 0;
	if (plan_exec_is_denied(p, from[PLAN_WORKER_PROGRAM].path)) {
		(void)error_set(p->error, -EACCES, NULL,
			"the policy denies %s, which runs WASM skills",
			from[PLAN_WORKER_PROGRAM].path);
		return -EACCES;
	}
	for (size_t i = 0; r == 0 && i < PLAN_WORKER_FILES; i++)
		r = plan_worker_add(p, &from[i], &p->plan->worker[i]);
	return r;
}
