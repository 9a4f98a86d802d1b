/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a skill's manifest grants for writing inside the skill's own folder: $SKILL_DIR/data/**, or
 * a file. That is no part of what is approved, and is not copied for a run: it is the host's own,
 * and nothing in it is run. It depends on the manifest alone, so the same skill has the same digest
 * wherever it lies: a grant that reaches in from outside ($WORK_DIR, ~) counts for nothing there.
 */
#include "base/arena.h"
#include "base/error.h"
#include "policy/format/manifest.h"
#include "skill/content.h"

/*
 * Fills *ret, in the arena. name: of the manifest, in the skill's folder. A grant that covers the
 * manifest, the entry or the module is not among them, and -EINVAL names both lines. -E2BIG: there
 * are too many.
 */
int lives_find(const struct manifest *m, const char *name, struct arena *a, struct skill_lives *ret,
	struct error *e);
/* The same for an entry or a module that leads by a link to what is live. */
int lives_check_links(const struct manifest *m, const struct skill_content *c, struct error *e);
