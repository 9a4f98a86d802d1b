/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/inspection.h"

static int inspection_describe(struct inspection *i, struct call *c)
{
	size_t counts[SKILL_HIGH + 1] = { 0 };
	int r = describe_permissions(
		i->skill.manifest.permissions, &i->load.variables, c->arena, &i->description);

	for (size_t k = 0; k < i->findings.n; k++)
		counts[i->findings.items[k].severity]++;
	if (r == 0)
		r = describe_rate(&i->description, counts, c->arena);
	return r < 0 ? error_no_memory(c->error) : 0;
}

int inspection_open(struct inspection *i, struct call *c, const char *folder)
{
	int r = launch_skill_open(&i->skill, folder, c->arena, c->error);

	if (r == 0)
		r = load_begin(&i->load, c);
	if (r == 0)
		r = load_absolute(c, folder, &i->load.variables.values[VARIABLE_SKILL_DIR]);
	if (r == 0)
		r = skill_scan(i->skill.fd, c->arena, &i->findings, c->error);
	if (r == 0)
		r = inspection_describe(i, c);
	/* Nothing may have changed since the digest was taken. */
	return r < 0 ? r : launch_skill_unchanged(&i->skill, c->error);
}

void inspection_deinit(struct inspection *i)
{
	launch_skill_deinit(&i->skill);
	load_deinit(&i->load);
}

bool inspection_is_risky(const struct inspection *i)
{
	for (size_t k = 0; k < i->findings.n; k++) {
		if (i->findings.items[k].severity > SKILL_LOW)
			return true;
	}
	return i->findings.more;
}
