/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A skill's folder, looked at without running anything of it: what it asks for, what looks risky in
 * it, its digest, and whether just this was approved. Afterwards nothing may have changed, so that
 * what is shown is what was hashed. What the skill may write in its folder is not looked at.
 */
#include "cli/load.h"
#include "cli/output.h"
#include "launch/needs.h"
#include "launch/skill.h"
#include "advice/describe/describe.h"
#include "advice/scan/scan.h"

struct skill_inspection {
	struct launch_skill skill;
	struct load load;
	bool is_anywhere; /* set before it is opened: the current folder means nothing to the reader
			   */
	struct variables shown; /* for the description */
	struct description description;
	struct skill_findings findings;
	struct launch_needs needs;
};

/* All of it, to approve it (LOOK) or whatever its manifest is like (SCAN); the caller ends it with
 * inspection_deinit(), also on failure. */
int inspection_open(
	struct skill_inspection *i, struct call *c, const char *folder, enum launch_skill_use use);
void inspection_deinit(struct skill_inspection *i);
#define auto_inspection __attribute__((cleanup(inspection_deinit))) struct skill_inspection

/* True if something was found in its files that is as bad as that, and was not suppressed. */
bool inspection_is_risky(const struct skill_inspection *i, enum skill_severity level);
/* Rates what was found; after the suppressions. */
int inspection_rate(struct skill_inspection *i, struct call *c);

/* SKILL.md describes, where another file grants; NULL: it does not say. */
const char *inspection_name(const struct skill_inspection *i);
const char *inspection_description(const struct skill_inspection *i);

/* For people, and for programs. */
void inspection_print(const struct skill_inspection *i, struct output *o);
struct node *inspection_tree(const struct skill_inspection *i, struct json_tree *t);
