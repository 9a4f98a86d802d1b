/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `extends: NAME` in a policy file or in a profile: what the name stands for is found here, and the
 * reader and the engine know nothing of it (policy/algebra/extend.h). A profile may extend another;
 * every error names the line that says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/profile/internal.h"
#include "cli/profile/profile.h"
#include "policy/algebra/extend.h"

/* Profiles that extend each other, one after the other, at most. */
enum { EXTENDS_DEPTH_MAX = 8 };

static int extends_check_chain(
	struct call *c, const struct permissions *p, const struct profile_chain *chain)
{
	size_t depth = 0;

	for (const struct profile_chain *up = chain; up; up = up->up) {
		if (strcmp(up->name, p->extends) == 0) {
			(void)error_set(c->error, -ELOOP, &p->extends_where,
				"the profile `%s` extends itself%s", p->extends,
				up == chain ? "" : " by way of others");
			error_hint(c->error, "remove one of the `extends` lines");
			return -ELOOP;
		}
		if (++depth == EXTENDS_DEPTH_MAX)
			return error_set(c->error, -ELOOP, &p->extends_where,
				"more than %d profiles extend one another", EXTENDS_DEPTH_MAX);
	}
	return 0;
}

/* An error about the profile as such happened because of this line. */
static void extends_blame(struct error *e, const struct location *where)
{
	if (e->file[0] || !where->file)
		return;
	(void)snprintf(e->file, sizeof(e->file), "%s", where->file);
	e->line = where->line;
	e->column = where->column;
}

int profile_extend(struct permissions **p, struct call *c, struct load *l,
	const struct profile_chain *chain, const char **ret_builtin, struct limits *ret_limits)
{
	const struct profile_chain here = { (*p)->extends, chain };
	struct permissions *both = NULL;
	const struct permissions *before = l->extending;
	struct profile base = { 0 };
	int r = extends_check_chain(c, *p, chain);

	l->extending = *p;
	if (r == 0)
		r = profile_open_chain(&base, c, (*p)->extends, l, &here);
	l->extending = before;
	if (r == 0 && base.path &&
		ARENA_PUSH(c->arena, l->sources, l->n_sources, l->cap_sources, base.path) < 0)
		r = error_no_memory(c->error);
	if (r == 0 && extend_permissions(&both, base.permissions, *p) < 0)
		r = error_no_memory(c->error);
	if (r == 0) {
		permissions_free(*p);
		*p = both;
		*ret_builtin = base.builtin;
		*ret_limits = base.limits;
	} else {
		extends_blame(c->error, &(*p)->extends_where);
	}
	profile_deinit(&base);
	return r;
}

int profile_extend_file(struct load *l, struct call *c, struct manifest *m)
{
	const char *builtin = NULL;
	struct limits limits;
	int r;

	if (!m->permissions->extends)
		return 0;
	r = profile_extend(&m->permissions, c, l, NULL, &builtin, &limits);
	if (r < 0 || !builtin || l->builtin.name)
		return r;
	l->builtin = (struct load_builtin){ builtin, m->permissions, limits };
	return 0;
}

bool profile_is_origin(const char *file)
{
	static const char prefix[] = "profile ";

	if (!file || strncmp(file, prefix, strlen(prefix)) != 0)
		return false;
	for (size_t i = 0; i < profile_data_count; i++) {
		if (strcmp(file + strlen(prefix), profile_data[i].name) == 0)
			return true;
	}
	return false;
}
