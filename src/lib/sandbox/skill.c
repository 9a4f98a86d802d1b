/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/skill.h"

#include <stdlib.h>

int sandbox_skill_new(struct sandbox_skill **ret, const char *path, struct error *e)
{
	struct sandbox_skill *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_no_memory(e);
	s->refs = 1;
	r = launch_skill_read(&s->skill, path, &s->arena, e);
	if (r < 0)
		sandbox_skill_unref(s);
	else
		*ret = s;
	return r;
}

struct sandbox_skill *sandbox_skill_ref(struct sandbox_skill *s)
{
	if (s)
		(void)atomic_fetch_add(&s->refs, 1);
	return s;
}

void sandbox_skill_unref(struct sandbox_skill *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	launch_skill_deinit(&s->skill);
	arena_deinit(&s->arena);
	free(s);
}
