/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a project's file names must exist, and what it grants must be possible: checked whenever the
 * file is opened, so that what no run would accept is not approved.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/preset/preset.h"
#include "cli/profile/profile.h"
#include "cli/project/internal.h"

/* The error that is set happened because of this line. */
static int project_blame(struct call *c, const struct location *where, int code)
{
	const struct error was = *c->error;

	(void)error_set(c->error, code, where, "%s", was.text);
	if (was.hint[0])
		error_hint(c->error, "%s", was.hint);
	return code;
}

static int project_check_packs(const struct project_file *f, struct call *c)
{
	for (size_t i = 0; i < f->n_packs; i++) {
		const int preset = preset_find(f->packs[i]);

		if (preset < 0)
			return project_blame(c, &f->packs_where,
				preset_unknown("`with`", f->packs[i], c->error));
		/* It would give the agent's login to all commands of the project. */
		if (preset_is_agent(preset)) {
			(void)error_set(c->error, -EINVAL, &f->packs_where,
				"`with`: %s is an agent, and no pack", f->packs[i]);
			error_hint(c->error,
				"an agent's preset attaches to its own program: write `preset: %s`",
				f->packs[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static int project_check_preset(const struct project_file *f, struct call *c)
{
	const int preset = f->preset ? preset_find(f->preset) : -ENOENT;
	int r;

	if (!f->preset || (preset >= 0 && preset_is_agent(preset)))
		return 0;
	if (preset >= 0) {
		(void)error_set(
			c->error, -EINVAL, &f->preset_where, "`preset`: %s is a pack", f->preset);
		error_hint(c->error, "write `with: [%s]`", f->preset);
		return -EINVAL;
	}
	r = profile_check_name(c, f->preset);
	return r < 0 && !c->error->file[0] ? project_blame(c, &f->preset_where, r) : r;
}

/* The first grant that reaches a network; NULL: there is none. */
static const struct location *project_find_network(const struct permissions *p)
{
	const struct grant_list *lists[] = { &p->network_allow, &p->network_private, &p->listen };

	for (size_t i = 0; i < ROWS(lists); i++)
		if (lists[i]->n)
			return &lists[i]->items[0].where;
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].action != VERDICT_DENY && !p->rules[i].disabled &&
			(p->rules[i].operations & 1U << OPERATION_NET_CONNECT))
			return &p->rules[i].where;
	return NULL;
}

/* It would be shown as reachable, and no run could reach it. */
static int project_check_offline(const struct project_file *f, struct call *c)
{
	const struct location *where = NULL;

	if (f->preset && strcmp(f->preset, "offline") == 0)
		where = project_find_network(f->permissions);
	if (!where)
		return 0;
	(void)error_set(c->error, -EINVAL, where,
		"`preset: offline` has no network, and this line grants one");
	error_hint(c->error, "remove one of the two; `--profile offline` is one run without it");
	return -EINVAL;
}

int project_check_file(const struct project_file *f, struct call *c)
{
	int r = project_check_packs(f, c);

	if (r == 0)
		r = project_check_preset(f, c);
	return r == 0 ? project_check_offline(f, c) : r;
}
