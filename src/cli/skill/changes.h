/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What of a skill is not as it was approved: files by the inventory that was kept then, permissions
 * as sentences that are new or gone.
 */
#include "cli/output.h"
#include "cli/skill/inspection.h"

enum { CHANGES_FILES_MAX = 2000 };

/*
 * {"digest", "files_known", "files": [{"path", "change", "kind"}], "more_files",
 *  "permissions_known", "permissions": {"added": […], "removed": […]}}
 */
int changes_tree(const struct skill_inspection *i, struct call *c, struct json_tree *t,
	const struct approval_record *record, struct node **ret);
