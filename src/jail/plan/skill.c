/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A skill runs from a copy of what was hashed. So its folder falls into two parts: what was copied,
 * which no command can write, and what its manifest lets it write, which was neither hashed nor
 * copied. The latter is the host's, as the policy has it, and nothing in it can be executed.
 */
#include "skill/archive.h"

#include <errno.h>
#include <string.h>

#include "jail/plan/internal.h"

static int plan_skill_add_live(struct planner *p, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_SKILL };

	place.path = arena_printf(&p->arena, "%s%s", p->options->skill->path, path);
	if (!place.path ||
		ARENA_PUSH(&p->arena, p->lives, p->n_lives, p->cap_lives, place.path) < 0)
		return -ENOMEM;
	return plan_add_place(p, place);
}

int plan_skill_collect(struct planner *p)
{
	const struct skill_archive *skill = p->options->skill;
	struct skill_archive_entry entry;
	struct reader records;
	int r;

	if (!skill)
		return 0;
	if (!skill->path[1])
		return error_set(p->error, -EINVAL, NULL, "a skill cannot be the root directory");
	p->plan->skill = skill;
	p->plan->has_skill = true;
	r = plan_add_place(
		p, (struct plan_place){ .path = skill->path, .origin = PLAN_FROM_SKILL });
	records = skill->records;
	while (r == 0) {
		r = skill_archive_next(&records, &entry);
		if (r == 0)
			return 0;
		if (r == 1)
			r = entry.live ? plan_skill_add_live(p, entry.path) : 0;
	}
	return r == -EPROTO ? error_set(p->error, r, NULL, "the copy of %s is broken", skill->path)
			    : r;
}

enum plan_skill plan_skill_part(const struct planner *p, const char *path)
{
	const struct skill_archive *skill = p->options->skill;

	if (!skill || !path_is_below(path, skill->path))
		return PLAN_SKILL_OUTSIDE;
	for (size_t i = 0; i < p->n_lives; i++) {
		if (path_is_below(path, p->lives[i]))
			return PLAN_SKILL_LIVE;
	}
	return PLAN_SKILL_COPIED;
}

int plan_skill_script(const struct planner *p, const char *path, struct shebang *ret)
{
	const struct skill_archive *skill = p->options->skill;
	struct skill_archive_entry entry = { .data = "" };
	int r = skill_archive_find(skill, path + strlen(skill->path), &entry);

	return r < 0 ? r : shebang_parse(ret, entry.data, entry.size);
}

/* A grant of the folder as a whole, or from around it, is overruled without a word. */
int plan_skill_note(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; p->options->skill && r == 0 && i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->origin == PLAN_FROM_POLICY && place->exists &&
			place->answer.grant == PLAN_WRITE &&
			strcmp(place->real, p->options->skill->path) != 0 &&
			plan_skill_part(p, place->real) == PLAN_SKILL_COPIED)
			r = plan_add_note(p, place->where,
				"%s is part of the skill, and can't be written; its manifest can "
				"grant that, as $SKILL_DIR/FOLDER/**",
				place->path);
	}
	return r;
}
