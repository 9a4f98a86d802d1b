/* SPDX-License-Identifier: Apache-2.0 */
/* What the command must not change, as the next run reads it: policies, profiles, Corral's own
 * folders. */
#include "cli/run/internal.h"
#include "cli/run/run.h"

int run_guard(struct run *r, const char *path)
{
	if (!path)
		return 0;
	return ARENA_PUSH(r->call->arena, r->guarded, r->n_guarded, r->cap_guarded, path) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

int run_guard_own(struct run *r)
{
	int ret = run_guard(r, PROFILE_SYSTEM_FOLDER);

	if (ret == 0)
		ret = run_guard(r, profile_config_folder(r->call));
	return ret == 0 ? run_guard(r, profile_state_folder(r->call)) : ret;
}

int run_guard_sources(struct run *r, const struct load *l)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < l->n_sources; i++)
		ret = run_guard(r, l->sources[i]);
	return ret;
}
