/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/run/run.h"
#include "launch/source.h"

static bool run_edit_is(const struct permissions *p, const char *origin)
{
	return p && p->origin && strcmp(p->origin, origin) == 0;
}

static enum run_edit run_edit_of(enum manifest_kind kind)
{
	switch (kind) {
	case MANIFEST_PERMISSIONS:
		return RUN_EDIT_PERMISSIONS;
	case MANIFEST_SKILL:
	case MANIFEST_SKILL_MD:
		return RUN_EDIT_SKILL;
	default:
		return RUN_EDIT_OTHER;
	}
}

static enum run_edit run_edit_loaded(const struct load *l, const char *origin)
{
	for (size_t i = 0; i < l->n; i++) {
		if (run_edit_is(l->files[i].permissions, origin))
			return run_edit_of(l->files[i].kind);
	}
	return RUN_EDIT_NONE;
}

enum run_edit run_edit_kind(const struct run *r, const char *origin)
{
	enum run_edit found;

	/* As load.c calls them. */
	if (!origin || strcmp(origin, "standard input") == 0 || launch_source_is_fd(origin))
		return RUN_EDIT_NONE;
	if (run_edit_is(r->profile.permissions, origin))
		return r->profile.path ? run_edit_of(r->profile.manifest.kind) : RUN_EDIT_NONE;
	if (r->options.skill && run_edit_is(r->skill.manifest.permissions, origin))
		return run_edit_of(r->skill.manifest.kind);
	found = run_edit_loaded(&r->load, origin);
	return found ? found : run_edit_loaded(&r->ceiling, origin);
}
