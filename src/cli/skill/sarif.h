/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "cli/skill/inspection.h"

/* The findings as SARIF 2.1.0 has them, for code hosts. */
struct node *sarif_tree(const struct skill_inspection *i, struct json_tree *t);
