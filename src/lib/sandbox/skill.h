/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The skill that a sandbox is built for, as it was when its builder read it. All sandboxes of the
 * builder, and all sessions of a sandbox, show this copy at the skill's path.
 */
#include <stdatomic.h>

#include "base/arena.h"
#include "launch/skill.h"

struct sandbox_skill {
	atomic_uint refs;
	struct arena arena;
	struct launch_skill skill;
};

/* Reads a skill or any other file with permissions, as launch_skill_read() does. */
int sandbox_skill_new(struct sandbox_skill **ret, const char *path, struct error *e);
/* NULL stays NULL. */
struct sandbox_skill *sandbox_skill_ref(struct sandbox_skill *s);
void sandbox_skill_unref(struct sandbox_skill *s);
