/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent.h"

#include "cli/load.h"

int agent_take_mode(struct call *c, const struct options_row *row, const char *value)
{
	struct agent *a = row->target;
	const char *names[AGENT_MODE_RWX + 1];

	a->is_given = true;
	if (agent_mode_parse(value, &a->mode) == 0)
		return 0;
	for (int mode = AGENT_MODE_SANDBOX; mode <= AGENT_MODE_RWX; mode++)
		names[mode] = agent_mode_name((enum agent_mode)mode);
	return options_unknown_word(c, row, value, names, AGENT_MODE_RWX + 1);
}

int agent_take_dir(struct call *c, const struct options_row *row, const char *value)
{
	if (!*value)
		return options_misused(c, "--%s: the folder has no name", row->name);
	return load_absolute(c, value, row->target);
}

int agent_take_extra(struct call *c, const struct options_row *row, const char *value)
{
	const char *dir = NULL;
	struct options_row single = *row;
	int r;

	single.target = &dir;
	r = agent_take_dir(c, &single, value);
	return r < 0 ? r : options_list(c, row, dir);
}

int agent_check(const struct agent *a, struct call *c)
{
	if (!a->is_given && (a->data_dir || a->extra.n))
		return options_misused(c, "--data-dir and --extra go with --mode");
	if (a->is_given && !a->data_dir && a->mode != AGENT_MODE_RWX)
		return options_misused(c, "--data-dir DIR is missing: the agent's own folder");
	if (a->data_dir && !agent_mode_is_printable(a->data_dir))
		return options_misused(
			c, "--data-dir DIR holds control characters or is not UTF-8");
	return 0;
}

int agent_permissions(const struct agent *a, struct call *c, struct permissions **ret)
{
	auto_permissions *p = permissions_new();
	int r = agent_check(a, c);

	if (r == 0 && !p)
		r = error_no_memory(c->error);
	if (r == 0)
		r = agent_mode_permissions(
			a->mode, a->data_dir, a->extra.items, a->extra.n, p, c->error);
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}
