/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "cli/skill/inspection.h"

/*
 * Findings that a reviewer has looked at: lines of `id file[:line] reason` in a file that is no
 * part of the skill. They stay in every report, with the reason, and count no more. -EINVAL with
 * the line.
 */
int suppress_read(struct skill_inspection *i, struct call *c, const char *file);
